using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    public static class ThreadingTests
    {
        [Test]
        public static void EverythingHappensOnTheThreadThatPumps()
        {
            using (var bridge = new OamBridge())
            {
                List<int> threads = ThreadsOfAScene(bridge, () => bridge.Pump());
                threads.Add(bridge.Await(bridge.RequestAsync("ping")
                    .ContinueWith(_ => Thread.CurrentThread.ManagedThreadId, TaskContinuationOptions.ExecuteSynchronously)));
                Check.That(threads.All(thread => thread == Thread.CurrentThread.ManagedThreadId), "all of it is on this thread");
            }
        }

        [Test]
        public static void WithoutPumpEverythingHappensOnTheBridgesThread()
        {
            using (var bridge = new OamBridge(dispatchOnCallbackThread: true))
            {
                List<int> threads = ThreadsOfAScene(bridge, () => Check.Equal(0, bridge.Pump()));
                Check.Equal(1, threads.Distinct().Count(), "threads");
                Check.That(threads[0] != Thread.CurrentThread.ManagedThreadId, "it is not this one");
            }
        }

        [Test]
        public static void NothingHappensUntilPumpAndNotMoreThanAsked()
        {
            using (var bridge = new OamBridge())
            {
                Task<object>[] requests = Enumerable.Range(0, 10).Select(_ => bridge.RequestAsync("ping")).ToArray();
                bridge.CallBlocking("ping");
                Check.That(!requests.Any(request => request.IsCompleted), "no request is complete before Pump");
                Check.Equal(0, bridge.Pump(0));
                Check.Equal(0, bridge.Pump(-1));
                Frames.Until(() => Check.That(bridge.Pump(3) <= 3, "three at most"), () => requests[2].IsCompleted);
                Check.That(requests.Count(request => request.IsCompleted) <= 5, "the others wait");
                bridge.Await(Task.WhenAll(requests));
            }
        }

        [Test]
        public static void EventsComeBeforeTheirResponseAndInOrder()
        {
            using (var bridge = new OamBridge())
            {
                OamSession session = bridge.Await(bridge.CreateSessionAsync(model: Scripted.Model(Scripted.Text(new string('x', 400), chunks: 40))));
                var texts = new List<string>();
                bool isDone = false;
                Task turn = session.RespondAsync("?", texts.Add, happened => Check.That(!isDone, "no event follows its response"))
                    .ContinueWith(_ => isDone = true, TaskContinuationOptions.ExecuteSynchronously);
                bridge.Await(turn);
                bridge.Pump();
                Check.Equal(new string('x', 400), string.Concat(texts));
                Check.That(texts.Count > 1, "the answer came in pieces");
            }
        }

        [Test]
        public static void AwaitResumesInTheContextOfTheCaller()
        {
            using (var bridge = new OamBridge(dispatchOnCallbackThread: true))
            {
                var context = new MainThread();
                SynchronizationContext.SetSynchronizationContext(context);
                Task<int> thread = ThreadAfter(bridge);
                Frames.Until(context.Run, () => thread.IsCompleted);
                SynchronizationContext.SetSynchronizationContext(null);
                Check.Equal(Thread.CurrentThread.ManagedThreadId, thread.Result);
            }
        }

        [Test]
        public static void WhatHandlersThrowIsLoggedAndStopsNothing()
        {
            using (var bridge = new OamBridge())
            {
                int heard = 0;
                bridge.NotificationReceived += (method, parameters) => throw new InvalidOperationException("first handler");
                bridge.NotificationReceived += (method, parameters) => heard++;
                OamSession session = bridge.Await(bridge.CreateSessionAsync(model: Scripted.Model(Scripted.Text("Aye."))));
                bridge.Await(session.RespondAsync("?", text => throw new InvalidOperationException("onText")));
                Check.That(heard > 0, "the second handler heard it");
                bridge.Request("ping", null, result => throw new InvalidOperationException("onResult"));
                bridge.Await(bridge.RequestAsync("ping"));
                foreach (string where in new[] { "first handler", "onText", "onResult" })
                {
                    Check.Contains(where, Runner.Log);
                }
            }
        }

        [Test]
        public static void BlockingCallsAnswerOnAnyThreadButTheBridges()
        {
            using (var bridge = new OamBridge(dispatchOnCallbackThread: true))
            {
                Check.Equal(new Dictionary<string, object>(), bridge.CallBlocking("ping"));
                using (var other = new OamBridge())
                {
                    var problem = new TaskCompletionSource<Exception>();
                    bridge.Request("ping", null, result =>
                    {
                        other.CallBlocking("ping");
                        problem.SetResult(Check.Throws<InvalidOperationException>(() => bridge.CallBlocking("ping")));
                    });
                    Check.Contains("RequestAsync", problem.Task.Result.Message);
                }
            }
        }

        [Test]
        public static void ABlockingCallEndsAtItsTimeLimit()
        {
            using (var bridge = new OamBridge())
            {
                bridge.Sleeper();
                OamException failure = Check.Throws<OamException>(() => bridge.CallBlocking("session/respond", Scripted.SleeperTurn, 200));
                Check.Equal("timeout", failure.Name);
                Check.Equal(-32024, failure.Code);
            }
        }

        [Test]
        public static void ABlockingCallNeedsSomebodyElseToPumpForItsTools()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("ring", "Rings.", null, toolCall => "dong");
                OamSession session = bridge.Caller("ring");
                var turn = new Dictionary<string, object> { { "session", session.Id }, { "prompt", "Ring!" } };
                Task<object> call = Task.Run(() => bridge.CallBlocking("session/respond", turn));
                Check.Equal("dong", bridge.Await(call).Get("text"));
            }
        }

        [Test]
        public static void GarbageCollectionsDoNotDisturbTurns()
        {
            using (var bridge = new OamBridge())
            using (var stop = new CancellationTokenSource())
            {
                Task collector = Task.Run(() =>
                {
                    while (!stop.IsCancellationRequested)
                    {
                        GC.Collect();
                        Thread.Yield();
                    }
                });
                bridge.RegisterTool("ring", "Rings.", null, call => new string('x', 10000));
                for (int i = 0; i < 30; i++)
                {
                    OamSession session = bridge.Caller("ring");
                    Dictionary<string, object> result = bridge.Await(session.RespondAsync("Ring!", text => { }));
                    Check.Equal(10000, ((string)result["text"]).Length);
                    bridge.Await(session.DeleteAsync());
                }
                stop.Cancel();
                collector.Wait();
            }
        }

        private static async Task<int> ThreadAfter(OamBridge bridge)
        {
            await bridge.RequestAsync("ping");
            return Thread.CurrentThread.ManagedThreadId;
        }

        /// <summary>The threads on which a tool, events, a change of a world and a callback happened.</summary>
        private static List<int> ThreadsOfAScene(OamBridge bridge, Action frame)
        {
            var threads = new ConcurrentQueue<int>();
            Action note = () => threads.Enqueue(Thread.CurrentThread.ManagedThreadId);
            Action<Task> wait = task => Frames.Until(frame, () => task.IsCompleted);

            bridge.NotificationReceived += (method, parameters) => note();
            bridge.RegisterTool("ring", "Rings.", null, call =>
            {
                note();
                return "dong";
            });
            Task<OamSession> session = bridge.CreateSessionAsync(
                tools: new[] { "ring" }, model: Scripted.Model(Scripted.Call("ring"), Scripted.Outputs));
            wait(session);
            wait(session.Result.RespondAsync("Ring!", text => note(), happened => note()));
            Task<OamWorld> world = bridge.CreateWorldAsync();
            wait(world);
            wait(world.Result.SubscribeAsync(change => note()));
            wait(world.Result.SetAsync("a", 1));
            var callback = new TaskCompletionSource<bool>();
            bridge.Request("ping", null, result =>
            {
                note();
                callback.SetResult(true);
            });
            wait(callback.Task);
            Check.That(threads.Count >= 8, "much happened");
            return threads.ToList();
        }

        /// <summary>A thread that runs what is posted to it, as Unity's main thread does.</summary>
        private sealed class MainThread : SynchronizationContext
        {
            private readonly ConcurrentQueue<Action> posted = new ConcurrentQueue<Action>();

            public override void Post(SendOrPostCallback callback, object state) => posted.Enqueue(() => callback(state));

            public void Run()
            {
                while (posted.TryDequeue(out Action run))
                {
                    run();
                }
            }
        }
    }
}

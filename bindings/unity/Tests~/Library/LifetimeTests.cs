using System;
using System.Collections.Generic;
using System.Linq;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    public static class LifetimeTests
    {
        [Test]
        public static void TheLibraryTellsItsVersion()
        {
            Check.That(Regex.IsMatch(OamBridge.Version, @"^\d+\.\d+\.\d+$"), OamBridge.Version);
        }

        [Test]
        public static void DisposingTwiceIsFineAndNothingCanBeSentAfterwards()
        {
            var bridge = new OamBridge();
            bridge.Dispose();
            bridge.Dispose();
            Check.That(bridge.IsDisposed, "the bridge is disposed");
            Check.Equal(0, bridge.Pump());
            Check.Throws<ObjectDisposedException>(() => bridge.CallBlocking("ping"));
            Check.Throws<ObjectDisposedException>(() => bridge.Notify("ping"));
            Check.Throws<ObjectDisposedException>(() => bridge.SendMessage(new Dictionary<string, object>()));
            Check.Throws<ObjectDisposedException>(() => bridge.RequestAsync("ping").GetAwaiter().GetResult());
            Check.Throws<ObjectDisposedException>(() => bridge.CreateSessionAsync().GetAwaiter().GetResult());
        }

        [Test]
        public static void ARequestThatCannotBeSentFailsAtOnceOnItsThread()
        {
            var bridge = new OamBridge();
            OamException problem = null;
            bridge.Request("ping", new[] { new object() }, null, error => problem = error);
            Check.Equal("invalid_params", problem.Name);
            bridge.Dispose();
            bridge.Request("ping", null, null, error => problem = error);
            Check.Equal("shut_down", problem.Name);
            Check.Equal(-32023, problem.Code);
        }

        [Test]
        public static void DisposingFailsWhatIsPending()
        {
            var bridge = new OamBridge();
            bridge.Sleeper();
            Task<object> task = bridge.RequestAsync("session/respond", Scripted.SleeperTurn);
            OamException problem = null;
            bridge.Request("session/respond", Scripted.SleeperTurn, null, error => problem = error);
            bridge.Dispose();
            OamException failure = Check.Throws<OamException>(() => task.GetAwaiter().GetResult());
            Check.Equal("shut_down", failure.Name);
            Check.Equal(-32023, failure.Code);
            Check.Equal("shut_down", problem.Name);
        }

        [Test]
        public static void DisposingCancelsBlockingCalls()
        {
            var bridge = new OamBridge();
            bridge.Sleeper();
            Task<object>[] calls = InTurns(bridge, 3);
            bridge.Dispose();
            foreach (Task<object> call in calls)
            {
                OamException failure = Check.Throws<OamException>(() => call.GetAwaiter().GetResult());
                Check.That(failure.Name == "cancelled" || failure.Name == "shut_down", failure.Message);
            }
        }

        [Test]
        public static void AHandlerMayDispose()
        {
            var bridge = new OamBridge();
            bridge.RegisterTool("leave", "Ends the game.", null, call =>
            {
                bridge.Dispose();
                return "Bye.";
            });
            Task<Dictionary<string, object>> turn = bridge.Caller("leave").RespondAsync("Go.");
            bridge.Until(() => bridge.IsDisposed);
            Check.Equal("shut_down", Check.Throws<OamException>(() => turn.GetAwaiter().GetResult()).Name);
        }

        [Test]
        public static void TheBridgesOwnThreadMayDisposeWhileOthersWaitInBlockingCalls()
        {
            var bridge = new OamBridge(dispatchOnCallbackThread: true);
            bridge.Sleeper();
            Task<object>[] calls = InTurns(bridge, 2);
            var isDisposed = new ManualResetEventSlim();
            bridge.Request("ping", null, result =>
            {
                bridge.Dispose();
                isDisposed.Set();
            });
            Check.That(isDisposed.Wait(10000), "Dispose returns");
            foreach (Task<object> call in calls)
            {
                Check.Throws<OamException>(() => call.GetAwaiter().GetResult());
            }
            bridge.Dispose();
        }

        [Test]
        public static void ManyThreadsMaySendAndDisposeAtOnce()
        {
            for (int round = 0; round < 20; round++)
            {
                var bridge = new OamBridge(dispatchOnCallbackThread: round % 2 == 0);
                var start = new ManualResetEventSlim();
                Task<Task<object>[]>[] senders = Enumerable.Range(0, 4).Select(_ => Parallel(() =>
                {
                    start.Wait();
                    return Enumerable.Range(0, 50).Select(__ => bridge.RequestAsync("ping")).ToArray();
                })).ToArray();
                Task<bool>[] disposers = Enumerable.Range(0, 3).Select(_ => Parallel(() =>
                {
                    start.Wait();
                    bridge.Pump();
                    bridge.Dispose();
                    return true;
                })).ToArray();
                start.Set();
                Task.WaitAll(senders.Cast<Task>().Concat(disposers).ToArray());
                foreach (Task<object> request in senders.SelectMany(sender => sender.Result))
                {
                    Check.That(request.IsCompleted, "every request has ended");
                    Check.That(!request.IsFaulted || EndsAsDisposed(request.Exception.InnerException), "it failed because of Dispose");
                }
            }
        }

        [Test]
        public static void NothingComesAfterDispose()
        {
            var bridge = new OamBridge(dispatchOnCallbackThread: true);
            bridge.Sleeper();
            int late = 0;
            bool isDisposed = false;
            bridge.NotificationReceived += (method, parameters) => late += Volatile.Read(ref isDisposed) ? 1 : 0;
            for (int i = 0; i < 100; i++)
            {
                bridge.RequestAsync("session/create", Scripted.Object("{\"model\":\"scripted\"}"));
            }
            bridge.Dispose();
            Volatile.Write(ref isDisposed, true);
            GC.Collect();
            using (var next = new OamBridge())
            {
                next.CallBlocking("ping");
            }
            Check.Equal(0, late);
        }

        [Test]
        public static void TwoBridgesKnowNothingOfEachOther()
        {
            using (var one = new OamBridge())
            using (var other = new OamBridge())
            {
                one.Await(one.CreateSessionAsync(session: "a", model: "scripted"));
                Check.Equal("session_not_found", other.Failure(other.Session("a").RespondAsync("?")).Name);
                one.Dispose();
                other.Await(other.RequestAsync("ping"));
            }
        }

        [Test]
        public static void ABridgeThatNobodyHoldsLivesOn()
        {
            var isAnswered = new ManualResetEventSlim();
            StartAndForget(isAnswered);
            for (int i = 0; i < 5; i++)
            {
                GC.Collect();
                GC.WaitForPendingFinalizers();
            }
            Check.That(isAnswered.Wait(10000), "the late answer arrives");
        }

        [Test]
        public static void ThousandBridgesLeaveNothingBehind()
        {
            Cycle(20);
            ProcessState before = ProcessState.Now();
            Cycle(1000);
            before.CheckNothingIsLeft();
        }

        [Test]
        public static void OptionsReachTheLibrary()
        {
            var all = new OamOptions
            {
                Worker = new[] { "/no/such/worker", "--fast" },
                Workers = 1,
                Spare = false,
                Streaming = "auto",
                StepTimeoutSeconds = 5,
                MaxStepCrashes = 2,
                MaxSessions = 1,
                ToolTimeoutSeconds = 0.5,
                Others = { { "scriptedModels", false } },
            };
            using (var bridge = new OamBridge(all))
            {
                Check.Equal(1, bridge.CallBlocking("initialize").Get("capabilities", "maxSessions"));
                Check.Equal("system", bridge.CallBlocking("initialize").Get("capabilities", "models", 0));
                Check.Equal(1, ((List<object>)bridge.CallBlocking("initialize").Get("capabilities", "models")).Count);
                OamSession session = bridge.Await(bridge.CreateSessionAsync());
                OamException unavailable = bridge.Failure(session.RespondAsync("?"));
                Check.Equal("model_unavailable", unavailable.Name);
                Check.Contains("options.worker", unavailable.Message);
            }
        }

        [Test]
        public static void OptionsThatTheLibraryRefusesFailEveryRequestByTheirName()
        {
            using (var bridge = new OamBridge(new OamOptions { Workers = -1 }))
            {
                OamException problem = Check.Throws<OamException>(() => bridge.CallBlocking("ping"));
                Check.Equal("invalid_params", problem.Name);
                Check.Contains("workers", problem.Message);
            }
        }

        private static void StartAndForget(ManualResetEventSlim isAnswered)
        {
            var bridge = new OamBridge(dispatchOnCallbackThread: true);
            string turn = "{\"prompt\":\"?\",\"session\":\"s\"}";
            bridge.Request("session/create", Scripted.Object("{\"session\":\"s\"}").With("model", Scripted.Model(Scripted.Text("Late.", 300))), null);
            bridge.Request("session/respond", Scripted.Object(turn), result =>
            {
                isAnswered.Set();
                bridge.Dispose();
            });
        }

        private static void Cycle(int count)
        {
            for (int i = 0; i < count; i++)
            {
                using (var bridge = new OamBridge())
                {
                    bridge.RequestAsync("ping");
                }
            }
        }

        /// <summary>Blocking calls that are on their way, which the events of their turns tell.</summary>
        private static Task<object>[] InTurns(OamBridge bridge, int count)
        {
            return Enumerable.Range(0, count).Select(i =>
            {
                string session = "turn" + i;
                bridge.CallBlocking("session/create", Scripted.Object($"{{\"session\":\"{session}\"}}")
                    .With("model", Scripted.Model(Scripted.Text("Late.", 30000))));
                Task<object> call = Parallel(() =>
                    bridge.CallBlocking("session/respond", Scripted.Object($"{{\"session\":\"{session}\",\"prompt\":\"?\"}}")));
                while (!IsBusy(bridge, session))
                {
                    Thread.Yield();
                }
                return call;
            }).ToArray();
        }

        private static bool IsBusy(OamBridge bridge, string session)
        {
            var list = (Dictionary<string, object>)bridge.CallBlocking("session/list");
            return ((List<object>)list["sessions"]).Cast<Dictionary<string, object>>()
                .Any(entry => (string)entry["session"] == session && (bool)entry["busy"]);
        }

        private static bool EndsAsDisposed(Exception problem) =>
            problem is ObjectDisposedException || (problem as OamException)?.Name == "shut_down";

        private static Task<T> Parallel<T>(Func<T> run) => Task.Factory.StartNew(run, TaskCreationOptions.LongRunning);
    }
}

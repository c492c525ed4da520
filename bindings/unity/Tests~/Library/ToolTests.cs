using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    public static class ToolTests
    {
        private static readonly Dictionary<string, object> Loop = MakeLoop();

        [Test]
        public static void ACallTellsWhoCalls()
        {
            using (var bridge = new OamBridge())
            {
                ToolCall seen = null;
                bridge.RegisterTool("ring", "Rings.", Json.Parse("{\"properties\":{\"times\":{\"type\":\"integer\"}}}"), call =>
                {
                    seen = call;
                    return null;
                });
                OamSession session = bridge.Await(bridge.CreateSessionAsync(
                    session: "tower",
                    tools: new[] { "ring" },
                    model: Scripted.Model("{\"toolCalls\":[{\"name\":\"ring\",\"arguments\":{\"times\":3}}]}", Scripted.Outputs)));
                Dictionary<string, object> result = bridge.Await(session.RespondAsync("Ring!"));
                Check.Equal("", result["text"], "the output of null");
                Check.Equal("ring", seen.Name);
                Check.Equal(result.Get("toolCalls", 0, "call", "id"), seen.Id);
                Check.Equal(3, seen.Arguments["times"]);
                Check.Equal("tower", seen.Session);
                Check.Equal(null, seen.Npc);
                Check.That(seen.RequestId.StartsWith("cs-"), "the id of the request");
                Check.Equal(seen.Id, seen.Params.Get("call", "id"));
            }
        }

        [Test]
        public static void ToolsAnswerFromAnyThreadInAnyOrderAndTheFirstAnswerCounts()
        {
            using (var bridge = new OamBridge())
            {
                var replies = new Dictionary<string, ToolReply>();
                bridge.RegisterTool("one", "One.", null, (call, reply) => replies["one"] = reply);
                bridge.RegisterTool("two", "Two.", null, (call, reply) => replies["two"] = reply);
                Task<Dictionary<string, object>> turn = bridge.Caller("one", "two").RespondAsync("Both!");
                bridge.Until(() => replies.Count == 2);
                var answerer = new Thread(() =>
                {
                    replies["two"].Error("second");
                    replies["two"].Ok("too late");
                    replies["one"].Ok("first");
                    replies["one"].Error("too late");
                });
                answerer.Start();
                Check.Equal("first\nError: second", bridge.Await(turn)["text"]);
                answerer.Join();
                Check.That(!replies["one"].IsCancelled, "an answered call is not cancelled");
            }
        }

        [Test]
        public static void ManyThreadsAnswerOneCallAndOneAnswerCounts()
        {
            using (var bridge = new OamBridge())
            {
                ToolReply reply = null;
                bridge.RegisterTool("ask", "Asks.", null, (call, toAnswer) => reply = toAnswer);
                Task<Dictionary<string, object>> turn = bridge.Caller("ask").RespondAsync("?");
                bridge.Until(() => reply != null);
                Task.WaitAll(Enumerable.Range(0, 8).Select(i => Task.Run(() => reply.Ok("answer"))).ToArray());
                Check.Equal("answer", bridge.Await(turn)["text"]);
                bridge.Await(bridge.RequestAsync("ping"));
            }
        }

        [Test]
        public static void AnOutputWithoutAJsonFormIsAnErrorForTheModel()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("odd", "Odd.", null, call => new object());
                bridge.RegisterTool("loop", "Loops.", null, call => Loop);
                bridge.RegisterTool("nan", "No number.", null, call => new[] { double.NaN });
                bridge.RegisterTool("half", "Half a pair.", null, call => "a\uD83D");
                var text = (string)bridge.Await(bridge.Caller("odd", "loop", "nan", "half").RespondAsync("All!"))["text"];
                string[] outputs = text.Split('\n');
                Check.Contains("Error: The output could not be written as JSON", outputs[0]);
                Check.Contains("System.Object", outputs[0]);
                Check.Contains("contains itself", outputs[1]);
                Check.Equal("[null]", outputs[2]);
                Check.Equal("a\uFFFD", outputs[3]);
            }
        }

        [Test]
        public static void WhatAHandlerThrowsIsAnErrorForTheModel()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("jam", "Jams.", null, call => throw new InvalidOperationException("The chain is jammed."));
                bridge.RegisterTool("later", "Jams.", null, (call, reply) => throw new InvalidOperationException("Jammed, too."));
                Dictionary<string, object> result = bridge.Await(bridge.Caller("jam", "later").RespondAsync("Go!"));
                Check.Equal("Error: The chain is jammed.\nError: Jammed, too.", result["text"]);
                Check.Equal(true, result.Get("toolCalls", 0, "isError"));
            }
        }

        [Test]
        public static void AToolThatAnswersAtOnceMayNotReturnATask()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("walk", "Walks.", null, call => Task.FromResult("there"));
                bridge.RegisterAsyncTool("run", "Runs.", null, (call, cancellation) => null);
                string[] outputs = ((string)bridge.Await(bridge.Caller("walk", "run").RespondAsync("Go!"))["text"]).Split('\n');
                Check.Contains("RegisterAsyncTool", outputs[0]);
                Check.Contains("returned no task", outputs[1]);
            }
        }

        [Test]
        public static void NoCallIsLeftOpenWhenItComesWhileTheBridgeIsDisposed()
        {
            // Arguments that take a while to read, so that the end may come in the middle of that.
            string call = $"{{\"toolCalls\":[{{\"name\":\"dig\",\"arguments\":{{\"where\":{Json.Serialize(new string('\n', 200000))}}}}}]}}";
            object model = Scripted.Model(call);
            object parameters = Json.Parse("{\"type\":\"object\",\"properties\":{\"where\":{\"type\":\"string\"}}}");
            for (int round = 0; round < 10; round++)
            {
                var bridge = new OamBridge();
                ToolReply reply = null;
                bridge.RegisterTool("dig", "Digs.", parameters, (toolCall, toAnswer) => reply = toAnswer);
                bool isCalling = false;
                bridge.Await(bridge.CreateSessionAsync(tools: new[] { "dig" }, model: model))
                    .RespondAsync("Dig!", onEvent: happened => isCalling |= (string)happened["type"] == "toolCallStarted");
                Frames.Until(() => bridge.Pump(1), () => isCalling);
                bridge.CallBlocking("ping");
                Task pump = Task.Run(() => bridge.Pump());
                Thread.Sleep(round);
                bridge.Dispose();
                pump.Wait();
                Check.That(reply == null || reply.IsCancelled, "a call that was handed out is cancelled");
            }
        }

        [Test]
        public static void ATurnThatIsCancelledCancelsItsCalls()
        {
            using (var bridge = new OamBridge())
            {
                ToolReply reply = null;
                int cancellations = 0;
                bridge.RegisterTool("dig", "Digs.", null, (call, toAnswer) =>
                {
                    reply = toAnswer;
                    reply.Cancelled += () => throw new InvalidOperationException("handled");
                    reply.Cancelled += () => cancellations++;
                });
                OamSession session = bridge.Caller("dig");
                Task turn = session.RespondAsync("Dig!");
                bridge.Until(() => reply != null);
                Check.Equal(1, bridge.Await(session.CancelAsync()));
                Check.Equal("cancelled", bridge.Failure(turn).Name);
                bridge.Until(() => cancellations > 0);
                Check.That(reply.IsCancelled, "the reply knows");
                reply.Ok("too late");
                reply.Cancelled += () => cancellations += 10;
                Check.Equal(11, cancellations, "a handler that comes late is called at once");
            }
        }

        [Test]
        public static void DisposingCancelsCallsAndLateAnswersDoNothing()
        {
            var bridge = new OamBridge();
            ToolReply reply = null;
            bool isCancelled = false;
            bridge.RegisterTool("dig", "Digs.", null, (call, toAnswer) =>
            {
                reply = toAnswer;
                reply.Cancelled += () => isCancelled = true;
            });
            bridge.Caller("dig").RespondAsync("Dig!");
            bridge.Until(() => reply != null);
            bridge.Dispose();
            Check.That(isCancelled && reply.IsCancelled, "the call is cancelled");
            reply.Ok("too late");
            reply.Error("too late");
        }

        [Test]
        public static void AnAsynchronousToolAnswersWhenItsTaskEnds()
        {
            using (var bridge = new OamBridge())
            {
                var gate = new TaskCompletionSource<object>();
                bridge.RegisterAsyncTool("wait", "Waits.", null, (call, cancellation) => gate.Task);
                bridge.RegisterAsyncTool("fail", "Fails.", null, async (call, cancellation) =>
                {
                    await gate.Task;
                    throw new InvalidOperationException("No luck.");
                });
                Task<Dictionary<string, object>> turn = bridge.Caller("wait", "fail").RespondAsync("Go!");
                Task.Run(() => gate.SetResult(new Dictionary<string, object> { { "found", 3 } }));
                Check.Equal("{\"found\":3}\nError: No luck.", bridge.Await(turn)["text"]);
            }
        }

        [Test]
        public static void AnAsynchronousToolHearsThatItTookTooLong()
        {
            using (var bridge = new OamBridge())
            {
                var isCancelled = new ManualResetEventSlim();
                bridge.RegisterAsyncTool("wait", "Waits.", null, async (call, cancellation) =>
                {
                    cancellation.Register(isCancelled.Set);
                    await Task.Delay(Timeout.Infinite, cancellation);
                    return null;
                }, timeoutSeconds: 0.2);
                Check.Contains("timed out", (string)bridge.Await(bridge.Caller("wait").RespondAsync("Wait!"))["text"]);
                bridge.Until(() => isCancelled.IsSet);
            }
        }

        [Test]
        public static void OnlyRegisteredToolsCanBeNamed()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("b", "B.", Json.Parse("{\"type\":\"object\"}"), call => null, 5);
                bridge.RegisterTool("a", "A.", null, call => null);
                Check.Equal(Json.Parse("[{\"name\":\"b\",\"description\":\"B.\",\"parameters\":{\"type\":\"object\"},\"timeoutSeconds\":5},"
                    + "{\"name\":\"a\",\"description\":\"A.\"}]"), bridge.ToolDefinitions());
                Check.Equal("a", bridge.ToolDefinitions("a").Get(0, "name"));
                Check.Contains("'c'", Check.Throws<KeyNotFoundException>(() => bridge.ToolDefinitions("a", "c")).Message);
                Check.Throws<KeyNotFoundException>(() => bridge.Await(bridge.CreateSessionAsync(tools: new[] { "c" }, model: "scripted")));
                Check.Throws<ArgumentException>(() => bridge.RegisterTool("", "?", null, call => null));
                Check.Throws<ArgumentNullException>(() => bridge.RegisterTool("x", "?", null, (Func<ToolCall, object>)null));
            }
        }

        [Test]
        public static void AToolThatNobodyRegisteredIsAnsweredWithAnError()
        {
            using (var bridge = new OamBridge())
            {
                Dictionary<string, object> create = Scripted.Object("{\"session\":\"s\",\"tools\":[{\"name\":\"lost\",\"description\":\"Lost.\"}]}")
                    .With("model", Scripted.Model(Scripted.Call("lost"), Scripted.Outputs));
                bridge.Await(bridge.RequestAsync("session/create", create));
                Check.Contains("Error: The game has no tool 'lost'", (string)bridge.Await(bridge.Session("s").RespondAsync("Go!"))["text"]);
            }
        }

        [Test]
        public static void WordsOfTheProtocolAreChoicesAndOtherTextIsATool()
        {
            CheckChoice(ToolChoice.Auto, "allowed", "ring", "none");
            CheckChoice(ToolChoice.None, "disallowed");
            CheckChoice(ToolChoice.Required, "required", "ring", "none");
            CheckChoice(ToolChoice.Explicit, "required", "ring", "none");
            CheckChoice("ring", "required", "ring");
            CheckChoice(ToolChoice.Tool("ring"), "required", "ring");
            CheckChoice(ToolChoice.Tool("none"), "required", "none");
        }

        private static void CheckChoice(string choice, string mode, params string[] enabled)
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("ring", "Rings.", null, call => null);
                bridge.RegisterTool("none", "A tool with a name that means something.", null, call => null);
                string forced = Scripted.Call(enabled.LastOrDefault() ?? "ring");
                object model = mode == "required" ? Scripted.Model(forced, Scripted.Text("Done.")) : Scripted.Model(Scripted.Text("Done."));
                OamSession session = bridge.Await(bridge.CreateSessionAsync(tools: new[] { "ring", "none" }, model: model));
                object step = bridge.Await(session.RespondAsync("?", toolChoice: choice)).Get("steps", 0);
                Check.Equal(mode, step.Get("toolCallingMode"), choice);
                Check.Equal(enabled, step.Get("enabledTools"), choice);
            }
        }

        private static Dictionary<string, object> MakeLoop()
        {
            var loop = new Dictionary<string, object>();
            loop["again"] = loop;
            return loop;
        }
    }
}

using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    /// <summary>What Unity's editor does at each Play: it unloads all code, whatever the game was at, and loads it again.</summary>
    public static class DomainTests
    {
        private const int Plays = 20;

        [Test]
        public static void TwentyReloadsLeaveNothingBehindWhateverTheGameWasAt()
        {
            Play(Game.LeaveEverything);
            ProcessState before = ProcessState.Now();
            for (int i = 0; i < Plays; i++)
            {
                Play(Game.LeaveEverything);
            }
            before.CheckNothingIsLeft();
        }

        private static void Play(CrossAppDomainDelegate play)
        {
            AppDomain domain = AppDomain.CreateDomain("play");
            domain.DoCallBack(play);
            AppDomain.Unload(domain);
        }

        /// <summary>Games that are left at a bad moment, none of which disposes its bridge.</summary>
        private static class Game
        {
            public static void LeaveEverything()
            {
                LeaveAfterATurn();
                LeaveInATurn();
                LeaveInATool();
                LeaveInABlockingCall();
                LeaveInAFloodOfMessages();
            }

            private static void LeaveAfterATurn()
            {
                var bridge = new OamBridge();
                bridge.RegisterTool("ring", "Rings.", null, call => "dong");
                OamNpc npc = bridge.Await(bridge.CreateNpcAsync(
                    Scripted.Object("{\"name\":\"Gorm\"}"),
                    tools: new[] { "ring" },
                    model: Scripted.Model(Scripted.Call("ring"), "{\"json\":{\"emotion\":\"happy\",\"line\":\"Aye.\"}}")));
                Check.Equal("Aye.", bridge.Await(npc.TalkAsync("Ring!", onLine: line => { }))["line"]);
            }

            private static void LeaveInATurn()
            {
                var bridge = new OamBridge();
                OamSession session = bridge.Sleeper();
                session.RespondAsync("?", text => { });
                bridge.Await(bridge.RequestAsync("ping"));
            }

            private static void LeaveInATool()
            {
                var bridge = new OamBridge(dispatchOnCallbackThread: true);
                var isCalled = new ManualResetEventSlim();
                bridge.RegisterTool("dig", "Digs.", null, (call, reply) => isCalled.Set());
                Turn(bridge, "dig");
                Check.That(isCalled.Wait(10000), "the tool is called");
            }

            private static void LeaveInABlockingCall()
            {
                var bridge = new OamBridge();
                bridge.Sleeper();
                var thread = new Thread(() => Check.Throws<OamException>(() => bridge.CallBlocking("session/respond", Scripted.SleeperTurn, 0)));
                thread.IsBackground = true;
                thread.Start();
                while (!Json.Serialize(bridge.CallBlocking("session/list")).Contains("\"busy\":true"))
                {
                    Thread.Yield();
                }
            }

            private static void LeaveInAFloodOfMessages()
            {
                var bridge = new OamBridge(dispatchOnCallbackThread: true);
                var isFlooding = new ManualResetEventSlim();
                bridge.NotificationReceived += (method, parameters) => isFlooding.Set();
                for (int i = 0; i < 8; i++)
                {
                    string[] steps = { Scripted.Text(new string('x', 4000), chunks: 2000) };
                    Dictionary<string, object> create = Scripted.Object($"{{\"session\":\"s{i}\"}}").With("model", Scripted.Model(steps));
                    bridge.RequestAsync("session/create", create);
                    bridge.Session("s" + i).RespondAsync("?", text => { });
                }
                Check.That(isFlooding.Wait(10000), "messages come");
            }

            private static void Turn(OamBridge bridge, string tool)
            {
                bridge.CreateSessionAsync(tools: new[] { tool }, session: "s", model: Scripted.Model(Scripted.Call(tool)));
                bridge.Session("s").RespondAsync("Go!");
            }
        }
    }
}

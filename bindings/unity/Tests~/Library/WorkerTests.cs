using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    /// <summary>Bridges with worker processes, as there are with Apple's model.</summary>
    public static class WorkerTests
    {
        [Test]
        public static void AWorkerThatTheOptionsNameAnswersAndEndsWithItsBridge()
        {
            using (var bridge = new OamBridge(Worker()))
            {
                OamSession session = bridge.Await(bridge.CreateSessionAsync());
                Check.That((string)bridge.Await(session.RespondAsync("Hello!"))["text"] != "", "the worker answers");
                Check.That(Children().Count > 0, "the worker is a process");
            }
            Frames.Until(() => { }, () => Children().Count == 0);
        }

        [Test]
        public static void AWorkerThatDiesInTheMiddleOfALineIsNotNoticed()
        {
            using (var bridge = new OamBridge(Worker("--piece-delay", "1", "--fault", "crash-streaming")))
            {
                OamSession session = bridge.Await(bridge.CreateSessionAsync());
                var shown = new List<string>();
                Dictionary<string, object> result = bridge.Await(session.RespondAsync("Tell me a story of some length.", shown.Add));
                Check.Equal(result["text"], string.Concat(shown));
            }
        }

        [Test]
        public static void AWorkerThatDiesOfEachStepFailsTheTurnAndNothingElse()
        {
            using (var bridge = new OamBridge(Worker("--fault", "kill")))
            {
                OamSession session = bridge.Await(bridge.CreateSessionAsync());
                for (int turn = 0; turn < 2; turn++)
                {
                    Check.Equal("generation_failed", bridge.Failure(session.RespondAsync("Hello!", text => { })).Name);
                }
                bridge.Await(bridge.RequestAsync("ping"));
            }
            Frames.Until(() => { }, () => Children().Count == 0);
        }

        [Test]
        public static void NoWorkerIsLeftByAReloadInTheMiddleOfAStep()
        {
            for (int i = 0; i < 5; i++)
            {
                AppDomain domain = AppDomain.CreateDomain("play");
                domain.DoCallBack(LeaveInAStep);
                AppDomain.Unload(domain);
                Frames.Until(() => { }, () => Children().Count == 0);
            }
        }

        private static void LeaveInAStep()
        {
            var bridge = new OamBridge(Worker("--step-delay", "60000"));
            Task<OamSession> session = bridge.CreateSessionAsync();
            bool isStarted = false;
            bridge.NotificationReceived += (method, parameters) => isStarted = true;
            bridge.Await(session).RespondAsync("Hello!", text => { });
            bridge.Until(() => isStarted && Children().Count > 0);
        }

        private static OamOptions Worker(params string[] arguments)
        {
            string program = Environment.GetEnvironmentVariable("OAM_BIN");
            return new OamOptions { Worker = new[] { program, "worker", "scripted" }.Concat(arguments), Workers = 1 };
        }

        /// <summary>The processes that this one has started, zombies included.</summary>
        private static List<string> Children()
        {
            string self = File.ReadAllText("/proc/self/stat").Split(' ')[0];
            return Directory.GetDirectories("/proc").Where(folder => char.IsDigit(Path.GetFileName(folder)[0]) && Parent(folder) == self).ToList();
        }

        private static string Parent(string process)
        {
            try
            {
                string stat = File.ReadAllText(Path.Combine(process, "stat"));
                return stat.Substring(stat.LastIndexOf(')')).Split(' ')[2];
            }
            catch (IOException)
            {
                return null;
            }
        }
    }
}

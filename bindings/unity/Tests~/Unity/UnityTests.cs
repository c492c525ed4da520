using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;
using OpenAppleModels.Samples.Tavern;
using UnityEngine;

namespace OpenAppleModels.Tests
{
    /// <summary>The package as it is compiled for Unity, on a stub of the engine.</summary>
    public static class UnityTests
    {
        [Test]
        public static void ARunnerPumpsEachFrameAndDisposesAtTheEnd()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            OamBridgeRunner runner = OamBridgeRunner.Create("Mine");
            OamBridge bridge = runner.Bridge;
            Check.Equal("Mine", runner.gameObject.name);
            Check.That(ReferenceEquals(bridge, runner.Bridge), "a runner has one bridge");
            Task<object> ping = bridge.RequestAsync("ping");
            Frames.Until(Engine.Frame, () => ping.IsCompleted);
            UnityEngine.Object.Destroy(runner.gameObject);
            Check.That(bridge.IsDisposed, "the bridge is disposed with its object");
            Check.Throws<ObjectDisposedException>(() => runner.Bridge.Pump());
            Engine.Stop();
        }

        [Test]
        public static void ARunnerInASceneStartsItsBridgeWhenItIsAskedFor()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            OamBridgeRunner runner = new GameObject("Scene").AddComponent<OamBridgeRunner>();
            Engine.Frame();
            Task<object> ping = runner.Bridge.RequestAsync("ping");
            Frames.Until(Engine.Frame, () => ping.IsCompleted);
            Engine.Stop();
        }

        [Test]
        public static void ARunnerOutsideOfAGameIsRefusedAndStartsNothing()
        {
            ProcessState before = ProcessState.Now();
            InvalidOperationException problem = Check.Throws<InvalidOperationException>(() => OamBridgeRunner.Create());
            Check.Contains("EditorApplication.update", problem.Message);
            before.CheckNothingIsLeft();
        }

        [Test]
        public static void AnObjectOfTheEngineHasNoJsonFormEvenIfItIsASequence()
        {
            ArgumentException problem = Check.Throws<ArgumentException>(() => Json.Serialize(new GameObject("Door").transform));
            Check.Contains("UnityEngine.Transform", problem.Message);
        }

        [Test]
        public static void ABridgeWithoutARunnerEndsWithTheGame()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            var bridge = new OamBridge();
            Engine.Stop();
            Check.That(bridge.IsDisposed, "the bridge is disposed");
        }

        [Test]
        public static void NoBridgeOutlivesAReloadOfTheCodeOrTheEditor()
        {
            Engine.LoadEditor(typeof(OamBridge).Assembly);
            var bridges = new[] { new OamBridge(), new OamBridge(dispatchOnCallbackThread: true) };
            UnityEditor.AssemblyReloadEvents.Reload();
            Check.That(bridges.All(bridge => bridge.IsDisposed), "all are disposed");
            var last = new OamBridge();
            UnityEditor.EditorApplication.Quit();
            Check.That(last.IsDisposed, "the last is disposed");
        }

        [Test]
        public static void TwentyPlaysInOneDomainLeaveNothingBehind()
        {
            PlayHalfATurn();
            ProcessState before = ProcessState.Now();
            for (int i = 0; i < 20; i++)
            {
                PlayHalfATurn();
            }
            before.CheckNothingIsLeft();
        }

        [Test]
        public static void ProblemsOfHandlersAreInUnitysConsole()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            OamBridge bridge = OamBridgeRunner.Create().Bridge;
            bridge.Request("ping", null, result => throw new InvalidOperationException("my mistake"));
            Frames.Until(Engine.Frame, () => Engine.Logged.Any(entry => entry.Contains("my mistake")));
            bridge.Request("no/such", null, null);
            Frames.Until(Engine.Frame, () => Engine.Logged.Any(entry => entry.Contains("method_not_found")));
            Engine.Stop();
        }

        [Test]
        public static void TheTavernOfTheSamplePlays()
        {
            Engine.Play(typeof(OamBridge).Assembly, typeof(Tavern).Assembly);
            Tavern tavern = new GameObject("Tavern").AddComponent<Tavern>();
            Frames.Until(Engine.Frame, () => !tavern.IsBusy);
            Say(tavern, "What is there to eat?");
            Check.Equal("The rabbit stew is hot, love, five gold a bowl.", tavern.Line);
            Say(tavern, "The rabbit stew, please.");
            Check.Equal("One rabbit stew, straight from the pot.", tavern.Line);
            Check.Equal(25, tavern.Gold);
            tavern.Close();
            Frames.Until(Engine.Frame, () => !tavern.IsBusy);
            Check.Contains("free_room", tavern.Decision);
            Engine.Stop();
        }

        [Test]
        public static void TheTavernCanBeLeftInTheMiddleOfALine()
        {
            Engine.Play(typeof(OamBridge).Assembly, typeof(Tavern).Assembly);
            Tavern tavern = new GameObject("Tavern").AddComponent<Tavern>();
            Frames.Until(Engine.Frame, () => !tavern.IsBusy);
            tavern.Say("What is there to eat?");
            Engine.Stop();
            Check.That(!tavern.IsBusy, "the line has ended");
        }

        [Test]
        public static void TheGuidesExampleTalks()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            var shown = new List<string>();
            Debug.OnLog = message => shown.Add(message.ToString());
            new GameObject("Smith").AddComponent<Smith>();
            Frames.Until(Engine.Frame, () => shown.Any(line => line == "proud: Three swords, lad. Forty-five gold each."));
            Engine.Stop();
        }

        private static void Say(Tavern tavern, string line)
        {
            tavern.Say(line);
            Frames.Until(Engine.Frame, () => !tavern.IsBusy);
        }

        private static void PlayHalfATurn()
        {
            Engine.Play(typeof(OamBridge).Assembly);
            OamBridge bridge = OamBridgeRunner.Create().Bridge;
            bridge.CreateSessionAsync(session: "s", model: Scripted.Model(Scripted.Text("Late.", 30000)));
            Task turn = bridge.Session("s").RespondAsync("?", text => { });
            Engine.Frame();
            Engine.Stop();
            Check.That(turn.IsFaulted, "the turn has ended");
        }
    }
}

using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;

namespace OpenAppleModels.Tests
{
    /// <summary>Plays the scenes that every binding plays, <c>bindings/testdata/scenes.json</c>.</summary>
    public static class SceneTests
    {
        [Test]
        public static void EveryScenePlaysPumped() => PlayAll(false);

        [Test]
        public static void EveryScenePlaysOnTheBridgesThread() => PlayAll(true);

        private static void PlayAll(bool dispatchOnCallbackThread)
        {
            string file = Path.Combine(Environment.GetEnvironmentVariable("OAM_TESTDATA"), "scenes.json");
            List<object> scenes = (List<object>)Json.Parse(File.ReadAllText(file)).Get("scenes");
            Check.That(scenes.Count > 10, "there are scenes");
            var failures = new List<string>();
            foreach (Dictionary<string, object> scene in scenes.Cast<Dictionary<string, object>>())
            {
                try
                {
                    using (var bridge = new OamBridge(dispatchOnCallbackThread))
                    {
                        new Scene(bridge, scene).Play();
                    }
                }
                catch (Exception problem)
                {
                    failures.Add($"{scene["name"]}: {problem}");
                }
            }
            Check.That(failures.Count == 0, string.Join("\n", failures));
        }
    }
}

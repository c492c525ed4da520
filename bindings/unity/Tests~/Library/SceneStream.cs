using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    /// <summary>What the callbacks of one step got.</summary>
    internal sealed class SceneStream
    {
        private readonly bool isStreaming;
        private readonly List<object> emotions = new List<object>();
        private readonly List<string> events = new List<string>();
        private string shown = "";

        public SceneStream(bool isStreaming)
        {
            this.isStreaming = isStreaming;
        }

        public Task<object> Task { get; set; }

        public Action<string> OnText => isStreaming ? text => shown += text : (Action<string>)null;

        public Action<string> OnLine => isStreaming ? line => shown = line : (Action<string>)null;

        public Action<string> OnEmotion => isStreaming ? emotions.Add : (Action<string>)null;

        public Action<Dictionary<string, object>> OnEvent
        {
            get
            {
                if (!isStreaming)
                {
                    return null;
                }
                return happened =>
                {
                    events.Add((string)happened["type"]);
                    if (happened.TryGetValue("isReset", out object isReset) && true.Equals(isReset))
                    {
                        shown = (string)happened["text"];
                    }
                };
            }
        }

        public void Check(Dictionary<string, object> step)
        {
            if (step.TryGetValue("shown", out object expectedText))
            {
                Tests.Check.Equal(expectedText, shown, "shown");
            }
            if (step.TryGetValue("emotions", out object expectedEmotions))
            {
                Tests.Check.Equal(expectedEmotions, emotions, "emotions");
            }
            if (step.TryGetValue("events", out object expectedEvents))
            {
                int position = 0;
                foreach (string type in ((List<object>)expectedEvents).Cast<string>())
                {
                    position = events.IndexOf(type, position) + 1;
                    Tests.Check.That(position > 0, $"'{type}' is among the events, in order: {string.Join(", ", events)}");
                }
            }
        }
    }
}

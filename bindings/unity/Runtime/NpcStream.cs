using System;
using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>Puts the line of a turn together from its events.</summary>
    internal sealed class NpcStream
    {
        private readonly Action<string> onLine;
        private readonly Action<string> onEmotion;
        private readonly Action<Dictionary<string, object>> onEvent;
        private string line = "";

        public NpcStream(Action<string> onLine, Action<string> onEmotion, Action<Dictionary<string, object>> onEvent)
        {
            this.onLine = onLine;
            this.onEmotion = onEmotion;
            this.onEvent = onEvent;
        }

        public void Handle(Dictionary<string, object> happened)
        {
            switch (happened.Text("type"))
            {
                case "lineDelta":
                    Show(line + happened.Text("delta"));
                    break;
                case "lineReset":
                    Show(happened.Text("line"));
                    break;
                case "emotion":
                    onEmotion?.Invoke(happened.Text("emotion"));
                    break;
            }
            onEvent?.Invoke(happened);
        }

        private void Show(string whole)
        {
            line = whole;
            onLine?.Invoke(whole);
        }
    }
}

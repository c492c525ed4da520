using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace OpenAppleModels.Samples.Tavern
{
    /// <summary>Mira: who she is, what she can do, and what she decides.</summary>
    internal sealed class Innkeeper
    {
        private static readonly Dictionary<string, int> Menu = new Dictionary<string, int> { { "rabbit stew", 5 }, { "ale", 2 } };

        private readonly OamBridge bridge;
        private readonly bool isScripted;
        private OamNpc mira;

        /// <param name="bridge">Where she lives.</param>
        /// <param name="isScripted">She speaks from a script, for want of a model.</param>
        public Innkeeper(OamBridge bridge, bool isScripted)
        {
            this.bridge = bridge;
            this.isScripted = isScripted;
        }

        public int PlayerGold { get; private set; } = 30;

        /// <summary>Brings a dish to the player: the dish, the call's reply. Runs on the main thread.</summary>
        public Action<string, ToolReply> Serve { get; set; }

        public async Task ComeInAsync()
        {
            object item = Json.Parse(@"{""type"": ""object"", ""properties"": {""item"": {""type"": ""string""}}, ""required"": [""item""]}");
            bridge.RegisterTool("check_menu", "Finds dishes by a word; says what each costs in gold.", item, CheckMenu);
            bridge.RegisterTool("take_order", "Sells a dish to the player and brings it.", item, TakeOrder);
            mira = await bridge.CreateNpcAsync(
                Json.Parse(@"{""name"": ""Mira"", ""role"": ""the innkeeper of the Sleeping Stag"",
                    ""personality"": ""Warm, quick, and nobody's fool."", ""defaultEmotion"": ""happy""}"),
                tools: new[] { "check_menu", "take_order" },
                model: isScripted ? TavernScript.Talk : null);
        }

        /// <summary>One turn of dialogue.</summary>
        /// <returns>What the player might say next.</returns>
        public async Task<string[]> HearAsync(string playerLine, Action<string> onLine, Action<string> onEmotion)
        {
            Dictionary<string, object> turn = await mira.TalkAsync(
                playerLine, context: $"The player has {PlayerGold} gold.", onLine: onLine, onEmotion: onEmotion);
            return ((List<object>)turn["playerOptions"]).Cast<string>().ToArray();
        }

        /// <summary>Closing time: whether the player gets a bed.</summary>
        /// <returns>What she decided, and why.</returns>
        public async Task<string> DecideAsync()
        {
            Dictionary<string, object> decision = await bridge.DecideAsync(
                "It is late, it rains, and the player has no bed.",
                new[] { "free_room", "full_price", "turn_away" },
                actor: mira.Id,
                fallbackOptionId: "full_price",
                model: isScripted ? TavernScript.Closing : null);
            return $"{decision["optionID"]}: {decision["reasoning"]}";
        }

        private static object CheckMenu(ToolCall call)
        {
            string word = (string)call.Arguments["item"];
            return Menu.Where(dish => dish.Key.IndexOf(word, StringComparison.OrdinalIgnoreCase) >= 0)
                .Select(dish => new Dictionary<string, object> { { "item", dish.Key }, { "price_gold", dish.Value } });
        }

        private void TakeOrder(ToolCall call, ToolReply reply)
        {
            string dish = (string)call.Arguments["item"];
            if (!Menu.TryGetValue(dish, out int price) || price > PlayerGold)
            {
                reply.Error($"'{dish}' is not on the menu, or costs more than the player's {PlayerGold} gold.");
                return;
            }
            PlayerGold -= price;
            Serve(dish, reply);
        }
    }
}

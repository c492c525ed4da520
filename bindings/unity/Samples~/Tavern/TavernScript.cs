using OpenAppleModels;

namespace OpenAppleModels.Samples.Tavern
{
    /// <summary>What Mira says where there is no model: the tools and the decision are real all the same.</summary>
    internal static class TavernScript
    {
        private const string TalkJson = @"{
            ""type"": ""scripted"",
            ""steps"": [
                {""toolCalls"": [{""name"": ""check_menu"", ""arguments"": {""item"": ""stew""}}]},
                {""json"": {""emotion"": ""happy"", ""line"": ""The rabbit stew is hot, love, five gold a bowl."",
                    ""player_options"": [""The rabbit stew, please."", ""Too dear.""], ""ends_conversation"": false}},
                {""toolCalls"": [{""name"": ""take_order"", ""arguments"": {""item"": ""rabbit stew""}}]},
                {""json"": {""emotion"": ""proud"", ""line"": ""One rabbit stew, straight from the pot."",
                    ""player_options"": [""Do you have a room?""], ""ends_conversation"": false}}],
            ""fallback"": {""json"": {""emotion"": ""amused"", ""line"": ""I only know two lines without a model, love."",
                ""player_options"": [], ""ends_conversation"": true}}}";

        private const string ClosingJson = @"{
            ""type"": ""scripted"",
            ""steps"": [{""json"": {""reasoning"": ""The traveler was kind, and an empty bed earns nothing."",
                ""choice"": ""free_room"", ""confidence"": 84}}]}";

        public static object Talk => Json.Parse(TalkJson);

        public static object Closing => Json.Parse(ClosingJson);
    }
}

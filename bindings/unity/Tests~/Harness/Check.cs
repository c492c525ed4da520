using System;
using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels.Tests
{
    public sealed class CheckFailed : Exception
    {
        public CheckFailed(string message)
            : base(message)
        {
        }
    }

    public static class Check
    {
        public static void That(bool holds, string statement)
        {
            if (!holds)
            {
                throw new CheckFailed("Not true: " + statement);
            }
        }

        public static void Equal(object expected, object actual, string what = "value")
        {
            string expectedText = Json.Serialize(expected);
            string actualText = Json.Serialize(actual);
            if (expectedText != actualText)
            {
                throw new CheckFailed($"{what}: expected {expectedText}, got {actualText}");
            }
        }

        public static void Contains(string part, string whole) =>
            That(whole != null && whole.Contains(part), $"'{whole}' contains '{part}'");

        /// <summary>Runs what must throw an exception of this type, or of one derived from it, and returns it.</summary>
        public static TException Throws<TException>(Action run)
            where TException : Exception
        {
            try
            {
                run();
            }
            catch (TException expected)
            {
                return expected;
            }
            throw new CheckFailed($"Expected a {typeof(TException).Name}, but nothing was thrown.");
        }

        /// <summary>Compares as the scenes do: see the README beside them.</summary>
        public static void Matches(object expected, object actual, string path)
        {
            if (expected is Dictionary<string, object> members)
            {
                MatchObject(members, actual, path);
            }
            else if (expected is List<object> items)
            {
                var actualItems = actual as List<object>;
                That(actualItems != null && actualItems.Count == items.Count, $"{path} is a list of {items.Count}: {Json.Serialize(actual)}");
                for (int i = 0; i < items.Count; i++)
                {
                    Matches(items[i], actualItems[i], $"{path}[{i}]");
                }
            }
            else
            {
                Equal(expected, actual, path);
            }
        }

        private static void MatchObject(Dictionary<string, object> expected, object actual, string path)
        {
            if (expected.TryGetValue("$contains", out object part))
            {
                That(actual is string text && text.IndexOf((string)part, StringComparison.OrdinalIgnoreCase) >= 0,
                    $"{path} contains '{part}': {Json.Serialize(actual)}");
                return;
            }
            var members = actual as Dictionary<string, object>;
            That(members != null, $"{path} is an object: {Json.Serialize(actual)}");
            if (expected.TryGetValue("$keys", out object keys))
            {
                Equal(keys, members.Keys.ToList(), path + ": members");
                return;
            }
            foreach (KeyValuePair<string, object> member in expected)
            {
                string inside = path + "." + member.Key;
                bool isThere = members.TryGetValue(member.Key, out object value);
                if (member.Value is Dictionary<string, object> special && special.ContainsKey("$absent"))
                {
                    That(!isThere, inside + " is absent");
                    continue;
                }
                That(isThere, $"{inside} is there: {Json.Serialize(actual)}");
                Matches(member.Value, value, inside);
            }
        }
    }
}

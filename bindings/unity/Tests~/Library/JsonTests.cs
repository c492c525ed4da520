using System;
using System.Collections.Generic;
using System.Globalization;
using System.Linq;
using System.Text;
using System.Threading;

namespace OpenAppleModels.Tests
{
    public static class JsonTests
    {
        private enum Mood
        {
            Grim,
        }

        [Test]
        public static void WhatIsWrittenReadsAsItWas()
        {
            var random = new Random(20240611);
            for (int i = 0; i < 3000; i++)
            {
                object value = AnyValue(random, 4);
                string text = Json.Serialize(value);
                Check.That(text.All(c => !char.IsControl(c) && c != '\u2028' && c != '\u2029'), "one line: " + text);
                CheckSame(value, Json.Parse(text), text);
            }
        }

        [Test]
        public static void WhateverIsReadItIsJsonOrAFormatException()
        {
            var random = new Random(7);
            for (int i = 0; i < 3000; i++)
            {
                var text = new StringBuilder(Json.Serialize(AnyValue(random, 3)));
                for (int change = random.Next(1, 4); change > 0 && text.Length > 0; change--)
                {
                    text[random.Next(text.Length)] = "{}[]\",:\\u0eE-+.1tfn \n"[random.Next(21)];
                }
                try
                {
                    Json.Serialize(Json.Parse(text.ToString()));
                }
                catch (FormatException)
                {
                    continue;
                }
            }
        }

        [Test]
        public static void NumbersAreLongsWhereTheyAreIntegralAndFit()
        {
            CheckNumber("0", 0L);
            CheckNumber("-0", 0L);
            CheckNumber("45", 45L);
            CheckNumber("45.0", 45L);
            CheckNumber("1e3", 1000L);
            CheckNumber("9223372036854775807", long.MaxValue);
            CheckNumber("-9223372036854775808", long.MinValue);
            CheckNumber("9223372036854775808", 9223372036854775808.0);
            CheckNumber("0.5", 0.5);
            CheckNumber("-2.5E-3", -0.0025);
            CheckNumber("1e300", 1e300);
        }

        [Test]
        public static void MalformedTextIsRefusedWithItsPlace()
        {
            string[] malformed =
            {
                "", " ", "nul", "True", "{", "[", "[1,]", "[1 2]", "{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "{1:1}", "'a'", "\"a", "\"\\x\"",
                "\"\\u12g4\"", "\"\\u12", "\"\n\"", "\"\t\"", "01", "+1", "-", "1.", ".5", "1e", "1e+", "0x10", "NaN", "Infinity", "1e999", "[] []", "]",
                "1a", "\"a\"b", "// no\n1",
            };
            foreach (string text in malformed)
            {
                FormatException problem = Check.Throws<FormatException>(() => Json.Parse(text));
                Check.Contains("at character", problem.Message);
            }
            Check.Throws<ArgumentNullException>(() => Json.Parse(null));
        }

        [Test]
        public static void HundredLevelsAreReadAndWrittenAndNoMore()
        {
            string hundred = new string('[', 100) + new string(']', 100);
            Check.Equal(hundred, Json.Serialize(Json.Parse(hundred)));
            Check.Throws<FormatException>(() => Json.Parse("[" + hundred + "]"));
            Check.Throws<ArgumentException>(() => Json.Serialize(new[] { Json.Parse(hundred) }));
            Check.Throws<FormatException>(() => Json.Parse(new string('[', 1000000)));

            string wide = "[" + string.Join(",", Enumerable.Repeat("[[]]", 1000)) + "]";
            Check.Equal(wide, Json.Serialize(Json.Parse(wide)));
        }

        [Test]
        public static void WhatContainsItselfIsRefused()
        {
            var list = new List<object>();
            list.Add(list);
            ArgumentException problem = Check.Throws<ArgumentException>(() => Json.Serialize(list));
            Check.Contains("contains itself", problem.Message);
        }

        [Test]
        public static void WhatHasNoJsonFormIsRefusedByItsType()
        {
            ArgumentException problem = Check.Throws<ArgumentException>(() => Json.Serialize(new[] { new object() }));
            Check.Contains("System.Object", problem.Message);
        }

        [Test]
        public static void TypesAreWrittenInTheirJsonForm()
        {
            CheckWritten("null", double.NaN);
            CheckWritten("null", float.PositiveInfinity);
            CheckWritten("[null]", new[] { double.NegativeInfinity });
            CheckWritten("\"Grim\"", Mood.Grim);
            CheckWritten("\"x\"", 'x');
            CheckWritten("0.1", 0.1f);
            CheckWritten("0.1", 0.1);
            CheckWritten("1.50", 1.50m);
            CheckWritten("18446744073709551615", ulong.MaxValue);
            CheckWritten("[1,2,3]", new byte[] { 1, 2, 3 });
            CheckWritten("[1,2]", Enumerable.Range(1, 2));
            CheckWritten("{\"Grim\":1}", new Dictionary<Mood, int> { { Mood.Grim, 1 } });
            CheckWritten("{\"7\":true}", new Dictionary<int, bool> { { 7, true } });
            CheckWritten("\"2026-11-30T11:25:00.0000000Z\"", new DateTime(2026, 11, 30, 11, 25, 0, DateTimeKind.Utc));
            CheckWritten("\"00000000-0000-0000-0000-000000000000\"", Guid.Empty);
        }

        [Test]
        public static void WhatEndsALineSomewhereIsEscaped()
        {
            CheckWritten("\"\\n\\r\\t\\u0000\\u001f\\u007f\\u0085\\u2028\\u2029\\\"\\\\/\"", "\n\r\t\0\u001f\u007f\u0085\u2028\u2029\"\\/");
        }

        [Test]
        public static void PairsAreKeptAndHalvesReplaced()
        {
            CheckWritten("\"🗡\"", "🗡");
            CheckWritten("\"a\uFFFDb\"", "a\uD83Db");
            CheckWritten("\"\uFFFD\"", "\uDDE1");
            CheckWritten("\"\uFFFD🗡\"", "\uD83D🗡");
            Check.Equal("🗡", Json.Parse("\"\\ud83d\\udde1\""));
        }

        [Test]
        public static void EscapesAreRead()
        {
            Check.That((string)Json.Parse("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00fC\"") == "\"\\/\b\f\n\r\t\u00fc", "every escape is read");
        }

        [Test]
        public static void OfMembersWithOneNameTheLastCountsAndOrderStays()
        {
            Check.Equal("{\"b\":3,\"a\":2}", Json.Serialize(Json.Parse(" { \"b\" : 1 , \"a\" : 2 , \"b\" : 3 } ")));
        }

        [Test]
        public static void TheCultureOfTheMachineDoesNotMatter()
        {
            CultureInfo before = Thread.CurrentThread.CurrentCulture;
            try
            {
                foreach (string culture in new[] { "de-DE", "tr-TR", "ar-SA", "fa-IR", "sv-SE", "th-TH" })
                {
                    Thread.CurrentThread.CurrentCulture = new CultureInfo(culture);
                    CheckWritten("[0.5,1.5,-2.25,-7]", new object[] { 0.5, 1.5f, -2.25m, -7 });
                    CheckWritten("{\"0.5\":\"Grim\",\"i\":\"2026-11-30T00:00:00.0000000\"}", new Dictionary<object, object>
                    {
                        { 0.5, Mood.Grim },
                        { 'i', new DateTime(2026, 11, 30) },
                    });
                    CheckNumber("0.5", 0.5);
                    CheckNumber("-12", -12L);
                }
            }
            finally
            {
                Thread.CurrentThread.CurrentCulture = before;
            }
        }

        private static void CheckNumber(string text, object expected)
        {
            object actual = Json.Parse(text);
            Check.That(expected.Equals(actual), $"{text} is the {expected.GetType().Name} {expected}, not {actual}");
        }

        private static void CheckWritten(string expected, object value)
        {
            string actual = Json.Serialize(value);
            Check.That(expected == actual, $"{expected} is written, not {actual}");
        }

        private static object AnyValue(Random random, int depth)
        {
            switch (random.Next(depth > 0 ? 8 : 6))
            {
                case 0:
                    return null;
                case 1:
                    return random.Next(2) == 0;
                case 2:
                    return random.Next(2) == 0 ? random.Next(-100, 100) : ((long)random.Next() << 32) * (random.Next(2) * 2 - 1) + random.Next();
                case 3:
                    return AnyReal(random);
                case 4:
                case 5:
                    return AnyText(random);
                case 6:
                    return Enumerable.Range(0, random.Next(5)).Select(_ => AnyValue(random, depth - 1)).ToList();
                default:
                    var members = new Dictionary<string, object>();
                    for (int i = random.Next(5); i > 0; i--)
                    {
                        members[AnyText(random)] = AnyValue(random, depth - 1);
                    }
                    return members;
            }
        }

        private static double AnyReal(Random random)
        {
            double number = BitConverter.Int64BitsToDouble(((long)random.Next() << 33) ^ ((long)random.Next() << 8) ^ random.Next());
            return double.IsNaN(number) || double.IsInfinity(number) ? random.NextDouble() : number;
        }

        private static string AnyText(Random random)
        {
            var text = new StringBuilder();
            for (int i = random.Next(12); i > 0; i--)
            {
                switch (random.Next(5))
                {
                    case 0:
                        text.Append("\"\\/\b\f\n\r\t\0\u001f\u007f\u2028\u2029\ufeff"[random.Next(13)]);
                        break;
                    case 1:
                        text.Append(char.ConvertFromUtf32(random.Next(0x10000, 0x110000)));
                        break;
                    case 2:
                        text.Append((char)random.Next(0xA0, 0xD800));
                        break;
                    default:
                        text.Append((char)random.Next(' ', 127));
                        break;
                }
            }
            return text.ToString();
        }

        private static void CheckSame(object expected, object actual, string text)
        {
            if (expected is Dictionary<string, object> members)
            {
                var actualMembers = (Dictionary<string, object>)actual;
                Check.That(members.Count == actualMembers.Count, "as many members: " + text);
                foreach (KeyValuePair<string, object> member in members)
                {
                    CheckSame(member.Value, actualMembers[member.Key], text);
                }
            }
            else if (expected is List<object> items)
            {
                var actualItems = (List<object>)actual;
                Check.That(items.Count == actualItems.Count, "as many items: " + text);
                for (int i = 0; i < items.Count; i++)
                {
                    CheckSame(items[i], actualItems[i], text);
                }
            }
            else if (expected is double || expected is int)
            {
                Check.That(Convert.ToDouble(expected) == Convert.ToDouble(actual), $"{expected} is {actual}: {text}");
            }
            else
            {
                Check.That(Equals(expected, actual), $"{expected} is {actual}: {text}");
            }
        }
    }
}

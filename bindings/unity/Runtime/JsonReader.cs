using System;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace OpenAppleModels
{
    /// <summary>A strict reader of JSON (RFC 8259). Of members with one name the last counts.</summary>
    internal sealed class JsonReader
    {
        private readonly string text;
        private int position;
        private int depth;

        public JsonReader(string text)
        {
            this.text = text;
        }

        public object ReadDocument()
        {
            object value = ReadValue();
            SkipWhiteSpace();
            if (position < text.Length)
            {
                throw Malformed("nothing more");
            }
            return value;
        }

        private object ReadValue()
        {
            SkipWhiteSpace();
            switch (Peek())
            {
                case '{':
                    return ReadObject();
                case '[':
                    return ReadArray();
                case '"':
                    return ReadString();
                case 't':
                    return ReadWord("true", true);
                case 'f':
                    return ReadWord("false", false);
                case 'n':
                    return ReadWord("null", null);
                default:
                    return ReadNumber();
            }
        }

        private Dictionary<string, object> ReadObject()
        {
            var members = new Dictionary<string, object>();
            Enter();
            if (Skip('}'))
            {
                depth--;
                return members;
            }
            do
            {
                SkipWhiteSpace();
                string name = ReadString();
                Expect(':');
                members[name] = ReadValue();
            }
            while (Skip(','));
            Expect('}');
            depth--;
            return members;
        }

        private List<object> ReadArray()
        {
            var items = new List<object>();
            Enter();
            if (Skip(']'))
            {
                depth--;
                return items;
            }
            do
            {
                items.Add(ReadValue());
            }
            while (Skip(','));
            Expect(']');
            depth--;
            return items;
        }

        private void Enter()
        {
            position++;
            if (++depth > Json.MaxDepth)
            {
                throw new FormatException($"The JSON is nested deeper than {Json.MaxDepth} levels (at character {position}).");
            }
        }

        private string ReadString()
        {
            if (Peek() != '"')
            {
                throw Malformed("a string");
            }
            int start = ++position;
            while (position < text.Length && text[position] != '"' && text[position] != '\\' && text[position] >= ' ')
            {
                position++;
            }
            if (Peek() == '"')
            {
                return text.Substring(start, position++ - start);
            }
            return ReadEscapedString(start);
        }

        private string ReadEscapedString(int start)
        {
            var builder = new StringBuilder(text, start, position - start, Math.Max(16, (position - start) * 2));
            while (true)
            {
                char character = Peek();
                if (character < ' ')
                {
                    throw Malformed("the rest of a string");
                }
                position++;
                switch (character)
                {
                    case '"':
                        return builder.ToString();
                    case '\\':
                        builder.Append(ReadEscape());
                        break;
                    default:
                        builder.Append(character);
                        break;
                }
            }
        }

        private char ReadEscape()
        {
            char escape = Peek();
            position++;
            switch (escape)
            {
                case '"':
                case '\\':
                case '/':
                    return escape;
                case 'b':
                    return '\b';
                case 'f':
                    return '\f';
                case 'n':
                    return '\n';
                case 'r':
                    return '\r';
                case 't':
                    return '\t';
                case 'u':
                    return ReadCodeUnit();
                default:
                    position--;
                    throw Malformed("an escape");
            }
        }

        private char ReadCodeUnit()
        {
            int unit = 0;
            for (int digit = 0; digit < 4; digit++, position++)
            {
                int value = HexValue(Peek());
                if (value < 0)
                {
                    throw Malformed("a hexadecimal digit");
                }
                unit = unit * 16 + value;
            }
            return (char)unit;
        }

        private static int HexValue(char digit)
        {
            if (digit >= '0' && digit <= '9')
            {
                return digit - '0';
            }
            char lower = (char)(digit | 0x20);
            return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
        }

        private object ReadWord(string word, object value)
        {
            if (string.CompareOrdinal(text, position, word, 0, word.Length) != 0)
            {
                throw Malformed("a value");
            }
            position += word.Length;
            return value;
        }

        private object ReadNumber()
        {
            int start = position;
            SkipCharacter('-');
            if (!SkipCharacter('0'))
            {
                SkipDigits();
            }
            bool isInteger = true;
            if (SkipCharacter('.'))
            {
                isInteger = false;
                SkipDigits();
            }
            if (SkipCharacter('e') || SkipCharacter('E'))
            {
                isInteger = false;
                if (!SkipCharacter('+'))
                {
                    SkipCharacter('-');
                }
                SkipDigits();
            }
            return NumberOf(text.Substring(start, position - start), isInteger);
        }

        private object NumberOf(string digits, bool isInteger)
        {
            if (isInteger && long.TryParse(digits, NumberStyles.AllowLeadingSign, CultureInfo.InvariantCulture, out long integer))
            {
                return integer;
            }
            if (!double.TryParse(digits, NumberStyles.Float, CultureInfo.InvariantCulture, out double number)
                || double.IsInfinity(number))
            {
                throw new FormatException($"The number {digits} is out of range (at character {position}).");
            }
            return IsExactLong(number) ? (object)(long)number : number;
        }

        private static bool IsExactLong(double number)
        {
            const double TwoTo63 = 9223372036854775808.0;
            return number >= -TwoTo63 && number < TwoTo63 && Math.Floor(number) == number;
        }

        private void SkipDigits()
        {
            int start = position;
            while (position < text.Length && text[position] >= '0' && text[position] <= '9')
            {
                position++;
            }
            if (position == start)
            {
                throw Malformed("a value");
            }
        }

        private void SkipWhiteSpace()
        {
            while (position < text.Length && " \t\r\n".IndexOf(text[position]) >= 0)
            {
                position++;
            }
        }

        private bool Skip(char expected)
        {
            SkipWhiteSpace();
            return SkipCharacter(expected);
        }

        private bool SkipCharacter(char expected)
        {
            if (position >= text.Length || text[position] != expected)
            {
                return false;
            }
            position++;
            return true;
        }

        private void Expect(char expected)
        {
            if (!Skip(expected))
            {
                throw Malformed("'" + expected + "'");
            }
        }

        /// <summary>The next character; NUL, which no JSON contains, at the end.</summary>
        private char Peek() => position < text.Length ? text[position] : '\0';

        private FormatException Malformed(string expected)
        {
            string found = position < text.Length ? "'" + text[position] + "'" : "the end";
            return new FormatException($"Malformed JSON: expected {expected} at character {position}, found {found}.");
        }
    }
}

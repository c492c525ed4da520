using System;
using System.Collections;
using System.Collections.Generic;
using System.Globalization;
using System.Text;

namespace OpenAppleModels
{
    /// <summary>Writes JSON in one line that every reader takes: no character that ends a line somewhere, no half of a pair.</summary>
    internal sealed class JsonWriter
    {
        private readonly StringBuilder output = new StringBuilder();
        private int depth;

        public override string ToString() => output.ToString();

        public void Write(object value)
        {
            if (value == null)
            {
                output.Append("null");
            }
            else if (value is bool flag)
            {
                output.Append(flag ? "true" : "false");
            }
            else if (TextOf(value) is string text)
            {
                WriteString(text);
            }
            else if (value is IEnumerable<KeyValuePair<string, object>> members)
            {
                WriteObject(members);
            }
            else if (value is IDictionary entries)
            {
                WriteObject(WithTextKeys(entries));
            }
            else if (value is IEnumerable items && !IsOfTheEngine(value))
            {
                WriteArray(items);
            }
            else
            {
                output.Append(NumberOf(value));
            }
        }

        /// <summary>The text of what JSON writes as a string; null for anything else.</summary>
        private static string TextOf(object value)
        {
            if (value is string || value is Enum || value is char || value is Guid)
            {
                return value.ToString();
            }
            return value is DateTime || value is DateTimeOffset
                ? ((IFormattable)value).ToString("o", CultureInfo.InvariantCulture)
                : null;
        }

        private static string NumberOf(object value)
        {
            switch (Type.GetTypeCode(value.GetType()))
            {
                case TypeCode.SByte:
                case TypeCode.Byte:
                case TypeCode.Int16:
                case TypeCode.UInt16:
                case TypeCode.Int32:
                case TypeCode.UInt32:
                case TypeCode.Int64:
                case TypeCode.UInt64:
                case TypeCode.Decimal:
                    return ((IFormattable)value).ToString(null, CultureInfo.InvariantCulture);
                case TypeCode.Single:
                case TypeCode.Double:
                    double number = Convert.ToDouble(value, CultureInfo.InvariantCulture);
                    bool isFinite = !double.IsNaN(number) && !double.IsInfinity(number);
                    return isFinite ? ((IFormattable)value).ToString("R", CultureInfo.InvariantCulture) : "null";
                default:
                    throw new ArgumentException(
                        $"A value of type {value.GetType().FullName} cannot be written as JSON: make it text, a number, a dictionary or a list.");
            }
        }

        /// <summary>An engine's object may happen to be a sequence: a <c>Transform</c> is one of its children.</summary>
        private static bool IsOfTheEngine(object value)
        {
#if UNITY_5_3_OR_NEWER
            return value is UnityEngine.Object;
#else
            return false;
#endif
        }

        private void WriteObject(IEnumerable<KeyValuePair<string, object>> members)
        {
            Enter('{');
            bool isFirst = true;
            foreach (KeyValuePair<string, object> member in members)
            {
                WriteSeparator(ref isFirst);
                WriteString(member.Key);
                output.Append(':');
                Write(member.Value);
            }
            Leave('}');
        }

        private static IEnumerable<KeyValuePair<string, object>> WithTextKeys(IDictionary members)
        {
            foreach (DictionaryEntry member in members)
            {
                string key = Convert.ToString(member.Key, CultureInfo.InvariantCulture);
                yield return new KeyValuePair<string, object>(key, member.Value);
            }
        }

        private void WriteArray(IEnumerable items)
        {
            Enter('[');
            bool isFirst = true;
            foreach (object item in items)
            {
                WriteSeparator(ref isFirst);
                Write(item);
            }
            Leave(']');
        }

        private void WriteSeparator(ref bool isFirst)
        {
            if (!isFirst)
            {
                output.Append(',');
            }
            isFirst = false;
        }

        private void Enter(char bracket)
        {
            if (++depth > Json.MaxDepth)
            {
                throw new ArgumentException(
                    $"The value is nested deeper than {Json.MaxDepth} levels, or contains itself: it cannot be written as JSON.");
            }
            output.Append(bracket);
        }

        private void Leave(char bracket)
        {
            depth--;
            output.Append(bracket);
        }

        private void WriteString(string text)
        {
            output.Append('"');
            int written = 0;
            for (int i = 0; i < text.Length; i++)
            {
                if (char.IsHighSurrogate(text[i]) && i + 1 < text.Length && char.IsLowSurrogate(text[i + 1]))
                {
                    i++;
                }
                else if (EscapeOf(text[i]) is string escape)
                {
                    output.Append(text, written, i - written).Append(escape);
                    written = i + 1;
                }
            }
            output.Append(text, written, text.Length - written).Append('"');
        }

        /// <summary>What stands for a character, half of a pair included; null for one that stands for itself.</summary>
        private static string EscapeOf(char character)
        {
            switch (character)
            {
                case '"':
                    return "\\\"";
                case '\\':
                    return "\\\\";
                case '\n':
                    return "\\n";
                case '\r':
                    return "\\r";
                case '\t':
                    return "\\t";
                case '\u2028':
                case '\u2029':
                    return CodeUnit(character);
                default:
                    if (char.IsSurrogate(character))
                    {
                        return "\uFFFD";
                    }
                    return char.IsControl(character) ? CodeUnit(character) : null;
            }
        }

        private static string CodeUnit(char character) => "\\u" + ((int)character).ToString("x4", CultureInfo.InvariantCulture);
    }
}

using System;

namespace OpenAppleModels
{
    /// <summary>
    /// Reads and writes JSON. Objects are <c>Dictionary&lt;string, object&gt;</c>, arrays <c>List&lt;object&gt;</c>, numbers <c>long</c>
    /// where they are integral and fit and else <c>double</c>; the rest is <c>string</c>, <c>bool</c> and null.
    /// </summary>
    public static class Json
    {
        /// <summary>How deep objects and arrays may be nested.</summary>
        internal const int MaxDepth = 100;

        /// <summary>Reads one JSON value.</summary>
        /// <exception cref="FormatException">The text is not JSON, is followed by something else, or is nested deeper than 100 levels.
        /// The message says what is wrong and where.</exception>
        public static object Parse(string text)
        {
            if (text == null)
            {
                throw new ArgumentNullException(nameof(text));
            }
            return new JsonReader(text).ReadDocument();
        }

        /// <summary>
        /// Writes a value as one line of JSON. Beside what <see cref="Parse"/> returns it takes every number type, enums (by name),
        /// <c>char</c>, <c>Guid</c>, dates (ISO 8601), dictionaries and sequences. NaN and infinities become null; halves of
        /// surrogate pairs become U+FFFD.
        /// </summary>
        /// <exception cref="ArgumentException">The value, or one inside it, is of a type that has no JSON form, or it is nested deeper
        /// than 100 levels, as a value that contains itself is.</exception>
        public static string Serialize(object value)
        {
            var writer = new JsonWriter();
            writer.Write(value);
            return writer.ToString();
        }
    }
}

using System.Collections.Generic;
using System.Linq;

namespace OpenAppleModels
{
    /// <summary>The params of a request: members that are null are left out.</summary>
    internal sealed class Parameters : Dictionary<string, object>
    {
        public new void Add(string name, object value)
        {
            if (value != null)
            {
                base.Add(name, value);
            }
        }

        /// <summary>Adds a member that means something when it is null.</summary>
        public Parameters WithNullable(string name, object value)
        {
            base.Add(name, value);
            return this;
        }
    }

    /// <summary>Reads members of JSON objects that may be missing or of another type.</summary>
    internal static class Members
    {
        public static object Member(this Dictionary<string, object> members, string name)
        {
            object value = null;
            members?.TryGetValue(name, out value);
            return value;
        }

        public static string Text(this Dictionary<string, object> members, string name) =>
            members.Member(name) as string;

        public static Dictionary<string, object> Object(this Dictionary<string, object> members, string name) =>
            members.Member(name) as Dictionary<string, object>;

        public static bool Flag(this Dictionary<string, object> members, string name) =>
            members.Member(name) is bool flag && flag;

        public static long Integer(this Dictionary<string, object> members, string name) =>
            members.Member(name) is long number ? number : 0;

        public static List<string> Texts(this Dictionary<string, object> members, string name) =>
            (members.Member(name) as List<object>)?.OfType<string>().ToList() ?? new List<string>();
    }
}

using System;
using System.Collections.Generic;

namespace OpenAppleModels
{
    /// <summary>An error that the bridge answered a request with.</summary>
    public class OamException : Exception
    {
        internal const int InternalErrorCode = -32603;
        internal const int InvalidParamsCode = -32602;
        internal const int ShutDownCode = -32023;

        /// <summary>Makes an error of the protocol.</summary>
        /// <param name="code">The number of the error, for instance -32009.</param>
        /// <param name="message">What went wrong, for people.</param>
        /// <param name="data">What else is known; a dictionary whose member <c>code</c> is the error's name.</param>
        public OamException(int code, string message, object data = null)
            : base(message)
        {
            Code = code;
            ErrorData = data;
        }

        /// <summary>The number of the error. <see cref="Name"/> says the same in a word.</summary>
        public int Code { get; }

        /// <summary>What else the error tells: a dictionary, or null.</summary>
        public object ErrorData { get; }

        /// <summary>The stable name of the error, for instance <c>cancelled</c> or <c>npc_not_found</c>; null if it has none.</summary>
        public string Name => (ErrorData as Dictionary<string, object>).Text("code");

        internal static OamException FromJson(object error)
        {
            var members = error as Dictionary<string, object>;
            int code = members.Member("code") is long number && number >= int.MinValue && number <= int.MaxValue
                ? (int)number
                : InternalErrorCode;
            return new OamException(code, members.Text("message") ?? "Unknown error", members.Member("data"));
        }

        internal static OamException Named(int code, string name, string message) =>
            new OamException(code, message, new Dictionary<string, object> { { "code", name } });

        internal static OamException ShutDown() =>
            Named(ShutDownCode, "shut_down", "The bridge was disposed before the request was answered.");

        /// <summary>The error of a request that could not be sent, in the words of the protocol.</summary>
        internal static OamException NotSent(Exception problem)
        {
            if (problem is OamException known)
            {
                return known;
            }
            if (problem is ObjectDisposedException)
            {
                return Named(ShutDownCode, "shut_down", "The bridge is disposed: the request was not sent.");
            }
            return problem is ArgumentException
                ? Named(InvalidParamsCode, "invalid_params", problem.Message)
                : Named(InternalErrorCode, "internal_error", "The request was not sent: " + problem.Message);
        }
    }
}

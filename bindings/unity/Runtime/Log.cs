using System;

namespace OpenAppleModels
{
    /// <summary>Where problems go that no caller can be told of: Unity's console, or standard error.</summary>
    internal static class Log
    {
        public static void Exception(string where, Exception exception)
        {
#if UNITY_5_3_OR_NEWER
            Error(where);
            UnityEngine.Debug.LogException(exception);
#else
            Error(where + ": " + exception);
#endif
        }

        public static void Error(string message)
        {
#if UNITY_5_3_OR_NEWER
            UnityEngine.Debug.LogError("[open-apple-models] " + message);
#else
            Console.Error.WriteLine("[open-apple-models] " + message);
#endif
        }

        public static void Warning(string message)
        {
#if UNITY_5_3_OR_NEWER
            UnityEngine.Debug.LogWarning("[open-apple-models] " + message);
#else
            Console.Error.WriteLine("[open-apple-models] " + message);
#endif
        }
    }
}

#if !UNITY_5_3_OR_NEWER
using System;

namespace OpenAppleModels
{
    /// <summary>Marks a method that native code calls. Unity has its own; ahead-of-time compilers look for the name.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    internal sealed class MonoPInvokeCallbackAttribute : Attribute
    {
        public MonoPInvokeCallbackAttribute(Type delegateType)
        {
            DelegateType = delegateType;
        }

        public Type DelegateType { get; }
    }
}
#endif

using System;
using System.Runtime.InteropServices;
using System.Text;

namespace OpenAppleModels
{
    /// <summary>The functions of the C library, <c>open_apple_models.h</c>, and how text crosses to them.</summary>
    internal static class NativeMethods
    {
#if (UNITY_IOS || UNITY_TVOS || UNITY_VISIONOS) && !UNITY_EDITOR
        private const string Library = "__Internal";
#else
        private const string Library = "OpenAppleModelsFFI";
#endif

        public const int Ok = 0;
        public const int GivenUp = -3;

        [UnmanagedFunctionPointer(CallingConvention.Cdecl)]
        public delegate void MessageCallback(IntPtr line, IntPtr userData);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr oam_bridge_create(MessageCallback callback, IntPtr userData);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr oam_bridge_create_with_options(MessageCallback callback, IntPtr userData, byte[] options);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern int oam_bridge_send(IntPtr bridge, byte[] line);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void oam_bridge_destroy(IntPtr bridge);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr oam_version();

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern IntPtr oam_call_blocking(IntPtr bridge, byte[] request, int timeoutMs);

        [DllImport(Library, CallingConvention = CallingConvention.Cdecl)]
        public static extern void oam_string_free(IntPtr text);

        /// <summary>Runs the first call into the library; says what to do if it is missing or was built for another machine.</summary>
        public static T Load<T>(Func<T> call)
        {
            try
            {
                return call();
            }
            catch (DllNotFoundException problem)
            {
                throw new DllNotFoundException(
                    $"The native library {FileName} could not be loaded. Put it into Assets/Plugins as the package's Plugins/README.md says, "
                    + "without Unity beside the program or where the system looks for libraries, built for this system and processor.", problem);
            }
            catch (BadImageFormatException problem)
            {
                throw new BadImageFormatException(
                    $"The native library {FileName} was built for another processor ({(IntPtr.Size == 8 ? 64 : 32)} bit is needed).", problem);
            }
            catch (EntryPointNotFoundException problem)
            {
                throw new EntryPointNotFoundException(
                    $"The native library {FileName} is older than this package: it lacks a function. Use the library of the same release.", problem);
            }
        }

        /// <summary>The text as the zero-terminated UTF-8 that the library takes.</summary>
        public static byte[] ToUtf8(string text)
        {
            var bytes = new byte[Encoding.UTF8.GetByteCount(text) + 1];
            Encoding.UTF8.GetBytes(text, 0, text.Length, bytes, 0);
            return bytes;
        }

        /// <summary>Copies zero-terminated UTF-8; null for a null pointer.</summary>
        public static string FromUtf8(IntPtr text)
        {
            if (text == IntPtr.Zero)
            {
                return null;
            }
            int length = 0;
            while (Marshal.ReadByte(text, length) != 0)
            {
                length++;
            }
            var bytes = new byte[length];
            Marshal.Copy(text, bytes, 0, length);
            return Encoding.UTF8.GetString(bytes);
        }

        private static string FileName
        {
            get
            {
                switch (Environment.OSVersion.Platform)
                {
                    case PlatformID.Win32NT:
                        return "OpenAppleModelsFFI.dll";
                    case PlatformID.MacOSX:
                        return "libOpenAppleModelsFFI.dylib";
                    default:
                        return "libOpenAppleModelsFFI (.so, on a Mac .dylib)";
                }
            }
        }
    }
}

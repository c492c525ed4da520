using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.IO;
using System.Linq;
using System.Reflection;
using System.Threading;

namespace OpenAppleModels.Tests
{
    /// <summary>Marks a method that is a test: public, static, without parameters.</summary>
    [AttributeUsage(AttributeTargets.Method)]
    public sealed class TestAttribute : Attribute
    {
    }

    /// <summary>Runs all tests of this program, or those with one of the given words in their name.</summary>
    public static class Runner
    {
        private static readonly TimeSpan TimeLimit = TimeSpan.FromSeconds(60);

        private static StringWriter log;

        /// <summary>What the running test has written to standard error.</summary>
        public static string Log => log.ToString();

        public static int Main(string[] words)
        {
            List<MethodInfo> tests = Assembly.GetExecutingAssembly().GetTypes()
                .SelectMany(type => type.GetMethods(BindingFlags.Public | BindingFlags.Static))
                .Where(method => method.GetCustomAttribute<TestAttribute>() != null)
                .Where(method => words.Length == 0 || words.Any(word => Name(method).Contains(word)))
                .ToList();
            int failed = tests.Count(test => !Passes(test));
            Console.WriteLine($"{tests.Count - failed} passed, {failed} failed");
            return failed == 0 && (tests.Count > 0 || words.Length > 0) ? 0 : 1;
        }

        private static string Name(MethodInfo test) => test.DeclaringType.Name + "." + test.Name;

        private static bool Passes(MethodInfo test)
        {
            TextWriter standardError = Console.Error;
            log = new StringWriter();
            Console.SetError(TextWriter.Synchronized(log));
            Stopwatch watch = Stopwatch.StartNew();
            Exception problem = Run(test);
            Console.SetError(standardError);
            if (problem == null)
            {
                Console.WriteLine($"ok {watch.ElapsedMilliseconds,6} ms  {Name(test)}");
                return true;
            }
            Console.WriteLine($"FAILED        {Name(test)}\n{problem}\n{log}");
            return false;
        }

        private static Exception Run(MethodInfo test)
        {
            Exception problem = null;
            var thread = new Thread(() =>
            {
                try
                {
                    test.Invoke(null, null);
                }
                catch (TargetInvocationException caught)
                {
                    problem = caught.InnerException;
                }
            });
            thread.IsBackground = true;
            thread.Start();
            if (!thread.Join(TimeLimit))
            {
                Console.WriteLine($"FAILED  {Name(test)} hangs");
                Environment.FailFast("A test hangs: " + Name(test));
            }
            return problem;
        }
    }
}

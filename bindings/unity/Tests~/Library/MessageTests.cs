using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    /// <summary>Messages at the limits of what can be sent: whatever it is, the request ends.</summary>
    public static class MessageTests
    {
        private const int MiB = 1024 * 1024;

        [Test]
        public static void TenThousandRequestsAtOnceAreAllAnswered()
        {
            using (var bridge = new OamBridge())
            {
                OamWorld world = bridge.Await(bridge.CreateWorldAsync());
                Task<long>[] versions = Enumerable.Range(0, 10000).Select(i => world.SetAsync("counter", i)).ToArray();
                bridge.Await(Task.WhenAll(versions));
                Check.Equal(Enumerable.Range(1, 10000), versions.Select(version => version.Result));
            }
        }

        [Test]
        public static void TextOfManyMegabytesCrossesAsItIs()
        {
            using (var bridge = new OamBridge())
            {
                string text = string.Concat(Enumerable.Repeat("Grüße 🗡\n", MiB / 4));
                OamWorld world = bridge.Await(bridge.CreateWorldAsync(new Dictionary<string, object> { { "text", text } }));
                Check.That(text == (string)bridge.Await(world.GetAsync("text")), "the text is the same");
            }
        }

        [Test]
        public static void WhatIsTooLongForAMessageFailsItsRequest()
        {
            using (var bridge = new OamBridge())
            {
                var parameters = new Dictionary<string, object> { { "x", new string('x', 64 * MiB) } };
                ArgumentException problem = Check.Throws<ArgumentException>(() => bridge.Await(bridge.RequestAsync("ping", parameters)));
                Check.Contains("67108864 bytes", problem.Message);
                Check.Throws<ArgumentException>(() => bridge.CallBlocking("ping", parameters));
                Check.Throws<ArgumentException>(() => bridge.Notify("ping", parameters));
                bridge.Await(bridge.RequestAsync("ping"));
            }
        }

        [Test]
        public static void AnOutputThatIsTooLongForAMessageIsAnErrorForTheModel()
        {
            using (var bridge = new OamBridge())
            {
                bridge.RegisterTool("read", "Reads.", null, call => new string('x', 64 * MiB));
                Check.Contains("67108864 bytes", (string)bridge.Await(bridge.Caller("read").RespondAsync("Read!"))["text"]);
            }
        }

        [Test]
        public static void AsDeepAsAMessageMayBeIsAnsweredAndWhatIsDeeperFails()
        {
            using (var bridge = new OamBridge())
            {
                bridge.Await(bridge.RequestAsync("ping", new Dictionary<string, object> { { "deep", Nested(98) } }));
                Check.Throws<ArgumentException>(
                    () => bridge.Await(bridge.RequestAsync("ping", new Dictionary<string, object> { { "deep", Nested(99) } })));
            }
        }

        [Test]
        public static void ARequestThatIsNoneFailsByName()
        {
            using (var bridge = new OamBridge())
            {
                Check.Equal("invalid_message", bridge.Failure(bridge.RequestAsync(null)).Name);
                Check.Equal("invalid_message", bridge.Failure(bridge.RequestAsync("")).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.RequestAsync("ping", new[] { 1 })).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.Npc(null).TalkAsync(null)).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.CreateNpcAsync(null)).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.World(null).SetAsync(null, null)).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.DecideAsync(null, null)).Name);
                Check.Equal("invalid_params", bridge.Failure(bridge.GenerateAsync(null, null)).Name);
            }
        }

        private static object Nested(int levels)
        {
            object value = 1;
            for (int level = 0; level < levels; level++)
            {
                value = new List<object> { value };
            }
            return value;
        }
    }
}

using System;
using System.Collections;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using System.Threading.Tasks;

namespace OpenAppleModels.Tests
{
    using Members = Dictionary<string, object>;

    /// <summary>One scene on a bridge of its own, by the public interface.</summary>
    internal sealed class Scene
    {
        private readonly OamBridge bridge;
        private readonly Members scene;
        private readonly SceneTools tools;
        private readonly Dictionary<string, SceneStream> started = new Dictionary<string, SceneStream>();
        private readonly Dictionary<string, object> saved = new Dictionary<string, object>();
        private readonly Dictionary<string, ConcurrentQueue<object>> changes = new Dictionary<string, ConcurrentQueue<object>>();
        private readonly Dictionary<string, string> subscriptions = new Dictionary<string, string>();

        public Scene(OamBridge bridge, Members scene)
        {
            this.bridge = bridge;
            this.scene = scene;
            tools = new SceneTools(bridge, List(scene, "tools"));
        }

        public void Play()
        {
            int number = 0;
            foreach (Members step in List(scene, "steps").Cast<Members>())
            {
                number++;
                try
                {
                    Play(step);
                }
                catch (Exception problem)
                {
                    throw new CheckFailed($"step {number}, {step["do"]}: {problem.Message}\n{problem.StackTrace}");
                }
            }
        }

        private void Play(Members step)
        {
            switch ((string)step["do"])
            {
                case "finish":
                    Finish(step, started[(string)step["what"]]);
                    return;
                case "handled":
                    CheckHandled(step);
                    return;
                case "cancelled":
                    bridge.Until(() => tools.Cancellations((string)step["tool"]) >= (long)step["count"]);
                    Check.Equal(step["count"], tools.Cancellations((string)step["tool"]), "cancellations");
                    return;
                case "changes":
                    Check.Matches(step["changes"], changes[(string)step["as"]].ToList(), "changes");
                    return;
            }
            var stream = new SceneStream(Flag(step, "stream"));
            stream.Task = Begin(step, (Members)Resolve(Value(step, "arguments") ?? new Members()), stream);
            if (step.TryGetValue("start", out object name))
            {
                started.Add((string)name, stream);
            }
            else
            {
                Finish(step, stream);
            }
        }

        private void Finish(Members step, SceneStream stream)
        {
            if (step.TryGetValue("error", out object error))
            {
                OamException failure = bridge.Failure(stream.Task);
                var actual = new Members { { "code", (long)failure.Code }, { "name", failure.Name }, { "message", failure.Message } };
                Check.Matches(error, actual, "error");
                return;
            }
            object result = bridge.Await(stream.Task);
            if (step.TryGetValue("result", out object expected))
            {
                Check.Matches(expected, Plain(result), "result");
            }
            if (step.TryGetValue("save", out object name))
            {
                saved[(string)name] = result;
            }
            stream.Check(step);
        }

        private void CheckHandled(Members step)
        {
            List<object> calls = List(step, "calls");
            if (Flag(step, "wait"))
            {
                bridge.Until(() => tools.Handled.Count >= calls.Count);
            }
            Check.Matches(calls, tools.Handled.ToList(), "calls");
        }

        private Task<object> Begin(Members step, Members arguments, SceneStream stream)
        {
            string kind = (string)step["do"];
            if (step.TryGetValue("session", out object session))
            {
                return OfSession(kind, bridge.Session((string)session), arguments, stream);
            }
            if (step.TryGetValue("npc", out object npc))
            {
                return OfNpc(kind, bridge.Npc((string)npc), arguments, stream);
            }
            return step.TryGetValue("world", out object world)
                ? OfWorld(kind, bridge.World((string)world), arguments, step)
                : OfBridge(kind, step, arguments);
        }

        private Task<object> OfBridge(string kind, Members step, Members arguments)
        {
            switch (kind)
            {
                case "request":
                    return bridge.RequestAsync((string)step["method"], Value(step, "params"));
                case "callBlocking":
                    int timeoutMs = (int)(Convert.ToDouble(step["timeoutSeconds"]) * 1000);
                    return Task.Run(() => bridge.CallBlocking((string)step["method"], Value(step, "params"), timeoutMs));
                case "createSession":
                    return CreateSession(arguments);
                case "createNpc":
                    return Then(bridge.CreateNpcAsync(
                        arguments["persona"], Texts(arguments, "tools"), Text(arguments, "world"), Value(arguments, "options"),
                        Value(arguments, "memory"), Value(arguments, "model"), Text(arguments, "npc")), Properties);
                case "restoreNpc":
                    return Then(bridge.RestoreNpcAsync(
                        arguments["state"], Text(arguments, "npc"), Value(arguments, "model"), Texts(arguments, "tools"),
                        Value(arguments, "options"), Text(arguments, "world")), Properties);
                case "createWorld":
                    return Then(bridge.CreateWorldAsync(Value(arguments, "state"), Text(arguments, "world")),
                        world => new Members { { "world", world.Id } });
                case "decide":
                    return Then(bridge.DecideAsync(
                        arguments["situation"], List(arguments, "options"), Value(arguments, "actor"), Value(arguments, "context"),
                        Texts(arguments, "tools"), Choice(arguments), Text(arguments, "fallbackOptionID"), Value(arguments, "model")), Same);
                case "decideMany":
                    return Then(bridge.DecideManyAsync(
                        List(arguments, "requests"), (int?)(long?)Value(arguments, "maxConcurrency"), Value(arguments, "model")), Same);
                case "generate":
                    return Then(bridge.GenerateAsync(
                        Text(arguments, "prompt"), arguments["schema"], Text(arguments, "instructions"), Value(arguments, "context"),
                        Texts(arguments, "tools"), Value(arguments, "model")), Same);
                default:
                    throw Unknown(kind);
            }
        }

        private Task<object> CreateSession(Members arguments)
        {
            List<string> names = Texts(arguments, "tools");
            if (names != null && names.Any(name => !tools.IsRegistered(name)))
            {
                arguments["tools"] = names.Select(tools.Definition).ToList();
                return bridge.RequestAsync("session/create", arguments);
            }
            return Then(bridge.CreateSessionAsync(
                Text(arguments, "instructions"), names, Value(arguments, "options"), Value(arguments, "model"), Value(arguments, "history"),
                Text(arguments, "session")), session => new Members { { "session", session.Id }, { "warnings", session.Warnings } });
        }

        private Task<object> OfSession(string kind, OamSession session, Members arguments, SceneStream stream)
        {
            switch (kind)
            {
                case "respond":
                    return Then(session.RespondAsync(
                        Text(arguments, "prompt"), stream.OnText, stream.OnEvent, Value(arguments, "schema"), Choice(arguments)), Same);
                case "transcript":
                    return Then(session.TranscriptAsync(), Same);
                case "resetSession":
                    return Then(session.ResetAsync());
                case "deleteSession":
                    return Then(session.DeleteAsync());
                case "setInstructions":
                    return Then(session.SetInstructionsAsync(Text(arguments, "instructions")));
                case "setContextNote":
                    return Then(session.SetContextNoteAsync(Text(arguments, "note")));
                case "setTools":
                    return Then(session.SetToolsAsync(Texts(arguments, "tools")), Same);
                case "cancelSession":
                    return Then(session.CancelAsync(), Same);
                case "compact":
                    return Then(session.CompactAsync((int)(long)arguments["keepRecentTurns"]), Same);
                default:
                    throw Unknown(kind);
            }
        }

        private Task<object> OfNpc(string kind, OamNpc npc, Members arguments, SceneStream stream)
        {
            switch (kind)
            {
                case "talk":
                    return Then(npc.TalkAsync(
                        Text(arguments, "line"), Value(arguments, "context"), stream.OnLine, stream.OnEmotion, stream.OnEvent, Choice(arguments)), Same);
                case "bark":
                    return Then(npc.BarkAsync(Text(arguments, "situation")), Same);
                case "npcState":
                    return Then(npc.StateAsync(), Same);
                case "updateNpc":
                    return Then(npc.UpdateAsync(
                        Value(arguments, "persona"), Value(arguments, "options"), Value(arguments, "memory"), Texts(arguments, "tools")), Same);
                case "resetNpc":
                    return Then(npc.ResetAsync(Flag(arguments, "clearMemory")));
                case "cancelNpc":
                    return Then(npc.CancelAsync(), Same);
                case "deleteNpc":
                    return Then(npc.DeleteAsync());
                default:
                    throw Unknown(kind);
            }
        }

        private Task<object> OfWorld(string kind, OamWorld world, Members arguments, Members step)
        {
            string path = Text(arguments, "path") ?? "";
            switch (kind)
            {
                case "get":
                    return world.GetAsync(path);
                case "set":
                    return Then(world.SetAsync(path, arguments["value"]), Same);
                case "merge":
                    return Then(world.MergeAsync(arguments["patch"], path), Same);
                case "remove":
                    return world.RemoveAsync(path);
                case "snapshot":
                    return Then(world.SnapshotAsync(), Same);
                case "subscribe":
                    var seen = new ConcurrentQueue<object>();
                    changes[(string)step["as"]] = seen;
                    return Then(world.SubscribeAsync(seen.Enqueue, path), id => subscriptions[(string)step["as"]] = id);
                case "unsubscribe":
                    return Then(world.UnsubscribeAsync(subscriptions[(string)step["as"]]));
                case "deleteWorld":
                    return Then(world.DeleteAsync());
                default:
                    throw Unknown(kind);
            }
        }

        private object Resolve(object value)
        {
            if (value is Members members)
            {
                return members.TryGetValue("$saved", out object name)
                    ? saved[(string)name]
                    : members.ToDictionary(member => member.Key, member => Resolve(member.Value));
            }
            return value is List<object> items ? items.Select(Resolve).ToList() : value;
        }

        private static async Task<object> Then<T>(Task<T> task, Func<T, object> read) => read(await task);

        private static async Task<object> Then(Task task)
        {
            await task;
            return null;
        }

        private static object Same<T>(T value) => value;

        private static object Properties(OamNpc npc) =>
            new Members { { "npc", npc.Id }, { "tools", npc.Tools }, { "warnings", npc.Warnings } };

        /// <summary>The value in the types that comparing knows.</summary>
        private static object Plain(object value) => Json.Parse(Json.Serialize(value));

        private static object Value(Members members, string name) => members.TryGetValue(name, out object value) ? value : null;

        private static bool Flag(Members members, string name) => true.Equals(Value(members, name));

        private static string Text(Members members, string name) => (string)Value(members, name);

        private static List<object> List(Members members, string name) => (List<object>)Value(members, name) ?? new List<object>();

        private static List<string> Texts(Members members, string name) =>
            ((List<object>)Value(members, name))?.Cast<string>().ToList();

        private static string Choice(Members arguments) =>
            Value(arguments, "toolChoice") is Members tool ? ToolChoice.Tool((string)tool["tool"]) : Text(arguments, "toolChoice");

        private static Exception Unknown(string kind) => new CheckFailed($"The tests do not know the step '{kind}'.");
    }
}

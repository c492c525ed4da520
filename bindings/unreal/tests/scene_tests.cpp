/// Plays the scenes of bindings/testdata through the public API.
#include <deque>
#include <map>
#include <memory>
#include <optional>

#include "testing.hpp"

using oam::Json;
using oam::Result;

namespace {

std::string lower(std::string text) {
    for (char& letter : text) letter = static_cast<char>(letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    return text;
}

/// Why `actual` is not what a scene expects; empty if it is.
std::string mismatch(const Json& expected, const Json& actual, const std::string& place) {
    const std::string differs = place + " is " + testing::show(actual) + ", not " + testing::show(expected);
    if (const Json* part = expected.find("$contains")) {
        return lower(actual.as_string()).find(lower(part->as_string())) != std::string::npos ? "" : differs;
    }
    if (const Json* keys = expected.find("$keys")) {
        Json names = Json::array();
        for (const auto& member : actual.members()) names.push(member.name);
        return names == *keys ? "" : differs;
    }
    if (expected.is_object()) {
        if (!actual.is_object()) return differs;
        for (const auto& member : expected.members()) {
            const Json* found = actual.find(member.name);
            const std::string member_place = place + "." + member.name;
            if (member.value.find("$absent")) {
                if (found) return member_place + " is there";
                continue;
            }
            const std::string problem = mismatch(member.value, found ? *found : Json(), member_place);
            if (!problem.empty()) return problem;
        }
        return "";
    }
    if (expected.is_array()) {
        if (!actual.is_array() || actual.items().size() != expected.items().size()) return differs;
        for (std::size_t index = 0; index < expected.items().size(); ++index) {
            const std::string problem = mismatch(expected[index], actual[index], place + "[" + std::to_string(index) + "]");
            if (!problem.empty()) return problem;
        }
        return "";
    }
    return expected == actual ? "" : differs;
}

/// What a step came to, once it has come to something.
struct Outcome {
    std::optional<Result<Json>> result;
    std::string shown;
    Json emotions = Json::array();
    std::vector<std::string> events;
};

using SharedOutcome = std::shared_ptr<Outcome>;

class Player {
public:
    explicit Player(const Json& scene) {
        for (const Json& tool : scene["tools"].items()) add_tool(tool);
    }

    ~Player() {
        // Handlers of the bridge refer to what is below it here.
        bridge_.close();
    }

    /// Why a step did not go as the scene says; empty if it did.
    std::string play(const Json& step) {
        const std::string& name = step["do"].as_string();
        if (name == "handled") return handled(step);
        if (name == "cancelled") {
            const auto enough = [&] { return cancelled_[step["tool"].as_string()] >= static_cast<int>(step["count"].as_number()); };
            return bridge_.pump_until(enough) ? "" : "the call was not cancelled";
        }
        if (name == "changes") return mismatch(step["changes"], changes_[step["as"].as_string()], "changes");
        const SharedOutcome outcome = name == "finish" ? started_[step["what"].as_string()] : begin(step, name);
        if (step.find("start")) {
            started_[step["start"].as_string()] = outcome;
            return "";
        }
        if (!bridge_.pump_until([&] { return outcome->result.has_value(); })) return "nothing came back";
        return compare(step, *outcome);
    }

private:
    void add_tool(const Json& described) {
        Json definition = described;
        const Json answer = definition.take("answer");
        if (const Json registered = definition.take("registered"); !registered.as_bool(true)) {
            unregistered_[described["name"].as_string()] = definition;
            return;
        }
        const oam::Tool tool{described["name"].as_string(), described["description"].as_string(), described["parameters"],
                             described["timeoutSeconds"].as_number(-1)};
        if (answer.find("never")) {
            bridge_.register_later_tool(tool, [this](const oam::ToolCall& call, const oam::ToolReply& reply) {
                note(call);
                reply.on_cancel([this, tool_name = call.name] { ++cancelled_[tool_name]; });
                open_.push_back(reply);
            });
            return;
        }
        bridge_.register_tool(tool, [this, answer](const oam::ToolCall& call) -> oam::ToolOutput {
            note(call);
            if (const Json* failure = answer.find("failure")) return oam::ToolOutput::failure(failure->as_string());
            return answer["output"];
        });
    }

    void note(const oam::ToolCall& call) {
        Json noted = Json::object({{"tool", call.name}, {"arguments", call.arguments}});
        if (!call.session.empty()) noted.set("session", call.session);
        if (!call.npc.empty()) noted.set("npc", call.npc);
        calls_.push(noted);
    }

    std::string handled(const Json& step) {
        if (step["wait"].as_bool()) bridge_.pump_until([&] { return calls_.items().size() >= step["calls"].items().size(); });
        return mismatch(step["calls"], calls_, "calls");
    }

    SharedOutcome begin(const Json& step, const std::string& name) {
        auto outcome = std::make_shared<Outcome>();
        const auto settle = [outcome](Result<Json> result) { outcome->result = std::move(result); };
        const auto settle_all = [outcome](auto typed) {
            outcome->result = std::move(typed).map([](auto&& value) { return std::move(value.all); });
        };
        Json arguments = resolve(step["arguments"]);
        if (arguments.is_null()) arguments = Json::object();
        const bool streams = step["stream"].as_bool();

        if (name == "request") {
            bridge_.request(step["method"].as_string(), resolve(step["params"]), settle);
        } else if (name == "callBlocking") {
            const std::chrono::milliseconds time(static_cast<int>(step["timeoutSeconds"].as_number() * 1000));
            settle(bridge_.call_blocking(step["method"].as_string(), resolve(step["params"]), time));
        } else if (name == "createSession") {
            bridge_.create_session(arguments, settle);
        } else if (name == "createNpc") {
            bridge_.create_npc(arguments, settle);
        } else if (name == "restoreNpc") {
            Json state = arguments.take("state");
            bridge_.restore_npc(std::move(state), arguments, settle);
        } else if (name == "createWorld") {
            bridge_.create_world(arguments, settle);
        } else if (name == "decide") {
            bridge_.decide(arguments, settle_all);
        } else if (name == "decideMany") {
            bridge_.decide_many(arguments, settle);
        } else if (name == "generate") {
            bridge_.generate(arguments, settle);
        } else if (step.find("session")) {
            do_with_session(name, bridge_.session(step["session"].as_string()), arguments, streams, outcome, settle, settle_all);
        } else if (step.find("npc")) {
            do_with_npc(name, bridge_.npc(step["npc"].as_string()), arguments, streams, outcome, settle, settle_all);
        } else {
            do_with_world(name, bridge_.world(step["world"].as_string()), arguments, step["as"].as_string(), settle);
        }
        return outcome;
    }

    template <class Settle, class SettleAll>
    void do_with_session(const std::string& name, const oam::Session& session, Json& arguments, bool streams, const SharedOutcome& outcome,
                         const Settle& settle, const SettleAll& settle_all) {
        if (name == "respond") {
            const std::string prompt = arguments.take("prompt").as_string();
            oam::RespondOptions options{arguments};
            if (streams) {
                options.on_text = [outcome](const std::string& text) { outcome->shown = text; };
                options.on_event = [outcome](const Json& event) { outcome->events.push_back(event["type"].as_string()); };
            }
            session.respond(prompt, settle_all, std::move(options));
        } else if (name == "transcript") {
            session.transcript(settle);
        } else if (name == "resetSession") {
            session.reset(settle);
        } else if (name == "deleteSession") {
            session.destroy(settle);
        } else if (name == "setInstructions") {
            session.set_instructions(arguments["instructions"], settle);
        } else if (name == "setContextNote") {
            session.set_context_note(arguments["note"], settle);
        } else if (name == "setTools") {
            session.set_tools(arguments["tools"], settle);
        } else if (name == "cancelSession") {
            session.cancel(settle);
        } else if (name == "compact") {
            session.compact(static_cast<int>(arguments["keepRecentTurns"].as_number(2)), settle);
        } else {
            settle(oam::Error::invalid_params("'" + name + "' is unknown"));
        }
    }

    template <class Settle, class SettleAll>
    void do_with_npc(const std::string& name, const oam::Npc& npc, const Json& arguments, bool streams, const SharedOutcome& outcome,
                     const Settle& settle, const SettleAll& settle_all) {
        if (name == "talk") {
            oam::TalkOptions options{arguments["context"], arguments["toolChoice"]};
            if (streams) {
                options.on_line = [outcome](const std::string& line) { outcome->shown = line; };
                options.on_emotion = [outcome](const std::string& emotion) { outcome->emotions.push(emotion); };
                options.on_event = [outcome](const Json& event) { outcome->events.push_back(event["type"].as_string()); };
            }
            npc.talk(arguments["line"].as_string(), settle_all, std::move(options));
        } else if (name == "bark") {
            npc.bark(arguments["situation"], settle);
        } else if (name == "npcState") {
            npc.state(settle);
        } else if (name == "updateNpc") {
            npc.update(arguments, settle);
        } else if (name == "resetNpc") {
            npc.reset(arguments["clearMemory"].as_bool(), settle);
        } else if (name == "deleteNpc") {
            npc.destroy(settle);
        } else if (name == "cancelNpc") {
            npc.cancel(settle);
        } else {
            settle(oam::Error::invalid_params("'" + name + "' is unknown"));
        }
    }

    template <class Settle>
    void do_with_world(const std::string& name, const oam::World& world, const Json& arguments, const std::string& as, const Settle& settle) {
        const std::string& path = arguments["path"].as_string();
        if (name == "get") {
            world.get(path, settle);
        } else if (name == "set") {
            world.set(path, arguments["value"], settle);
        } else if (name == "merge") {
            world.merge(arguments["patch"], path, settle);
        } else if (name == "remove") {
            world.remove(path, settle);
        } else if (name == "snapshot") {
            world.snapshot(settle);
        } else if (name == "subscribe") {
            changes_[as] = Json::array();
            subscriptions_.insert({as, world.subscribe(path, [this, as](const Json& change) { changes_[as].push(change); }, settle)});
        } else if (name == "unsubscribe") {
            subscriptions_.at(as).end();
            settle(Json());
        } else if (name == "deleteWorld") {
            world.destroy(settle);
        } else {
            settle(oam::Error::invalid_params("'" + name + "' is unknown"));
        }
    }

    std::string compare(const Json& step, const Outcome& outcome) {
        const Result<Json>& result = *outcome.result;
        if (const Json* expected = step.find("error")) {
            if (result) return "no error but " + testing::show(*result);
            const oam::Error& error = result.error();
            return mismatch(*expected, Json::object({{"code", error.code}, {"name", error.name}, {"message", error.message}}), "error");
        }
        if (!result) return result.error().message;
        if (const Json* expected = step.find("result")) {
            const std::string problem = mismatch(*expected, *result, "result");
            if (!problem.empty()) return problem;
        }
        if (const Json* shown = step.find("shown"); shown && shown->as_string() != outcome.shown) return "shown is " + outcome.shown;
        if (const Json* emotions = step.find("emotions"); emotions && *emotions != outcome.emotions) {
            return "emotions are " + testing::show(outcome.emotions);
        }
        auto next = outcome.events.begin();
        for (const Json& type : step["events"].items()) {
            while (next != outcome.events.end() && *next != type.as_string()) ++next;
            if (next == outcome.events.end()) return "no event " + type.as_string();
            ++next;
        }
        if (const Json* save = step.find("save")) saved_[save->as_string()] = *result;
        return "";
    }

    /// Arguments with what was saved, and definitions in the place of names of tools that have no handler.
    Json resolve(const Json& value) {
        if (const Json* name = value.find("$saved")) return saved_[name->as_string()];
        if (value.is_array()) {
            Json items = Json::array();
            for (const Json& item : value.items()) {
                const auto found = unregistered_.find(item.as_string());
                items.push(found == unregistered_.end() ? resolve(item) : found->second);
            }
            return items;
        }
        if (!value.is_object()) return value;
        Json members = Json::object();
        for (const auto& member : value.members()) members.set(member.name, resolve(member.value));
        return members;
    }

    oam::Bridge bridge_;
    Json calls_ = Json::array();
    std::map<std::string, int> cancelled_;
    std::deque<oam::ToolReply> open_;
    std::map<std::string, Json> unregistered_;
    std::map<std::string, Json> saved_;
    std::map<std::string, Json> changes_;
    std::map<std::string, oam::Subscription> subscriptions_;
    std::map<std::string, SharedOutcome> started_;
};

void play_scene(const Json& scene) {
    Player player(scene);
    int number = 0;
    for (const Json& step : scene["steps"].items()) {
        const std::string problem = player.play(step);
        const std::string place = "step " + std::to_string(++number) + " (" + step["do"].as_string() + "): ";
        testing::expect(problem.empty(), place + problem, __FILE__, __LINE__);
    }
}

}  // namespace

void add_scene_tests(const std::string& file) {
    const Json scenes = oam::read_json_file(file).value();
    for (const Json& scene : scenes["scenes"].items()) {
        testing::add("scene: " + scene["name"].as_string(), [scene] { play_scene(scene); });
    }
}

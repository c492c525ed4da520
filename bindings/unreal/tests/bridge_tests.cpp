/// The bridge: threads, its end at any moment, tools that answer late or never.
#include <atomic>
#include <stdexcept>
#include <thread>

#include "testing.hpp"

using oam::Json;
using oam::Result;
using testing::add;
using namespace std::chrono_literals;

namespace {

Json scripted(std::initializer_list<Json> steps) { return Json::object({{"type", "scripted"}, {"steps", Json(Json::Array(steps))}}); }

Json call(const char* tool) {
    return Json::object({{"toolCalls", Json::array({Json::object({{"name", tool}})})}});
}

const Json& slow_step() {
    static const Json step = Json::object({{"text", "Let me think."}, {"delayMs", 60000}});
    return step;
}

const Json& echo_step() {
    static const Json step = Json::object({{"template", "{toolOutput}"}});
    return step;
}

/// The name of the error that a result is.
template <class T>
std::string name_of(const std::optional<Result<T>>& result) {
    return !result ? "nothing came" : *result ? "a value" : result->error().name;
}

oam::Session guard_with(oam::Bridge& bridge, const char* tool, std::initializer_list<Json> steps) {
    return bridge.create_session(Json::object({{"session", "guard"}, {"tools", Json::array({tool})}, {"model", scripted(steps)}}));
}

/// The text that a turn comes to.
std::string respond(oam::Bridge& bridge, const oam::Session& session) {
    std::optional<Result<oam::Reply>> reply;
    session.respond("Go!", [&](Result<oam::Reply> came) { reply = std::move(came); });
    EXPECT(bridge.pump_until([&] { return reply.has_value(); }));
    return reply && *reply ? (*reply)->text : name_of(reply);
}

const oam::Tool ring{"ring", "Rings the bell.", nullptr};

}  // namespace

void add_bridge_tests() {
    add("the library has a version", [] { EXPECT(!oam::Bridge::version().empty()); });

    add("a closed bridge fails what waits, and all that comes", [] {
        oam::Bridge bridge;
        const oam::Session session = bridge.create_session(Json::object({{"model", scripted({slow_step()})}}));
        std::optional<Result<oam::Reply>> waiting;
        std::optional<Result<oam::Reply>> later;
        session.respond("Hello!", [&](Result<oam::Reply> reply) { waiting = std::move(reply); });
        bridge.close();
        EXPECT_EQ(name_of(waiting), std::string("shut_down"));
        session.respond("Hello?", [&](Result<oam::Reply> reply) { later = std::move(reply); });
        EXPECT_EQ(name_of(later), std::string("shut_down"));
        EXPECT_EQ(bridge.call_blocking("ping").error().name, std::string("shut_down"));
        EXPECT(!bridge.notify("ping").ok());
        EXPECT(!bridge.is_open());
        EXPECT(bridge.pump() == 0);
        bridge.close();
    });

    add("handles outlive their bridge", [] {
        oam::Npc npc;
        oam::World world;
        oam::Subscription subscription = world.subscribe("", {});
        {
            oam::Bridge bridge;
            npc = bridge.create_npc(Json::object({{"persona", Json::object({{"name", "Gorm"}})}, {"model", "scripted"}}));
            world = bridge.create_world();
            subscription = world.subscribe("", {});
        }
        std::optional<Result<oam::NpcReply>> reply;
        npc.talk("Hello?", [&](Result<oam::NpcReply> came) { reply = std::move(came); });
        EXPECT_EQ(name_of(reply), std::string("shut_down"));
        world.set("a", 1);
        subscription.end();
    });

    add("a bridge may be closed in a handler", [] {
        oam::Bridge bridge;
        bool done = false;
        bool afterwards = false;
        bridge.request("ping", {}, [&](const Result<Json>&) {
            bridge.close();
            done = true;
        });
        bridge.request("ping", {}, [&](const Result<Json>& result) { afterwards = done && result.ok(); });
        EXPECT(bridge.pump_until([&] { return done; }));
        EXPECT(!afterwards);
        EXPECT(bridge.pump() == 0);
    });

    add("a bridge may be destroyed in a handler", [] {
        auto bridge = std::make_unique<oam::Bridge>();
        bool done = false;
        bridge->request("ping", {}, [&](const Result<Json>&) {
            bridge.reset();
            done = true;
        });
        oam::Bridge& pumped = *bridge;
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (bridge && std::chrono::steady_clock::now() < end) pumped.pump();
        EXPECT(done);
    });

    add("closing ends a blocking call of another thread", [] {
        oam::Bridge bridge;
        bridge.create_session(Json::object({{"session", "s"}, {"model", scripted({slow_step()})}}));
        std::atomic<bool> started{false};
        std::string outcome;
        std::thread caller([&] {
            started = true;
            const auto result = bridge.call_blocking("session/respond", Json::object({{"session", "s"}, {"prompt", "?"}}), 30s);
            outcome = result ? "a value" : result.error().name;
        });
        while (!started) std::this_thread::yield();
        const auto begin = std::chrono::steady_clock::now();
        bridge.close();
        caller.join();
        EXPECT(outcome == "cancelled" || outcome == "shut_down");
        EXPECT(std::chrono::steady_clock::now() - begin < 20s);
    });

    add("threads may send while one pumps and another closes", [] {
        for (int round = 0; round < 20; ++round) {
            oam::Bridge bridge;
            std::atomic<int> answers{0};
            std::atomic<int> sent{0};
            std::vector<std::thread> threads;
            for (int thread = 0; thread < 4; ++thread) {
                threads.emplace_back([&] {
                    for (int count = 0; count < 50; ++count) {
                        ++sent;
                        bridge.request("ping", {}, [&](const Result<Json>&) { ++answers; });
                    }
                });
            }
            std::thread closer([&] {
                while (sent < 20) std::this_thread::yield();
                if (round % 2 == 0) bridge.close();
            });
            for (std::thread& thread : threads) thread.join();
            closer.join();
            bridge.pump_until([&] { return answers == 200; }, round % 2 == 0 ? 0ms : 30000ms);
            EXPECT_EQ(answers.load(), 200);
        }
    });

    add("bridges side by side do not know each other", [] {
        oam::Bridge one;
        oam::Bridge two;
        std::optional<Result<Json>> again;
        one.create_session(Json::object({{"session", "same"}, {"model", "scripted"}}));
        two.create_session(Json::object({{"session", "same"}, {"model", "scripted"}}), [&](Result<Json> result) { again = std::move(result); });
        EXPECT(two.pump_until([&] { return again.has_value(); }));
        EXPECT_EQ(name_of(again), std::string("a value"));
    });

    add("many bridges are created and destroyed", [] {
        for (int round = 0; round < 100; ++round) {
            oam::Bridge bridge;
            bridge.request("ping");
            if (round % 2 == 0) bridge.pump();
        }
    });

    add("params that are no JSON are refused before anything is sent", [] {
        oam::Bridge bridge;
        std::optional<Result<Json>> result;
        bridge.request("world/create", Json::object({{"state", Json::object({{"hp", std::nan("")}})}}), [&](Result<Json> came) { result = std::move(came); });
        EXPECT_EQ(name_of(result), std::string("invalid_params"));
        EXPECT_EQ(result->error().message, std::string("params.state.hp is no finite number, which JSON cannot carry."));
        EXPECT_EQ(bridge.call_blocking("world/list")->take("worlds"), Json::array());
    });

    add("params that oam could not read are refused, not waited for", [] {
        const auto nested = [](int levels) {
            Json value = Json::object();
            for (int level = 1; level < levels; ++level) value = Json(Json::Array{std::move(value)});
            return value;
        };
        oam::Bridge bridge;
        EXPECT(bridge.call_blocking("ping", Json::object({{"more", nested(98)}})).ok());
        for (const Json& params : {Json::object({{"more", nested(99)}}), Json::object({{"more", std::string(oam::max_message_bytes, 'x')}})}) {
            std::optional<Result<Json>> result;
            bridge.request("ping", params, [&](Result<Json> came) { result = std::move(came); });
            EXPECT_EQ(name_of(result), std::string("invalid_params"));
        }
    });

    add("a message that oam cannot read is a problem that is told", [] {
        oam::Bridge bridge;
        std::string problem;
        bridge.on_problem([&](const std::string& told) { problem = told; });
        EXPECT(bridge.notify("").ok());
        EXPECT(bridge.pump_until([&] { return !problem.empty(); }));
        EXPECT(problem.find("method") != std::string::npos);
    });

    add("a tool that is not registered is named, in any of several decisions too", [] {
        oam::Bridge bridge;
        std::optional<Result<Json>> result;
        bridge.create_session(Json::object({{"tools", Json::array({"wave"})}}), [&](Result<Json> came) { result = std::move(came); });
        EXPECT_EQ(result->error().message, std::string("No tool 'wave' is registered: call register_tool first."));
        result.reset();
        const Json request = Json::object({{"situation", "?"}, {"options", Json::array({"a"})}, {"tools", Json::array({"wave"})}});
        bridge.decide_many(Json::object({{"requests", Json::array({request})}}), [&](Result<Json> came) { result = std::move(came); });
        EXPECT_EQ(name_of(result), std::string("invalid_params"));
    });

    add("a mistake in the options is told by every request", [] {
        oam::Bridge bridge(Json::object({{"workers", "many"}}));
        const auto result = bridge.call_blocking("ping");
        EXPECT(!result.ok());
        EXPECT_EQ(result.error().name, std::string("invalid_params"));
        EXPECT(result.error().message.find("workers") != std::string::npos);
    });

    add("an object can be used before it is made, and what it lacks is told", [] {
        oam::Bridge bridge;
        std::optional<Result<oam::NpcReply>> reply;
        const oam::Npc npc = bridge.create_npc(Json::object({{"persona", Json::object({{"name", "Gorm"}})},
                                                             {"options", Json::object({{"replyFormat", "text"}})},
                                                             {"model", scripted({Json::object({{"text", "[happy] Aye."}})})}}));
        EXPECT(!npc.id().empty());
        npc.talk("Hello!", [&](Result<oam::NpcReply> came) { reply = std::move(came); });
        EXPECT(bridge.pump_until([&] { return reply.has_value(); }));
        EXPECT_EQ((*reply)->line, std::string("Aye."));
        EXPECT_EQ((*reply)->emotion, std::string("happy"));
    });

    add("a tool may answer later, from any thread, and only once", [] {
        oam::Bridge bridge;
        std::thread worker;
        bridge.register_later_tool(ring, [&](const oam::ToolCall&, oam::ToolReply reply) {
            worker = std::thread([reply] {
                reply.ok("dong");
                reply.error("Too late.");
            });
        });
        EXPECT_EQ(respond(bridge, guard_with(bridge, "ring", {call("ring"), echo_step()})), std::string("dong"));
        worker.join();
    });

    add("a tool that forgets its answer does not leave the model waiting", [] {
        oam::Bridge bridge;
        bridge.register_later_tool(ring, [](const oam::ToolCall&, const oam::ToolReply&) {});
        EXPECT_EQ(respond(bridge, guard_with(bridge, "ring", {call("ring"), echo_step()})), std::string("Error: The tool gave no answer."));
    });

    add("an output that is no JSON is told to the model", [] {
        oam::Bridge bridge;
        bridge.register_tool(ring, [](const oam::ToolCall&) { return Json::object({{"volume", std::nan("")}}); });
        const std::string text = respond(bridge, guard_with(bridge, "ring", {call("ring"), echo_step()}));
        EXPECT(text.find("no JSON: result.output.volume is no finite number") != std::string::npos);
    });

    add("an output that oam could not read is told to the model", [] {
        Json deep;
        for (int level = 0; level < 99; ++level) deep = Json(Json::Array{std::move(deep)});
        oam::Bridge bridge;
        for (const Json& output : {deep, Json::object({{"\xff", std::nan("")}}), Json("\xff")}) {
            bridge.register_tool(ring, [&](const oam::ToolCall&) { return output; });
            const oam::Session guard = guard_with(bridge, "ring", {call("ring"), echo_step()});
            EXPECT(respond(bridge, guard).find("no JSON") != std::string::npos);
            guard.destroy();
        }
    });

#if defined(__cpp_exceptions)
    add("what a tool throws is told to the model", [] {
        oam::Bridge bridge;
        bridge.register_tool(ring, [](const oam::ToolCall&) -> oam::ToolOutput { throw std::runtime_error("The rope is torn."); });
        EXPECT_EQ(respond(bridge, guard_with(bridge, "ring", {call("ring"), echo_step()})), std::string("Error: The rope is torn."));
    });

    add("what a handler throws is a problem, and not the end", [] {
        oam::Bridge bridge;
        std::string problem;
        bridge.on_problem([&](const std::string& told) { problem = told; });
        bridge.request("ping", {}, [](const Result<Json>&) { throw std::runtime_error("oops"); });
        EXPECT(bridge.pump_until([&] { return !problem.empty(); }));
        EXPECT_EQ(problem, std::string("A handler failed: oops"));
        EXPECT(bridge.call_blocking("ping").ok());
    });
#endif

    add("a tool at work is cancelled when the bridge closes", [] {
        oam::Bridge bridge;
        std::optional<oam::ToolReply> open;
        bool cancelled = false;
        bridge.register_later_tool(ring, [&](const oam::ToolCall&, oam::ToolReply reply) {
            reply.on_cancel([&] { cancelled = true; });
            open = std::move(reply);
        });
        guard_with(bridge, "ring", {call("ring")}).respond("Ring!", {});
        EXPECT(bridge.pump_until([&] { return open.has_value(); }));
        EXPECT(!open->is_cancelled());
        bridge.close();
        EXPECT(cancelled && open->is_cancelled());
        open->ok("late");
    });

    add("a handler may pump, which does nothing", [] {
        oam::Bridge bridge;
        std::optional<std::size_t> inner;
        bridge.request("ping", {}, [&](const Result<Json>&) { inner = bridge.pump(); });
        EXPECT(bridge.pump_until([&] { return inner.has_value(); }));
        EXPECT(*inner == 0);
    });

    add("a subscription that is ended before it began brings nothing", [] {
        oam::Bridge bridge;
        const oam::World world = bridge.create_world();
        int changes = 0;
        const oam::Subscription subscription = world.subscribe("", [&](const Json&) { ++changes; });
        subscription.end();
        bool done = false;
        world.set("gold", 1);
        world.set("gold", 2, [&](const Result<Json>&) { done = true; });
        EXPECT(bridge.pump_until([&] { return done; }));
        subscription.end();
        Result<Json> worlds = bridge.call_blocking("world/list");
        EXPECT_EQ((*worlds)["worlds"][std::size_t{0}]["subscriptions"], Json::array());
        EXPECT(changes == 0);
    });
}

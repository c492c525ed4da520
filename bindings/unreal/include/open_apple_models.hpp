/// Agents and game characters on on-device language models: a C++17 client of libOpenAppleModelsFFI.
///
/// Headers only; needs the standard library and open_apple_models.h, neither exceptions nor RTTI.
///
///     oam::Bridge bridge;
///     oam::Npc gorm = bridge.create_npc(oam::Json::object({{"persona", oam::Json::object({{"name", "Gorm"}})}}));
///     gorm.talk("Got any swords?", [](oam::Result<oam::NpcReply> reply) { if (reply) show(reply->line); });
///     while (running) bridge.pump();
#pragma once

#include "open_apple_models/bridge.hpp"
#include "open_apple_models/json.hpp"
#include "open_apple_models/json_text.hpp"
#include "open_apple_models/npc.hpp"
#include "open_apple_models/result.hpp"
#include "open_apple_models/session.hpp"
#include "open_apple_models/tools.hpp"
#include "open_apple_models/world.hpp"

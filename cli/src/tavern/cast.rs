//! Who plays, and what is written for all performances: Mira, what a guest may say to her, and what she has to decide
//! at closing time.

use oam_game::{
    DecisionOption, DecisionOptions, DecisionRequest, Emotion, MemoryTools, NpcOptions, NpcSetup, OptionId,
    Persona, Relationship,
};
use serde_json::json;

use super::house::{CONTEXT, House};

/// What guests say who do not know what to say.
pub(crate) const CANNED_LINES: [&str; 3] = [
    "Good evening! What have you got that is warm?",
    "The rabbit stew, please.",
    "That is the best stew in the valley! Any news from the road?",
];

/// What a guest might begin with. Later suggestions come from Mira's replies.
pub(super) const OPENERS: [&str; 3] =
    [CANNED_LINES[0], "Have you a room for the night?", "Who is the lady of the house?"];

/// What makes Mira say something by herself.
pub(super) const ARRIVAL: &str = "The door opens, and a traveler comes in, dripping with rain.";

/// How sure and how daring a decision is to be.
pub(super) const DECISION_TEMPERATURE: f64 = 0.3;

/// The innkeeper, in her house.
pub(super) fn mira(house: &House) -> NpcSetup {
    let persona = Persona {
        role: "the innkeeper of the Sleeping Stag".to_owned(),
        personality: "Warm, quick-witted and good with money. Hungry for news.".to_owned(),
        speaking_style: "Brisk and friendly. Calls people 'love'.".to_owned(),
        backstory: "Took the inn over from her father ten winters ago.".to_owned(),
        goals: texts(["Keep the tavern running", "Hear news from the road"]),
        secrets: texts(["There is smuggled elven wine in the cellar"]),
        knowledge: texts(["The old mill road is flooded", "The bard Tobin plays on Fridays"]),
        default_emotion: Emotion::Happy,
        max_sentences: 2,
        ..Persona::new("Mira")
    };
    let options = NpcOptions {
        max_tool_rounds: 2,
        // What is in the world she learns from her tools; only this much is told to her in each turn.
        world_readable: Vec::new(),
        world_context_paths: texts(CONTEXT),
        memory_tools: MemoryTools { change_relationship: true, ..MemoryTools::NONE },
        max_relationship_change: 15,
        player_option_count: 3,
        ..NpcOptions::default()
    };
    NpcSetup { tools: house.tools(), world: Some(house.world()), options, ..NpcSetup::new(persona) }
}

/// What to do about a traveler without a bed.
pub(super) fn closing_time(
    house: &House,
    mira: Persona,
    feelings: Relationship,
    rooms_free: i64,
) -> DecisionRequest {
    let option = |id: &str, description: &str| DecisionOption {
        id: OptionId::new(id).expect("the id is not blank"),
        description: description.to_owned(),
    };
    let options = DecisionOptions::new(vec![
        option("free_room", "Let the traveler have a room for nothing"),
        option("room_on_credit", "Let the traveler have a room, to be paid next time"),
        option("full_price", "Ask 12 gold for a room, as of anybody"),
        option("turn_away", "Send the traveler out into the rain"),
    ]);
    let options = options.ok().and_then(|options| options.with_fallback("full_price"));
    DecisionRequest {
        situation: "It is closing time, late and raining, and the traveler has no bed for the night."
            .to_owned(),
        options: options.expect("the options differ, and one of them is the fallback"),
        actor: Some(mira),
        context: Some(json!({
            "traveler_gold": house.gold(),
            "your_feelings_toward_traveler": format!("{} ({})", feelings.attitude(), feelings.get()),
            "rooms_free": rooms_free,
        })),
        tools: Vec::new(),
        tool_choice: oam_agent::ToolChoice::None,
    }
}

fn texts<const N: usize>(texts: [&str; N]) -> Vec<String> {
    texts.map(str::to_owned).into()
}

//! The scripted models of the demo and the guide, asked as those ask them.

use oam_godot::client::ToolAnswer;
use serde_json::{Value, json};

use crate::game::{Game, Handler};

#[test]
fn an_evening_in_the_tavern_goes_by_its_scripts() {
    let mut game = Game::new();
    let stock = json!({"item": "sword", "count": 3, "price": 45});
    game.tools.define("check_inventory", "Says how many of an item are in stock.", item(), None);
    game.tools.handle("check_inventory", Handler::Answers(ToolAnswer::Output(stock)));
    game.ask("world/create", json!({"world": "village", "state": {"player": {"gold": 60}}})).unwrap();
    let created = game
        .ask(
            "npc/create",
            json!({
                "npc": "gorm", "persona": {"name": "Gorm"}, "world": "village",
                "tools": game.tools.definitions(),
                "options": {"groundingTool": "check_inventory", "worldContextPaths": ["player"], "worldReadable": []},
                "model": script(include_str!("../../demo/models/gorm.json")),
            }),
        )
        .unwrap();
    assert_eq!(created["warnings"], json!([]));

    let offer = say(&mut game, "Do you have a sword for sale?");
    assert_eq!((&offer["emotion"], offer["toolCalls"][0]["isError"] == false), (&json!("proud"), true));
    assert_eq!(offer["playerOptions"][0], "I take one.");
    let sold = say(&mut game, "I take one.");
    assert_eq!(sold["toolCalls"].as_array().unwrap().len(), 1);
    for line in ["Any shields?", "Good night."] {
        assert_eq!(say(&mut game, line)["endsConversation"], true);
    }

    let decision = game
        .ask(
            "decision/decide",
            json!({
                "situation": "The innkeeper rings the last bell.", "options": ["go_home", "one_more"], "actor": "gorm",
                "model": script(include_str!("../../demo/models/closing_time.json")),
            }),
        )
        .unwrap();
    assert_eq!(decision["optionID"], "one_more");
}

#[test]
fn the_smith_of_the_guide_says_what_it_prints() {
    let mut game = Game::new();
    game.tools.define(
        "check_inventory",
        "Says how many of an item are in stock, and what one costs.",
        item(),
        None,
    );
    let stock = json!({"count": 3, "price": 45});
    game.tools.handle("check_inventory", Handler::Answers(ToolAnswer::Output(stock.clone())));
    let params = json!({"npc": "gorm", "persona": {"name": "Gorm", "role": "the village blacksmith"},
        "tools": game.tools.definitions(), "model": script(include_str!("../../../testdata/smith.json"))});
    game.ask("npc/create", params).unwrap();
    let turn = say(&mut game, "Got any swords?");
    assert_eq!(turn["toolCalls"][0]["output"], stock);
    let guide = include_str!("../../../README.md");
    let (_, section) = guide.split_once("\n## Godot\n").unwrap();
    let (_, printed) = section.split_once("\n```text\n").unwrap();
    assert_eq!(printed.lines().next(), turn["line"].as_str());
}

fn say(game: &mut Game, line: &str) -> Value {
    game.ask("npc/talk", json!({"npc": "gorm", "line": line})).unwrap()
}

fn script(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

fn item() -> Value {
    json!({"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]})
}

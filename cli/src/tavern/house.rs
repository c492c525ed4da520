//! The Sleeping Stag: a world that holds the purse and the menu, and two tools with which the innkeeper reads and
//! changes it.
//!
//! A tool is a function of the game. Whatever a model calls it with, the world decides what comes of it: a bowl of
//! stew that is paid for is a bowl less and five gold less, and a guest without gold gets an error to talk about.

use std::future;

use oam_agent::{Tool, ToolDefinition, ToolName, ToolOutput};
use oam_game::world::{World, WorldPath};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

/// The tavern. Cloning refers to the same one.
#[derive(Debug, Clone)]
pub(super) struct House {
    world: World,
}

/// What is on the menu.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Dish {
    pub(super) item: String,
    pub(super) price_gold: i64,
    pub(super) left: i64,
}

/// Why an order is not served, as the innkeeper hears it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    Unknown(String),
    SoldOut(String),
    TooLittleGold(String),
}

/// The bed for the night, as the menu has it.
pub(super) const ROOM: &str = "room for the night";
/// What the innkeeper is told of the world in each turn.
pub(super) const CONTEXT: [&str; 4] = ["player.name", "player.gold", "tavern.time_of_day", "tavern.weather"];

impl House {
    pub(super) fn open() -> Self {
        let world = World::new(json!({
            "player": {"name": "Traveler", "gold": 30},
            "tavern": {"name": "The Sleeping Stag", "time_of_day": "late evening", "weather": "cold rain"},
            "menu": [
                {"item": "ale", "price_gold": 2, "left": 20},
                {"item": "mulled wine", "price_gold": 4, "left": 6},
                {"item": "rabbit stew", "price_gold": 5, "left": 3},
                {"item": "honey bread", "price_gold": 1, "left": 8},
                {"item": ROOM, "price_gold": 12, "left": 2},
            ],
        }));
        Self { world: world.expect("the world is an object") }
    }

    pub(super) fn world(&self) -> World {
        self.world.clone()
    }

    /// What the traveler has in the purse.
    pub(super) fn gold(&self) -> i64 {
        self.world.read(|world| gold(world.state()))
    }

    pub(super) fn menu(&self) -> Vec<Dish> {
        self.world.read(|world| menu(world.state()))
    }

    /// What an order would come to, without serving it.
    pub(super) fn would_serve(&self, item: &str) -> Result<Dish, Refusal> {
        self.world.read(|world| choose(world.state(), item)).map(|(_, dish)| dish)
    }

    /// The tools of the innkeeper. Two are plenty for a small model; their names say what the guest wants.
    pub(super) fn tools(&self) -> Vec<Tool> {
        let (asked, ordering) = (self.clone(), self.clone());
        vec![
            tool(
                "check_menu",
                "The guest asks what there is, or what it costs. Lists what is served, with price and stock.",
                "What the guest asks about; empty for the whole menu",
                move |item| asked.check_menu(item),
            ),
            tool(
                "take_order",
                "The guest has just ordered something. Serves one of it and takes the gold.",
                "What the guest ordered, as the menu calls it",
                move |item| ordering.take_order(item),
            ),
        ]
    }

    fn check_menu(&self, item: &str) -> ToolOutput {
        let menu = self.menu();
        let found: Vec<_> = menu.iter().filter(|dish| dish.is_called(item)).collect();
        if found.is_empty() {
            ToolOutput::Error(unknown(item, &menu))
        } else {
            ToolOutput::Json(json!(found))
        }
    }

    /// One change of the world, all or nothing: nobody sees a bowl that is served but not paid for.
    fn take_order(&self, item: &str) -> ToolOutput {
        let mut bill = Err(Refusal::Unknown("The tavern is closed.".to_owned()));
        let changed = self.world.modify(&WorldPath::root(), |state| {
            let mut state = state?.clone();
            bill = serve(&mut state, item);
            Some(state)
        });
        match (changed, bill) {
            (Err(error), _) => ToolOutput::Error(error.to_string()),
            (_, Err(Refusal::Unknown(why) | Refusal::SoldOut(why) | Refusal::TooLittleGold(why))) => {
                ToolOutput::Error(why)
            }
            (_, Ok(bill)) => ToolOutput::Json(bill),
        }
    }
}

impl Dish {
    /// Guests are not exact: `wine` will do for `mulled wine`, and `a bowl of rabbit stew` for `rabbit stew`.
    fn is_called(&self, name: &str) -> bool {
        let (name, item) = (name.trim().to_lowercase(), self.item.to_lowercase());
        item.contains(&name) || name.contains(&item)
    }
}

fn gold(state: &Value) -> i64 {
    state["player"]["gold"].as_i64().unwrap_or(0)
}

fn menu(state: &Value) -> Vec<Dish> {
    serde_json::from_value(state["menu"].clone()).unwrap_or_default()
}

/// The dish that is ordered, and its place on the menu, if it can be served.
fn choose(state: &Value, item: &str) -> Result<(usize, Dish), Refusal> {
    let (menu, gold) = (menu(state), gold(state));
    let is_ordered = |dish: &&Dish| !item.trim().is_empty() && dish.is_called(item);
    let Some((place, dish)) = menu.iter().enumerate().find(|(_, dish)| is_ordered(dish)) else {
        return Err(Refusal::Unknown(unknown(item, &menu)));
    };
    let Dish { item, price_gold, left } = dish;
    if *left < 1 {
        return Err(Refusal::SoldOut(format!("The {item} is sold out.")));
    }
    if gold < *price_gold {
        let why = format!("The {item} costs {price_gold} gold, but the guest has only {gold}.");
        return Err(Refusal::TooLittleGold(why));
    }
    Ok((place, dish.clone()))
}

fn serve(state: &mut Value, item: &str) -> Result<Value, Refusal> {
    let (place, dish) = choose(state, item)?;
    let gold_left = gold(state) - dish.price_gold;
    state["menu"][place]["left"] = json!(dish.left - 1);
    state["player"]["gold"] = json!(gold_left);
    Ok(json!({"served": dish.item, "paid_gold": dish.price_gold, "player_gold_left": gold_left}))
}

fn unknown(item: &str, menu: &[Dish]) -> String {
    let items: Vec<_> = menu.iter().map(|dish| dish.item.as_str()).collect();
    format!("There is no '{item}' here. The menu: {}.", items.join(", "))
}

/// A tool with one argument, `item`, that runs in this process.
fn tool(
    name: &str,
    description: &str,
    about_item: &str,
    run: impl Fn(&str) -> ToolOutput + Send + Sync + 'static,
) -> Tool {
    let parameters = json!({
        "type": "object",
        "properties": {"item": {"type": "string", "description": about_item}},
        "required": ["item"],
    });
    let name = ToolName::new(name).expect("the name is one of a tool");
    let (definition, _) = ToolDefinition::from_json_schema(name, description, &parameters)
        .expect("the parameters are a schema of an object");
    Tool::local(definition, move |call| {
        future::ready(run(call.arguments.get("item").and_then(Value::as_str).unwrap_or_default()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_moves_gold_and_stock_together() {
        let house = House::open();
        let bill = house.take_order("a bowl of Rabbit Stew, please");
        assert_eq!(
            bill,
            ToolOutput::Json(json!({"served": "rabbit stew", "paid_gold": 5, "player_gold_left": 25}))
        );
        assert_eq!((house.gold(), house.menu()[2].left), (25, 2));
    }

    #[test]
    fn what_cannot_be_served_changes_nothing() {
        let house = House::open();
        let refused = |item: &str, part: &str| match house.take_order(item) {
            ToolOutput::Error(why) => assert!(why.contains(part), "{why}"),
            other => panic!("{item}: {other:?}"),
        };
        refused("dragon", "The menu: ale, mulled wine");
        refused(" ", "There is no ' '");
        for _ in 0..2 {
            house.take_order("room");
        }
        let version = house.world.version();
        refused("room", "sold out");
        for _ in 0..3 {
            house.take_order("ale");
        }
        assert_eq!(house.gold(), 0);
        refused("honey bread", "costs 1 gold, but the guest has only 0");
        assert_eq!(house.world.version(), version + 3);
    }

    #[test]
    fn the_menu_is_listed_as_a_whole_or_in_part() {
        let house = House::open();
        let listed = |item: &str| match house.check_menu(item) {
            ToolOutput::Json(Value::Array(dishes)) => dishes.len(),
            _ => 0,
        };
        assert_eq!((listed(""), listed("WINE"), listed("dragon")), (5, 1, 0));
    }
}

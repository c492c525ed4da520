//! `oam respond`.

mod external;
mod failures;
mod output;
mod prompt;
mod resuming;
mod schema;
mod terminal;
mod tools;
mod workers;

use serde_json::{Value, json};

use crate::run::{Run, oam};

/// A command tool that reads the city from its input, and an external one.
fn with_tools(run: Run) -> Run {
    let city = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    let order =
        json!({"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]});
    let tools = json!([
        {"type": "function",
         "function": {"name": "get_weather", "description": "The weather in a city.", "parameters": city},
         "x-oam": {"command": ["sh", "weather.sh"], "timeout": 5}},
        {"name": "lookup_order", "description": "The state of an order.", "parameters": order},
    ]);
    run.file("weather.sh", WEATHER).file("tools.json", tools.to_string())
}

const WEATHER: &str = r#"
city=$(sed -n 's/.*"city":"\([^"]*\)".*/\1/p')
[ -n "$city" ] || exit 3
printf '{"city":"%s","temperature_c":14,"tool":"%s"}\n' "$city" "$OAM_TOOL_NAME"
"#;

fn respond<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Run {
    with_tools(oam(["respond"].into_iter().chain(arguments)))
}

/// A round that looks up the weather in Paris.
fn weather() -> Value {
    json!({"toolCalls": [{"name": "get_weather", "arguments": {"city": "Paris"}, "id": "w"}]})
}

/// A round with both kinds of tools.
fn order_and_weather() -> Value {
    json!({"toolCalls": [
        {"name": "lookup_order", "arguments": {"order_id": "A7"}, "id": "o"},
        {"name": "get_weather", "arguments": {"city": "Paris"}, "id": "w"},
    ]})
}

/// The ids of calls, or records of calls.
fn ids(calls: &Value) -> Vec<&str> {
    calls
        .as_array()
        .unwrap()
        .iter()
        .map(|call| call.get("call").unwrap_or(call)["id"].as_str().unwrap())
        .collect()
}

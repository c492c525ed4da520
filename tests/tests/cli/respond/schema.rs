//! Structured answers.

use serde_json::{Value, json};

use super::{respond, weather};

fn person() -> Value {
    json!({
        "title": "Person", "type": "object", "x-order": ["name", "age", "address"],
        "properties": {"address": {"$ref": "#/$defs/address"}, "age": {"type": "integer"}, "name": {"type": "string"}},
        "required": ["name", "age", "address"],
        "$defs": {"address": {"type": "object", "properties": {"city": {"type": "string", "pattern": "^[A-Z]"}}, "required": ["city"]}},
    })
}

fn gorm() -> Value {
    json!({"address": {"city": "Oslo"}, "age": 60, "name": "Gorm"})
}

#[test]
fn a_structured_answer_has_its_members_in_order() {
    let told = respond(["--schema", "person.json", "--json", "Who?"])
        .file("person.json", person().to_string())
        .script(&json!([{"json": gorm()}]))
        .ends_with(0)
        .json();
    let keys: Vec<_> = told["structured"].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "age", "address"]);
    assert_eq!(told["text"], told["structured"].to_string());
    assert!(told.get("warnings").is_none(), "those of the schema are not among them");
}

#[test]
fn people_see_it_once_and_pretty() {
    let told = respond(["--schema", "-", "Who?", "-v"])
        .stdin(person().to_string())
        .script(&json!([{"json": gorm()}]))
        .ends_with(0);
    assert_eq!(
        told.stdout,
        "{\n  \"name\": \"Gorm\",\n  \"age\": 60,\n  \"address\": {\n    \"city\": \"Oslo\"\n  }\n}\n"
    );
    assert!(told.stderr.contains("Warning: schema: "), "{told:?}");
}

#[test]
fn events_tell_of_its_parts_and_tools_may_run_first() {
    let told = respond(["--tools", "tools.json", "--schema", "person.json", "--events", "Who?"])
        .file("person.json", person().to_string())
        .script(&json!([weather(), {"json": gorm()}]))
        .ends_with(0);
    let types: Vec<_> =
        told.events().iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect();
    assert_eq!(types[1..], ["toolCallStarted", "toolCallCompleted", "modelStep", "partial", "completed"]);
}

//! `oam schema convert`.

use serde_json::{Value, json};

use crate::run::{Run, oam};

fn convert(schema: &Value, arguments: &[&str]) -> Run {
    let arguments = ["schema", "convert", "schema.json"].iter().chain(arguments).copied();
    oam(arguments).file("schema.json", schema.to_string())
}

fn person() -> Value {
    json!({
        "title": "Person",
        "type": "object",
        "properties": {
            "address": {"$ref": "#/$defs/Address"},
            "age": {"type": "integer"},
            "email": {"type": "string"},
            "name": {"type": "string"}
        },
        "required": ["name", "age", "address"],
        "x-order": ["name", "age", "address"],
        "$defs": {"Address": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "street": {"type": "string"}},
            "x-order": ["street"]
        }}
    })
}

#[test]
fn listed_properties_come_first_and_the_others_follow() {
    let told = convert(&person(), &["--json"]).ends_with(0);
    let members: Vec<_> = told.json().as_object().unwrap().keys().cloned().collect();
    assert_eq!(
        (members, told.stdout.lines().count()),
        (vec!["warnings".to_owned(), "generationSchema".to_owned()], 1)
    );
    let schema = &told.json()["generationSchema"];
    let order = json!(["name", "age", "address", "email"]);
    assert_eq!(schema["x-order"], order);
    let properties: Value = schema["properties"].as_object().unwrap().keys().cloned().collect();
    assert_eq!(properties, order);
    assert_eq!(schema["$defs"]["Address"]["x-order"], json!(["street", "city"]));
    assert_eq!(told.stderr, "");
}

#[test]
fn people_see_the_schema_and_what_is_not_enforced() {
    let told = convert(&person(), &[]).ends_with(0);
    assert!(told.stdout.starts_with("{\n  \"title\": \"Person\",\n"), "{told:?}");
    assert_eq!(told.json()["title"], "Person");
    assert_eq!(told.stderr, "The model is held to all of it.\n");
    let loose = json!({"properties": {"zip": {"type": "string", "pattern": "^[0-9]+$"}}});
    let told = convert(&loose, &[]).ends_with(0);
    let warning = "#/properties/zip: pattern '^[0-9]+$' is described to the model but not enforced";
    assert_eq!(told.stderr, format!("Warning: {warning}\n"));
    assert_eq!(convert(&loose, &["--json"]).ends_with(0).json()["warnings"], json!([warning]));
}

#[test]
fn the_root_is_named_by_its_title_or_by_whoever_asks() {
    let untitled = json!({"type": "object", "properties": {"a": {"type": "string"}}});
    for (schema, arguments, name) in [
        (&untitled, &["--json"][..], "Response"),
        (&untitled, &["--json", "--name", "Answer"], "Answer"),
        (&person(), &["--json", "--name", "Answer"], "Person"),
    ] {
        let told = convert(schema, arguments).ends_with(0).json();
        assert_eq!(told["generationSchema"]["title"], name);
    }
}

#[test]
fn what_cannot_be_converted_is_named_with_file_and_place() {
    for (schema, code, message) in [
        (json!({"properties": {"x": {"type": "date"}}}), "invalid_schema", "(at #/properties/x)"),
        (json!({"$ref": "#/$defs/nowhere"}), "invalid_schema", "(at #"),
        (json!({"type": "elephant"}), "invalid_schema", "elephant"),
        (json!([1]), "invalid_input", "must be an object (a JSON Schema), not [1]"),
        (json!(true), "invalid_input", "must be an object"),
    ] {
        let told = convert(&schema, &["--json"]).ends_with(2);
        let (told_code, told_message) = told.error();
        assert_eq!((told_code.as_str(), told.stdout.as_str()), (code, ""), "{schema}");
        assert!(
            told_message.starts_with("schema.json: ") && told_message.contains(message),
            "{told_message}"
        );
        let people = convert(&schema, &[]).ends_with(2);
        assert_eq!(people.stderr, format!("Error: {told_message}\n"));
    }
    let told =
        oam(["schema", "convert", "schema.json", "--json"]).file("schema.json", "{\"type\": ]").ends_with(2);
    assert_eq!(told.error().0, "invalid_input");
    assert!(told.error().1.starts_with("schema.json: is not JSON at byte 9"), "{told:?}");
}

#[test]
fn a_schema_may_come_on_the_input() {
    let told = oam(["schema", "convert", "-", "--name", "Dice"])
        .stdin(r#"{"type":"integer","minimum":1}"#)
        .ends_with(0);
    assert_eq!(told.json()["minimum"], 1);
}

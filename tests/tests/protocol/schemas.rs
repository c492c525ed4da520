//! `schema/validate`: how JSON Schema becomes what the model generates.

use oam_tests::Oam;
use serde_json::{Value, json};

fn property(schema: Value) -> Value {
    json!({"type": "object", "properties": {"x": schema}})
}

fn convert(oam: &mut Oam, schema: Value) -> (Value, Vec<String>) {
    let result = oam.ok("schema/validate", json!({"schema": schema}));
    let warnings =
        result["warnings"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    (result["generationSchema"].clone(), warnings.collect())
}

#[test]
fn an_object_is_closed_titled_and_ordered() {
    let mut oam = Oam::start();
    let schema = json!({"type": "object", "description": "A move.", "properties": {
        "b": {"type": "string", "description": "Why."}, "a": {"type": "integer"}}, "required": ["a", "none"]});
    let (generation, warnings) = convert(&mut oam, schema.clone());
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(generation["type"], "object");
    assert_eq!(generation["title"], "Response");
    assert_eq!(generation["additionalProperties"], false);
    assert_eq!(generation["x-order"], json!(["b", "a"]));
    assert_eq!(generation["required"], json!(["a"]));
    assert_eq!(generation["properties"]["b"], json!({"type": "string", "description": "Why."}));
    let named = oam.ok("schema/validate", json!({"schema": schema, "name": "Move"}));
    assert_eq!(named["generationSchema"]["title"], "Move");
    assert_eq!(named.as_object().unwrap().keys().collect::<Vec<_>>(), ["warnings", "generationSchema"]);
}

#[test]
fn what_is_enforced_is_kept() {
    let mut oam = Oam::start();
    for (schema, kept) in [
        (
            json!({"type": "integer", "minimum": 1, "maximum": 6}),
            json!({"type": "integer", "minimum": 1, "maximum": 6}),
        ),
        (
            json!({"type": "integer", "exclusiveMinimum": 0, "exclusiveMaximum": 7}),
            json!({"type": "integer", "minimum": 1, "maximum": 6}),
        ),
        (json!({"type": "number", "minimum": 0.5}), json!({"type": "number", "minimum": 0.5})),
        (
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}),
            json!({"type": "array", "items": {"type": "boolean"}, "minItems": 1, "maxItems": 3}),
        ),
        (json!({"type": "string", "enum": ["a", "b"]}), json!({"type": "string", "enum": ["a", "b"]})),
        (json!({"anyOf": [{"type": "string"}, {"type": "null"}]}), json!({"type": "string"})),
        (json!({"type": ["integer", "null"]}), json!({"type": "integer"})),
        (
            json!({"anyOf": [{"const": "a"}, {"enum": ["b", "c"]}]}),
            json!({"type": "string", "enum": ["a", "b", "c"]}),
        ),
    ] {
        let (generation, warnings) = convert(&mut oam, property(schema.clone()));
        assert_eq!(generation["properties"]["x"], kept, "{schema}");
        assert_eq!(warnings, Vec::<String>::new(), "{schema}");
    }
}

#[test]
fn what_cannot_be_enforced_is_described_and_warned_about() {
    let mut oam = Oam::start();
    let described =
        |keyword: &str| format!("#/properties/x: '{keyword}' is described to the model but not enforced");
    for (schema, warning, description) in [
        (
            json!({"type": "string", "pattern": "^a+$"}),
            "#/properties/x: pattern '^a+$' is described to the model but not enforced".to_owned(),
            "^a+$",
        ),
        (json!({"type": "string", "format": "email"}), described("format"), "email"),
        (json!({"type": "string", "minLength": 3}), described("minLength"), "minLength: 3"),
        (json!({"type": "string", "maxLength": 9}), described("maxLength"), "maxLength: 9"),
        (json!({"type": "integer", "multipleOf": 5}), described("multipleOf"), "multipleOf: 5"),
        (
            json!({"type": "array", "items": {"type": "string"}, "uniqueItems": true}),
            described("uniqueItems"),
            "uniqueItems: true",
        ),
        (
            json!({"type": "integer", "enum": [4, 6, 8]}),
            "#/properties/x: integer enum is enforced as a range 4...8; exact values are described"
                .to_owned(),
            "One of: 4, 6, 8.",
        ),
        (
            json!({"const": 7}),
            "#/properties/x: non-string const 7 is described instead of enforced".to_owned(),
            "Must be exactly 7.",
        ),
    ] {
        let (generation, warnings) = convert(&mut oam, property(schema.clone()));
        assert!(warnings.contains(&warning), "{schema}: {warnings:?}");
        let told = generation["properties"]["x"]["description"].as_str().unwrap_or_default();
        assert!(told.contains(description), "{schema}: {told:?}");
    }
}

#[test]
fn what_is_generated_differently_is_warned_about() {
    let mut oam = Oam::start();
    for (schema, part) in [
        (json!({}), "schema without a type is generated as a string"),
        (json!(true), "unconstrained schema `true` is generated as a string"),
        (json!({"type": "array"}), "array without 'items' is generated as an array of strings"),
        (json!({"type": "array", "prefixItems": [{"type": "integer"}]}), "tuple arrays (prefixItems)"),
        (json!({"type": ["string", "integer"]}), "multiple types"),
        (json!({"enum": ["a", 1]}), "mixed-type enum is generated as strings"),
        (json!({"type": "integer", "minimum": 5, "maximum": 1}), "empty integer range is ignored"),
        (json!({"type": "number", "minimum": 5, "maximum": 1}), "empty number range is ignored"),
        (
            json!({"type": "number", "exclusiveMinimum": 0}),
            "exclusive number bounds are enforced as inclusive",
        ),
        (json!({"type": "object", "additionalProperties": {"type": "string"}}), "free-form objects"),
    ] {
        let (_, warnings) = convert(&mut oam, property(schema.clone()));
        assert!(warnings.len() == 1 && warnings[0].contains(part), "{schema}: {warnings:?}");
        assert!(warnings[0].starts_with("#/properties/x: "), "{warnings:?}");
    }
}

#[test]
fn references_and_recursion_are_kept_by_name() {
    let mut oam = Oam::start();
    let tree = json!({"type": "object", "properties": {"root": {"$ref": "#/$defs/Node"}}, "required": ["root"],
        "$defs": {"Node": {"type": "object", "properties": {
            "value": {"type": "integer"},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}, "required": ["value"]}}});
    let (generation, warnings) = convert(&mut oam, tree);
    assert_eq!(warnings, Vec::<String>::new());
    assert_eq!(generation["properties"]["root"], json!({"$ref": "#/$defs/Node"}));
    assert_eq!(
        generation["$defs"]["Node"]["properties"]["children"]["items"],
        json!({"$ref": "#/$defs/Node"})
    );
}

#[test]
fn unions_and_merged_objects_are_converted() {
    let mut oam = Oam::start();
    let (generation, _) = convert(
        &mut oam,
        property(json!({"oneOf": [
        {"type": "object", "title": "Attack", "properties": {"target": {"type": "string"}}},
        {"type": "object", "title": "Flee", "properties": {}}]})),
    );
    let text = generation.to_string();
    assert!(text.contains("anyOf") && text.contains("Attack") && text.contains("Flee"), "{text}");
    let (merged, _) = convert(
        &mut oam,
        json!({"allOf": [
        {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
        {"properties": {"b": {"type": "integer"}}, "required": ["b"]}]}),
    );
    assert_eq!((&merged["x-order"], &merged["required"]), (&json!(["a", "b"]), &json!(["a", "b"])));
}

#[test]
fn invalid_schemas_tell_the_place() {
    let mut oam = Oam::start();
    let mut deep = json!({"type": "string"});
    for _ in 0..40 {
        deep = json!({"type": "array", "items": deep});
    }
    for (schema, place) in [
        (json!({"type": "odd"}), "#"),
        (json!({"type": 7}), "#"),
        (property(json!({"type": "odd"})), "#/properties/x"),
        (property(json!(false)), "#/properties/x"),
        (property(json!("string")), "#/properties/x"),
        (property(json!({"type": "array", "items": [1]})), "#/properties/x/items"),
        (property(json!({"$ref": "#/$defs/none"})), "#/properties/x"),
        (property(json!({"$ref": "https://example.com/schema"})), "#/properties/x"),
        (property(json!({"anyOf": [{"type": "string"}, {"type": "odd"}]})), "#/properties/x/anyOf/1"),
        (property(json!({"allOf": [{}, 7]})), "#/properties/x/allOf/1"),
    ] {
        let error = oam.fails("schema/validate", json!({"schema": schema}));
        assert_eq!((error.code, error.name.as_str()), (-32007, "invalid_schema"), "{schema}");
        assert_eq!(
            (&error.data["path"], &error.data["schemaPath"]),
            (&json!("schema"), &json!(place)),
            "{schema}"
        );
        assert!(error.message.starts_with("schema: ") && error.message.ends_with(&format!("(at {place})")));
    }
    for endless in [
        deep,
        json!({"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"}),
        json!({"$defs": {"a": {"type": "array", "items": {"$ref": "#/$defs/a"}}}, "$ref": "#/$defs/a"}),
        json!({"allOf": [{"$ref": "#"}]}),
    ] {
        assert_eq!(oam.fails("schema/validate", json!({"schema": endless})).name, "invalid_schema");
    }
}

#[test]
fn a_schema_is_an_object_or_its_text() {
    let mut oam = Oam::start();
    assert_eq!(convert(&mut oam, json!(r#"{"type": "boolean"}"#)).0["type"], "boolean");
    for params in [
        json!({}),
        json!({"schema": null}),
        json!({"schema": true}),
        json!({"schema": 1}),
        json!({"schema": []}),
        json!({"schema": "x"}),
        json!({"schema": "[]"}),
    ] {
        let error = oam.fails("schema/validate", params.clone());
        assert_eq!((error.code, error.name.as_str()), (-32602, "invalid_params"), "{params}");
        assert!(error.message.contains("'schema'"), "{}", error.message);
    }
    let error = oam.fails("schema/validate", json!({"schema": {"type": "string"}, "name": 7}));
    assert!(error.message.contains("'name'"), "{}", error.message);
}

#[test]
fn a_schema_that_would_explode_is_refused_or_converted_in_time() {
    let mut oam = Oam::start();
    // Each level refers to the next one twelve times: 12^8 strings if every use were copied.
    let mut defs = json!({"d8": {"type": "string"}});
    for level in 0..8 {
        let next = json!({"$ref": format!("#/$defs/d{}", level + 1)});
        let uses: serde_json::Map<_, _> =
            (0..12).map(|number| (format!("p{number}"), next.clone())).collect();
        defs[format!("d{level}")] = json!({"allOf": [{"type": "object", "properties": uses}]});
    }
    let _either_way = oam.call("schema/validate", json!({"schema": {"$ref": "#/$defs/d0", "$defs": defs}}));
    oam.settle();
}

//! What holds for every schema.

use std::collections::{HashSet, VecDeque};

use proptest::{collection::vec, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{GenerationSchema, convert};

const KEYWORDS: &[&str] = &[
    "type",
    "properties",
    "required",
    "items",
    "prefixItems",
    "minItems",
    "maxItems",
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "enum",
    "const",
    "anyOf",
    "oneOf",
    "allOf",
    "$ref",
    "$defs",
    "title",
    "description",
    "x-order",
    "default",
    "examples",
    "pattern",
    "format",
    "additionalProperties",
    "multipleOf",
    "uniqueItems",
    "A",
    "B",
];
const WORDS: &[&str] = &[
    "object",
    "array",
    "string",
    "integer",
    "number",
    "boolean",
    "null",
    "A",
    "B",
    "Response",
    "Response_A",
    "#",
    "#/$defs/A",
    "#/$defs/B",
    "#/properties/A",
    "#/items",
    "a b",
    "",
];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => select(WORDS).prop_map(Value::from),
        1 => any::<bool>().prop_map(Value::from),
        1 => (-3..9_i64).prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => Just(Value::Null),
    ]
}

/// JSON that looks like a schema here and there.
fn anything() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(6, 80, 6, |inner| {
        prop_oneof![
            1 => vec(inner.clone(), 0..4).prop_map(Value::from),
            3 => vec((select(KEYWORDS), inner), 0..6)
                .prop_map(|members| members.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
        ]
    })
}

/// A schema of supported keywords, with references to the definitions `A` and `B`.
fn schema() -> impl Strategy<Value = Value> {
    let node = |inner: BoxedStrategy<Value>| {
        let members = vec((select(&["a", "b", "A", "Response"][..]), inner.clone(), any::<bool>()), 0..4);
        prop_oneof![
            3 => members.prop_map(|members| {
                let required: Vec<_> = members.iter().filter(|it| it.2).map(|it| it.0).collect();
                let properties: Map<_, _> = members.iter().map(|it| (it.0.to_owned(), it.1.clone())).collect();
                json!({"type": "object", "properties": properties, "required": required})
            }),
            1 => (inner.clone(), 0..3_u64).prop_map(|(items, min)| json!({"type": "array", "items": items, "minItems": min})),
            1 => vec(inner.clone(), 1..4).prop_map(|branches| json!({"anyOf": branches})),
            1 => (inner.clone(), inner).prop_map(|(node, part)| {
                let mut node = node;
                node["allOf"] = json!([part, {"description": "part's"}]);
                node
            }),
        ]
    };
    let leaf = prop_oneof![
        (any::<i32>(), any::<i32>())
            .prop_map(|(min, max)| json!({"type": "integer", "minimum": min, "exclusiveMaximum": max})),
        (any::<f32>(), any::<f32>())
            .prop_map(|(min, max)| json!({"type": "number", "minimum": min, "maximum": max})),
        Just(json!({"type": ["string", "null"], "format": "date"})),
        Just(json!({"enum": ["x", "y"]})),
        Just(json!({"enum": [3, 1, null]})),
        Just(json!({"const": "z"})),
        Just(json!({"const": 5})),
        Just(json!({"type": "boolean"})),
        Just(json!({"type": "null"})),
        select(&["#/$defs/A", "#/$defs/B"][..])
            .prop_map(|target| json!({"$ref": target, "description": "ref's"})),
    ];
    let title = prop_oneof![3 => Just(None), 1 => select(&["A", "Response_a", "T"][..]).prop_map(Some)];
    let tree = leaf.prop_recursive(4, 24, 4, move |inner| {
        (node(inner.boxed()), title.clone()).prop_map(|(mut node, title)| {
            if let Some(title) = title {
                node["title"] = json!(title);
                node["description"] = json!(format!("About {title}."));
            }
            node
        })
    });
    (tree.clone(), tree.clone(), tree).prop_map(|(mut root, a, b)| {
        let object = |inner: Value| json!({"type": "object", "properties": {"in": inner}});
        root["$defs"] = json!({"A": object(a), "B": object(b)});
        root
    })
}

/// Checks the rules of the dialect, everywhere.
fn assert_dialect(root: &Value) {
    jsonschema::meta::validate(root).unwrap();
    let definitions = root.get("$defs").and_then(Value::as_object);
    let mut referred = HashSet::new();
    let mut nodes = vec![root];
    nodes.extend(definitions.into_iter().flat_map(Map::values));
    let named = nodes.len();
    let mut at = 0;
    while at < nodes.len() {
        let node = nodes[at].as_object().unwrap();
        let known = [
            "title",
            "description",
            "type",
            "properties",
            "required",
            "additionalProperties",
            "x-order",
            "items",
            "minItems",
            "maxItems",
            "minimum",
            "maximum",
            "enum",
            "anyOf",
            "$ref",
            "$defs",
        ];
        for key in node.keys() {
            assert!(known.contains(&key.as_str()), "{key}");
        }
        assert!(!node.contains_key("$defs") || at == 0);
        if node.contains_key("properties") || node.contains_key("anyOf") {
            assert!(at < named, "types have a definition: {root}");
            assert!(node["title"].is_string());
        }
        if let Some(properties) = node.get("properties") {
            let keys: Vec<_> = properties.as_object().unwrap().keys().collect();
            assert_eq!(node["x-order"], json!(keys));
            let required = node["required"].as_array().unwrap();
            assert!(required.iter().all(|key| properties.get(key.as_str().unwrap()).is_some()));
            assert_eq!(node["additionalProperties"], json!(false));
            nodes.extend(properties.as_object().unwrap().values());
        }
        nodes.extend(node.get("items"));
        let branches = node.get("anyOf").map(|it| it.as_array().unwrap().as_slice()).unwrap_or_default();
        assert!(branches.len() != 1);
        nodes.extend(branches);
        match node.get("$ref").map(|it| it.as_str().unwrap()) {
            Some("#") => {}
            Some(reference) => {
                let name = reference.strip_prefix("#/$defs/").unwrap();
                assert_eq!(root["$defs"][name]["title"], name);
                referred.insert(name);
            }
            None => assert!(node.contains_key("anyOf") || node["type"].is_string(), "{node:?}"),
        }
        at += 1;
    }
    assert_eq!(referred.len(), definitions.map_or(0, Map::len), "only reachable types: {root}");
}

fn assert_reads_back(schema: &GenerationSchema) {
    let again = GenerationSchema::from_generation_schema(schema.json(), "Response").unwrap();
    assert_eq!(
        serde_json::to_string_pretty(again.json()).unwrap(),
        serde_json::to_string_pretty(schema.json()).unwrap()
    );
}

/// A value of the type, with the optional properties that `take` wants. `None` if it would have to be too deep.
fn sample(root: &Value, node: &Value, depth: usize, take: &mut dyn FnMut() -> bool) -> Option<Value> {
    let deeper = depth.checked_sub(1)?;
    if let Some(reference) = node["$ref"].as_str() {
        return sample(root, root.pointer(&reference[1..])?, deeper, take);
    }
    if let Some(branches) = node["anyOf"].as_array() {
        let mut branches: Vec<_> = branches.iter().collect();
        if take() {
            branches.reverse();
        }
        return branches.into_iter().find_map(|branch| sample(root, branch, deeper, take));
    }
    if let Some(choices) = node["enum"].as_array() {
        return choices.last().cloned();
    }
    Some(match node["type"].as_str()? {
        "object" => {
            let mut members = Map::new();
            let required = node["required"].as_array()?;
            for (key, schema) in node["properties"].as_object()?.iter().rev() {
                let needed = required.iter().any(|it| it == key);
                if needed || take() {
                    match sample(root, schema, deeper, take) {
                        Some(value) => drop(members.insert(key.clone(), value)),
                        None if needed => return None,
                        None => drop(members.insert(key.clone(), Value::Null)),
                    }
                }
            }
            Value::Object(members)
        }
        "array" => {
            let count = node["minItems"].as_u64().unwrap_or(0).min(10);
            (0..count).map(|_| sample(root, &node["items"], deeper, take)).collect::<Option<_>>()?
        }
        "integer" | "number" => {
            let bound = node.get("minimum").or(node.get("maximum"));
            bound.cloned().unwrap_or_else(|| json!(7))
        }
        "string" => json!("text"),
        "boolean" => json!(true),
        _ => Value::Null,
    })
}

/// Objects as sets of members.
fn sorted(value: &Value) -> Value {
    let mut value = value.clone();
    value.sort_all_objects();
    value
}

/// The schema in which an optional property may be `null`, in so many words.
fn with_null(schema: &Value) -> Value {
    match schema {
        Value::Array(elements) => elements.iter().map(with_null).collect(),
        Value::Object(members) => {
            let mut members: Map<_, _> =
                members.iter().map(|(key, member)| (key.clone(), with_null(member))).collect();
            if let (Some(required), Some(Value::Object(properties))) =
                (schema.get("required").and_then(Value::as_array), members.get_mut("properties"))
            {
                for (_, property) in properties.iter_mut().filter(|(key, _)| !required.contains(&json!(key)))
                {
                    *property = json!({"anyOf": [{"type": "null"}, property]});
                }
            }
            Value::Object(members)
        }
        plain => plain.clone(),
    }
}

/// The value with something else in the place of its part of this number, or without it; `None` if it has not so many parts.
fn spoilt(value: &Value, number: usize, with: Option<&Value>) -> Option<Value> {
    let mut value = value.clone();
    let mut parts = VecDeque::from([&mut value]);
    for _ in 0..number {
        match parts.pop_front()? {
            Value::Array(elements) => parts.extend(elements),
            Value::Object(members) => parts.extend(members.values_mut()),
            _ => {}
        }
    }
    match (parts.pop_front()?, with) {
        (part, Some(with)) => *part = with.clone(),
        (Value::Object(members), None) => {
            let last = members.keys().next_back()?.clone();
            members.remove(&last);
        }
        (Value::Array(elements), None) => drop(elements.pop()?),
        _ => return None,
    }
    Some(value)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_json_converts_to_the_dialect_or_is_an_error(schema in anything(), value in anything()) {
        let read = [convert(&schema), GenerationSchema::from_tool_parameters(&schema, "Args")];
        for converted in read.into_iter().flatten() {
            assert_dialect(converted.schema.json());
            assert_reads_back(&converted.schema);
            let _ = converted.schema.validate(&value);
            let _ = converted.schema.reorder(value.clone());
        }
        let _ = GenerationSchema::from_generation_schema(&schema, "Response");
    }

    #[test]
    fn supported_schemas_convert_and_their_values_fit(schema in schema(), choices in vec(any::<bool>(), 1..32)) {
        let converted = match convert(&schema) {
            Ok(converted) => converted.schema,
            // A part that refers to what contains it goes on without end.
            Err(error) => {
                prop_assert!(error.message.ends_with("levels deep") || error.message.contains("expands"), "{error}");
                return Ok(());
            }
        };
        assert_dialect(converted.json());
        assert_reads_back(&converted);
        let mut choices = choices.into_iter().cycle();
        let json = converted.json();
        if let Some(value) = sample(json, json, 40, &mut || choices.next().unwrap()) {
            prop_assert_eq!(converted.validate(&value), Ok(()), "{}", value);
            let ordered = converted.reorder(value.clone()).unwrap();
            prop_assert_eq!(sorted(&ordered), sorted(&value));
            prop_assert_eq!(converted.validate(&ordered), Ok(()));
        }
    }

    #[test]
    fn values_fit_that_fit_the_schema_as_json_schema(schema in schema(), choices in vec(any::<bool>(), 1..32)) {
        let Ok(converted) = convert(&schema) else { return Ok(()) };
        let json = converted.schema.json();
        let validator = jsonschema::draft202012::new(&with_null(json)).unwrap();
        let mut choices = choices.into_iter().cycle();
        let Some(fitting) = sample(json, json, 40, &mut || choices.next().unwrap()) else { return Ok(()) };
        let others = [json!(null), json!(true), json!(-1e9), json!(7.5), json!(1e9), json!("text"), json!({"a": 1}), json!([1])];
        let with: Vec<_> = others.iter().map(Some).chain([None]).collect();
        let pairs = (0..10).flat_map(|number| with.iter().map(move |with| (number, *with)));
        for value in pairs.filter_map(|(number, with)| spoilt(&fitting, number, with)) {
            let fits = converted.schema.validate(&value);
            prop_assert_eq!(fits.is_ok(), validator.is_valid(&value), "{}: {:?}", value, fits);
        }
    }

    #[test]
    fn reordering_keeps_the_content_and_changes_nothing_twice(schema in schema(), value in anything()) {
        let Ok(converted) = convert(&schema) else { return Ok(()) };
        let once = converted.schema.reorder(value.clone()).unwrap();
        prop_assert_eq!(sorted(&once), sorted(&value));
        let twice = converted.schema.reorder(once.clone()).unwrap();
        prop_assert_eq!(serde_json::to_string(&twice).unwrap(), serde_json::to_string(&once).unwrap());
    }
}

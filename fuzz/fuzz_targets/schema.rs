//! Any JSON as a schema: converting it never panics or takes long, and what comes out converts to itself.
#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use oam_agent::schema::GenerationSchema;
use serde_json::Value;

fuzz_target!(|text: &[u8]| -> Corpus {
    let Ok(schema) = serde_json::from_slice::<Value>(text) else { return Corpus::Reject };
    let Ok(converted) = GenerationSchema::from_json_schema(&schema, "Response") else { return Corpus::Keep };
    let (json, name) = (converted.schema.json(), converted.schema.name());
    let again = GenerationSchema::from_generation_schema(json, name).expect("what was converted can be read");
    assert_eq!(again.json(), json);
    // A schema checks any value, itself included, and says no rather than panic.
    let _ = converted.schema.validate(&schema);
    let _ = converted.schema.reorder(schema);
    Corpus::Keep
});

use std::sync::Arc;

use proptest::{collection, option, prelude::*};
use serde_json::{Value, json};

use super::{definition, envelope};
use crate::{
    arbitrary, json_text,
    transcript::{
        Entry, EntryContent, EntryId, Prompt, Response, ResponseFormat, Segment, SegmentContent,
        ToolCallEntry, ToolOutputEntry, Transcript,
        json::{SavedSetup, SavedTranscript},
    },
};

fn id() -> impl Strategy<Value = EntryId> {
    prop_oneof![
        Just(()).prop_map(|()| EntryId::random()),
        "[a-zA-Z0-9-]{0,40}".prop_map(|text| EntryId::Given(text.into()))
    ]
}

fn segments() -> impl Strategy<Value = Vec<Segment>> {
    let text =
        (id(), any::<String>()).prop_map(|(id, text)| Segment { id, content: SegmentContent::Text(text) });
    let structure = (id(), any::<String>(), arbitrary::json()).prop_map(|(id, source, content)| Segment {
        id,
        content: SegmentContent::Structure { source, content },
    });
    let attachment = (id(), arbitrary::object()).prop_map(|(id, mut object)| {
        object.insert("type".into(), "attachment".into());
        object.insert("id".into(), id.to_string().into());
        Segment { id, content: SegmentContent::Attachment(object) }
    });
    collection::vec(prop_oneof![text, structure, attachment], 0..3)
}

fn metadata() -> impl Strategy<Value = Option<Value>> {
    option::of(arbitrary::json().prop_filter("null is absent", |value| !value.is_null()))
}

fn prompt() -> impl Strategy<Value = EntryContent> {
    let format = (any::<String>(), option::of(any::<String>()), arbitrary::object())
        .prop_map(|(name, description, schema)| ResponseFormat { name, description, schema: schema.into() });
    (segments(), arbitrary::object(), option::of(arbitrary::object()), option::of(format), metadata())
        .prop_map(|(segments, options, context_options, response_format, metadata)| {
            EntryContent::Prompt(Prompt { segments, options, context_options, response_format, metadata })
        })
}

/// A round of calls with their outputs, and perhaps what the model thought.
fn round() -> impl Strategy<Value = Vec<Entry>> {
    let call = (any::<String>(), "[a-z]{1,8}", arbitrary::object(), segments());
    let thought = option::of((id(), arbitrary::object()));
    (id(), thought, collection::vec(call, 1..4)).prop_map(|(id, thought, calls)| {
        let thought = thought.map(|(id, mut object)| {
            object.insert("role".into(), "reasoning".into());
            object.insert("id".into(), id.to_string().into());
            Entry { id, content: EntryContent::Opaque(object) }
        });
        let outputs: Vec<_> = calls
            .iter()
            .map(|(id, name, _, segments)| Entry {
                id: EntryId::Given(id.as_str().into()),
                content: EntryContent::ToolOutput(ToolOutputEntry {
                    tool_name: name.clone(),
                    segments: segments.clone(),
                }),
            })
            .collect();
        let calls =
            calls.into_iter().map(|(id, name, arguments, _)| ToolCallEntry { id, name, arguments }).collect();
        let calls = Entry { id, content: EntryContent::ToolCalls(calls) };
        thought.into_iter().chain([calls]).chain(outputs).collect()
    })
}

fn turn() -> impl Strategy<Value = Vec<Entry>> {
    let response = (segments(), metadata(), metadata()).prop_map(|(segments, assets, metadata)| {
        EntryContent::Response(Response { segments, assets, metadata })
    });
    let entry = |content| (id(), content).prop_map(|(id, content)| Entry { id, content });
    (entry(prompt().boxed()), collection::vec(round(), 0..3), option::of(entry(response.boxed()))).prop_map(
        |(prompt, rounds, response)| {
            [prompt].into_iter().chain(rounds.into_iter().flatten()).chain(response).collect()
        },
    )
}

fn setup() -> impl Strategy<Value = SavedSetup> {
    let instructions = option::of("[^\\x00]{1,40}".prop_map(Arc::from));
    let tools = collection::hash_set("[a-z]{1,8}", 0..3)
        .prop_map(|names| names.iter().map(|name| Ok(Arc::new(definition(name)))).collect());
    (id(), instructions, tools).prop_map(|(id, instructions, tools)| SavedSetup { id, instructions, tools })
}

fn saved_transcript() -> impl Strategy<Value = SavedTranscript> {
    (option::of(setup()), collection::vec(turn(), 0..4)).prop_map(|(setup, turns)| SavedTranscript {
        setup,
        transcript: Transcript::new(turns.into_iter().flatten().map(Arc::new).collect()),
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_saved_is_restored(saved in saved_transcript()) {
        let text = json_text::compact(&saved);
        let form = saved.to_json();
        prop_assert_eq!(&serde_json::from_str::<Value>(&text).unwrap(), &form);

        let restored = SavedTranscript::from_json(&form).unwrap();
        prop_assert_eq!(&*restored.transcript, &*saved.transcript);
        prop_assert_eq!(restored.to_json(), form);
        let setup = |saved: SavedTranscript| saved.setup.map(|setup| (setup.id, setup.instructions));
        prop_assert_eq!(setup(restored), setup(saved));
    }

    #[test]
    fn no_value_makes_reading_panic(entries in collection::vec(arbitrary::json(), 0..4), key in "role|type|id|toolCalls") {
        let _ = SavedTranscript::from_json(&envelope(&entries.clone().into()));
        let objects: Vec<_> = entries.into_iter().map(|entry| json!({"role": "response", key.as_str(): entry})).collect();
        let _ = SavedTranscript::from_json(&envelope(&objects.into()));
    }
}

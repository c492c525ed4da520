//! What a recording looks like.

use std::{sync::Arc, time::Duration};

use expect_test::expect;
use oam_agent::{ErrorCode, ModelToolCall, StepContent, StepOutcome, Usage};
use oam_recording::{Owner, Recorder, RecordingDetail};
use serde_json::{Map, json};

use crate::stage::{Actor, End, Performance, REDACTED, Said, answer, noticed, request, session};

/// A session with most of what there is, an NPC and two requests that were made in another order than they are kept in.
async fn exchange(recorder: &Recorder) {
    let outcome = |content| {
        let usage = Usage { input_tokens: 12, cached_input_tokens: 0, output_tokens: 3 };
        End::Answered(StepOutcome { content, usage })
    };
    let arguments = json!({"item": "sword"}).as_object().cloned().unwrap();
    let call = ModelToolCall { id: "c1".to_owned(), name: "stock".to_owned(), arguments };
    let said = |texts: &[&str]| texts.iter().map(|text| Said::Text((*text).to_owned())).collect();
    let limited = End::Failed {
        code: ErrorCode::RateLimited,
        message: "Too often.".to_owned(),
        retry_after: Some(3),
        is_final: true,
        data: Map::from_iter([("worker".to_owned(), json!("w1"))]),
    };
    let performances = [
        Performance { said: Vec::new(), end: outcome(StepContent::ToolCalls(vec![call])) },
        Performance { said: said(&["Thr", "ee."]), end: outcome(StepContent::Text("Three.".to_owned())) },
        Performance {
            said: vec![Said::Partial(json!({"a": null}))],
            end: outcome(StepContent::Structured(json!(null))),
        },
        Performance { said: Vec::new(), end: limited },
        Performance {
            said: vec![Said::Text("Hm".to_owned()), Said::Reset("Well".to_owned())],
            end: End::Cancelled,
        },
    ];
    let gorm = recorder.model(session("gorm"), Arc::new(Actor::new(performances)));
    gorm.count_tokens(&request(1, "You are Gorm.", "Swords?")).await;
    for (instructions, asked) in [
        ("You are Gorm.", "Swords?"),
        ("You are Gorm.", "How many?"),
        ("You are Gorm.", "As JSON."),
        ("", "Now?"),
        ("", "Well?"),
    ] {
        noticed(&*gorm, request(1, instructions, asked)).await;
    }
    let model = recorder.model(Owner::Npc("mira".to_owned()), Arc::new(Actor::new([answer("Hi.")])));
    noticed(&*model, request(2, "You are Mira.", "")).await;
    for asked in ["Fight?", "Flee?"] {
        let owner = Owner::Request("decision/decide".to_owned());
        let model = recorder.model(owner, Arc::new(Actor::new([answer("Yes.")])));
        noticed(&*model, request(3, "Decide.", asked)).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_recording_is_a_file_that_people_can_read() {
    let recorder = Recorder::new(RecordingDetail::default());
    exchange(&recorder).await;
    expect![[r#"
        {"recording":{"version":1,
        "model":{"variant":"actor","contextSize":4096,"contextLimit":4096,"supportedLanguages":["de","en"],"capabilities":["streaming","tokenCount"]},
        "counts":{
        "6c66b911203d967d":7
        },
        "sessions":[
        {"session":"gorm","steps":[
        {"asked":{"instructions":"You are Gorm.","prompt":"Swords?"},"key":{"turn":"e2987e23db138dde","instructions":"ccc1642c81b21e18"},"toolCalls":[{"id":"c1","name":"stock","arguments":{"item":"sword"}}],"usage":{"inputTokens":12,"outputTokens":3}},
        {"asked":{"prompt":"How many?"},"key":{"turn":"86f42cf1395f91f1"},"said":["Thr","ee."],"text":"Three.","usage":{"inputTokens":12,"outputTokens":3}},
        {"asked":{"prompt":"As JSON."},"key":{"turn":"7033bdab06f54eab"},"said":[{"partial":{"a":null}}],"json":null,"usage":{"inputTokens":12,"outputTokens":3}},
        {"asked":{"instructions":null,"prompt":"Now?"},"key":{"turn":"266dd76695d3b391","instructions":null},"error":"rate_limited","message":"Too often.","retryAfterSeconds":3,"isFinal":true,"data":{"worker":"w1"}},
        {"asked":{"prompt":"Well?"},"key":{"turn":"6496144caa665134"},"said":["Hm",{"reset":"Well"}],"unfinished":true}
        ]}
        ],
        "npcs":[
        {"npc":"mira","steps":[
        {"asked":{"instructions":"You are Mira.","prompt":""},"key":{"turn":"b1b89911ce78df6e","instructions":"77f0bc1d438a71a0"},"text":"Hi."}
        ]}
        ],
        "requests":[
        {"request":"decision/decide","steps":[
        {"asked":{"instructions":"Decide.","prompt":"Flee?"},"key":{"turn":"2f9344328ac614f5","instructions":"2c4fe15b0e5a6991"},"text":"Yes."}
        ]},
        {"request":"decision/decide","steps":[
        {"asked":{"instructions":"Decide.","prompt":"Fight?"},"key":{"turn":"59248771af2cf575","instructions":"2c4fe15b0e5a6991"},"text":"Yes."}
        ]}
        ]}}
    "#]].assert_eq(&recorder.document());
}

#[tokio::test(start_paused = true)]
async fn a_redacted_recording_has_answers_but_no_questions() {
    let recorder = Recorder::new(REDACTED);
    exchange(&recorder).await;
    let document = recorder.document();
    for question in ["Gorm.", "Mira.", "Swords?", "Well?", "Fight?"] {
        assert!(!document.contains(question), "{question}");
    }
    assert!(document.contains("Three."));
}

#[tokio::test(start_paused = true)]
async fn the_same_exchange_gives_the_same_bytes() {
    let (one, other) = (Recorder::new(RecordingDetail::default()), Recorder::new(RecordingDetail::default()));
    exchange(&one).await;
    exchange(&other).await;
    assert_eq!(one.document(), other.document());
}

#[tokio::test(start_paused = true)]
async fn a_step_that_runs_is_noted_with_what_it_has_said() {
    let recorder = Recorder::new(RecordingDetail::default());
    let cancelled = Performance { said: vec![Said::Text("Well".to_owned())], end: End::Cancelled };
    let model = recorder.model(session("gorm"), Arc::new(Actor::new([cancelled])));
    let running = tokio::spawn(async move { noticed(&*model, request(1, "", "Hello")).await });
    recorder.changed().await;
    tokio::time::sleep(Duration::from_millis(1)).await;
    let document = recorder.document();
    assert!(document.contains(r#""said":["Well"],"unfinished":true"#), "{document}");
    running.abort();
}

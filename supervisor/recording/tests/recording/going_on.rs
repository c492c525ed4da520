//! What goes on with a file adds to it.

use std::sync::Arc;

use oam_recording::{Owner, Recorder, RecordingDetail};
use serde_json::{Value, json};

use crate::stage::{Actor, REDACTED, answer, noticed, replay, request, session, with_fallback};

/// A recorder that goes on with this file.
fn going_on(document: &str, detail: RecordingDetail) -> Recorder {
    let file: Value = serde_json::from_str(document).unwrap();
    Recorder::going_on(&file, detail).unwrap().expect("it is a recording")
}

/// Asks each owner for each of these once.
async fn ask(recorder: &Recorder, exchange: &[(Owner, &str, &str)]) {
    for (owner, asked, said) in exchange {
        let model = recorder.model(owner.clone(), Arc::new(Actor::new([answer(said)])));
        let asked = request(1, "You are Gorm.", asked);
        model.count_tokens(&asked).await;
        noticed(&*model, asked).await;
    }
}

fn decision() -> Owner {
    Owner::Request("decision/decide".to_owned())
}

#[tokio::test(start_paused = true)]
async fn what_is_in_the_file_stays_before_what_the_same_owner_asks_now() {
    let first =
        [(session("gorm"), "Hello", "Aye."), (decision(), "Fight?", "Yes."), (decision(), "Flee?", "No.")];
    let then = [
        (session("gorm"), "Hello", "You again."),
        (session("anna"), "Hi", "Hi!"),
        (decision(), "Flee?", "Yes."),
        (decision(), "Fight?", "No."),
        (decision(), "Hide?", "No."),
    ];
    let recorder = Recorder::new(RecordingDetail::default());
    ask(&recorder, &first).await;
    let before = recorder.document();
    let recorder = going_on(&before, RecordingDetail::default());
    assert!(recorder.is_empty());
    assert_eq!(recorder.document(), before);
    ask(&recorder, &then).await;
    assert!(!recorder.is_empty());
    let after = recorder.document();
    assert_eq!(going_on(&after, RecordingDetail::default()).document(), after);

    // Each line of the file is still there, in its order.
    let mut lines = after.lines();
    for line in before.lines().filter(|line| line.starts_with("{\"asked\"")) {
        assert!(lines.any(|after| after == line), "{line} is not where it was:\n{after}");
    }
    let file: Value = serde_json::from_str(&after).unwrap();
    let said = |section: &str| -> Vec<Value> {
        let entries = file["recording"][section].as_array().unwrap();
        entries.iter().map(|entry| entry["steps"][0]["text"].clone()).collect()
    };
    assert_eq!(said("sessions"), ["Hi!", "Aye.", "You again."]);
    let earlier = serde_json::from_str::<Value>(&before).unwrap()["recording"]["requests"].clone();
    assert_eq!(file["recording"]["requests"].as_array().unwrap()[..2], earlier.as_array().unwrap()[..]);

    let replay = replay(&after);
    for said in ["Aye.", "You again."] {
        let gorm = replay.model(session("gorm"));
        assert_eq!(noticed(&*gorm, request(7, "You are Gorm.", "Hello")).await, answer(said));
    }
}

#[tokio::test(start_paused = true)]
async fn a_redacted_part_and_an_open_one_lie_side_by_side() {
    let recorder = Recorder::new(RecordingDetail::default());
    ask(&recorder, &[(session("gorm"), "Swords?", "Three.")]).await;
    let recorder = going_on(&recorder.document(), REDACTED);
    ask(&recorder, &[(session("gorm"), "Secrets?", "None.")]).await;
    let document = recorder.document();
    assert!(document.contains("Swords?") && !document.contains("Secrets?"), "{document}");
    assert_eq!(going_on(&document, REDACTED).document(), document);
}

#[tokio::test(start_paused = true)]
async fn what_the_model_tells_of_itself_now_counts_while_it_can_be_asked() {
    let recorder = Recorder::new(RecordingDetail::default());
    ask(&recorder, &[(session("gorm"), "Hello", "Aye.")]).await;
    let older = recorder.document().replace("\"actor\"", "\"an older one\"");
    let variant = |recorder: &Recorder| {
        let file: Value = serde_json::from_str(&recorder.document()).unwrap();
        file["recording"]["model"]["variant"].as_str().unwrap().to_owned()
    };
    let recorder = going_on(&older, RecordingDetail::default());
    let mut gone = Actor::new([]);
    gone.unavailable = Some(oam_agent::UnavailableReason::ModelNotReady);
    recorder.model(session("gorm"), Arc::new(gone)).availability();
    assert_eq!(variant(&recorder), "an older one");
    ask(&recorder, &[(session("gorm"), "Hello", "Aye.")]).await;
    assert_eq!(variant(&recorder), "actor");
}

#[tokio::test(start_paused = true)]
async fn what_stands_beside_the_recording_stays() {
    let recorder = Recorder::new(RecordingDetail::default());
    ask(&recorder, &[(session("gorm"), "Hello", "Aye.")]).await;
    let file = with_fallback(&recorder.document(), "Eh?");
    let recorder = going_on(&file, RecordingDetail::default());
    ask(&recorder, &[(session("gorm"), "Well?", "Well.")]).await;
    let file: Value = serde_json::from_str(&recorder.document()).unwrap();
    assert_eq!(file["fallback"], json!({"text": "Eh?"}));
    assert_eq!(file["recording"]["sessions"].as_array().unwrap().len(), 2);
}

#[test]
fn a_file_that_is_no_recording_is_not_gone_on_with() {
    for file in [json!([]), json!({"steps": []}), json!(7)] {
        assert!(Recorder::going_on(&file, RecordingDetail::default()).unwrap().is_none(), "{file}");
    }
    let error = Recorder::going_on(&json!({"recording": {"version": 9}}), RecordingDetail::default());
    assert!(error.unwrap_err().message.starts_with("'recording.version': is 9"));
}

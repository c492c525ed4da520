//! What is played when something else is asked than was recorded.

use std::sync::Arc;

use expect_test::expect;
use oam_agent::{
    StepRequest,
    transcript::{Entry, Transcript},
};
use oam_recording::{Matching, Owner, Recorder, RecordingDetail, Replay};

use crate::stage::{
    Actor, End, Performance, answer, noticed, read, recorded, refusal, replay, request, session, text,
    with_fallback,
};

const EXCHANGE: [(&str, &str); 3] =
    [("Got any swords?", "Three."), ("How much?", "45 gold."), ("Too much!", "Hmph.")];

#[tokio::test(start_paused = true)]
async fn a_changed_prompt_fails_and_spoils_nothing_else() {
    let replay = replay(&recorded(&EXCHANGE).await);
    let gorm = replay.model(session("gorm"));
    assert_eq!(text(&noticed(&*gorm, request(1, "You are Gorm.", "Got any swords?")).await), "Three.");
    expect![[r#"Step 2 of session 'gorm' is not as it was recorded: the prompt differs. Recorded: "How much?". Asked: "How much is it?". Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*gorm, request(1, "You are Gorm.", "How much is it?")).await);
    assert_eq!(text(&noticed(&*gorm, request(1, "You are Gorm.", "Too much!")).await), "Hmph.");
}

#[tokio::test(start_paused = true)]
async fn a_changed_first_prompt_does_not_lose_the_conversation() {
    let replay = replay(&recorded(&EXCHANGE).await);
    let gorm = replay.model(session("gorm"));
    refusal(&*gorm, request(1, "You are Gorm.", "Got swords?")).await;
    assert_eq!(text(&noticed(&*gorm, request(1, "You are Gorm.", "How much?")).await), "45 gold.");
}

#[tokio::test(start_paused = true)]
async fn the_message_shows_where_long_instructions_begin_to_differ() {
    let replay = replay(&recorded(&EXCHANGE).await);
    let asked = "You are Gorm, and you have always been.";
    expect![[r#"Step 1 of session 'gorm' is not as it was recorded: the instructions differ. Recorded: "You are Gorm.". Asked: "You are Gorm, and you have always been.". Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*replay.model(session("gorm")), request(1, asked, "Got any swords?")).await);

    let long = "You live in the village. ".repeat(20);
    let recorder = Recorder::new(RecordingDetail::default());
    let model = recorder.model(session("gorm"), Arc::new(Actor::new([answer("Aye.")])));
    noticed(&*model, request(1, &format!("{long}You are kind."), "Hello")).await;
    let replay = crate::stage::replay(&recorder.document());
    let asked = request(1, &format!("{long}You are grumpy."), "Hello");
    expect![[r#"Step 1 of session 'gorm' is not as it was recorded: the instructions differ. Recorded: "…he village. You are kind.". Asked: "…he village. You are grumpy.". Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*replay.model(session("gorm")), asked).await);
}

#[tokio::test(start_paused = true)]
async fn quotes_are_cut_between_characters_never_within_an_escape() {
    let replay = replay(&recorded(&[("Hello", "Aye.")]).await);
    let asked = |text: &str| request(1, "You are Gorm.", text);
    for (asked_text, quoted) in [
        ("\n".repeat(80), format!("\"{}\"", "\\n".repeat(80))),
        ("\n".repeat(81), format!("\"{}…\"", "\\n".repeat(79))),
        ("é\"".repeat(60), format!("\"{}é…\"", "é\\\"".repeat(39))),
    ] {
        let message = refusal(&*replay.model(session("gorm")), asked(&asked_text)).await;
        assert!(message.contains(&format!("Asked: {quoted}.")), "{message}");
    }
}

/// A step of a turn whose tools have returned this: with `resumes`, one that goes on with a turn which was saved.
fn after_tools(outputs: &[&str], resumes: bool) -> StepRequest {
    let mut transcript = Transcript::default();
    transcript.push(Entry::prompt("Where is my order?"));
    for (index, output) in outputs.iter().enumerate() {
        transcript.push(Entry::tool_output(&format!("c{index}"), "look", *output));
    }
    if resumes {
        transcript.push(Entry::prompt(""));
    }
    StepRequest { transcript: transcript.view_from(0), ..request(1, "You are Gorm.", "") }
}

#[tokio::test(start_paused = true)]
async fn outputs_of_tools_are_quoted_one_by_one_also_when_a_saved_turn_goes_on() {
    for resumes in [false, true] {
        let recorder = Recorder::new(RecordingDetail::default());
        let model = recorder.model(session("gorm"), Arc::new(Actor::new([answer("There.")])));
        let returned = [r#"{"state": "shipped"}"#, "neutral (8)\n"];
        noticed(&*model, after_tools(&returned, resumes)).await;
        let document = recorder.document();
        assert!(
            document.contains(r#""outputs":["{\"state\": \"shipped\"}","neutral (8)\n"]}"#),
            "{document}"
        );
        assert!(!document.contains(r#""prompt""#), "{document}");

        let refused = async |outputs: &[&str]| {
            refusal(&*replay(&document).model(session("gorm")), after_tools(outputs, resumes)).await
        };
        let message = refused(&[returned[0], "neutral (7)\n"]).await;
        let expected =
            r#"what the tools returned differs. Recorded: "neutral (8)\n". Asked: "neutral (7)\n"."#;
        assert!(message.contains(expected), "{message}");
        let message = refused(&[returned[0]]).await;
        let expected =
            r#"Recorded: "{\"state\": \"shipped\"}", "neutral (8)\n". Asked: "{\"state\": \"shipped\"}"."#;
        assert!(message.contains(expected), "{message}");
        assert_eq!(
            noticed(&*replay(&document).model(session("gorm")), after_tools(&returned, resumes)).await,
            answer("There.")
        );
    }
}

#[tokio::test(start_paused = true)]
async fn scripts_for_workers_are_no_part_of_what_is_asked() {
    let scripted = |told: &str| match told {
        "" => r#"oam-script:[{"text": "Aye."}]"#.to_owned(),
        told => format!("{told}\noam-script: []\nBe kind."),
    };
    for (told, replayed) in [("", ""), ("You are Gorm.", "You are Gorm.\nBe kind.")] {
        let recorder = Recorder::new(RecordingDetail::default());
        let model = recorder.model(session("gorm"), Arc::new(Actor::new([answer("Aye.")])));
        let asked = request(1, &scripted(told), "Hello");
        model.count_tokens(&asked).await;
        noticed(&*model, asked).await;
        assert!(!recorder.document().contains("oam-script"), "{}", recorder.document());
        let gorm = replay(&recorder.document()).model(session("gorm"));
        let asked = request(1, replayed, "Hello");
        assert_eq!(gorm.count_tokens(&asked).await, Some(5));
        assert_eq!(noticed(&*gorm, asked).await, answer("Aye."));
    }
}

#[tokio::test(start_paused = true)]
async fn more_steps_than_recorded_fail() {
    let replay = replay(&recorded(&EXCHANGE[..1]).await);
    let gorm = replay.model(session("gorm"));
    noticed(&*gorm, request(1, "You are Gorm.", "Got any swords?")).await;
    expect![[r#"The recording of session 'gorm' ends after 1 step; now it asks "Got any swords?". Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*gorm, request(1, "You are Gorm.", "Got any swords?")).await);
    let second = replay.model(session("gorm"));
    expect![[r#"Everything that is recorded for session 'gorm' has been played (1 conversation); now it asks "Got any swords?". Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*second, request(2, "You are Gorm.", "Got any swords?")).await);
}

#[tokio::test(start_paused = true)]
async fn an_owner_that_was_not_recorded_fails() {
    let replay = replay(&recorded(&EXCHANGE).await);
    expect![[r#"Nothing is recorded for NPC 'gorm', which asks "Hello". The recording has session 'gorm'. Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."#]]
        .assert_eq(&refusal(&*replay.model(Owner::Npc("gorm".to_owned())), request(1, "", "Hello")).await);
}

#[tokio::test(start_paused = true)]
async fn a_fallback_answers_where_nothing_is_recorded() {
    let document = with_fallback(&recorded(&EXCHANGE[..1]).await, "Eh?");
    let replay = replay(&document);
    let gorm = replay.model(session("gorm"));
    noticed(&*gorm, request(1, "You are Gorm.", "Got any swords?")).await;
    assert_eq!(text(&noticed(&*gorm, request(1, "You are Gorm.", "And shields?")).await), "Eh?");
    assert_eq!(text(&noticed(&*replay.model(session("mira")), request(2, "", "Hello")).await), "Eh?");
}

#[tokio::test(start_paused = true)]
async fn a_lenient_replay_answers_with_what_comes_next() {
    let replay = Replay::new(read(&recorded(&EXCHANGE).await), Matching::Lenient);
    let gorm = replay.model(session("gorm"));
    let asked = ["Swords?", "How much?", "That is too much!"];
    for (asked, (_, said)) in asked.into_iter().zip(EXCHANGE) {
        assert_eq!(text(&noticed(&*gorm, request(1, "You are Gorm, a smith.", asked)).await), said);
    }
    refusal(&*gorm, request(1, "You are Gorm, a smith.", "Hello?")).await;
}

#[tokio::test(start_paused = true)]
async fn a_lenient_replay_takes_the_conversation_that_is_most_alike() {
    let recorder = Recorder::new(RecordingDetail::default());
    let gorm = Owner::Npc("gorm".to_owned());
    let model = recorder.model(gorm.clone(), Arc::new(Actor::new(["Talk.", "Bark."].map(answer))));
    noticed(&*model, request(1, "Talk.", "Hello")).await;
    noticed(&*model, request(2, "Bark.", "It rains.")).await;
    let replay = Replay::new(read(&recorder.document()), Matching::Lenient);
    let model = replay.model(gorm);
    assert_eq!(text(&noticed(&*model, request(1, "Bark.", "It snows.")).await), "Bark.");
    assert_eq!(text(&noticed(&*model, request(2, "Talk.", "Hi")).await), "Talk.");
}

#[tokio::test(start_paused = true)]
async fn a_summary_belongs_to_its_conversation() {
    let recorder = Recorder::new(RecordingDetail::default());
    let model =
        recorder.model(session("gorm"), Arc::new(Actor::new(["Aye.", "They met.", "No."].map(answer))));
    for (conversation, asked) in [(5, "Hello"), (!5, "Summarize."), (5, "Really?")] {
        noticed(&*model, request(conversation, "", asked)).await;
    }
    let replay = replay(&recorder.document());
    let gorm = replay.model(session("gorm"));
    for (conversation, asked, said) in
        [(8, "Hello", "Aye."), (!8, "Summarize.", "They met."), (8, "Really?", "No.")]
    {
        assert_eq!(text(&noticed(&*gorm, request(conversation, "", asked)).await), said);
    }
}

#[tokio::test(start_paused = true)]
async fn a_step_that_was_cancelled_does_not_wait_for_ever() {
    let recorder = Recorder::new(RecordingDetail::default());
    let cancelled = Performance { said: Vec::new(), end: End::Cancelled };
    let model = recorder.model(session("gorm"), Arc::new(Actor::new([cancelled])));
    noticed(&*model, request(1, "", "Hello")).await;
    let replay = replay(&recorder.document());
    let gorm = replay.model(session("gorm"));
    expect![[r"The recorded step of session 'gorm' was cancelled, or was the last one of a recording that broke off; nobody has cancelled it for 30 s now. Record it again, or match it leniently (OAM_REPLAY_MATCH=lenient)."]]
        .assert_eq(&refusal(&*gorm, request(1, "", "Hello")).await);
}

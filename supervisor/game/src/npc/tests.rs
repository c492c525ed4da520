use std::time::Duration;

use oam_agent::{NoHost, json_text};
use serde_json::{Value, json};

use super::*;
use crate::{emotion::AllowedEmotions, test_model::TestModel};

/// Gorm, answering in text, on a model that plays `steps`.
fn gorm(model: &Arc<TestModel>, options: NpcOptions) -> Npc {
    let options = NpcOptions { reply_format: ReplyFormat::Text, ..options };
    let memory = Memory { relationship: Relationship::new(30), ..Memory::default() };
    let setup = NpcSetup { memory, options, ..NpcSetup::new(Persona::new("Gorm")) };
    Npc::new(Arc::clone(model) as Arc<dyn Model>, setup).unwrap()
}

async fn talk(npc: &Npc, line: &str) -> DialogueTurn {
    npc.talk(&PlayerLine::new(line), &mut NoHost).await.unwrap()
}

/// After the second turn the first one becomes the summary.
fn compacting() -> NpcOptions {
    NpcOptions { compact_after_turns: 2, keep_recent_turns: 1, ..NpcOptions::default() }
}

fn saved_instructions(npc: &Npc) -> String {
    let transcript = npc.save().transcript;
    transcript.setup.and_then(|setup| setup.instructions).as_deref().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn a_new_summary_and_a_reset_are_in_the_instructions_at_once() {
    let model = TestModel::new(&json!([{"text": "[sad] a"}, {"text": "[sad] b"}, {"text": " They met. "}]));
    let npc = gorm(&model, compacting());
    talk(&npc, "1").await;
    talk(&npc, "2").await;
    npc.settle().await;
    assert_eq!((npc.memory().summary.as_deref(), npc.overview().turn_count), (Some("They met."), 1));
    assert!(saved_instructions(&npc).ends_with("- Earlier conversation: They met."));

    npc.reset(false).await;
    assert!(saved_instructions(&npc).contains("You feel friendly toward the player (30"));
    npc.reset(true).await;
    assert!(!saved_instructions(&npc).contains("Memory:"));
}

#[tokio::test]
async fn a_blank_summary_changes_nothing() {
    let model = TestModel::new(&json!([{"text": "[sad] a"}, {"text": "[sad] b"}, {"text": " \n"}]));
    let npc = gorm(&model, compacting());
    talk(&npc, "1").await;
    talk(&npc, "2").await;
    npc.settle().await;
    assert_eq!((npc.memory().summary, npc.overview().turn_count), (None, 2));
}

#[tokio::test]
async fn once_stopped_no_compaction_starts_any_more() {
    let model = TestModel::new(&json!([{"text": "[sad] a"}, {"text": "[sad] b"}, {"text": "They met."}]));
    let npc = gorm(&model, compacting());
    talk(&npc, "1").await;
    npc.stop_compaction();
    talk(&npc, "2").await;
    npc.settle().await;
    assert_eq!((npc.memory().summary, model.requests().len()), (None, 2));
}

#[tokio::test(start_paused = true)]
async fn a_turn_ends_by_the_options_with_which_it_began() {
    let slow = json!({"error": "guardrail_violation", "delayMs": 1000});
    let model = TestModel::new(&json!([slow, slow, slow]));
    let fallback_lines = vec!["Hm.".to_owned(), "Aye.".to_owned()];
    let npc = gorm(&model, NpcOptions { fallback_lines, ..NpcOptions::default() });
    let revised = |fallback_on_guardrail, line: &str| {
        let (npc, line) = (npc.clone(), line.to_owned());
        async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            let revise = |draft: &mut NpcDraft| {
                draft.options.fallback_on_guardrail = fallback_on_guardrail;
                draft.options.fallback_lines = vec![line];
                Ok::<_, NpcError>(())
            };
            npc.revise(revise).unwrap();
        }
    };
    let (turn, ()) = tokio::join!(talk(&npc, "1"), revised(false, "Later."));
    assert_eq!((&*turn.line, turn.is_fallback), ("Hm.", true));
    let (player, mut host) = (PlayerLine::new("2"), NoHost);
    let (turn, ()) = tokio::join!(npc.talk(&player, &mut host), revised(true, "Later."));
    assert!(turn.unwrap_err().is_blocked());
    assert_eq!(talk(&npc, "3").await.line, "Later.");
}

#[test]
fn options_are_saved_in_full() {
    let set = NpcOptions {
        grounding_tool: Some("look".into()),
        tool_choice: oam_agent::ToolChoice::Tool("look".into()),
        tool_timeout: None,
        memory_tools: MemoryTools { remember_fact: false, change_relationship: true },
        secrets_unlock_at_relationship: None,
        emotions: AllowedEmotions::new([crate::Emotion::Sad]),
        temperature: Some(1.0),
        ..NpcOptions::default()
    };
    let saved: Value = serde_json::from_str(&json_text::compact(&set)).unwrap();
    for (member, value) in [
        ("replyFormat", json!("automatic")),
        ("groundingTool", json!("look")),
        ("toolChoice", json!({"tool": "look"})),
        ("toolTimeoutSeconds", json!(0)),
        ("memoryTools", json!(["changeRelationship"])),
        ("secretsUnlockAtRelationship", json!(null)),
        ("emotions", json!(["sad"])),
        ("temperature", json!(1)),
    ] {
        assert_eq!(saved.get(member), Some(&value), "{member}");
    }
    for unset in ["extraInstructions", "maximumResponseTokens"] {
        assert_eq!(saved.get(unset), None, "{unset}");
    }
}

use std::sync::{Arc, Mutex};

use oam_agent::{NoHost, json_text};
use proptest::{collection, prelude::*};
use serde_json::{Value, json};

use super::*;
use crate::{
    MemoryTools, NpcError, NpcOptions, NpcSetup, Persona, PlayerLine, Relationship, ReplyFormat,
    test_model::TestModel,
};

/// What is needed to have a character again.
#[derive(Debug, Clone)]
struct Records {
    draft: NpcDraft,
    said: SavedTranscript,
}

/// A character as it was, and the changes since.
#[derive(Debug, Default)]
struct Journal(Mutex<Vec<Record>>);

#[derive(Debug)]
enum Record {
    Turn { start: usize, said: SavedTranscript, memory: Option<Memory> },
    Compacted { first_kept: Option<EntryId>, setup: Option<SavedSetup>, summary: String },
    Revised(Box<NpcDraft>),
    Reset { setup: Option<SavedSetup>, clear_memory: bool },
}

impl NpcKeeper for Journal {
    fn changed(&self, change: NpcChange<'_>) {
        self.0.lock().unwrap().push(match change {
            NpcChange::Turn { start, said, memory } => Record::Turn { start, said: read_back(&said), memory },
            NpcChange::Compacted { first_kept, setup, summary } => {
                Record::Compacted { first_kept, setup, summary: summary.to_owned() }
            }
            NpcChange::Revised(draft) => Record::Revised(Box::new(draft.clone())),
            NpcChange::Reset { setup, clear_memory } => Record::Reset { setup, clear_memory },
        });
    }
}

/// As it is after it was text.
fn read_back(said: &SavedTranscript) -> SavedTranscript {
    SavedTranscript::from_json(&serde_json::from_str(&json_text::compact(said)).unwrap()).unwrap()
}

impl Records {
    fn of(npc: &Npc) -> Self {
        let draft = npc.character().draft();
        npc.save_with(|state| Self { draft, said: read_back(&state.transcript) })
    }

    fn replay(&mut self, record: &Record) {
        match record {
            Record::Turn { start, said, memory } => {
                self.said.follow(*start, said.clone()).unwrap();
                self.draft.memory = memory.clone().unwrap_or_else(|| self.draft.memory.clone());
            }
            Record::Compacted { first_kept, setup, summary } => {
                self.said.compact(first_kept.as_ref(), setup.clone());
                self.draft.memory.summary = Some(summary.clone());
            }
            Record::Revised(draft) => self.draft = NpcDraft::clone(draft),
            Record::Reset { setup, clear_memory } => {
                self.said.compact(None, setup.clone());
                if *clear_memory {
                    self.draft.memory = Memory::default();
                }
            }
        }
    }

    fn restored(self) -> Npc {
        let Self { draft: NpcDraft { persona, memory, options, tools }, said } = self;
        let setup = NpcSetup { tools, memory, options, history: said.transcript, ..NpcSetup::new(persona) };
        Npc::restored(TestModel::new(&json!([])), setup, said.setup).unwrap()
    }
}

fn saved(npc: &Npc) -> String {
    json_text::compact(&npc.save())
}

/// What happens to a character.
#[derive(Debug, Clone)]
enum Act {
    /// It answers, without or with a memory tool.
    Turn(Option<Value>),
    /// A tool is called, then the answer is blocked: a fallback line.
    BlockedTurn,
    Revise(i64),
    Reset(bool),
}

fn act() -> impl Strategy<Value = Act> {
    let fact = "[a-c]".prop_map(|fact| json!({"name": "remember_fact", "arguments": {"fact": fact}}));
    let delta = (-3..3).prop_map(
        |delta| json!({"name": "change_relationship", "arguments": {"reason": "x", "delta": delta}}),
    );
    prop_oneof![
        2 => Just(Act::Turn(None)),
        4 => prop_oneof![fact, delta].prop_map(|call| Act::Turn(Some(call))),
        1 => Just(Act::BlockedTurn),
        1 => (-50..50_i64).prop_map(Act::Revise),
        1 => any::<bool>().prop_map(Act::Reset),
    ]
}

/// The steps of the acts; `summaries` says after which acts there is a summary.
fn steps(act: &Act) -> Vec<Value> {
    let call = |call: &Value| json!({"toolCalls": [call]});
    let direct = json!({"name": "respond_directly"});
    match act {
        Act::Turn(tool) => vec![call(tool.as_ref().unwrap_or(&direct)), json!({"text": "[sad] Aye."})],
        Act::BlockedTurn => {
            let fact = json!({"name": "remember_fact", "arguments": {"fact": "lost"}});
            vec![call(&fact), json!({"error": "guardrail_violation"})]
        }
        Act::Revise(_) | Act::Reset(_) => Vec::new(),
    }
}

/// After the third turn the older ones become the summary.
const COMPACT_AFTER: i64 = 3;

/// The whole script: a summary follows the turns after which there is one.
fn script(acts: &[Act]) -> Value {
    let mut turns = 0;
    let mut script = Vec::new();
    for act in acts {
        script.extend(steps(act));
        match act {
            Act::Turn(_) => turns += 1,
            Act::Reset(_) => turns = 0,
            Act::BlockedTurn | Act::Revise(_) => {}
        }
        if turns == COMPACT_AFTER && matches!(act, Act::Turn(_)) {
            script.push(json!({"text": format!("They met {} times.", script.len())}));
            turns = 1;
        }
    }
    script.into()
}

fn gorm(model: Arc<TestModel>, keeper: Arc<Journal>) -> Npc {
    let options = NpcOptions {
        reply_format: ReplyFormat::Text,
        compact_after_turns: COMPACT_AFTER,
        keep_recent_turns: 1,
        memory_tools: MemoryTools::ALL,
        max_facts: 2,
        ..NpcOptions::default()
    };
    let setup = NpcSetup { options, keeper: Some(keeper), ..NpcSetup::new(Persona::new("Gorm")) };
    Npc::new(model, setup).unwrap()
}

async fn play(npc: &Npc, act: &Act) {
    match act {
        Act::Turn(_) | Act::BlockedTurn => {
            let turn = npc.talk(&PlayerLine::new("Hm?"), &mut NoHost).await.unwrap();
            assert_eq!(turn.is_fallback, matches!(act, Act::BlockedTurn));
        }
        Act::Revise(relationship) => {
            let revise = |draft: &mut NpcDraft| {
                draft.memory.relationship = Relationship::new(*relationship);
                draft.persona.role = format!("a smith of mood {relationship}");
                Ok::<_, NpcError>(())
            };
            npc.revise(revise).unwrap();
        }
        Act::Reset(clear_memory) => npc.reset(*clear_memory).await,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn what_is_told_gives_the_same_character(acts in collection::vec(act(), 0..14), settles in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            let journal = Arc::<Journal>::default();
            let npc = gorm(TestModel::new(&script(&acts)), Arc::clone(&journal));
            let start = Records::of(&npc);
            // States on the way, with the number of changes told before each.
            let mut snapshots = vec![(0, start)];
            for act in &acts {
                play(&npc, act).await;
                if settles {
                    npc.settle().await;
                }
                snapshots.push((journal.0.lock().unwrap().len(), Records::of(&npc)));
            }
            npc.settle().await;
            let told = journal.0.lock().unwrap();
            for (seen, snapshot) in snapshots {
                let mut records = snapshot;
                told[seen..].iter().for_each(|record| records.replay(record));
                assert_eq!(saved(&records.clone().restored()), saved(&npc), "after {seen} of {told:#?}");
                // The last change again.
                told.last().into_iter().for_each(|record| records.replay(record));
                assert_eq!(saved(&records.restored()), saved(&npc), "the last twice");
            }
        });
    }
}

#[tokio::test]
async fn a_blocked_turn_changes_nothing_and_tells_nothing() {
    let journal = Arc::<Journal>::default();
    let acts = [Act::BlockedTurn];
    let npc = gorm(TestModel::new(&script(&acts)), Arc::clone(&journal));
    let before = saved(&npc);
    play(&npc, &acts[0]).await;
    assert_eq!(saved(&npc), before);
    assert!(journal.0.lock().unwrap().is_empty());
}

#[tokio::test]
async fn a_summary_is_told_after_its_turn_and_a_revision_beside_it_stays() {
    let journal = Arc::<Journal>::default();
    let acts = [Act::Turn(None), Act::Turn(None), Act::Turn(None)];
    let npc = gorm(TestModel::new(&script(&acts)), Arc::clone(&journal));
    let mut records = Records::of(&npc);
    for act in &acts {
        play(&npc, act).await;
    }
    // The compaction is under way.
    play(&npc, &Act::Revise(7)).await;
    npc.settle().await;
    let told = journal.0.lock().unwrap();
    let names: Vec<_> = told.iter().map(|record| format!("{record:?}")[..4].to_owned()).collect();
    assert_eq!(names, ["Turn", "Turn", "Turn", "Revi", "Comp"]);
    told.iter().for_each(|record| records.replay(record));
    assert_eq!(saved(&records.restored()), saved(&npc));
}

//! Mira without a model: a [playbook](Playbook) of answers, and somebody who picks the next one.
//!
//! Whoever answers is a real worker process (`oam worker scripted`), which finds its script in a line `oam-script:` of the
//! instructions and tells from the conversation which step is next (docs/OPERATIONS.md). So before each turn the playwright
//! looks for the cue in what the guest says, and writes the steps for it behind those of the evening so far. A step
//! that is played again by another worker then says the same.

use std::collections::{BTreeMap, HashMap};

use oam_agent::{SCRIPT_LINE, json_text};
use oam_game::Relationship;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::house::{Dish, House, Refusal};

/// All that is written for the evening.
#[derive(Debug, Deserialize)]
struct Playbook {
    bark: String,
    /// What guests call the dishes.
    names: BTreeMap<String, Vec<String>>,
    /// Lists of phrases that several cues hear, as `@name`.
    phrases: HashMap<String, Vec<String>>,
    /// The first that fits is taken. The last one always does.
    cues: Vec<Cue>,
    /// What Mira decides, by what she feels; the last one always fits.
    closing: Vec<Closing>,
}

/// When to give which answer.
#[derive(Debug, Deserialize)]
struct Cue {
    /// One of these must be said, if there are any.
    #[serde(default)]
    hears: Vec<String>,
    /// And one of these.
    #[serde(default)]
    and: Vec<String>,
    /// And a dish must be named of which this is true.
    item: Option<ItemState>,
    /// And it must be this one.
    of: Option<String>,
    /// In rotation.
    answers: Vec<Answer>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
enum ItemState {
    #[serde(rename = "named")]
    Named,
    #[serde(rename = "served")]
    Served,
    #[serde(rename = "sold out")]
    SoldOut,
    #[serde(rename = "too dear")]
    TooDear,
}

#[derive(Debug, Clone, Deserialize)]
struct Answer {
    /// A round of tool calls before the reply.
    #[serde(default)]
    calls: Vec<Value>,
    emotion: String,
    line: String,
    options: Vec<String>,
    #[serde(default)]
    ends: bool,
}

#[derive(Debug, Deserialize)]
struct Closing {
    from: i64,
    choice: String,
    confidence: u8,
    reasoning: String,
}

/// Picks answers, and keeps the script of the evening.
#[derive(Debug)]
pub(super) struct Playwright {
    playbook: Playbook,
    /// The steps of all turns that stand.
    played: Vec<Value>,
    /// The steps of the turn that is being played.
    next: Vec<Value>,
    /// How often each cue was taken.
    taken: HashMap<usize, usize>,
}

/// What the guest said, and which dish is meant.
struct Heard<'a> {
    words: String,
    dish: Option<(&'a Dish, ItemState)>,
}

impl Playwright {
    pub(super) fn new() -> Self {
        let playbook =
            serde_json::from_str(include_str!("evening.json")).expect("the playbook is well-formed");
        Self { playbook, played: Vec::new(), next: Vec::new(), taken: HashMap::new() }
    }

    /// The script for what Mira says by herself.
    pub(super) fn bark(&self) -> String {
        script_line(&[json!({"text": self.playbook.bark})])
    }

    /// The script for the next turn, in which the guest says `said`.
    pub(super) fn turn(&mut self, said: &str, house: &House) -> String {
        let menu = house.menu();
        let words = normalized(said);
        let dish = self.named(&words, &menu).map(|dish| {
            let state = match house.would_serve(&dish.item) {
                Ok(_) => ItemState::Served,
                Err(Refusal::TooLittleGold(_)) => ItemState::TooDear,
                Err(Refusal::SoldOut(_) | Refusal::Unknown(_)) => ItemState::SoldOut,
            };
            (dish, state)
        });
        let heard = Heard { words, dish };
        let cue = self.cue(&heard);
        let answers = &self.playbook.cues[cue].answers;
        let times = self.taken.entry(cue).or_default();
        let answer = answers[*times % answers.len()].clone();
        *times += 1;
        self.next = steps(answer, &Blanks::new(heard.dish.map(|(dish, _)| dish), &menu, house.gold()));
        script_line(&[&self.played[..], &self.next].concat())
    }

    /// The turn stands: its steps are part of the conversation.
    pub(super) fn turn_stands(&mut self) {
        self.played.append(&mut self.next);
    }

    /// The script for the decision at closing time.
    pub(super) fn closing_time(&self, feelings: Relationship) -> String {
        let closing = &self.playbook.closing;
        let fitting = closing.iter().find(|closing| feelings.get() >= closing.from).or(closing.last());
        let step = |Closing { choice, confidence, reasoning, .. }: &Closing| json!({"json": {"reasoning": reasoning, "choice": choice, "confidence": confidence}});
        script_line(&fitting.map(step).into_iter().collect::<Vec<_>>())
    }

    fn named<'a>(&self, words: &str, menu: &'a [Dish]) -> Option<&'a Dish> {
        menu.iter().find(|dish| {
            let names = self.playbook.names.get(&dish.item);
            names.is_some_and(|names| names.iter().any(|name| says(words, name)))
        })
    }

    fn cue(&self, heard: &Heard<'_>) -> usize {
        let cues = &self.playbook.cues;
        cues.iter().position(|cue| self.fits(cue, heard)).unwrap_or(cues.len() - 1)
    }

    fn fits(&self, cue: &Cue, heard: &Heard<'_>) -> bool {
        let is_said = |phrases: &[String]| phrases.is_empty() || self.is_any_said(phrases, &heard.words);
        let is_about = match (cue.item, heard.dish) {
            (None, _) => true,
            (Some(ItemState::Named), dish) => dish.is_some(),
            (Some(state), dish) => dish.is_some_and(|(_, is)| is == state),
        };
        let is_dish = |of: &String| heard.dish.is_some_and(|(dish, _)| dish.item == *of);
        is_said(&cue.hears) && is_said(&cue.and) && is_about && cue.of.as_ref().is_none_or(is_dish)
    }

    fn is_any_said(&self, phrases: &[String], words: &str) -> bool {
        phrases.iter().any(|phrase| match phrase.strip_prefix('@') {
            Some(list) => {
                self.playbook.phrases.get(list).is_some_and(|list| list.iter().any(|one| says(words, one)))
            }
            None => says(words, phrase),
        })
    }
}

/// Whether `phrase` is among the words, which are [normalized].
fn says(words: &str, phrase: &str) -> bool {
    words.contains(&normalized(phrase))
}

/// Words in lower case, without apostrophes, each between two blanks.
fn normalized(text: &str) -> String {
    let mut words = String::from(" ");
    for c in text.chars().filter(|c| !matches!(c, '\'' | '’')) {
        match c.is_alphanumeric() {
            true => words.extend(c.to_lowercase()),
            false if words.ends_with(' ') => {}
            false => words.push(' '),
        }
    }
    if !words.ends_with(' ') {
        words.push(' ');
    }
    words
}

/// What is filled into answers, by name.
struct Blanks(Vec<(&'static str, String)>);

impl Blanks {
    fn new(dish: Option<&Dish>, menu: &[Dish], gold: i64) -> Self {
        let mut blanks = vec![("{gold}", gold.to_string()), ("{menu}", listed(menu))];
        if let Some(Dish { item, price_gold, left }) = dish {
            blanks.extend([
                ("{item}", item.clone()),
                ("{price}", price_gold.to_string()),
                ("{left}", left.to_string()),
                ("{gold_after}", (gold - price_gold).to_string()),
            ]);
        }
        Self(blanks)
    }

    fn filled(&self, text: &str) -> String {
        self.0.iter().fold(text.to_owned(), |text, (name, value)| text.replace(name, value))
    }

    fn filled_value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.filled(&text).into(),
            Value::Array(values) => values.into_iter().map(|value| self.filled_value(value)).collect(),
            Value::Object(members) => {
                let members = members.into_iter().map(|(name, value)| (name, self.filled_value(value)));
                Value::Object(members.collect::<Map<_, _>>())
            }
            other => other,
        }
    }
}

fn listed(menu: &[Dish]) -> String {
    let dishes = menu.iter().filter(|dish| dish.left > 0);
    let list =
        dishes.map(|dish| format!("{} for {}", dish.item, dish.price_gold)).collect::<Vec<_>>().join(", ");
    let mut letters = list.chars();
    letters.next().map_or(list.clone(), |first| first.to_uppercase().chain(letters).collect())
}

/// The steps of the scripted model (docs/PROTOCOL.md) for an answer.
fn steps(answer: Answer, blanks: &Blanks) -> Vec<Value> {
    let Answer { calls, emotion, line, options, ends } = answer;
    let mut steps = Vec::new();
    if !calls.is_empty() {
        steps.push(json!({"toolCalls": blanks.filled_value(calls.into())}));
    }
    let reply = json!({
        "emotion": emotion,
        "line": blanks.filled(&line),
        "player_options": options.iter().map(|option| blanks.filled(option)).collect::<Vec<_>>(),
        "ends_conversation": ends,
    });
    let reply = json_text::compact(&reply);
    // A piece a word, more or less.
    let chunks = reply.split(' ').count();
    steps.push(json!({"text": reply, "chunks": chunks}));
    steps
}

fn script_line(steps: &[Value]) -> String {
    format!("{SCRIPT_LINE} {}", json_text::compact(steps))
}

#[cfg(test)]
mod tests {
    use oam_agent::Script;

    use super::*;

    fn script(line: &str) -> Value {
        serde_json::from_str(line.strip_prefix(SCRIPT_LINE).unwrap()).unwrap()
    }

    fn cue_of(playwright: &Playwright, said: &str) -> usize {
        let menu = House::open().menu();
        let words = normalized(said);
        let dish = playwright.named(&words, &menu).map(|dish| (dish, ItemState::Served));
        playwright.cue(&Heard { words, dish })
    }

    #[test]
    fn words_are_heard_however_they_are_written() {
        let words = normalized("  I’ll have -- THE Stew!");
        assert_eq!(words, " ill have the stew ");
        assert!(says(&words, "i'll have") && says(&words, "stew"));
        assert!(!says(&words, "ste") && !says(&normalized("tale"), "ale"));
        assert_eq!((normalized(""), normalized("?!")), (" ".to_owned(), " ".to_owned()));
    }

    #[test]
    fn everything_that_is_suggested_has_an_answer_of_its_own() {
        let playwright = Playwright::new();
        let last = playwright.playbook.cues.len() - 1;
        let blanks = Blanks::new(House::open().menu().get(2), &[], 30);
        let answers = playwright.playbook.cues.iter().flat_map(|cue| &cue.answers);
        let suggested = answers.flat_map(|answer| answer.options.iter().map(|option| blanks.filled(option)));
        let openers = super::super::cast::OPENERS.iter().chain(&super::super::cast::CANNED_LINES);
        for said in suggested.chain(openers.map(|said| (*said).to_owned())) {
            assert!(cue_of(&playwright, &said) < last, "{said}");
        }
        assert_eq!(cue_of(&playwright, "Colourless green ideas?"), last);
    }

    #[test]
    fn no_blank_is_left_in_any_answer() {
        let playbook = Playwright::new().playbook;
        let house = House::open();
        let menu = house.menu();
        for cue in &playbook.cues {
            let dish = cue.item.map(|_| &menu[2]);
            for answer in &cue.answers {
                let steps = Value::from(steps(answer.clone(), &Blanks::new(dish, &menu, house.gold())));
                assert!(Script::from_steps_or_object(&steps, "").is_ok(), "{steps}");
                let text = steps.to_string();
                for blank in ["{item}", "{price}", "{left}", "{gold", "{menu}"] {
                    assert!(!text.contains(blank), "{text}");
                }
            }
        }
        let tools = ["check_menu", "take_order", "change_relationship"];
        let calls = playbook.cues.iter().flat_map(|cue| &cue.answers).flat_map(|answer| &answer.calls);
        assert!(calls.into_iter().all(|call| tools.iter().any(|tool| call["name"] == *tool)));
    }

    #[test]
    fn the_script_grows_by_the_turns_that_stand() {
        let (mut playwright, house) = (Playwright::new(), House::open());
        let first = script(&playwright.turn("The stew, please!", &house));
        assert_eq!(first[0]["toolCalls"][0]["arguments"], json!({"item": "rabbit stew"}));
        assert!(first[1]["text"].as_str().unwrap().contains("leaves you 25"));
        // It failed; the next one begins at the same place.
        let second = script(&playwright.turn("Goodbye!", &house));
        assert_eq!(second.as_array().unwrap().len(), 1);
        playwright.turn_stands();
        let third = script(&playwright.turn("Any news?", &house));
        assert_eq!((third.as_array().unwrap().len(), &third[0]), (2, &second[0]));
    }

    #[test]
    fn what_the_evening_was_like_shows_at_closing_time() {
        let playwright = Playwright::new();
        let chosen = |feelings| {
            let step = &script(&playwright.closing_time(Relationship::new(feelings)))[0]["json"];
            step["choice"].as_str().unwrap().to_owned()
        };
        assert_eq!([8, 0, -8, -40].map(chosen), ["free_room", "room_on_credit", "full_price", "turn_away"]);
    }
}

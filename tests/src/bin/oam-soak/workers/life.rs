//! What a session is to do from its creation to its deletion, and what must come of it.

use fastrand::Rng;
use serde_json::{Value, json};

/// The tool that scripts call.
pub(crate) const TOOL: &str = "look";

/// The life of a session: its turns, each known in advance.
#[derive(Debug)]
pub(crate) struct Life {
    pub(crate) turns: Vec<Turn>,
}

/// A turn, as the script of its session has it.
#[derive(Debug)]
pub(crate) enum Turn {
    /// Says this.
    Text { text: String, chunks: usize },
    /// Says the prompt back.
    Echo,
    /// Calls the tool once for each of these words, then tells what it returned.
    Tools { words: Vec<String> },
    /// Answers with a value.
    Structured { value: Value },
    /// Fails. It takes no step of the script with it, so it must be the last.
    Refusal,
}

impl Life {
    /// Short enough that the model sees all of the conversation: a script's place is told by it.
    pub(crate) fn new(rng: &mut Rng, name: &str) -> Self {
        let count = rng.usize(1..=8);
        let mut turns: Vec<_> =
            (0..count).map(|number| Turn::new(rng, &format!("{name}.{number}"))).collect();
        if rng.u32(..8) == 0 {
            turns.push(Turn::Refusal);
        }
        Self { turns }
    }

    /// The instructions that bring the script to whichever worker plays the session.
    pub(crate) fn instructions(&self, rng: &mut Rng) -> String {
        let steps: Vec<_> = self.turns.iter().flat_map(|turn| turn.script(rng)).collect();
        format!("You play what you are told.\noam-script: {}", Value::from(steps))
    }
}

impl Turn {
    fn new(rng: &mut Rng, name: &str) -> Self {
        match rng.u32(..10) {
            0..=2 => Self::Text { text: words(rng), chunks: rng.usize(1..=8) },
            3 | 4 => Self::Echo,
            5..=7 => {
                Self::Tools { words: (0..rng.usize(1..=3)).map(|call| format!("{name}.{call}")).collect() }
            }
            _ => {
                let choice = *rng.choice(&["fight", "flee"]).expect("there are two");
                Self::Structured { value: json!({"reason": words(rng), "choice": choice}) }
            }
        }
    }

    /// Its steps, now and then slow.
    fn script(&self, rng: &mut Rng) -> Vec<Value> {
        let mut steps = match self {
            Self::Text { text, chunks } => vec![json!({"text": text, "chunks": chunks})],
            Self::Echo => vec![json!({"template": "{prompt} you say"})],
            Self::Tools { words } => {
                let calls: Vec<_> =
                    words.iter().map(|word| json!({"name": TOOL, "arguments": {"word": word}})).collect();
                vec![json!({"toolCalls": calls}), json!({"template": "{toolOutputs}"})]
            }
            Self::Structured { value } => vec![json!({"json": value})],
            Self::Refusal => vec![json!({"error": "refusal"})],
        };
        for step in &mut steps {
            if rng.u32(..10) == 0 {
                step["delayMs"] = json!(rng.u32(1..5));
            }
        }
        steps
    }

    /// The schema of the answer.
    pub(crate) fn schema(&self) -> Option<Value> {
        matches!(self, Self::Structured { .. }).then(|| {
            json!({"type": "object", "required": ["reason", "choice"],
                "properties": {"reason": {"type": "string"}, "choice": {"enum": ["fight", "flee"]}}})
        })
    }

    /// How many steps it takes.
    pub(crate) fn steps(&self) -> usize {
        if matches!(self, Self::Tools { .. }) { 2 } else { 1 }
    }

    /// The tokens of its answer as the scripted model counts them, where that is simple.
    pub(crate) fn output_tokens(&self) -> Option<usize> {
        match self {
            Self::Text { text, chunks } => {
                let length = text.chars().count();
                let piece = if *chunks > 1 && length > *chunks { length.div_ceil(*chunks) } else { length };
                let rest = length % piece;
                Some(length / piece * (piece / 4).max(1) + if rest > 0 { (rest / 4).max(1) } else { 0 })
            }
            Self::Structured { .. } => Some(8),
            _ => None,
        }
    }
}

/// Letters only, so that no text holds a placeholder or the word of a fault by chance.
pub(super) fn words(rng: &mut Rng) -> String {
    let word = |rng: &mut Rng| (0..rng.usize(1..8)).map(|_| rng.char('à'..='ö')).collect::<String>();
    (0..rng.usize(1..16)).map(|_| word(rng)).collect::<Vec<_>>().join(" ")
}

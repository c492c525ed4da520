//! How a character feels: a closed list for the game, read leniently from whatever a model writes.

use serde::{Serialize, Serializer};

/// A character's emotion (docs/PROTOCOL.md, `npc/create`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Emotion {
    /// At ease; also the fallback wherever an emotion cannot be read.
    #[default]
    Neutral,
    /// Glad.
    Happy,
    /// Down.
    Sad,
    /// Furious.
    Angry,
    /// Frightened.
    Afraid,
    /// Taken unawares.
    Surprised,
    /// Distrustful.
    Suspicious,
    /// Entertained.
    Amused,
    /// Revolted.
    Disgusted,
    /// Thrilled.
    Excited,
    /// Wanting to know.
    Curious,
    /// At a loss.
    Confused,
    /// Anxious.
    Worried,
    /// Thankful.
    Grateful,
    /// Irritated.
    Annoyed,
    /// Sure of oneself.
    Proud,
}

impl Emotion {
    /// All emotions, in the order in which models are shown them.
    pub const ALL: [Self; 16] = [
        Self::Neutral,
        Self::Happy,
        Self::Sad,
        Self::Angry,
        Self::Afraid,
        Self::Surprised,
        Self::Suspicious,
        Self::Amused,
        Self::Disgusted,
        Self::Excited,
        Self::Curious,
        Self::Confused,
        Self::Worried,
        Self::Grateful,
        Self::Annoyed,
        Self::Proud,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Neutral => "neutral",
            Self::Happy => "happy",
            Self::Sad => "sad",
            Self::Angry => "angry",
            Self::Afraid => "afraid",
            Self::Surprised => "surprised",
            Self::Suspicious => "suspicious",
            Self::Amused => "amused",
            Self::Disgusted => "disgusted",
            Self::Excited => "excited",
            Self::Curious => "curious",
            Self::Confused => "confused",
            Self::Worried => "worried",
            Self::Grateful => "grateful",
            Self::Annoyed => "annoyed",
            Self::Proud => "proud",
        }
    }

    /// Words that models and writers use for the same feeling.
    fn synonyms(self) -> &'static [&'static str] {
        match self {
            Self::Neutral => &["calm", "content", "indifferent", "bored"],
            Self::Happy => &["joyful", "glad", "cheerful", "pleased", "friendly", "warm"],
            Self::Sad => &["unhappy", "sorrowful", "melancholy", "grieving"],
            Self::Angry => &["mad", "furious", "enraged", "hostile"],
            Self::Afraid => &["scared", "fearful", "frightened", "terrified"],
            Self::Surprised => &["shocked", "astonished", "startled"],
            Self::Suspicious => &["wary", "distrustful", "skeptical", "sceptical"],
            Self::Amused => &["amusement", "playful", "laughing"],
            Self::Disgusted => &["disgust", "revolted"],
            Self::Excited => &["eager", "thrilled", "enthusiastic"],
            Self::Curious => &["interested", "intrigued"],
            Self::Confused => &["puzzled", "uncertain"],
            Self::Worried => &["anxious", "concerned", "nervous"],
            Self::Grateful => &["thankful"],
            Self::Annoyed => &["irritated", "grumpy", "impatient", "gruff"],
            Self::Proud => &["confident", "smug"],
        }
    }

    /// The emotion that a text names: its name or a synonym, in any case, with anything but letters around it.
    pub fn read(text: &str) -> Option<Self> {
        let word = text.trim_matches(|c: char| !c.is_alphabetic());
        let is_word = |name: &str| name.eq_ignore_ascii_case(word);
        Self::ALL.into_iter().find(|emotion| {
            is_word(emotion.as_str()) || emotion.synonyms().iter().any(|synonym| is_word(synonym))
        })
    }
}

/// The emotions that a character may feel: at least one, each once, in the game's order. By default all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct AllowedEmotions(Vec<Emotion>);

impl AllowedEmotions {
    /// These emotions; none means all.
    pub fn new(emotions: impl IntoIterator<Item = Emotion>) -> Self {
        let mut allowed = Vec::new();
        for emotion in emotions {
            if !allowed.contains(&emotion) {
                allowed.push(emotion);
            }
        }
        if allowed.is_empty() { Self::default() } else { Self(allowed) }
    }

    /// The emotions, never empty.
    pub fn as_slice(&self) -> &[Emotion] {
        &self.0
    }

    /// Whether no emotion is left out.
    pub fn are_all(&self) -> bool {
        self.0.len() == Emotion::ALL.len()
    }
}

impl Default for AllowedEmotions {
    fn default() -> Self {
        Self(Emotion::ALL.to_vec())
    }
}

impl std::fmt::Display for Emotion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Emotion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn emotions_are_read_leniently() {
        let cases = [
            ("happy", Some(Emotion::Happy)),
            (" *Gruff*! ", Some(Emotion::Annoyed)),
            ("[SCARED]", Some(Emotion::Afraid)),
            ("smug.", Some(Emotion::Proud)),
            ("very happy", None),
            ("42", None),
            ("", None),
        ];
        for (text, emotion) in cases {
            assert_eq!(Emotion::read(text), emotion, "{text:?}");
        }
    }

    #[test]
    fn emotions_are_allowed_once_each_and_never_none() {
        let allowed = |emotions: &[Emotion]| AllowedEmotions::new(emotions.iter().copied());
        assert_eq!(
            allowed(&[Emotion::Sad, Emotion::Happy, Emotion::Sad]).as_slice(),
            [Emotion::Sad, Emotion::Happy]
        );
        assert_eq!(allowed(&[]), AllowedEmotions::default());
        let mut backwards = Emotion::ALL;
        backwards.reverse();
        assert_eq!((allowed(&backwards).are_all(), allowed(&[Emotion::Sad]).are_all()), (true, false));
    }

    #[test]
    fn no_word_stands_for_two_emotions() {
        let mut words: Vec<&str> = Emotion::ALL.iter().map(|emotion| emotion.as_str()).collect();
        words.extend(Emotion::ALL.iter().flat_map(|emotion| emotion.synonyms()));
        let count = words.len();
        words.sort_unstable();
        words.dedup();
        assert_eq!(words.len(), count);
    }
}

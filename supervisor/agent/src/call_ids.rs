//! Which ids a turn's tool calls have: in the conversation, and for those outside of it.

use std::collections::HashSet;

use crate::{
    model::ModelToolCall,
    tool::CallId,
    transcript::{Entry, EntryContent},
};

/// The ids by which hosts and clients know a turn's tool calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CallIds {
    /// A new random id for each call. The conversation keeps the model's own ids, which may repeat.
    #[default]
    Random,
    /// The ids that the conversation keeps, for hosts that save it and tie outputs to calls themselves: the model's own,
    /// unless one occurs in the conversation already or is hard to write down (empty, longer than 128 bytes, or with
    /// anything but visible ASCII characters other than `=`). Such a call gets a random id, in the conversation, too.
    OfConversation,
}

impl CallIds {
    const LONGEST: usize = 128;

    /// Gives calls of one round new ids where theirs will not do: outputs are tied to calls by them.
    pub(crate) fn settle<'a>(
        self,
        calls: &mut [ModelToolCall],
        conversation: impl IntoIterator<Item = &'a Entry>,
    ) {
        if self == Self::Random && calls.len() < 2 {
            return;
        }
        let mut taken: HashSet<String> = match self {
            Self::Random => HashSet::new(),
            Self::OfConversation => conversation.into_iter().flat_map(calls_of).map(str::to_owned).collect(),
        };
        for call in calls {
            let is_usable = self == Self::Random || is_plain(&call.id);
            if !is_usable || !taken.insert(call.id.clone()) {
                call.id = CallId::random().to_string();
            }
        }
    }

    /// The public id of the call that the conversation knows as `id`.
    pub(crate) fn public(self, id: &str) -> CallId {
        match self {
            Self::Random => CallId::random(),
            Self::OfConversation => CallId::from_text(id),
        }
    }
}

fn calls_of(entry: &Entry) -> impl Iterator<Item = &str> {
    let calls = match &entry.content {
        EntryContent::ToolCalls(calls) => &**calls,
        _ => &[],
    };
    calls.iter().map(|call| &*call.id)
}

fn is_plain(id: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && byte != b'=';
    (1..=CallIds::LONGEST).contains(&id.len()) && id.bytes().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transcript::ToolCallEntry;

    fn settled(ids: CallIds, calls: &[&str]) -> Vec<String> {
        let call = |id: &&str| ModelToolCall {
            id: (*id).to_owned(),
            name: "a".to_owned(),
            arguments: serde_json::Map::new(),
        };
        let mut calls: Vec<_> = calls.iter().map(call).collect();
        let earlier = ToolCallEntry { id: "old".into(), name: "a".into(), arguments: serde_json::Map::new() };
        ids.settle(&mut calls, [&Entry::new(EntryContent::ToolCalls(vec![earlier]))]);
        calls.into_iter().map(|call| call.id).collect()
    }

    #[test]
    fn calls_of_a_round_never_share_an_id() {
        for ids in [CallIds::Random, CallIds::OfConversation] {
            let settled = settled(ids, &["x", "x", "y"]);
            assert_eq!((settled[0].as_str(), settled[2].as_str()), ("x", "y"));
            assert_ne!(settled[1], "x");
        }
    }

    #[test]
    fn ids_of_a_conversation_are_unique_and_plain() {
        let long = "x".repeat(129);
        for id in ["old", "", "a=b", "a b", "ö", "a\n", &*long] {
            assert_ne!(settled(CallIds::OfConversation, &[id]), [id]);
            assert_eq!(settled(CallIds::Random, &[id]), [id]);
        }
        let plain = "call_1-A.b:/2";
        assert_eq!(settled(CallIds::OfConversation, &[plain]), [plain]);
    }
}

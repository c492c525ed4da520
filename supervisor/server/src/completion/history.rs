//! A conversation as an agent goes on with it.

use std::{path::PathBuf, sync::Arc};

use oam_agent::{
    json_text,
    transcript::{Entry, EntryContent, Prompt, Segment, Transcript},
};
use serde_json::Map;

use super::{generation::characters, image_files::ImageFiles};
use crate::{
    api_error::ApiError,
    request::{Image, Message, UserContent},
};

/// What was said, and what is asked.
#[derive(Debug, Default)]
pub(super) struct History {
    pub(super) transcript: Transcript,
    /// Empty when the turn at the end of the transcript goes on.
    pub(super) prompt: String,
    /// The images of the prompt.
    pub(super) images: Vec<PathBuf>,
    /// How many characters a model has to read.
    pub(super) characters: u64,
    /// Keeps the images of prompt and transcript.
    image_files: ImageFiles,
}

impl History {
    pub(super) async fn of(messages: Vec<Message>, prompt: Option<UserContent>) -> Result<Self, ApiError> {
        let has_images =
            prompt.iter().chain(messages.iter().filter_map(user)).any(|said| !said.images.is_empty());
        let read = move || Self::read(messages, prompt);
        let read = if has_images {
            // Files are not written where everybody else waits.
            tokio::task::spawn_blocking(read).await.map_err(|_| ApiError::internal())?
        } else {
            read()
        };
        read.map_err(|error| {
            tracing::error!("the images of a request cannot be written: {error}");
            ApiError::internal()
        })
    }

    fn read(messages: Vec<Message>, prompt: Option<UserContent>) -> std::io::Result<Self> {
        let mut history = Self::default();
        let mut entries = Vec::with_capacity(messages.len());
        for message in messages {
            let entry = history.entry(message)?;
            entries.push(Arc::new(entry));
        }
        history.transcript = Transcript::new(entries);
        if let Some(UserContent { text, images }) = prompt {
            history.characters += characters(&text);
            history.images = history.files(&images)?;
            history.prompt = text;
        }
        Ok(history)
    }

    fn entry(&mut self, message: Message) -> std::io::Result<Entry> {
        Ok(match message {
            Message::User(UserContent { text, images }) => {
                self.characters += characters(&text);
                let images = self.files(&images)?;
                let segments =
                    images.iter().map(|path| Segment::image(path)).chain([Segment::text(text)]).collect();
                Entry::new(EntryContent::Prompt(Prompt {
                    segments,
                    options: Map::new(),
                    context_options: None,
                    response_format: None,
                    metadata: None,
                }))
            }
            Message::Assistant(text) => {
                self.characters += characters(&text);
                Entry::response(Segment::text(text))
            }
            Message::ToolCalls(calls) => {
                for call in &calls {
                    self.characters +=
                        characters(&call.name) + characters(&json_text::compact(&call.arguments));
                }
                Entry::new(EntryContent::ToolCalls(calls))
            }
            Message::ToolOutput { call_id, tool, text } => {
                self.characters += characters(&tool) + characters(&text);
                Entry::tool_output(&call_id, tool, text)
            }
        })
    }

    fn files(&mut self, images: &[Image]) -> std::io::Result<Vec<PathBuf>> {
        images.iter().map(|image| self.image_files.write(image)).collect()
    }
}

fn user(message: &Message) -> Option<&UserContent> {
    match message {
        Message::User(content) => Some(content),
        _ => None,
    }
}

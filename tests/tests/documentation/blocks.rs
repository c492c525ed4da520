//! Finds the fenced blocks of a Markdown document, and reads those that show an exchange.

use crate::pattern::Pattern;

/// A fenced block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// The line of its opening fence, counted from 1.
    pub(crate) line: usize,
    /// What stands behind the opening fence.
    pub(crate) info: &'a str,
    pub(crate) lines: Vec<&'a str>,
}

/// All fenced blocks of a document, in order.
pub(crate) fn blocks(document: &str) -> Vec<Block<'_>> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for (index, line) in document.lines().enumerate() {
        match (line.strip_prefix("```"), &mut open) {
            (Some(info), None) => {
                open = Some(Block { line: index + 1, info: info.trim(), lines: Vec::new() });
            }
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (None, Some(block)) => block.lines.push(line),
            (None, None) => {}
        }
    }
    blocks.extend(open);
    blocks
}

/// A line of an exchange.
#[derive(Debug)]
pub(crate) enum Line {
    /// `→`: this is sent.
    Sent(String),
    /// `←`: this is what comes next.
    Received(Pattern),
    /// `← …`: any number of messages.
    Skipped,
}

/// Reads an exchange. A message may go on in lines that begin with white space; `#` begins a remark.
pub(crate) fn exchange(block: &Block) -> Result<Vec<Line>, String> {
    let mut messages: Vec<(char, String)> = Vec::new();
    for line in &block.lines {
        match (line.chars().next(), messages.last_mut()) {
            (Some(arrow @ ('→' | '←')), _) => {
                messages.push((arrow, line[arrow.len_utf8()..].trim().to_owned()));
            }
            (Some(' '), Some((_, message))) => {
                message.push(' ');
                message.push_str(line.trim());
            }
            (Some('#') | None, _) => {}
            _ => return Err(format!("neither a message nor a remark: {line}")),
        }
    }
    let line = |(arrow, text): (char, String)| match (arrow, text.as_str()) {
        ('→', _) => Ok(Line::Sent(text)),
        (_, "…") => Ok(Line::Skipped),
        _ => match Pattern::parse(&text) {
            Ok(pattern) => Ok(Line::Received(pattern)),
            Err(error) => Err(format!("{error} in {text}")),
        },
    };
    messages.into_iter().map(line).collect()
}

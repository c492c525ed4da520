//! The text of an answer as it grows, and whether what was sent of it still holds.
//!
//! A step may be played again, because its worker died or the turn is tried once more. What it says then is compared with
//! what was sent before: as long as it is the same nobody needs to know; when it differs, what was sent is wrong.

use oam_agent::TextEvent;

use super::stop_filter::StopFilter;

/// Between the texts of two steps, where a tool ran between them.
const BETWEEN_STEPS: &str = "\n\n";

/// The text of an answer.
#[derive(Debug)]
pub(super) struct Answer {
    filter: StopFilter,
    /// Whether text is sent as it comes, so that none can be taken back.
    is_sent: bool,
    /// What stands, of all steps.
    text: String,
    /// Where in it the text of the current step begins.
    step_start: usize,
    /// How much of it the current step has said; less than all while it is played again.
    said: usize,
    /// The current step has said nothing.
    is_fresh: bool,
    /// The current step begins behind the text of another one.
    follows_text: bool,
}

/// What was sent of the answer does not hold any more.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Restarted;

impl Answer {
    pub(super) fn new(stops: &[String], is_sent: bool) -> Self {
        Self {
            filter: StopFilter::new(stops),
            is_sent,
            text: String::new(),
            step_start: 0,
            said: 0,
            is_fresh: true,
            follows_text: false,
        }
    }

    /// A step begins. The first one, of index 0, begins an attempt. Returns what is to be sent.
    pub(super) fn begin_step(&mut self, index: u32) -> Result<String, Restarted> {
        if self.filter.is_stopped() {
            return Ok(String::new());
        }
        let held = if index == 0 { String::new() } else { self.end_step()? };
        self.step_start = if index == 0 { 0 } else { self.text.len() };
        self.follows_text = self.step_start > 0;
        self.is_fresh = true;
        self.begin_anew();
        Ok(held)
    }

    /// The current step said more. Returns what is to be sent.
    pub(super) fn hear(&mut self, event: &TextEvent) -> Result<String, Restarted> {
        // Events tell what to append to the text of the step before, where that is the same.
        if event.is_reset || self.is_fresh {
            event.text.read(|text| self.say_anew(text))
        } else {
            self.say(&event.delta)
        }
    }

    /// The whole text of the current step, the last one, is `text`. Returns what is to be sent.
    pub(super) fn finish(&mut self, text: &str) -> Result<String, Restarted> {
        let mut rest = if self.is_fresh { self.say_anew(text)? } else { String::new() };
        rest += &self.end_step()?;
        Ok(rest)
    }

    /// The current step, the last one, ended in something else than text. Returns what is to be sent.
    pub(super) fn end_step(&mut self) -> Result<String, Restarted> {
        if self.filter.is_stopped() {
            return Ok(String::new());
        }
        let held = self.filter.finish();
        let held = self.take(&held)?;
        if self.said < self.text.len() { Err(Restarted) } else { Ok(held) }
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.filter.is_stopped()
    }

    /// What the current step has said.
    pub(super) fn step_text(&self) -> &str {
        &self.text[self.step_start..]
    }

    fn begin_anew(&mut self) {
        self.filter.restart();
        if !self.is_sent {
            self.text.truncate(self.step_start);
        }
        self.said = self.step_start;
    }

    fn say_anew(&mut self, text: &str) -> Result<String, Restarted> {
        if self.filter.is_stopped() {
            return Ok(String::new());
        }
        self.begin_anew();
        self.say(text)
    }

    fn say(&mut self, text: &str) -> Result<String, Restarted> {
        self.is_fresh = false;
        let certain = self.filter.push(text);
        let sent = self.take(&certain)?;
        if self.filter.is_stopped() && self.said < self.text.len() { Err(Restarted) } else { Ok(sent) }
    }

    /// Takes text that is certain; returns what of it is new.
    fn take(&mut self, certain: &str) -> Result<String, Restarted> {
        let before = &self.text[self.said..];
        if before.starts_with(certain) {
            self.said += certain.len();
            return Ok(String::new());
        }
        let new = certain.strip_prefix(before).ok_or(Restarted)?;
        let sent = self.text.len();
        if std::mem::take(&mut self.follows_text) {
            self.text.push_str(BETWEEN_STEPS);
            self.step_start = self.text.len();
        }
        self.text.push_str(new);
        self.said = self.text.len();
        Ok(self.text[sent..].to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grown(delta: &str, text: &str) -> TextEvent {
        TextEvent { delta: delta.to_owned(), text: text.into(), is_reset: false }
    }

    fn reset(text: &str) -> TextEvent {
        TextEvent { delta: text.to_owned(), text: text.into(), is_reset: true }
    }

    fn begun(stops: &[&str]) -> Answer {
        let stops: Vec<_> = stops.iter().map(|stop| (*stop).to_owned()).collect();
        let mut answer = Answer::new(&stops, true);
        assert_eq!(answer.begin_step(0), Ok(String::new()));
        answer
    }

    #[test]
    fn a_replay_that_says_the_same_is_not_noticed() {
        let mut answer = begun(&[]);
        assert_eq!(answer.hear(&grown("Hello, ", "Hello, ")).unwrap(), "Hello, ");
        assert_eq!(answer.hear(&reset("Hel")).unwrap(), "");
        assert_eq!(answer.hear(&grown("lo, wor", "Hello, wor")).unwrap(), "wor");
        assert_eq!(answer.hear(&reset("Hello, world")).unwrap(), "ld");
        assert_eq!(answer.finish("Hello, world"), Ok(String::new()));
        assert_eq!(answer.text, "Hello, world");
    }

    #[test]
    fn a_replay_that_says_something_else_or_less_is_told() {
        let mut other = begun(&[]);
        other.hear(&grown("Hello", "Hello")).unwrap();
        assert_eq!(other.hear(&reset("Hi")), Err(Restarted));

        let mut less = begun(&[]);
        less.hear(&grown("Hello", "Hello")).unwrap();
        assert_eq!(less.hear(&reset("Hell")).unwrap(), "");
        assert_eq!(less.finish("Hell"), Err(Restarted));
    }

    #[test]
    fn a_new_attempt_begins_at_the_start() {
        let mut answer = begun(&[]);
        answer.hear(&grown("Hello", "Hello")).unwrap();
        assert_eq!(answer.begin_step(0), Ok(String::new()));
        assert_eq!(answer.hear(&reset("Hello again")).unwrap(), " again");

        let mut silent = begun(&[]);
        silent.hear(&grown("Hello", "Hello")).unwrap();
        silent.begin_step(0).unwrap();
        assert_eq!(silent.finish(""), Err(Restarted));
    }

    #[test]
    fn what_was_only_held_back_may_be_rewritten() {
        let mut answer = begun(&["END"]);
        assert_eq!(answer.hear(&grown("a EN", "a EN")).unwrap(), "a ");
        assert_eq!(answer.hear(&reset("a new")).unwrap(), "new");
        assert_eq!(answer.hear(&grown(" END b", "a new END b")).unwrap(), " ");
        assert!(answer.is_stopped());
        assert_eq!(answer.hear(&reset("other")), Ok(String::new()));
        assert_eq!(answer.text, "a new ");
    }

    #[test]
    fn a_replay_that_stops_before_what_was_sent_is_told() {
        let mut answer = begun(&["END"]);
        answer.hear(&grown("one two", "one two")).unwrap();
        assert_eq!(answer.hear(&reset("one END")), Err(Restarted));
    }

    #[test]
    fn a_step_behind_a_tool_goes_on_in_a_new_paragraph() {
        let mut answer = begun(&["END"]);
        assert_eq!(answer.hear(&grown("Let me see. E", "Let me see. E")).unwrap(), "Let me see. ");
        assert_eq!(answer.begin_step(1).unwrap(), "E");
        assert_eq!(answer.hear(&reset("14")).unwrap(), "\n\n14");
        assert_eq!(answer.hear(&reset("14 degrees")).unwrap(), " degrees", "the step is played again");
        answer.finish("14 degrees").unwrap();
        assert_eq!((answer.step_text(), &*answer.text), ("14 degrees", "Let me see. E\n\n14 degrees"));
    }

    #[test]
    fn a_step_may_repeat_the_step_before_it() {
        let mut answer = begun(&[]);
        answer.hear(&grown("I", "I")).unwrap();
        answer.begin_step(1).unwrap();
        // The first piece, "I", is nothing new to whoever counts from the step before.
        assert_eq!(answer.hear(&grown(" am", "I am")).unwrap(), "\n\nI am");
        answer.begin_step(2).unwrap();
        assert_eq!(answer.finish("I am").unwrap(), "\n\nI am");
    }

    #[test]
    fn an_answer_that_is_not_sent_can_be_rewritten() {
        let mut answer = Answer::new(&["END".to_owned()], false);
        answer.begin_step(0).unwrap();
        answer.hear(&grown("Hello", "Hello")).unwrap();
        answer.hear(&reset("Hi")).unwrap();
        answer.finish("Hi").unwrap();
        assert_eq!(answer.text, "Hi");
    }
}

//! What people see of tool calls while a turn runs: a line when one begins, a line when it ends.

use oam_agent::{Execution, ToolCall, ToolRecord, json_text};
use unicode_segmentation::UnicodeSegmentation;

/// The longest output that is shown, in characters.
const LONGEST: usize = 160;

/// `→ look {"at":"sky"}  (tool)`
pub(crate) fn started(call: &ToolCall, execution: Execution) -> String {
    let kind = match execution {
        Execution::Local => "tool",
        Execution::Client => "external tool",
    };
    format!("{}  ({kind})", asked(call))
}

/// `→ look {"at":"sky"}`
pub(crate) fn asked(call: &ToolCall) -> String {
    format!("→ {} {}", call.name, json_text::compact(&call.arguments))
}

/// `← look It is blue.  (0.02s)`
pub(crate) fn completed(record: &ToolRecord) -> String {
    let output = output(record);
    format!("← {} {output}  ({:.2}s)", record.call.name, record.duration.as_secs_f64())
}

/// The output without line ends, cut where it gets long.
pub(crate) fn output(record: &ToolRecord) -> String {
    let line: String = record
        .output
        .model_text()
        .chars()
        .map(|character| if matches!(character, '\n' | '\r') { ' ' } else { character })
        .collect();
    match line.grapheme_indices(true).nth(LONGEST) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use oam_agent::{CallId, ToolOutput};
    use serde_json::{Map, json};

    use super::*;

    #[test]
    fn a_call_and_its_output_are_a_line_each() {
        let arguments = json!({"at": "sky"}).as_object().unwrap().clone();
        let call = ToolCall { id: CallId::random(), name: "look".into(), arguments };
        assert_eq!(started(&call, Execution::Local), "→ look {\"at\":\"sky\"}  (tool)");
        assert!(started(&call, Execution::Client).ends_with("  (external tool)"));
        let record = |output| ToolRecord {
            call: Arc::new(ToolCall { arguments: Map::new(), ..call.clone() }),
            output,
            duration: Duration::from_millis(1234),
        };
        assert_eq!(
            completed(&record(ToolOutput::Text("blue\nand\nwide".into()))),
            "← look blue and wide  (1.23s)"
        );
        let long = completed(&record(ToolOutput::Error("x".repeat(500))));
        assert_eq!(long, format!("← look Error: {}…  (1.23s)", "x".repeat(LONGEST - 7)));
    }
}

//! A few facts about the world as lines of text: the cheapest way to let a model know them.

use serde_json::Value;

use super::{World, abridge, path::WorldPath, value, wording};

/// How many lines are shown.
const LINES: usize = 30;
/// How many characters of a value are shown.
const SHOWN_VALUE: usize = 200;
/// How many levels of objects become lines of their own.
const LEVELS: usize = 4;

impl World {
    /// The values at `paths` as lines like `player.gold: 60`, in the order of the paths, without a line end at the
    /// end.
    ///
    /// Objects become a line for each member, four levels deep; what is deeper, empty objects and lists are JSON. A
    /// value is cut at 200 characters, the whole at 30 lines. Paths without a value are left out. Keys match exactly.
    pub fn summary(&self, paths: &[WorldPath]) -> String {
        self.read(|world| {
            let mut summary = Summary::default();
            for path in paths {
                if let Some(value) = value::get(world.root, path) {
                    summary.add(&mut path.clone(), value, LEVELS);
                }
            }
            summary.text()
        })
    }
}

#[derive(Default)]
struct Summary {
    lines: Vec<String>,
    left_out: usize,
}

impl Summary {
    fn add(&mut self, path: &mut WorldPath, value: &Value, levels: usize) {
        if self.lines.len() >= LINES {
            self.left_out += leaves(value, levels);
            return;
        }
        match value {
            Value::Object(members) if levels > 0 && !members.is_empty() => {
                for (key, member) in members {
                    path.push(key);
                    self.add(path, member, levels - 1);
                    path.pop();
                }
            }
            _ => {
                let value = match value {
                    Value::String(text) => abridge::cut(text, SHOWN_VALUE),
                    other => abridge::cut_json(other, SHOWN_VALUE),
                };
                let name = if path.is_root() { wording::WHOLE_STATE.to_owned() } else { path.to_string() };
                self.lines.push(format!("{name}: {value}"));
            }
        }
    }

    fn text(mut self) -> String {
        if self.left_out > 0 {
            self.lines.push(wording::more_lines(self.left_out));
        }
        self.lines.join("\n")
    }
}

/// How many lines a value would be.
fn leaves(value: &Value, levels: usize) -> usize {
    match value {
        Value::Object(members) if levels > 0 && !members.is_empty() => {
            members.values().map(|member| leaves(member, levels - 1)).sum()
        }
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use serde_json::json;

    use super::*;

    fn summary(state: Value, paths: &[&str]) -> String {
        let paths: Vec<_> = paths.iter().filter_map(|path| path.parse().ok()).collect();
        World::new(state).unwrap().summary(&paths)
    }

    #[test]
    fn facts_are_lines_in_the_order_of_the_paths() {
        let state = json!({
            "player": {"name": "Aria", "gold": 60.0, "horse": null, "bag": {}, "home": {"town": "Rill"}},
            "party": ["Brom", {"name": "Lysa"}],
            "time_of_day": "evening",
        });
        expect![[r#"
            time_of_day: evening
            player.name: Aria
            player.gold: 60
            player.horse: null
            player.bag: {}
            player.home.town: Rill
            party.1.name: Lysa
            party: ["Brom",{"name":"Lysa"}]"#]]
        .assert_eq(&summary(
            state,
            &["time_of_day", "nobody", "a..b", "Time_of_day", "player", "party[1]", "party"],
        ));
    }

    #[test]
    fn objects_are_taken_apart_four_levels_deep() {
        let deep = json!({"a": {"b": {"c": {"d": {"e": 1}}}}});
        assert_eq!(summary(deep.clone(), &[""]), r#"a.b.c.d: {"e":1}"#);
        assert_eq!(summary(deep, &["a"]), "a.b.c.d.e: 1");
    }

    #[test]
    fn an_empty_world_is_a_line_too() {
        assert_eq!(summary(json!({}), &["", "x"]), "state: {}");
        assert_eq!(summary(json!({}), &[]), "");
    }

    #[test]
    fn long_values_and_long_summaries_are_cut() {
        assert_eq!(summary(json!({"a": "x".repeat(200)}), &["a"]), format!("a: {}", "x".repeat(200)));
        assert_eq!(summary(json!({"a": "x".repeat(201)}), &["a"]), format!("a: {}...", "x".repeat(197)));
        assert_eq!(summary(json!({"a": ["x".repeat(300)]}), &["a"]), format!("a: [\"{}...", "x".repeat(195)));

        let many: serde_json::Map<_, _> =
            (0..33).map(|number| (format!("k{number}"), json!(number))).collect();
        let mut state = Value::Object(many);
        state["k33"] = json!({"a": {"b": [1, 2], "c": {}}, "d": 1});
        let text = summary(state, &["", "k0"]);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!((lines.len(), lines[29], lines[30]), (31, "k29: 29", "(7 more not shown)"));
    }
}

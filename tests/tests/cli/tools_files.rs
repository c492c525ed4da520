//! Tools files, as `oam tools validate` reads them.

use serde_json::{Value, json};

use crate::run::{Run, oam};

/// A run that looks at this file, which lies beside programs and folders to name.
fn validate(file: &Value, arguments: &[&str]) -> Run {
    let arguments = ["tools", "validate", "tools.json"].iter().chain(arguments).copied();
    oam(arguments)
        .file("tools.json", file.to_string())
        .program("good.sh", "#!/bin/sh\n")
        .program("lost.sh", "#!/nowhere/sh\n")
        .file("plain.sh", "#!/bin/sh\n")
}

/// A file of one tool that is all right but for these members of `x-oam`.
fn with_x_oam(members: &Value) -> Value {
    let mut x_oam = json!({"command": ["./good.sh"]});
    x_oam.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!([{"name": "a", "x-oam": x_oam}])
}

#[test]
fn each_mistake_is_refused_and_the_message_names_its_place() {
    let deep = (0..99).fold(json!({}), |value, _| json!({ "x": value }));
    let cases = [
        (json!(5), "tools.json: must be an array of tool definitions, or an object with the array \"tools\""),
        (json!({"tools": {}}), "tools.json: must be an array"),
        (json!({"name": "a"}), "tools.json: must be an array"),
        (json!([{"name": "a"}, 5]), "tools.json: tools[1] must be an object, not 5"),
        (
            json!([{"type": "web_search", "function": {"name": "a"}}]),
            "tools[0].type must be \"function\", not \"web_search\"",
        ),
        (json!([{"type": "function", "function": 1}]), "tools[0].function must be an object"),
        (json!([{"type": "function", "function": {}}]), "tools[0].function.name is missing"),
        (json!([{"name": "a b"}]), "tools[0].name must be 1 to 64 of A-Z a-z 0-9 _ - ., not \"a b\""),
        (json!([{"name": "x".repeat(65)}]), "tools[0].name must be 1 to 64"),
        (json!([{"name": ""}]), "tools[0].name must be"),
        (json!([{"name": 1}]), "tools[0].name must be"),
        (
            json!([{"name": "a"}, {"function": {"name": "a"}}]),
            "tools[1].name: there is a tool 'a' already (tools.json: tools[0])",
        ),
        (json!([{"name": "a", "description": 1}]), "tools[0].description must be a string"),
        (json!([{"name": "a", "parameters": []}]), "tools[0].parameters must be an object"),
        (
            json!([{"name": "a", "parameters": {"type": "string"}}]),
            "tools[0].parameters: tool parameters must be an object (at #)",
        ),
        (
            json!([{"function": {"name": "a", "parameters": {"properties": {"x": {"type": "date"}}}}}]),
            "tools[0].function.parameters: ",
        ),
        (
            json!([{"name": "a", "parameters": {"properties": {"x": {"type": "date"}}}}]),
            "(at #/properties/x)",
        ),
        (json!([{"name": "a", "parameters": {"description": deep}}]), "nests deeper than"),
        (json!([{"name": "a", "x-oam": "./good.sh"}]), "tools[0].x-oam must be an object, not \"./good.sh\""),
        (json!([{"function": {"name": "a", "x-oam": []}}]), "tools[0].function.x-oam must be an object"),
        (json!([{"function": {"name": "a", "x-oam": {}}, "x-oam": {}}]), "tools[0] has x-oam twice"),
        (with_x_oam(&json!({"command": []})), "tools[0].x-oam.command is empty"),
        (with_x_oam(&json!({"command": ""})), "tools[0].x-oam.command is empty"),
        (with_x_oam(&json!({"command": " "})), "tools[0].x-oam.command is empty"),
        (with_x_oam(&json!({"command": [""]})), "tools[0].x-oam.command is empty"),
        (
            with_x_oam(&json!({"command": 1})),
            "tools[0].x-oam.command must be an array (program and arguments) or a string",
        ),
        (with_x_oam(&json!({"command": ["./good.sh", 1]})), "tools[0].x-oam.command must hold strings only"),
        (with_x_oam(&json!({"command": ["./good.sh", "\0"]})), "tools[0].x-oam.command must not hold"),
        (with_x_oam(&json!({"command": ["./absent.sh"]})), "tools[0].x-oam.command: there is no program"),
        (with_x_oam(&json!({"command": ["./plain.sh"]})), "may not be executed"),
        (with_x_oam(&json!({"command": ["./lost.sh"]})), "names /nowhere/sh, which does not exist"),
        (with_x_oam(&json!({"command": ["/"]})), "/ is a folder, not a program"),
        (with_x_oam(&json!({"command": ["good.sh"]})), "there is no program 'good.sh' in PATH"),
        (with_x_oam(&json!({"command": ["~/absent.sh"]})), "there is no program /home/of/nobody/absent.sh"),
        (with_x_oam(&json!({"cwd": 1})), "tools[0].x-oam.cwd must be a string"),
        (with_x_oam(&json!({"cwd": "absent"})), "tools[0].x-oam.cwd: there is no folder"),
        (with_x_oam(&json!({"cwd": "good.sh"})), "tools[0].x-oam.cwd: there is no folder"),
        (
            with_x_oam(&json!({"timeout": 0})),
            "tools[0].x-oam.timeout must be a positive number of seconds, at most 86400, not 0",
        ),
        (with_x_oam(&json!({"timeout": -1.5})), "tools[0].x-oam.timeout must be"),
        (with_x_oam(&json!({"timeout": "5"})), "tools[0].x-oam.timeout must be"),
        (with_x_oam(&json!({"timeout": 1e300})), "tools[0].x-oam.timeout must be"),
        (with_x_oam(&json!({"env": ["A"]})), "tools[0].x-oam.env must be an object"),
        (with_x_oam(&json!({"env": {"A": true}})), "tools[0].x-oam.env[\"A\"] must be a string or a number"),
        (with_x_oam(&json!({"env": {"A": null}})), "tools[0].x-oam.env[\"A\"] must be"),
        (with_x_oam(&json!({"env": {"A=B": "1"}})), "tools[0].x-oam.env[\"A=B\"] is no name for a variable"),
        (with_x_oam(&json!({"env": {"": "1"}})), "is no name for a variable"),
        (with_x_oam(&json!({"env": {"A": "\0"}})), "must not hold the character U+0000"),
        (
            with_x_oam(&json!({"maxOutputChars": 0})),
            "tools[0].x-oam.maxOutputChars must be a positive integer",
        ),
        (
            with_x_oam(&json!({"maxOutputChars": 1.5})),
            "tools[0].x-oam.maxOutputChars must be a positive integer",
        ),
        (
            with_x_oam(&json!({"maxOutputChars": "9"})),
            "tools[0].x-oam.maxOutputChars must be a positive integer",
        ),
        (
            with_x_oam(&json!({"maxOutputChars": 1e12})),
            "tools[0].x-oam.maxOutputChars must be a positive integer",
        ),
    ];
    for (file, part) in cases {
        let told = validate(&file, &["--json"]).env("HOME", "/home/of/nobody").ends_with(2);
        let (code, message) = told.error();
        assert_eq!((code.as_str(), told.stdout.as_str()), ("invalid_input", ""), "{file}");
        assert!(message.starts_with("tools.json: ") && message.contains(part), "{part}: {message}");
    }
}

#[test]
fn one_name_is_reserved() {
    let told = validate(&json!([{"name": "respond_directly"}]), &["--json"]).ends_with(2);
    assert_eq!(
        told.error(),
        (
            "invalid_request".to_owned(),
            "tools.json: tools[0].name: 'respond_directly' is reserved; give the tool another name"
                .to_owned()
        )
    );
}

#[test]
fn what_should_be_better_is_a_warning() {
    let cases = [
        (json!([{"name": "a"}]), "a: no description; the model may not know when to call it."),
        (
            json!([{"name": "a", "description": "A.", "x-oam": {"comand": "true"}}]),
            "a: x-oam has no key \"comand\"; the known ones are command, timeout, cwd, env, maxOutputChars.",
        ),
        (
            json!([{"name": "a", "description": "A.", "parameters": {"properties": {"x": {"type": "string", "pattern": "y"}}}}]),
            "a: #/properties/x: pattern 'y' is described to the model but not enforced",
        ),
    ];
    for (file, warning) in cases {
        let told = validate(&file, &["--json"]).ends_with(0).json();
        assert_eq!(told["warnings"], json!([warning]));
        assert_eq!(told["tools"][0]["warnings"], json!([warning.strip_prefix("a: ").unwrap()]));
        let people = validate(&file, &[]).ends_with(0);
        assert_eq!(people.stderr, format!("Warning: {warning}\n"));
    }
    let tool = |name: String| json!({"name": name, "description": "A."});
    let many: Value = (0..6).map(|number| tool(format!("t{number}"))).collect();
    let told = validate(&many, &["--json"]).ends_with(0).json();
    let warnings = told["warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    assert!(warnings[0].as_str().unwrap().starts_with("6 tools: "), "{warnings:?}");
}

#[test]
fn tools_are_listed_as_the_model_gets_them() {
    let parameters = json!({"type": "object", "properties": {"b": {"type": "string"}, "a": {"type": "integer"}},
        "required": ["b"], "x-order": ["a", "b"]});
    let file = json!({"tools": [
        {"type": "function", "function": {"name": "run", "description": "Runs.\nAt once.", "parameters": parameters},
         "x-oam": {"command": ["./good.sh", "two words"], "timeout": 1.25, "cwd": ".."}},
        {"name": "line", "description": "A line.", "x-oam": {"command": "echo | cat", "timeout": 60}},
        {"type": "function", "function": {"name": "ask", "description": "Asks.", "x-oam": {"command": null}}},
    ]});
    let told = validate(&file, &["--json"]).ends_with(0);
    let folder = told.path("").canonicalize().unwrap();
    let told_json = told.json();
    assert!(!told.stdout.trim_end().contains('\n'), "one line, since nobody looks at it");
    let [run, line, ask] = &told_json["tools"].as_array().unwrap()[..] else { panic!("{told_json}") };
    let keys: Vec<_> = run.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(
        keys,
        ["name", "execution", "command", "cwd", "timeoutSeconds", "warnings", "generationSchema"]
    );
    assert_eq!(
        (&run["name"], &run["execution"], &run["timeoutSeconds"]),
        (&json!("run"), &json!("command"), &json!(1.25))
    );
    assert_eq!(run["generationSchema"]["x-order"], json!(["a", "b"]));
    let program = std::path::Path::new(run["command"][0].as_str().unwrap());
    assert!(program.is_absolute() && program.canonicalize().unwrap() == folder.join("good.sh"));
    let cwd = std::path::Path::new(run["cwd"].as_str().unwrap());
    assert!(cwd.is_absolute() && cwd.canonicalize().unwrap() == folder.parent().unwrap());
    assert_eq!(line["command"], json!(["/bin/sh", "-c", "echo | cat"]));
    assert_eq!(line["timeoutSeconds"].to_string(), "60", "{line}");
    assert_eq!(
        line["cwd"].as_str().map(|cwd| std::path::Path::new(cwd).canonicalize().unwrap()),
        Some(folder)
    );
    let keys: Vec<_> = ask.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(keys, ["name", "execution", "warnings", "generationSchema"]);
    assert_eq!(ask["execution"], "external");

    let people = validate(&file, &[]).ends_with(0);
    let expected = format!(
        "3 tools in tools.json\n\n\
         run\n  command: {} 'two words'\n  Runs.\n  At once.\n  arguments: a, b\n\n\
         line\n  command: /bin/sh -c 'echo | cat'\n  A line.\n  arguments: (none)\n\n\
         ask\n  external: its calls are yours to answer (exit code 10)\n  Asks.\n  arguments: (none)\n",
        people.path("good.sh").display()
    );
    assert_eq!((people.stdout.as_str(), people.stderr.as_str()), (expected.as_str(), "All is well.\n"));
}

#[test]
fn programs_are_looked_for_from_the_folder_of_the_file_and_in_path() {
    let file = json!([{"name": "a", "x-oam": {"command": ["./good.sh"]}}, {"name": "b", "x-oam": {"command": ["good.sh"]}}]);
    let run = oam(["tools", "validate", "below/tools.json", "--json"])
        .file("below/tools.json", file.to_string())
        .program("below/good.sh", "#!/bin/sh\n")
        .program("bin/good.sh", "#!/bin/sh\n");
    let told = run.env("PATH", "nowhere:bin").ends_with(0);
    let program = |tool: usize| told.json()["tools"][tool]["command"][0].as_str().unwrap().to_owned();
    assert_eq!(program(0), told.path("below/good.sh").to_str().unwrap());
    assert_eq!(program(1), told.path("bin/good.sh").to_str().unwrap());
}

#[test]
fn a_file_may_come_on_the_input_and_begin_with_a_byte_order_mark() {
    let told = oam(["tools", "validate", "-"])
        .stdin("\u{feff}[{\"name\":\"a\",\"description\":\"A.\"}]")
        .ends_with(0);
    assert!(told.stdout.starts_with("1 tool in standard input\n"), "{told:?}");
    let told = oam(["tools", "validate", "-", "--json"]).stdin("[{]").ends_with(2);
    assert!(told.error().1.starts_with("standard input: is not JSON at byte 2"), "{told:?}");
}

#[test]
fn a_file_that_is_not_there_is_told_to_people_and_machines() {
    let people = oam(["tools", "validate", "absent.json"]).ends_with(2);
    assert!(people.stderr.starts_with("Error: absent.json: cannot be read: "), "{people:?}");
    let machines = oam(["tools", "validate", "absent.json", "--json"]).ends_with(2);
    assert_eq!(machines.error().0, "invalid_input");
}

//! Tools of the client, tools of the server, and both.

use std::{
    fs::File,
    io::{BufRead, BufReader},
};

use nix::{
    sys::{signal::Signal, stat::Mode},
    unistd::mkfifo,
};
use oam_tests::script::{call, calls, template, text};
use serde_json::{Value, json};

use crate::run::{said_with, serve};

const WEATHER: &str = "#!/bin/sh\nprintf '{\"asked\": %s, \"temperature_c\": 14}' \"$OAM_TOOL_ARGUMENTS\"\n";

fn functions(names: &[&str]) -> Value {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let function = |name| json!({"type": "function", "function": {"name": name, "description": "Does it.", "parameters": parameters}});
    names.iter().map(function).collect()
}

/// A conversation that goes on with the outputs of calls.
fn with_outputs(calls: &[Value], output: &str) -> Value {
    let asked = json!({"role": "user", "content": "How is the weather?"});
    let answered = json!({"role": "assistant", "content": null, "tool_calls": calls});
    let outputs =
        calls.iter().map(|call| json!({"role": "tool", "tool_call_id": call["id"], "content": output}));
    [asked, answered].into_iter().chain(outputs).collect()
}

#[test]
fn a_tool_loop_runs_to_its_answer_plain_and_streamed() {
    for is_streamed in [false, true] {
        let steps =
            json!([call("get_weather", json!({"city": "Paris"})), template("In Paris: {toolOutput}")]);
        let server = serve(["--log-level", "warning"]).script(steps).listens();
        assert_eq!(server.get("/health").status, 200);
        let tools = functions(&["get_weather"]);
        let asked = said_with("How is the weather?", json!({"tools": tools, "tool_choice": "required"}));
        let answer = server.complete(asked).json();
        let choice = &answer["choices"][0];
        assert_eq!(
            (&choice["finish_reason"], &choice["message"]["content"]),
            (&json!("tool_calls"), &Value::Null)
        );
        let call = &choice["message"]["tool_calls"][0]["function"];
        assert_eq!(*call, json!({"name": "get_weather", "arguments": "{\"city\":\"Paris\"}"}));
        let calls = choice["message"]["tool_calls"].as_array().unwrap();
        let next = json!({"messages": with_outputs(calls, "14 °C"), "tools": tools, "stream": is_streamed});
        let (text, finish) = if is_streamed {
            let streamed = server.ask(next).stream();
            (streamed.text(), streamed.finish())
        } else {
            let answer = server.complete(next).json();
            let choice = &answer["choices"][0];
            let told = |value: &Value| value.as_str().unwrap().to_owned();
            (told(&choice["message"]["content"]), told(&choice["finish_reason"]))
        };
        assert_eq!((text.as_str(), finish.as_str()), ("In Paris: 14 °C", "stop"));
        assert_eq!(server.stops(), "");
    }
}

#[test]
fn calls_in_one_step_stream_with_their_places() {
    let steps = json!([calls(&[("get_weather", json!({})), ("get_time", json!({}))])]);
    let server = serve([]).script(steps).listens();
    let tools = functions(&["get_weather", "get_time"]);
    let streamed = server.ask(said_with("How is it?", json!({"tools": tools, "stream": true}))).stream();
    let calls: Vec<_> = streamed
        .calls()
        .iter()
        .map(|call| (call["index"].clone(), call["function"]["name"].clone()))
        .collect();
    assert_eq!(calls, [(json!(0), json!("get_weather")), (json!(1), json!("get_time"))]);
    assert_eq!(streamed.finish(), "tool_calls");
}

#[test]
fn a_tool_of_the_server_runs_there_and_is_not_seen() {
    let steps = json!([call("get_weather", json!({"city": "Paris"})), template("It says {toolOutput}.")]);
    let tool = json!({"name": "get_weather", "description": "The weather.", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}}, "x-oam": {"command": ["./weather.sh"]}});
    let server = serve(["--tools", "tools.json"])
        .file("tools.json", &json!([tool]).to_string())
        .program("weather.sh", WEATHER)
        .script(steps)
        .listens();
    let answer = server.complete(said_with("How is it?", json!({"tool_choice": "required"}))).json();
    let message = &answer["choices"][0]["message"];
    assert_eq!(message["content"], r#"It says {"asked":{"city":"Paris"},"temperature_c":14}."#);
    assert_eq!(
        (&message["tool_calls"], &answer["choices"][0]["finish_reason"]),
        (&Value::Null, &json!("stop"))
    );
    let refused = server.complete(said_with("How is it?", json!({"tools": functions(&["get_weather"])})));
    let error = &refused.json()["error"];
    assert_eq!((refused.status, &error["param"]), (400, &json!("tools[0].function.name")));
}

#[test]
fn tools_of_the_server_work_beside_those_of_the_client() {
    let steps =
        json!([call("get_weather", json!({})), call("buy_umbrella", json!({})), text("You have one now."),]);
    let tool =
        json!({"name": "get_weather", "description": "The weather.", "x-oam": {"command": ["./weather.sh"]}});
    let server = serve(["--tools", "tools.json"])
        .file("tools.json", &json!([tool]).to_string())
        .program("weather.sh", WEATHER)
        .script(steps)
        .listens();
    let tools = functions(&["buy_umbrella"]);
    let answer = server.complete(said_with("Do I need one?", json!({"tools": tools}))).json();
    let calls = answer["choices"][0]["message"]["tool_calls"].as_array().unwrap();
    let names: Vec<_> = calls.iter().map(|call| &call["function"]["name"]).collect();
    assert_eq!(names, ["buy_umbrella"]);
    let next = json!({"messages": with_outputs(calls, "bought"), "tools": tools});
    assert_eq!(server.complete(next).json()["choices"][0]["message"]["content"], "You have one now.");
}

#[test]
fn a_killed_server_leaves_no_tool_behind() {
    let tool = json!({"name": "watch", "description": "Keeps watch.", "x-oam":
        {"command": "exec 3>witness; trap '' TERM; cat >/dev/null; echo up >&3; sleep 1000 & while :; do sleep 0.05; done", "timeout": 1000}});
    let server = serve(["--tools", "tools.json"])
        .file("tools.json", &json!([tool]).to_string())
        .script(json!([call("watch", json!({})), text("All is well.")]));
    let witness = server.path("witness");
    mkfifo(&witness, Mode::S_IRWXU).unwrap();
    let server = server.listens();
    let _asked = server.send(said_with("Is all well?", json!({"tool_choice": "required"})));
    let mut witness = BufReader::new(File::open(witness).unwrap()).lines().map(Result::unwrap);
    // It has read its input to the end, which comes when it is watched.
    assert_eq!(witness.next().as_deref(), Some("up"));
    server.signal(Signal::SIGKILL);
    assert_eq!(witness.next(), None, "all who held the pipe are gone");
}

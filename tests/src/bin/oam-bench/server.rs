//! `oam serve` beside a handler that does nothing ([`handler`](crate::handler)): how many completions each answers under the
//! same load, how soon, and what one costs the processor.
//!
//! The load takes a share of the processors, the same from all. So what a completion costs says more of a server than how
//! many there were.

use std::{
    array,
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    process::{Child, ChildStdout, Command, Stdio},
};

use oam_tests::{oam_command, procfs};
use serde_json::json;

use crate::{
    handler::HANDLER,
    load::{CONNECTIONS, Load, Served},
    measures::Plan,
    report::{Figure, Goal},
    script::{PROMPT, ScriptFile},
};

/// Measures all that is about the server.
pub(crate) fn server(plan: &Plan, load: &Load) -> Vec<Figure> {
    let script = ScriptFile::new();
    let [whole, streamed] = [false, true].map(|stream| {
        json!({"model": "system", "messages": [{"role": "user", "content": PROMPT}], "stream": stream})
            .to_string()
    });
    let worker = Server::oam(|command| command.args(["--worker", &shell_words::join(script.worker())]));
    let mut wide_worker = script.worker();
    wide_worker.extend(["--parallel", CONNECTIONS].map(str::to_owned));
    let wide = Server::oam(|command| {
        command.args(["--max-concurrent", CONNECTIONS, "--worker", &shell_words::join(wide_worker)])
    });
    let inside = Server::oam(|command| command.env("OAM_SCRIPT", script.path()));
    let bare = Server::handler(&worker.answer(&whole));
    let contenders =
        [(&bare, &whole), (&worker, &whole), (&wide, &whole), (&inside, &whole), (&worker, &streamed)];
    let rounds: Vec<_> =
        (0..plan.load_rounds).map(|_| contenders.map(|(server, body)| server.under(load, body))).collect();
    let [bare, worker, wide, inside, streamed] =
        array::from_fn(|contender| Performance::usual(rounds.iter().map(|round| round[contender])));
    let mut figures = Vec::new();
    for (name, served) in [
        ("completions by a worker, four at once (beside: bare handler)", worker),
        ("completions by a worker, all at once (beside: handler)", wide),
        ("completions by a script inside (beside: handler)", inside),
    ] {
        let figure = Figure::new(name, "/s", served.per_second).beside(bare.per_second);
        figures.push(figure.goal(Goal::RatioAtLeast(0.5)));
        figures.extend(served.costs_beside(&bare));
    }
    figures.push(Figure::new("streamed completions by a worker, 20 chunks", "/s", streamed.per_second));
    figures
}

/// What a server can do.
#[derive(Debug, Clone, Copy)]
struct Performance {
    per_second: f64,
    p99_ms: f64,
    /// Processor time of a completion, workers included.
    cpu_micros: f64,
}

impl Performance {
    /// The median of each.
    fn usual(rounds: impl Iterator<Item = Self> + Clone) -> Self {
        Self {
            per_second: median(rounds.clone().map(|round| round.per_second)),
            p99_ms: median(rounds.clone().map(|round| round.p99_ms)),
            cpu_micros: median(rounds.map(|round| round.cpu_micros)),
        }
    }

    fn costs_beside(&self, bare: &Self) -> Vec<Figure> {
        let mut figures =
            vec![Figure::new("… p99 with 64 connections", "ms", self.p99_ms).beside(bare.p99_ms)];
        if self.cpu_micros.is_finite() {
            let cpu = Figure::new("… processor time of one", "us", self.cpu_micros);
            figures.push(cpu.beside(bare.cpu_micros));
        }
        figures
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<_> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A process that serves. Dropping it kills and reaps it.
struct Server {
    child: Child,
    /// It may go on to say something.
    _output: BufReader<ChildStdout>,
    address: String,
}

impl Server {
    fn oam(configure: impl FnOnce(&mut Command) -> &mut Command) -> Self {
        let mut command = oam_command();
        // A connection more than the load has, for the first request.
        command.args(["serve", "--port", "0", "--log-level", "warning", "--max-connections", "65"]);
        configure(&mut command);
        Self::start(command)
    }

    fn handler(answer: &str) -> Self {
        let mut command = Command::new(std::env::current_exe().expect("this program has a path"));
        command.args([HANDLER, answer]);
        Self::start(command)
    }

    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the process starts");
        let mut output = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        output.read_line(&mut line).expect("it says where it listens");
        let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next());
        let address = address.unwrap_or_else(|| panic!("no URL: {line}")).to_owned();
        Self { child, _output: output, address }
    }

    /// What it answers.
    fn answer(&self, body: &str) -> String {
        let mut connection = TcpStream::connect(&self.address).expect("it listens");
        let length = body.len();
        write!(
            connection,
            "POST /v1/chat/completions HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
        )
        .expect("it reads");
        let mut answer = String::new();
        connection.read_to_string(&mut answer).expect("it answers");
        let body = answer.split_once("\r\n\r\n").map(|(_, body)| body.to_owned());
        body.unwrap_or_else(|| panic!("no answer: {answer}"))
    }

    fn under(&self, load: &Load, body: &str) -> Performance {
        let before = self.cpu_nanos();
        let url = format!("http://{}/v1/chat/completions", self.address);
        let Served { requests, per_second, p99_ms } = load.post(&url, body);
        Performance { per_second, p99_ms, cpu_micros: (self.cpu_nanos() - before) / requests / 1e3 }
    }

    /// Processor time so far, that of workers included; not a number where the system does not tell it.
    fn cpu_nanos(&self) -> f64 {
        let workers = procfs::children(self.child.id()).unwrap_or_default();
        let all = workers.iter().map(|worker| worker.pid).chain([self.child.id()]);
        all.map(|pid| procfs::cpu_nanos(pid).map_or(f64::NAN, |nanos| nanos as f64)).sum()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

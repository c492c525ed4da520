//! As much of an HTTP client as the tests need. It says HTTP/1.0, so that the end of the connection ends the answer; that of
//! others is tested with curl.

use std::{
    io::{self, BufRead, BufReader, Read, Write},
    net::TcpStream,
};

use oam_tests::DEADLINE;
use serde_json::Value;

/// An answer that is there.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// In small letters.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The `code` of an error.
    pub(crate) fn code(&self) -> String {
        self.json()["error"]["code"].as_str().unwrap_or_else(|| panic!("no code: {self:?}")).to_owned()
    }
}

/// An answer that is coming.
#[derive(Debug)]
pub(crate) struct Coming {
    connection: BufReader<TcpStream>,
    pub(crate) status: u16,
    head: String,
}

/// Asks.
pub(crate) fn send(port: u16, method: &str, path: &str, fields: &[String], body: &str) -> TcpStream {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).expect("the server listens");
    connection.set_read_timeout(Some(DEADLINE)).unwrap();
    let fields: String = fields.iter().flat_map(|field| [field.as_str(), "\r\n"]).collect();
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {fields}\r\n{body}"
    );
    connection.write_all(request.as_bytes()).unwrap();
    connection
}

/// Asks, and waits for the head of the answer.
pub(crate) fn ask(port: u16, method: &str, path: &str, fields: &[String], body: &str) -> Coming {
    hear(send(port, method, path, fields, body))
}

/// Waits for the head of an answer.
pub(crate) fn hear(connection: TcpStream) -> Coming {
    let mut connection = BufReader::new(connection);
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        let read = connection.read_line(&mut head).expect("an answer comes");
        assert_ne!(read, 0, "the connection ended in the head: {head:?}");
    }
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
    Coming { connection, status: status.unwrap_or_else(|| panic!("no status: {head}")), head }
}

impl Coming {
    /// The whole answer.
    pub(crate) fn whole(mut self) -> Answer {
        let mut body = String::new();
        self.connection.read_to_string(&mut body).expect("the answer ends");
        Answer { status: self.status, head: self.head.to_lowercase(), body }
    }

    /// The next event of a stream; `None` at its end, whether it is a proper one or not.
    pub(crate) fn event(&mut self) -> Option<String> {
        let mut line = String::new();
        loop {
            line.clear();
            match self.connection.read_line(&mut line) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return None,
                Err(error) => panic!("the stream neither goes on nor ends: {error}"),
            }
            if let Some(data) = line.strip_prefix("data: ") {
                return Some(data.trim_end().to_owned());
            }
        }
    }

    /// All that is left of a stream, which must have a proper end.
    pub(crate) fn stream(mut self) -> Streamed {
        assert!(self.head.contains("text/event-stream"), "{}", self.head);
        let mut events = Vec::new();
        while let Some(event) = self.event() {
            events.push(event);
        }
        assert_eq!(events.pop().as_deref(), Some("[DONE]"), "{events:?}");
        Streamed(events.iter().map(|event| serde_json::from_str(event).unwrap()).collect())
    }
}

/// The chunks of a stream.
#[derive(Debug)]
pub(crate) struct Streamed(pub(crate) Vec<Value>);

impl Streamed {
    pub(crate) fn text(&self) -> String {
        self.deltas().filter_map(|delta| delta["content"].as_str()).collect()
    }

    pub(crate) fn calls(&self) -> Vec<Value> {
        self.deltas().filter_map(|delta| delta["tool_calls"].as_array()).flatten().cloned().collect()
    }

    /// Why it ended, or the code of the error that it ended with.
    pub(crate) fn finish(&self) -> String {
        let last = self.0.last().unwrap_or_else(|| panic!("an empty stream"));
        let told = [&last["choices"][0]["finish_reason"], &last["error"]["code"]];
        let told = told.into_iter().find_map(Value::as_str);
        told.unwrap_or_else(|| panic!("neither a reason nor an error: {last}")).to_owned()
    }

    fn deltas(&self) -> impl Iterator<Item = &Value> {
        self.0.iter().map(|chunk| &chunk["choices"][0]["delta"])
    }
}

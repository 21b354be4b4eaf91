//! A small HTTP server for tests: a webhook receiver or a place provider.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};

/// A received request.
#[derive(Debug, Default, Clone)]
pub struct ReceivedRequest {
    /// Method and path.
    pub line: String,
    /// Headers by lower-case name.
    pub headers: BTreeMap<String, String>,
    /// Body.
    pub body: Vec<u8>,
}

impl ReceivedRequest {
    /// A header, or an empty string.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Answers each request with 200 and the JSON that `answer` returns, or with 503 if it returns none. Returns the port.
/// The listener runs until this program ends.
pub fn listen(answer: impl Fn(ReceivedRequest) -> Option<String> + Send + Sync + 'static) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a listener")?;
    let port = listener.local_addr()?.port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                while let Some(request) = read_request(&stream) {
                    let body = answer(request);
                    let status = if body.is_some() { "200 OK" } else { "503 Service Unavailable" };
                    let body = body.unwrap_or_default();
                    let head = format!(
                        "HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                        body.len()
                    );
                    if stream.write_all((head + &body).as_bytes()).is_err() {
                        return;
                    }
                }
            });
        }
    });
    Ok(port)
}

/// Reads a request, or none at the end of the connection. Clients must not pipeline.
fn read_request(stream: &TcpStream) -> Option<ReceivedRequest> {
    let (mut reader, mut request) = (BufReader::new(stream), ReceivedRequest::default());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
        if request.line.is_empty() {
            line.trim().clone_into(&mut request.line);
        } else if let Some((name, value)) = line.split_once(':') {
            request.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        } else {
            break;
        }
    }
    let length = request.headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    request.body.resize(length, 0);
    reader.read_exact(&mut request.body).ok()?;
    Some(request)
}

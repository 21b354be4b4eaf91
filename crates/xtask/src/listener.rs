//! A small HTTP server that hands each request to somebody: who receives webhooks, who knows places.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;

use anyhow::{Context, Result};

/// A request.
#[derive(Debug, Default, Clone)]
pub struct Heard {
    /// Method and path.
    pub line: String,
    /// Its headers, by names in lower case.
    pub headers: BTreeMap<String, String>,
    /// Its body, which has a length.
    pub body: Vec<u8>,
}

impl Heard {
    /// A header, empty if it is absent.
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }
}

/// Answers each request with 200 and the JSON that somebody makes of it, or 503 where that is nothing, for as long as
/// this program runs. Gives the port.
pub fn listen(answer: impl Fn(Heard) -> Option<String> + Send + Sync + 'static) -> Result<u16> {
    let listener = TcpListener::bind(("127.0.0.1", 0)).context("no free port for a listener")?;
    let port = listener.local_addr()?.port();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            thread::spawn(move || {
                while let Some(heard) = hear(&stream) {
                    let body = answer(heard);
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

/// One request; nothing at the end of the connection. Nobody here sends the next before the answer.
fn hear(stream: &TcpStream) -> Option<Heard> {
    let (mut reader, mut heard) = (BufReader::new(stream), Heard::default());
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|size| *size > 0)?;
        if heard.line.is_empty() {
            line.trim().clone_into(&mut heard.line);
        } else if let Some((name, value)) = line.split_once(':') {
            heard.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
        } else {
            break;
        }
    }
    let length = heard.headers.get("content-length").map_or(Some(0), |length| length.parse().ok())?;
    heard.body.resize(length, 0);
    reader.read_exact(&mut heard.body).ok()?;
    Some(heard)
}

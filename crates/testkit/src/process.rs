//! A service as a program of its own, for what only a whole process shows: its log, its commands.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use crate::client::TestRequest;
use crate::{AUDIENCE, ISSUER, jwks_file};

/// A program that has not said by then that it is ready never will.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running program; killed when it is dropped.
pub struct Process {
    /// Its base URL.
    pub url: String,
    client: reqwest::Client,
    child: Child,
    log: Option<[JoinHandle<String>; 2]>,
}

impl Process {
    /// Starts it on a free port with the test users' keys and these settings (`LOG__LEVEL` for `DROVER_LOG__LEVEL`), and
    /// waits until its log says that it is ready.
    pub fn start(program: &str, settings: &[(&str, &str)]) -> Self {
        let mut child =
            told(program, settings).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, errors) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (tell, address) = channel();
        let ready = move |line: &str| {
            if let Some(at) = line.find("127.0.0.1:").filter(|_| line.contains("ready")) {
                let _ = tell.send(line[at..].split(['"', ' ', '\n']).next().unwrap().to_owned());
            }
        };
        let log = [spawn(move || lines(out, ready)), spawn(move || lines(errors, |_| {}))];
        let mut process = Self { url: String::new(), client: reqwest::Client::new(), child, log: Some(log) };
        match address.recv_timeout(START_TIMEOUT) {
            Ok(address) => process.url = format!("http://{address}"),
            Err(why) => panic!("{program} is not ready ({why}): {}", process.log()),
        }
        process
    }

    /// A request with this method to this path.
    pub fn call(&self, method: &str, path: &str) -> TestRequest {
        TestRequest::new(
            self.client.request(method.parse().expect("a method"), format!("{}{path}", self.url)),
        )
    }

    /// Ends it and gives all lines that it wrote.
    pub fn log(mut self) -> String {
        let _ = self.child.kill();
        self.log.take().into_iter().flatten().map(|reading| reading.join().unwrap()).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How a command of a program ended.
#[derive(Debug)]
pub struct CommandOutput {
    /// Its exit code; none if a signal ended it.
    pub exit_code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it said was wrong.
    pub stderr: String,
}

/// Runs a command of a program to its end, told the same as [`Process::start`].
pub fn run_command(program: &str, settings: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let output = told(program, settings).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput {
        exit_code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn told(program: &str, settings: &[(&str, &str)]) -> Command {
    let jwks = jwks_file().display().to_string();
    let own = [("AUTH__JWKS_FILE", &*jwks), ("AUTH__ISSUER", ISSUER), ("AUTH__AUDIENCE", AUDIENCE)];
    let mut command = Command::new(program);
    for (name, value) in own.iter().chain([&("SERVER__PORT", "0")]).chain(settings) {
        command.env(format!("DROVER_{name}"), value);
    }
    command
}

/// All lines to the end, each shown to somebody as it comes; without a last one that a kill has cut off.
fn lines(from: impl Read, mut see: impl FnMut(&str)) -> String {
    let (mut from, mut said, mut line) = (BufReader::new(from), String::new(), Vec::new());
    while from.read_until(b'\n', &mut line).is_ok() && line.ends_with(b"\n") {
        let whole = String::from_utf8_lossy(&line);
        see(&whole);
        said.push_str(&whole);
        line.clear();
    }
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_was_cut_off_is_left_out() {
        assert_eq!(lines(&b"one\ntwo\nthr"[..], |_| {}), "one\ntwo\n");
    }

    #[test]
    #[should_panic(expected = "): Linux")]
    fn what_a_program_said_that_ends_at_once_is_told() {
        Process::start("uname", &[]);
    }
}

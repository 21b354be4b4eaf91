//! A service's program as a child process, for tests of its log and its commands.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::thread::{JoinHandle, spawn};
use std::time::Duration;

use serde_json::Value;

use super::app::TestRequest;
use super::user::{AUDIENCE, ISSUER, jwks_file};

/// Time within which a program must report that it is ready.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// A running program, killed when this is dropped.
pub struct Process {
    /// Base URL, without a trailing slash.
    pub url: String,
    client: reqwest::Client,
    child: Child,
    /// Threads that collect standard output and standard error.
    readers: Option<[JoinHandle<String>; 2]>,
}

impl Process {
    /// Starts a program on a free port with the key of the test users and these settings (`LOG__LEVEL` sets
    /// `DROVER_LOG__LEVEL`). Waits until its log reports that it is ready.
    ///
    /// # Panics
    /// If the program is not ready within 60 s, with its log in the message.
    pub fn start(program: &str, settings: &[(&str, &str)]) -> Self {
        let mut child =
            command(program, settings).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let (sender, address) = channel();
        let on_line = move |line: &str| {
            if let Some(at) = line.find("127.0.0.1:").filter(|_| line.contains("ready")) {
                let _ = sender.send(line[at..].split(['"', ' ', '\n']).next().unwrap().to_owned());
            }
        };
        let readers = [spawn(move || read_lines(stdout, on_line)), spawn(move || read_lines(stderr, |_| {}))];
        let client = reqwest::Client::new();
        let mut process = Self { url: String::new(), client, child, readers: Some(readers) };
        match address.recv_timeout(START_TIMEOUT) {
            Ok(address) => process.url = format!("http://{address}"),
            Err(error) => panic!("{program} is not ready ({error}): {}", process.log()),
        }
        process
    }

    /// Builds a request with this method and path.
    pub fn call(&self, method: &str, path: &str) -> TestRequest {
        TestRequest::new(
            self.client.request(method.parse().expect("a method"), format!("{}{path}", self.url)),
        )
    }

    /// Kills the program and returns the lines of its security log. Each is an object with the name of an `event`.
    ///
    /// # Panics
    /// If a line of the log is not JSON.
    pub fn security_events(self) -> Vec<Value> {
        let log = self.log();
        let lines =
            log.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("no JSON: {line}")));
        lines.filter(|line: &Value| line["target"] == "security").collect()
    }

    /// Kills the program and returns all complete lines that it wrote, standard output first.
    pub fn log(mut self) -> String {
        let _ = self.child.kill();
        self.readers.take().into_iter().flatten().map(|reader| reader.join().unwrap()).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The result of a command.
#[derive(Debug)]
pub struct CommandOutput {
    /// Exit code, `None` if a signal ended the program.
    pub exit_code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

/// Runs a command of a program to its end, with settings as in [`Process::start`].
pub fn run_command(program: &str, settings: &[(&str, &str)], arguments: &[&str]) -> CommandOutput {
    let output = command(program, settings).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    CommandOutput {
        exit_code: output.status.code(),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

/// Asserts that the command `openapi` of a service prints the checked-in document.
///
/// # Panics
/// If it prints another one.
pub fn assert_openapi_is_checked_in(program: &str, checked_in: &str) {
    let printed = run_command(program, &[], &["openapi"]);
    assert_eq!(printed.exit_code, Some(0), "{printed:?}");
    let is_current = printed.stdout.trim() == checked_in.trim();
    assert!(is_current, "openapi.json is out of date: run `cargo xtask openapi`");
}

fn command(program: &str, settings: &[(&str, &str)]) -> Command {
    let jwks = jwks_file().display().to_string();
    let defaults = [
        ("AUTH__JWKS_FILE", &*jwks),
        ("AUTH__ISSUER", ISSUER),
        ("AUTH__AUDIENCE", AUDIENCE),
        ("SERVER__PORT", "0"),
    ];
    // Keys come from one source only.
    let has_other_keys = settings.iter().any(|(name, _)| *name == "AUTH__JWKS_URL");
    let mut command = Command::new(program);
    for (name, value) in defaults.iter().skip(usize::from(has_other_keys)).chain(settings) {
        command.env(format!("DROVER_{name}"), value);
    }
    command
}

/// Reads all lines to the end, passes each to `on_line` as it arrives and returns them together. Drops an incomplete
/// last line, which remains when the program is killed.
fn read_lines(reader: impl Read, mut on_line: impl FnMut(&str)) -> String {
    let (mut reader, mut lines, mut bytes) = (BufReader::new(reader), String::new(), Vec::new());
    while reader.read_until(b'\n', &mut bytes).is_ok() && bytes.ends_with(b"\n") {
        let line = String::from_utf8_lossy(&bytes);
        on_line(&line);
        lines.push_str(&line);
        bytes.clear();
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drops_an_incomplete_last_line() {
        assert_eq!(read_lines(&b"one\ntwo\nthr"[..], |_| {}), "one\ntwo\n");
    }

    #[test]
    #[should_panic(expected = "): Linux")]
    fn panics_with_the_output_of_a_program_that_exits_at_once() {
        Process::start("uname", &[]);
    }
}

//! A service as a program of its own, for what only a whole process shows: its log.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;

use crate::client::Call;
use crate::{AUDIENCE, ISSUER, jwks_file};

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
        let jwks = jwks_file().display().to_string();
        let own = [("AUTH__JWKS_FILE", &*jwks), ("AUTH__ISSUER", ISSUER), ("AUTH__AUDIENCE", AUDIENCE)];
        let mut command = Command::new(program);
        for (name, value) in own.iter().chain([&("SERVER__PORT", "0")]).chain(settings) {
            command.env(format!("DROVER_{name}"), value);
        }
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (mut said, mut lines) = (String::new(), BufReader::new(child.stdout.take().unwrap()));
        let address = loop {
            let from = said.len();
            assert!(lines.read_line(&mut said).unwrap() > 0, "it ended: {said}");
            let line = &said[from..];
            if let Some(at) = line.find("127.0.0.1:").filter(|_| line.contains("ready")) {
                break line[at..].split(['"', ' ', '\n']).next().unwrap().to_owned();
            }
        };
        let mut errors = child.stderr.take().unwrap();
        let rest = move |from: &mut dyn Read, mut said: Vec<u8>| {
            let _ = from.read_to_end(&mut said);
            String::from_utf8_lossy(&said).into_owned()
        };
        let log = [
            std::thread::spawn(move || rest(&mut lines, said.into_bytes())),
            std::thread::spawn(move || rest(&mut errors, Vec::new())),
        ];
        Self { url: format!("http://{address}"), client: reqwest::Client::new(), child, log: Some(log) }
    }

    /// A request with this method to this path.
    pub fn call(&self, method: &str, path: &str) -> Call {
        Call::new(self.client.request(method.parse().expect("a method"), format!("{}{path}", self.url)))
    }

    /// Ends it and gives all that it wrote.
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

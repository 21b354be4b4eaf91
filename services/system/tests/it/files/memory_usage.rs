//! The service never holds a whole file in memory. Measures a service process.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use serde_json::Value;
use testkit::{S3, User};

use super::{form, id, noise, part};

/// Allowed growth in bytes with a local store. Holding a whole file in memory would add its 25 MiB.
const MAX_GROWTH: u64 = 32 << 20;
/// Allowed growth in bytes with S3, whose client takes 24 to 41 MiB for connections and parts in flight. Holding a
/// whole file in memory would add its 25 MiB.
const MAX_GROWTH_S3: u64 = 46 << 20;

/// A service process, with environment variables that are not settings of the service. Dropping this kills the process.
pub struct Process {
    child: Child,
    pub url: String,
}

impl Process {
    pub fn start(folder: &Path, environment: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_system"))
            .env("DROVER_SERVER__PORT", "0")
            .env("DROVER_DATABASE__URL", format!("sqlite://{}/system.sqlite", folder.display()))
            .envs(environment.iter().copied())
            .env("DROVER_AUTH__JWKS_FILE", testkit::jwks_file())
            .env("DROVER_AUTH__ISSUER", testkit::ISSUER)
            .env("DROVER_AUTH__AUDIENCE", testkit::AUDIENCE)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.by_ref().map(|line| line.unwrap()).find(|line| line.contains("\"ready\"")).unwrap();
        // Reads the rest of the log, since the service would block on a full pipe.
        std::thread::spawn(move || lines.for_each(drop));
        let ready: Value = serde_json::from_str(&ready).unwrap();
        let url = format!("http://{}", ready["address"].as_str().unwrap());
        Self { child, url }
    }

    /// Returns the resident memory in bytes.
    fn memory(&self) -> u64 {
        let pages = std::fs::read_to_string(format!("/proc/{}/statm", self.child.id())).unwrap();
        pages.split(' ').nth(1).unwrap().parse::<u64>().unwrap() * 4096
    }

    /// Returns the largest resident memory so far in bytes.
    pub fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn streams_files_with_a_local_store() {
    let folder = tempfile::tempdir().unwrap();
    let url = format!("file://{}/files", folder.path().display());
    assert_memory_bounded(
        &Process::start(folder.path(), &[("DROVER_SERVICE__STORE_URL", &url)]),
        50,
        MAX_GROWTH,
    );
}

#[test]
fn streams_files_with_s3() {
    let (folder, s3) = (tempfile::tempdir().unwrap(), S3::with_unique_prefix());
    let environment = [
        ("DROVER_SERVICE__STORE_URL", s3.url.as_str()),
        ("AWS_ENDPOINT_URL", &s3.endpoint),
        ("AWS_ACCESS_KEY_ID", &s3.key),
        ("AWS_SECRET_ACCESS_KEY", &s3.secret),
        ("AWS_REGION", "eu-west-1"),
    ];
    assert_memory_bounded(&Process::start(folder.path(), &environment), 12, MAX_GROWTH_S3);
}

fn assert_memory_bounded(service: &Process, rounds: usize, max_growth: u64) {
    testkit::block_on(async {
        let (client, token) = (reqwest::Client::new(), User::of("farm").token());
        let files = format!("{}/v1/files", service.url);
        let mut content = noise(25 << 20);
        let mut round = async || {
            content[0] = content[0].wrapping_add(1);
            let form = form("files", "misc", "large").part("file", part(&content));
            let uploaded = client.post(&files).bearer_auth(&token).multipart(form).send().await.unwrap();
            let id = id(&uploaded.json().await.unwrap());
            let mut response = client.get(format!("{files}/{id}")).bearer_auth(&token).send().await.unwrap();
            let mut read = 0;
            while let Some(chunk) = response.chunk().await.unwrap() {
                assert!(chunk == content[read..read + chunk.len()]);
                read += chunk.len();
            }
            assert_eq!(read, content.len());
        };
        let before = service.memory();
        for _ in 0..rounds {
            round().await;
        }
        let after = service.memory();
        println!("{} KiB before, {} KiB after", before >> 10, after >> 10);
        assert!(after < before + max_growth, "from {before} to {after}");
    });
}

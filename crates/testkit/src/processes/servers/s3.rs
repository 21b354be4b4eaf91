//! A private S3 server: SeaweedFS, which checks signatures and preconditions as S3 does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::server::{Server, ShutdownSignals, attempt, folder, random_password};
use crate::processes::environment::Environment;
use crate::processes::http::{Body, HttpClient};
use crate::processes::interrupt::Interrupt;
use crate::processes::ports;

/// The bucket that all tests share, each with its own prefix.
pub const BUCKET: &str = "drover-test";
const KEY: &str = "drover";
/// Its parts. Each listens on two ports, for HTTP and gRPC.
const PARTS: [&str; 4] = ["master", "volume", "filer", "s3"];
const SETTINGS: [&str; 12] = [
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-s3",
    "-s3.config=s3.json",
    "-s3.autoCreateBucket=false", // as S3 itself
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-s3.localSocket=s3.sock", // instead of /tmp
    "-filer.localSocket=filer.sock",
    "-master.peers=none", // saves the search for peers, one second
    "-master.telemetry=false",
    "-master.volumeSizeLimitMB=64",
];
/// An orderly end takes 15 s, and the data is removed anyway.
const SHUTDOWN: ShutdownSignals = &[(Signal::KILL, 5)];

/// A running server.
#[derive(Debug)]
pub struct S3 {
    /// The process.
    pub server: Server,
    secret: String,
    ports: Ports,
}

/// The ports of the parts. The sockets that SeaweedFS leaves in /tmp are removed when this is dropped.
#[derive(Debug)]
pub struct Ports([u16; 8]);

impl S3 {
    /// Starts a program and creates the bucket.
    pub fn start(program: &Path, stop: &Interrupt) -> Result<Self> {
        let secret = random_password()?;
        attempt(stop, || {
            let folder = folder("s3")?;
            let ports = Ports::find()?;
            let write = |name: &str, text: String| fs::write(folder.path().join(name), text);
            write("s3.json", identities(&secret).to_string())
                .and_then(|()| fs::create_dir(folder.path().join("data")))
                .with_context(|| format!("cannot write to {}: free disk space", folder.path().display()))?;
            let mut command = Command::new(program);
            command.env("HOME", folder.path()); // the user's own settings do not apply
            command.args(["-logtostderr", "server", "-dir=data", "-volume.max=100"]);
            command.args(SETTINGS).args(ports.arguments());
            let mut server = Server::spawn("SeaweedFS", &mut command, folder, SHUTDOWN)?;
            let client = HttpClient::new(Duration::from_secs(2));
            server.wait_ready(stop, |_| is_ready(&client, &ports))?;
            Ok(Self { server, secret: secret.clone(), ports })
        })
        .with_context(|| {
            format!("{} does not start: .ci/install installs the tested version", program.display())
        })
    }

    /// Amazon's variables for clients.
    pub fn variables(&self) -> Environment {
        let endpoint = format!("http://127.0.0.1:{}", self.ports.http("s3"));
        let variables = [
            ("AWS_ENDPOINT_URL", endpoint.as_str()),
            ("AWS_REGION", "eu-west-2"),
            ("AWS_ACCESS_KEY_ID", KEY),
            ("AWS_SECRET_ACCESS_KEY", &self.secret),
        ];
        variables.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    }

    /// URL of a folder in the bucket, for `STORE_URL`.
    pub fn place(folder: &str) -> String {
        format!("s3://{BUCKET}/{folder}-{}", std::process::id())
    }

    /// URL with key and secret.
    pub fn url(&self) -> String {
        format!("http://{KEY}:{}@127.0.0.1:{}", self.secret, self.ports.http("s3"))
    }
}

impl Ports {
    /// Finds free ports.
    pub fn find() -> Result<Self> {
        Ok(Self(ports::find_free()?))
    }

    fn pairs(&self) -> impl Iterator<Item = (&'static str, u16, u16)> {
        PARTS.into_iter().zip(self.0.chunks(2)).map(|(part, ports)| (part, ports[0], ports[1]))
    }

    /// HTTP port of a part.
    pub fn http(&self, wanted: &str) -> u16 {
        self.pairs().find(|(part, ..)| *part == wanted).map_or(0, |(_, http, _)| http)
    }

    /// Arguments of the program.
    pub fn arguments(&self) -> Vec<String> {
        let both = |(part, http, grpc)| [format!("-{part}.port={http}"), format!("-{part}.port.grpc={grpc}")];
        self.pairs().flat_map(both).collect()
    }

    fn sockets(&self) -> Vec<PathBuf> {
        self.pairs().map(|(part, _, grpc)| format!("/tmp/seaweedfs-{part}-grpc-{grpc}.sock").into()).collect()
    }
}

impl Drop for Ports {
    fn drop(&mut self) {
        for socket in self.sockets() {
            let _ = fs::remove_file(socket);
        }
    }
}

/// Users of the server.
fn identities(secret: &str) -> Value {
    json!({"identities": [{
        "name": "drover",
        "credentials": [{"accessKey": KEY, "secretKey": secret}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]})
}

/// Whether the bucket exists, accepts an object, and the S3 part responds. Uses the filer, which needs no signatures.
fn is_ready(client: &HttpClient, ports: &Ports) -> bool {
    let filer = format!("http://127.0.0.1:{}/buckets/{BUCKET}/", ports.http("filer"));
    let file = format!("{filer}ready");
    let health = format!("http://127.0.0.1:{}/healthz", ports.http("s3"));
    let steps = [
        ("GET", &health, Body::Empty),
        ("POST", &filer, Body::Empty),
        ("PUT", &file, Body::Json(json!("ready"))),
        ("DELETE", &file, Body::Empty),
    ];
    let good = |(method, url, body): &(&str, &String, Body)| {
        client.send(method, url, None, body).is_ok_and(|answer| answer.status < 300)
    };
    steps.iter().all(good)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_has_its_own_ports() {
        let ports = Ports([1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!((ports.http("filer"), ports.http("s3")), (5, 7));
        let arguments = ports.arguments();
        assert_eq!(arguments[..2], ["-master.port=1", "-master.port.grpc=2"]);
        assert_eq!(ports.sockets()[3], Path::new("/tmp/seaweedfs-s3-grpc-8.sock"));
    }
}

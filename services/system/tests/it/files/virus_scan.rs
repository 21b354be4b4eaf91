//! Virus scans of uploads, with a stub that implements the protocol of clamd.

use system::Settings;
use testkit::{Backend, User};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, UnixListener};
use url::Url;

use super::{Files, PNG, form, noise, part, start_with};

const EICAR: &[u8] = br"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*";
/// Bytes that the stub accepts, like `StreamMaxLength` of clamd.
const STREAM_MAX: usize = 2 << 20;

#[derive(Clone, Copy, PartialEq)]
enum StubMode {
    /// Replies like clamd.
    Normal,
    /// Replies with another protocol.
    Garbage,
    /// Never replies.
    Silent,
}

async fn serve(socket: impl AsyncRead + AsyncWrite + Unpin, mode: StubMode) -> std::io::Result<()> {
    let mut socket = BufStream::new(socket);
    let mut command = Vec::new();
    socket.read_until(0, &mut command).await?;
    let reply = match (&command[..], mode) {
        (_, StubMode::Silent) => return std::future::pending().await,
        (_, StubMode::Garbage) => "HTTP/1.1 400 Bad Request\r\n\r\n",
        (b"zPING\0", _) => "PONG\0",
        (b"zINSTREAM\0", _) => verdict(&mut socket).await?,
        _ => "UNKNOWN COMMAND\0",
    };
    socket.write_all(reply.as_bytes()).await?;
    socket.flush().await
}

async fn verdict(socket: &mut (impl AsyncRead + Unpin)) -> std::io::Result<&'static str> {
    let mut content = Vec::new();
    loop {
        let size = socket.read_u32().await? as usize;
        if content.len() + size > STREAM_MAX {
            return Ok("INSTREAM size limit exceeded. ERROR\0");
        }
        if size == 0 {
            let is_infected = content.windows(EICAR.len()).any(|window| window == EICAR);
            return Ok(if is_infected { "stream: Eicar-Signature FOUND\0" } else { "stream: OK\0" });
        }
        let start = content.len();
        content.resize(start + size, 0);
        socket.read_exact(&mut content[start..]).await?;
    }
}

async fn clamd(mode: StubMode) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, mode));
        }
    });
    url.parse().unwrap()
}

async fn start(backend: Backend, scan_url: Url) -> Files {
    let settings = Settings { scan_url: Some(scan_url), scan_seconds: 2, ..Settings::default() };
    start_with(backend, settings).await
}

async fn assert_unavailable(files: &Files, content: &[u8]) {
    let form = form("files", "misc", "x").part("file", part(content));
    let reply = files.upload(&User::of("farm"), form).await;
    assert_eq!(reply.header("retry-after"), "2");
    assert!(reply.json()["message"].as_str().unwrap().starts_with("The virus scanner cannot be reached"));
    assert_eq!(reply.error(503), "dependency_unavailable");
    assert_eq!(files.stored().await.len(), 0);
}

testkit::on_both! {
    async fn refuses_infected_uploads(backend) {
        let files = start(backend, clamd(StubMode::Normal).await).await;
        files.app.wait_for_readiness("scanner", "ok").await;
        let user = User::of("farm");
        let mut infected = noise(1_500_000);
        infected.extend(EICAR);
        let upload = form("files", "misc", "x").part("file", part(PNG)).part("file", part(&infected));
        let reply = files.upload(&user, upload).await;
        let entry = reply.json()["validation"][0].clone();
        assert_eq!(entry["message"], "is infected: Eicar-Signature");
        assert_eq!(entry["data"], serde_json::json!({"index": 1, "signature": "Eicar-Signature"}));
        assert_eq!(reply.json()["code"], "validation_failed");
        assert_eq!(reply.errors(), ["file infected"]);
        assert_eq!(files.stored().await.len(), 0);
        let clean = noise(1_900_000);
        let id = files.make(&user, "misc", &clean).await;
        assert!(files.get(&user, &id).await.bytes == clean);
    }
}

#[test]
fn infected_upload_releases_the_key() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite, clamd(StubMode::Normal).await).await;
        let upload = async |content: &[u8]| {
            let call = files.app.post("/v1/files").by(&User::of("farm")).header("idempotency-key", "key");
            call.form(form("files", "misc", "x").part("file", part(content))).send().await
        };
        assert_eq!(upload(EICAR).await.errors(), ["file infected"]);
        assert_eq!(upload(b"clean").await.status, 200);
    });
}

#[test]
fn scans_over_a_unix_socket() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clamd.ctl");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(serve(socket, StubMode::Normal));
            }
        });
        let files = start(Backend::Sqlite, format!("unix://{}", path.display()).parse().unwrap()).await;
        files.app.wait_for_readiness("scanner", "ok").await;
        files.make(&User::of("farm"), "misc", b"clean").await;
        let form = form("files", "misc", "x").part("file", part(EICAR));
        assert_eq!(files.upload(&User::of("farm"), form).await.errors(), ["file infected"]);
    });
}

#[test]
fn stores_nothing_without_a_verdict() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite, clamd(StubMode::Normal).await).await;
        assert_unavailable(&files, &noise(STREAM_MAX + 1)).await;
        assert_unavailable(&files, &noise(20 << 20)).await;
        for mode in [StubMode::Garbage, StubMode::Silent] {
            let files = start(Backend::Sqlite, clamd(mode).await).await;
            files.assert_soon_degraded("scanner").await;
            assert_unavailable(&files, b"x").await;
            assert_unavailable(&files, &noise(20 << 20)).await;
        }
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let files = start(Backend::Sqlite, format!("tcp://{closed}").parse().unwrap()).await;
        files.app.wait_for_readiness("scanner", "degraded").await;
        assert_unavailable(&files, b"x").await;
    });
}

#[test]
fn scanner_is_optional_and_its_url_is_validated() {
    testkit::block_on(async {
        let files = super::start(Backend::Sqlite).await;
        assert!(files.app.wait_for_readiness("status", "ok").await.get("scanner").is_none());
        files.make(&User::of("farm"), "misc", EICAR).await;
        let database = testkit::TestDatabase::empty(Backend::Sqlite).await;
        for url in ["tcp://host", "http://host:3310", "unix://host/x", "unix://"] {
            let settings = Settings { scan_url: Some(url.parse().unwrap()), ..files.settings.clone() };
            let config = testkit::config::<system::System>(&database, settings);
            let error = format!("{:#}", common::start::<system::System>(config).await.err().unwrap());
            assert!(error.contains("service.scan_url") && !error.contains('\n'), "{error}");
        }
    });
}

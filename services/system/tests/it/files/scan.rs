//! Uploads and the virus scanner: a stand-in for clamd that speaks its protocol.

use std::time::{Duration, Instant};

use system::Settings;
use testkit::{Backend, User};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufStream};
use tokio::net::{TcpListener, UnixListener};
use url::Url;

use super::{Files, PNG, form, noise, part, start_with};

const EICAR: &[u8] = br"X5O!P%@AP[4\PZX54(P^)7CC)7}$EICAR-STANDARD-ANTIVIRUS-TEST-FILE!$H+H*";
/// What the stand-in takes.
const STREAM_MAX: usize = 2 << 20;

#[derive(Clone, Copy, PartialEq)]
enum Mood {
    Well,
    Babbling,
    Silent,
}

async fn answer(socket: impl AsyncRead + AsyncWrite + Unpin, mood: Mood) -> std::io::Result<()> {
    let mut socket = BufStream::new(socket);
    let mut command = Vec::new();
    socket.read_until(0, &mut command).await?;
    let said = match (&command[..], mood) {
        (_, Mood::Silent) => return std::future::pending().await,
        (_, Mood::Babbling) => "HTTP/1.1 400 Bad Request\r\n\r\n",
        (b"zPING\0", _) => "PONG\0",
        (b"zINSTREAM\0", _) => verdict(&mut socket).await?,
        _ => "UNKNOWN COMMAND\0",
    };
    socket.write_all(said.as_bytes()).await?;
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
            let found = content.windows(EICAR.len()).any(|window| window == EICAR);
            return Ok(if found { "stream: Eicar-Signature FOUND\0" } else { "stream: OK\0" });
        }
        let start = content.len();
        content.resize(start + size, 0);
        socket.read_exact(&mut content[start..]).await?;
    }
}

async fn clamd(mood: Mood) -> Url {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, mood));
        }
    });
    url.parse().unwrap()
}

async fn start(backend: Backend, scan_url: Url) -> Files {
    let settings = Settings { scan_url: Some(scan_url), scan_seconds: 2, ..Settings::default() };
    start_with(backend, settings).await
}

async fn is_refused(files: &Files, content: &[u8]) {
    let form = form("files", "misc", "x").part("file", part(content));
    let reply = files.upload(&User::of("farm"), form).await;
    assert_eq!(reply.header("retry-after"), "2");
    assert!(reply.json()["message"].as_str().unwrap().starts_with("The virus scanner cannot be reached"));
    assert_eq!(reply.error(503), "dependency_unavailable");
    assert_eq!(files.stored().await.len(), 0);
}

testkit::on_both! {
    async fn what_is_infected_is_refused(backend) {
        let files = start(backend, clamd(Mood::Well).await).await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["scanner"], "ok");
        let user = User::of("farm");
        let mut bad = noise(1_500_000);
        bad.extend(EICAR);
        let upload = form("files", "misc", "x").part("file", part(PNG)).part("file", part(&bad));
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
fn a_refused_upload_leaves_its_key_free() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite, clamd(Mood::Well).await).await;
        let upload = async |content: &[u8]| {
            let call = files.app.post("/v1/files").by(&User::of("farm")).header("idempotency-key", "key");
            call.form(form("files", "misc", "x").part("file", part(content))).send().await
        };
        assert_eq!(upload(EICAR).await.errors(), ["file infected"]);
        assert_eq!(upload(b"clean").await.status, 200);
    });
}

#[test]
fn a_unix_socket_does_too() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("clamd.ctl");
        let listener = UnixListener::bind(&path).unwrap();
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, Mood::Well));
            }
        });
        let files = start(Backend::Sqlite, format!("unix://{}", path.display()).parse().unwrap()).await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["scanner"], "ok");
        files.make(&User::of("farm"), "misc", b"clean").await;
        let form = form("files", "misc", "x").part("file", part(EICAR));
        assert_eq!(files.upload(&User::of("farm"), form).await.errors(), ["file infected"]);
    });
}

#[test]
fn without_a_verdict_nothing_is_stored() {
    testkit::block_on(async {
        let files = start(Backend::Sqlite, clamd(Mood::Well).await).await;
        is_refused(&files, &noise(STREAM_MAX + 1)).await;
        is_refused(&files, &noise(20 << 20)).await;
        for mood in [Mood::Babbling, Mood::Silent] {
            let files = start(Backend::Sqlite, clamd(mood).await).await;
            let began = Instant::now();
            assert_eq!(files.app.get("/readyz").send().await.ok()["scanner"], "degraded");
            assert!(began.elapsed() < Duration::from_millis(900));
            is_refused(&files, b"x").await;
            is_refused(&files, &noise(20 << 20)).await;
        }
        let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let files = start(Backend::Sqlite, format!("tcp://{closed}").parse().unwrap()).await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["scanner"], "degraded");
        is_refused(&files, b"x").await;
    });
}

#[test]
fn without_one_configured_none_is_named() {
    testkit::block_on(async {
        let files = super::start(Backend::Sqlite).await;
        assert!(files.app.get("/readyz").send().await.ok().get("scanner").is_none());
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

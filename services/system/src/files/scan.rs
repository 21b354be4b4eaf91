//! Scans uploads with clamd before they are stored.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use actix_web::web::Bytes;
use anyhow::{Context, anyhow, bail, ensure};
use common::Error;
use common::cli::Checks;
use common::http::explain_unresolved;
use common::validation::{Code, ValidationErrors};
use futures_util::{Stream, StreamExt};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use url::Url;

use super::blob_store::Staged;
use crate::Settings;
use crate::config::setting;

/// The name of the scanner in error messages.
const SCANNER: &str = "The virus scanner";
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// Shorter than the 1 s that callers of the readiness probe wait.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);
/// clamd replies with one short line.
const MAX_REPLY_BYTES: u64 = 4096;

/// A client of clamd.
#[derive(Clone, Debug)]
pub(crate) struct Scanner {
    address: Address,
    /// Limits the scan of one file.
    scan_timeout: Duration,
}

#[derive(Clone, Debug)]
enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(host, port) => write!(f, "{host}:{port}"),
            Self::Unix(path) => path.display().fmt(f),
        }
    }
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// Refuses an upload with infected contents and reports each of them. Without a scanner accepts every upload.
///
/// # Errors
/// 400 `infected`; 503 if the scanner returns no verdict.
pub(super) async fn refuse_infected(scanner: Option<&Scanner>, contents: &[Staged]) -> Result<(), Error> {
    let Some(scanner) = scanner else { return Ok(()) };
    let mut errors = ValidationErrors::default();
    for (i, content) in contents.iter().enumerate() {
        let verdict = scanner.scan(content.chunks()).await;
        if let Some(signature) = verdict.map_err(|e| Error::Unavailable(e, SCANNER))? {
            let message = format!("is infected: {signature}");
            errors.push_with("file", Code::Infected, message, json!({ "index": i, "signature": signature }));
        }
    }
    Ok(errors.check()?)
}

impl Scanner {
    /// Returns the scanner of `service.scan_url`, if it is set. Does not connect.
    ///
    /// # Errors
    /// One sentence that says which setting to change.
    pub(crate) fn open(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(url) = &settings.scan_url else { return Ok(None) };
        let expected =
            || format!("{} must be tcp://HOST:3310 or unix:///run/clamav/clamd.ctl", setting("scan_url"));
        let address = Self::address(url).with_context(expected)?;
        Ok(Some(Self { address, scan_timeout: Duration::from_secs(settings.scan_seconds) }))
    }

    /// Checks the setting, and that clamd answers, if there is one.
    pub(crate) async fn check_config(settings: &Settings, checks: &mut Checks) {
        let remedy = format!("start clamd, or change {}", setting("scan_url"));
        match Self::open(settings) {
            Ok(None) => {}
            Ok(Some(scanner)) => checks.run_online("scanner", &remedy, scanner.check()).await,
            Err(error) => checks.run("scanner", &remedy, async { Err(error) }).await,
        }
    }

    fn address(url: &Url) -> anyhow::Result<Address> {
        match (url.scheme(), url.host_str(), url.port()) {
            // IPv6 addresses have brackets in URLs only.
            ("tcp", Some(host), Some(port)) => {
                Ok(Address::Tcp(host.trim_matches(['[', ']']).to_owned(), port))
            }
            ("unix", None | Some(""), None) if url.path().len() > 1 => Ok(Address::Unix(url.path().into())),
            _ => bail!("the URL is not the address of a socket"),
        }
    }

    /// Returns true if clamd replies to `PING`.
    pub(crate) async fn is_reachable(&self) -> bool {
        matches!(timeout(PROBE_TIMEOUT, self.check()).await, Ok(Ok(_)))
    }

    /// Sends `PING`. Returns the address, for people.
    ///
    /// # Errors
    /// If clamd cannot be reached or does not reply with `PONG`.
    async fn check(&self) -> anyhow::Result<String> {
        let mut socket = self.connect().await?;
        socket.write_all(b"zPING\0").await?;
        let reply = read_reply(socket).await?;
        ensure!(reply == "PONG", "the program that answers is not clamd");
        Ok(self.address.to_string())
    }

    async fn connect(&self) -> anyhow::Result<Box<dyn Socket>> {
        let connecting = async {
            Ok::<Box<dyn Socket>, io::Error>(match &self.address {
                Address::Tcp(host, port) => Box::new(TcpStream::connect((host.as_str(), *port)).await?),
                Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            })
        };
        let connected = timeout(CONNECT_TIMEOUT, connecting).await;
        let connected = connected.with_context(|| format!("no connection within {CONNECT_TIMEOUT:?}"))?;
        let host = if let Address::Tcp(host, _) = &self.address { host } else { "" };
        let connected = connected.map_err(|error| explain_unresolved(error.into(), host));
        connected.with_context(|| format!("cannot connect to {}", self.address))
    }

    /// Returns the name of the signature that matches the content, or `None` if the content is clean.
    ///
    /// # Errors
    /// If clamd cannot be reached, is too slow, or does not return a verdict on the complete content.
    async fn scan(
        &self,
        content: impl Stream<Item = Result<Bytes, Error>>,
    ) -> anyhow::Result<Option<String>> {
        let late = |_| anyhow!("no verdict within {:?}", self.scan_timeout);
        timeout(self.scan_timeout, self.instream(content)).await.map_err(late).flatten()
    }

    async fn instream(
        &self,
        content: impl Stream<Item = Result<Bytes, Error>>,
    ) -> anyhow::Result<Option<String>> {
        let mut socket = self.connect().await?;
        let sent = send(&mut socket, content).await;
        // clamd stops reading after an error and replies with the reason. So the reply counts even if sending failed.
        let reply = match (read_reply(socket).await, &sent) {
            (Ok(reply), _) if !reply.is_empty() => reply,
            (_, Err(_)) => return sent.map(|()| None),
            (reply, Ok(())) => reply?,
        };
        match reply.strip_prefix("stream: ") {
            // The verdict holds only for complete content.
            Some("OK") => sent.map(|()| None),
            Some(found) if found.ends_with(" FOUND") => {
                let signature = found.trim_end_matches(" FOUND");
                Ok(Some(signature.chars().filter(|c| !c.is_control()).collect()))
            }
            _ => bail!(
                "clamd replied {reply:?} (StreamMaxLength of clamd.conf must be at least service.file_bytes)"
            ),
        }
    }
}

/// Sends the command `INSTREAM`: chunks with their length in four bytes, and an empty chunk at the end.
async fn send(
    socket: &mut Box<dyn Socket>,
    content: impl Stream<Item = Result<Bytes, Error>>,
) -> anyhow::Result<()> {
    let mut content = std::pin::pin!(content);
    socket.write_all(b"zINSTREAM\0").await?;
    while let Some(chunk) = content.next().await {
        let chunk = chunk?;
        socket.write_u32(u32::try_from(chunk.len())?).await?;
        socket.write_all(&chunk).await?;
    }
    socket.write_u32(0).await?;
    Ok(())
}

async fn read_reply(socket: Box<dyn Socket>) -> anyhow::Result<String> {
    let mut reply = Vec::new();
    BufReader::new(socket.take(MAX_REPLY_BYTES)).read_until(0, &mut reply).await?;
    Ok(String::from_utf8_lossy(&reply).trim_end_matches(['\0', '\n']).to_owned())
}

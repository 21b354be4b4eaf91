//! The virus scanner: clamd over its socket, which gets every upload before anything of it is kept.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use common::Error;
use common::validation::{Code, ValidationErrors};
use futures_util::{Stream, StreamExt};
use serde_json::json;
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::{TcpStream, UnixStream};
use tokio::time::timeout;
use url::Url;

use super::form::Part;
use crate::{Settings, System};

const WHAT: &str = "The virus scanner";
const CONNECT: Duration = Duration::from_secs(2);
/// Those who ask whether it is there wait no longer than a second themselves.
const PROBE: Duration = Duration::from_millis(700);
/// A reply is one line; whatever is longer is not clamd's.
const REPLY: u64 = 4096;

/// Where clamd listens.
#[derive(Clone, Debug)]
pub struct Scanner {
    address: Address,
    patience: Duration,
}

#[derive(Clone, Debug)]
enum Address {
    Tcp(String, u16),
    Unix(PathBuf),
}

trait Socket: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> Socket for T {}

/// Refuses an upload with parts in which the scanner finds something; each is named.
///
/// # Errors
/// 400 `infected`; 503 when the scanner does not say what it found.
pub(super) async fn refuse_infected(system: &System, parts: &[Part]) -> Result<(), Error> {
    let Some(scanner) = &system.scanner else { return Ok(()) };
    let mut errors = ValidationErrors::default();
    for (i, part) in parts.iter().enumerate() {
        let found = timeout(scanner.patience, scanner.scan(part.content.chunks())).await;
        let late = || anyhow!("no verdict within {:?}", scanner.patience);
        let found = found.map_err(|_| late()).flatten().map_err(|e| Error::Unavailable(e, WHAT))?;
        if let Some(signature) = found {
            let message = format!("is infected: {signature}");
            errors.push_with("file", Code::Infected, message, json!({ "index": i, "signature": signature }));
        }
    }
    Ok(errors.check()?)
}

impl Scanner {
    /// The scanner that the settings name, if they name one.
    ///
    /// # Errors
    /// One sentence that says what to change.
    pub fn open(settings: &Settings) -> anyhow::Result<Option<Self>> {
        let Some(url) = &settings.scan_url else { return Ok(None) };
        let expected = "service.scan_url must be tcp://HOST:3310 or unix:///run/clamav/clamd.ctl";
        let address = Self::address(url).context(expected)?;
        Ok(Some(Self { address, patience: Duration::from_secs(settings.scan_seconds) }))
    }

    fn address(url: &Url) -> anyhow::Result<Address> {
        match (url.scheme(), url.host_str(), url.port()) {
            // An IPv6 address has brackets in a URL only.
            ("tcp", Some(host), Some(port)) => {
                Ok(Address::Tcp(host.trim_matches(['[', ']']).to_owned(), port))
            }
            ("unix", None | Some(""), None) if url.path().len() > 1 => Ok(Address::Unix(url.path().into())),
            _ => bail!("it names no socket"),
        }
    }

    /// True when it answers.
    pub async fn is_reachable(&self) -> bool {
        let asked = async {
            let mut socket = self.connect().await?;
            socket.write_all(b"zPING\0").await?;
            reply(socket).await
        };
        timeout(PROBE, asked).await.is_ok_and(|said| said.is_ok_and(|said| said == "PONG"))
    }

    async fn connect(&self) -> anyhow::Result<Box<dyn Socket>> {
        let connected = async {
            Ok::<Box<dyn Socket>, std::io::Error>(match &self.address {
                Address::Tcp(host, port) => Box::new(TcpStream::connect((host.as_str(), *port)).await?),
                Address::Unix(path) => Box::new(UnixStream::connect(path).await?),
            })
        };
        let connected = timeout(CONNECT, connected).await.context("it does not answer")?;
        connected.with_context(|| format!("cannot connect to {:?}", self.address))
    }

    /// The name of what is found in the content, if something is.
    async fn scan(
        &self,
        content: impl Stream<Item = Result<actix_web::web::Bytes, Error>>,
    ) -> anyhow::Result<Option<String>> {
        let mut socket = self.connect().await?;
        let sent = send(&mut socket, content).await;
        // When it takes no more it has said why.
        let said = reply(socket).await;
        let (said, sent) = match (said, sent) {
            (Ok(said), sent) if !said.is_empty() => (said, sent),
            (_, Err(e)) => return Err(e),
            (said, sent) => (said?, sent),
        };
        match said.strip_prefix("stream: ") {
            // Of what it has not seen whole it cannot say so.
            Some("OK") => sent.map(|()| None),
            Some(found) if found.ends_with(" FOUND") => {
                let name = found.trim_end_matches(" FOUND");
                Ok(Some(name.chars().filter(|c| !c.is_control()).collect()))
            }
            _ => {
                bail!("it says {said:?} (StreamMaxLength of clamd.conf must be service.file_bytes at least)")
            }
        }
    }
}

/// `INSTREAM`: pieces, each after its length in four bytes, and an empty one at the end.
async fn send(
    socket: &mut Box<dyn Socket>,
    content: impl Stream<Item = Result<actix_web::web::Bytes, Error>>,
) -> anyhow::Result<()> {
    let mut content = std::pin::pin!(content);
    socket.write_all(b"zINSTREAM\0").await?;
    while let Some(piece) = content.next().await {
        let piece = piece?;
        socket.write_u32(u32::try_from(piece.len())?).await?;
        socket.write_all(&piece).await?;
    }
    socket.write_u32(0).await?;
    Ok(())
}

async fn reply(socket: Box<dyn Socket>) -> anyhow::Result<String> {
    let mut said = Vec::new();
    BufReader::new(socket.take(REPLY)).read_until(0, &mut said).await?;
    Ok(String::from_utf8_lossy(&said).trim_end_matches(['\0', '\n']).to_owned())
}

//! Connections as no HTTP client has them: byte by byte, and without end.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Timeout of reads and writes of a socket.
const IO_TIMEOUT: Duration = Duration::from_secs(90);
const PIECE: usize = 64 << 10;
const CONTINUE: &[u8] = b"HTTP/1.1 100";

/// What became of requests: a status, `closed` or `silent`, and how often.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Ends(pub BTreeMap<String, usize>);

impl Ends {
    /// One more.
    pub fn add(&mut self, end: impl Into<String>) {
        *self.0.entry(end.into()).or_default() += 1;
    }

    /// Adds those of another.
    pub fn join(&mut self, other: Self) {
        for (end, count) in other.0 {
            *self.0.entry(end).or_default() += count;
        }
    }

    /// Whether there are no others than these.
    pub fn only(&self, allowed: &[&str]) -> bool {
        self.0.keys().all(|end| allowed.contains(&end.as_str()))
    }

    /// As `413 ×3, closed`.
    pub fn text(&self) -> String {
        let each = self.0.iter().map(|(end, count)| match count {
            1 => end.clone(),
            _ => format!("{end} ×{count}"),
        });
        each.collect::<Vec<_>>().join(", ")
    }
}

/// The head of a request to `drover`, without the empty line that ends it.
pub fn head(method: &str, path: &str, token: Option<&str>, headers: &[(&str, &str)]) -> String {
    let mut head = format!("{method} {path} HTTP/1.1\r\nhost: drover\r\n");
    if let Some(token) = token {
        let _ = write!(head, "authorization: Bearer {token}\r\n");
    }
    for (name, value) in headers {
        let _ = write!(head, "{name}: {value}\r\n");
    }
    head
}

/// A connection to a service.
pub struct Socket(TcpStream);

impl Socket {
    /// A new one.
    pub fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("a connection was not accepted")?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        Ok(Self(stream))
    }

    /// One that waits for nothing, neither to write nor to read.
    pub fn quick(port: u16) -> Result<Self> {
        let socket = Self::open(port)?;
        socket.0.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Sends as much as is taken; false once the other end has closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match self.0.write(bytes) {
            Ok(taken) => taken > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Sends all of it, until the other end answers or closes.
    pub fn send_until_answered(&mut self, pieces: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        let mut seen = [0];
        for piece in pieces {
            if self.0.write_all(&piece).is_err() {
                return Ok(());
            }
            self.0.set_nonblocking(true)?;
            let answered = self.0.peek(&mut seen);
            self.0.set_nonblocking(false)?;
            if !matches!(answered, Err(ref error) if error.kind() == ErrorKind::WouldBlock) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// What is there to read, up to so much; nothing at all once the other end has closed.
    pub fn read(&mut self, most: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; most];
        match self.0.read(&mut bytes) {
            Ok(0) => None,
            Ok(count) => Some(bytes[..count].to_vec()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// The status of the next answer; `closed` or `silent` if there is none.
    pub fn end(&mut self) -> String {
        let (mut answer, begun) = (Vec::new(), Instant::now());
        while answer.len() < 12 {
            match self.read(12 - answer.len()) {
                _ if begun.elapsed() >= IO_TIMEOUT => return "silent".into(),
                None => return "closed".into(),
                Some(bytes) => answer.extend(bytes),
            }
            // Whoever announces a body may be told to go on, which is no answer yet.
            if answer.starts_with(CONTINUE) {
                self.skip(13);
                answer.clear();
            }
        }
        status(&answer)
    }

    /// Sends a request and reads its answer, which is small and has a length.
    pub fn ask(&mut self, request: &str) -> String {
        self.send(request.as_bytes());
        let (mut answer, begun) = (Vec::new(), Instant::now());
        loop {
            match self.read(PIECE) {
                _ if begun.elapsed() >= IO_TIMEOUT => return "silent".into(),
                None => return "closed".into(),
                Some(bytes) => answer.extend(bytes),
            }
            let text = String::from_utf8_lossy(&answer).to_lowercase();
            let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
            if answer.len() >= head.len() + 4 + length {
                return status(&answer);
            }
        }
    }

    /// How many of these connections the service has accepted and not closed, whatever is left to read of them: only
    /// those belong to a process in the kernel's table.
    pub fn held(sockets: &[Self], port: u16) -> Result<usize> {
        let ours: HashSet<_> =
            sockets.iter().map(|Self(stream)| Ok(stream.local_addr()?.port())).collect::<Result<_>>()?;
        let table =
            fs::read_to_string("/proc/net/tcp").context("cannot read connections: this needs Linux")?;
        let number = |address: &str| u16::from_str_radix(address.split(':').nth(1)?, 16).ok();
        let is_held = |line: &&str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, here, there, _, _, _, _, _, _, inode, ..] = fields[..] else { return false };
            number(here) == Some(port) && number(there).is_some_and(|one| ours.contains(&one)) && inode != "0"
        };
        Ok(table.lines().filter(is_held).count())
    }

    fn skip(&mut self, mut bytes: usize) {
        while let Some(read) = self.read(bytes).filter(|read| !read.is_empty()) {
            bytes -= read.len();
        }
    }
}

/// The status that an answer begins with.
pub fn status(answer: &[u8]) -> String {
    String::from_utf8_lossy(answer.get(9..12).unwrap_or(answer)).into_owned()
}

/// Sends one request in pieces and tells how it ended.
pub fn exchange(port: u16, head: &str, body: impl Iterator<Item = Vec<u8>>) -> Result<String> {
    let mut socket = Socket::open(port)?;
    socket.send_until_answered([head.as_bytes().to_vec()].into_iter().chain(body))?;
    Ok(socket.end())
}

/// The same as chunks, and the end of them.
pub fn chunked(body: impl Iterator<Item = Vec<u8>>) -> impl Iterator<Item = Vec<u8>> {
    let chunk = |piece: Vec<u8>| [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
    body.map(chunk).chain([b"0\r\n\r\n".to_vec()])
}

/// So many bytes, of one kind, in pieces.
pub fn repeated(piece: &str, bytes: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
    let piece = piece.repeat((PIECE / piece.len()).max(1)).into_bytes();
    let count = bytes.div_ceil(piece.len());
    std::iter::repeat_n(piece, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_are_counted() {
        let mut ends = Ends::default();
        for end in ["413", "closed", "413"] {
            ends.add(end);
        }
        assert_eq!(ends.text(), "413 ×2, closed");
        assert!(ends.only(&["closed", "413"]) && !ends.only(&["413"]));
        assert_eq!(status(b"HTTP/1.1 431 R"), "431");
        assert!(repeated("ab", 100_000).map(|piece| piece.len()).sum::<usize>() >= 100_000);
    }
}

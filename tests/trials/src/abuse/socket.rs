//! Raw connections, for requests that no HTTP client sends.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};

/// Timeout of reads and writes of a socket.
const IO_TIMEOUT: Duration = Duration::from_secs(90);
/// Size of a piece in bytes.
const PIECE: usize = 64 << 10;
/// Length of `HTTP/1.1 200`.
const STATUS_END: usize = 12;

/// The head of a request, without the empty line after it.
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
    /// Connects to a port of 127.0.0.1.
    pub fn open(port: u16) -> Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port)).context("a connection was not accepted")?;
        stream.set_nodelay(true)?;
        stream.set_write_timeout(Some(IO_TIMEOUT))?;
        stream.set_read_timeout(Some(IO_TIMEOUT))?;
        Ok(Self(stream))
    }

    /// Connects to a port. Reads and writes do not block.
    pub fn open_nonblocking(port: u16) -> Result<Self> {
        let socket = Self::open(port)?;
        socket.0.set_nonblocking(true)?;
        Ok(socket)
    }

    /// Sends as many bytes as the kernel accepts. Returns false once the connection is closed.
    pub fn send(&mut self, bytes: &[u8]) -> bool {
        match self.0.write(bytes) {
            Ok(size) => size > 0,
            Err(error) => error.kind() == ErrorKind::WouldBlock,
        }
    }

    /// Sends pieces until the service responds or closes the connection.
    fn send_until_response(&mut self, pieces: impl Iterator<Item = Vec<u8>>) -> Result<()> {
        for piece in pieces {
            if self.0.write_all(&piece).is_err() {
                break;
            }
            self.0.set_nonblocking(true)?;
            let received = self.0.peek(&mut [0]);
            self.0.set_nonblocking(false)?;
            if !received.is_err_and(|error| error.kind() == ErrorKind::WouldBlock) {
                break;
            }
        }
        Ok(())
    }

    /// Reads at most `max` bytes. Returns none once the connection is closed.
    pub fn read(&mut self, max: usize) -> Option<Vec<u8>> {
        let mut bytes = vec![0; max];
        match self.0.read(&mut bytes) {
            Ok(0) => None,
            Ok(size) => Some(bytes[..size].to_vec()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Some(Vec::new()),
            Err(_) => None,
        }
    }

    /// Reads the status of the next response: `closed` without a response, `silent` after a timeout.
    pub fn read_status(&mut self) -> String {
        let (mut response, begun) = (Vec::new(), Instant::now());
        while response.len() < STATUS_END {
            match self.read(STATUS_END - response.len()) {
                _ if begun.elapsed() >= IO_TIMEOUT => return "silent".into(),
                None => return "closed".into(),
                Some(bytes) => response.extend(bytes),
            }
            if response == b"HTTP/1.1 100" {
                self.skip(" Continue\r\n\r\n".len());
                response.clear();
            }
        }
        status(&response)
    }

    /// Sends a request and reads the whole response, which must have a length. Returns its status.
    pub fn exchange(&mut self, request: &str) -> String {
        self.send(request.as_bytes());
        let (mut response, begun) = (Vec::new(), Instant::now());
        loop {
            match self.read(PIECE) {
                _ if begun.elapsed() >= IO_TIMEOUT => return "silent".into(),
                None => return "closed".into(),
                Some(bytes) => response.extend(bytes),
            }
            let text = String::from_utf8_lossy(&response).to_lowercase();
            let Some((head, _)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or_default();
            if response.len() >= head.len() + 4 + length {
                return status(&response);
            }
        }
    }

    /// Number of these connections that the service has accepted and not closed. In the kernel's table, only those
    /// have an inode.
    pub fn count_held(sockets: &[Self], port: u16) -> Result<usize> {
        let own: HashSet<_> =
            sockets.iter().map(|Self(stream)| Ok(stream.local_addr()?.port())).collect::<Result<_>>()?;
        let table =
            fs::read_to_string("/proc/net/tcp").context("cannot read connections: this needs Linux")?;
        let port_of = |address: &str| u16::from_str_radix(address.split(':').nth(1)?, 16).ok();
        let is_held = |line: &&str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            let [_, local, remote, _, _, _, _, _, _, inode, ..] = fields[..] else { return false };
            let is_own = port_of(remote).is_some_and(|port| own.contains(&port));
            port_of(local) == Some(port) && is_own && inode != "0"
        };
        Ok(table.lines().filter(is_held).count())
    }

    fn skip(&mut self, mut bytes: usize) {
        while let Some(read) = self.read(bytes).filter(|read| !read.is_empty()) {
            bytes -= read.len();
        }
    }
}

/// The status at the beginning of a response.
pub fn status(response: &[u8]) -> String {
    String::from_utf8_lossy(response.get(9..STATUS_END).unwrap_or(response)).into_owned()
}

/// Sends a request in pieces on a new connection. Returns the status of the response, as [`Socket::read_status`].
pub fn send_pieces(port: u16, pieces: impl Iterator<Item = Vec<u8>>) -> Result<String> {
    let mut socket = Socket::open(port)?;
    socket.send_until_response(pieces)?;
    Ok(socket.read_status())
}

/// Sends a request on a new connection. Returns the status of the response, as [`Socket::read_status`].
pub fn send(port: u16, request: &str) -> Result<String> {
    send_pieces(port, [request.as_bytes().to_vec()].into_iter())
}

/// Encodes pieces as chunks, with the last chunk.
pub fn chunked(body: impl Iterator<Item = Vec<u8>>) -> impl Iterator<Item = Vec<u8>> {
    let chunk = |piece: Vec<u8>| [format!("{:x}\r\n", piece.len()).as_bytes(), &piece, b"\r\n"].concat();
    body.map(chunk).chain([b"0\r\n\r\n".to_vec()])
}

/// Repeats a text in pieces, for at least `size` bytes.
pub fn repeated(text: &str, size: usize) -> impl Iterator<Item = Vec<u8>> + use<> {
    let piece = text.repeat((PIECE / text.len()).max(1)).into_bytes();
    let count = size.div_ceil(piece.len());
    std::iter::repeat_n(piece, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_and_pieces() {
        assert_eq!(status(b"HTTP/1.1 431 R"), "431");
        assert_eq!(status(b"HTTP"), "HTTP");
        assert!(repeated("ab", 100_000).map(|piece| piece.len()).sum::<usize>() >= 100_000);
        let chunks: Vec<_> = chunked([b"ab".to_vec()].into_iter()).collect();
        assert_eq!(chunks.concat(), b"2\r\nab\r\n0\r\n\r\n");
    }
}

//! A faulty HTTP server.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;

/// What a faulty server sends in response to the first request of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BadResponse {
    /// 500 for every request.
    InternalError,
    /// Nothing; the connection stays open.
    Never,
    /// Bytes that are not HTTP.
    NotHttp,
    /// 200 and an HTML page.
    OtherPage,
    /// 200 and the first bytes of a body; the connection stays open.
    HalfThenStall,
    /// 200 and the first bytes of a body; the connection closes.
    HalfThenClose,
}

impl BadResponse {
    fn bytes(self) -> &'static [u8] {
        match self {
            Self::InternalError => b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 4\r\n\r\noops",
            Self::Never => b"",
            Self::NotHttp => b"\x16\x03\x01 what did you say?\r\n\r\n",
            Self::OtherPage => b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 14\r\n\r\n<h1>Hello</h1>",
            Self::HalfThenStall | Self::HalfThenClose => {
                b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 4000\r\netag: \"x\"\r\n\r\n[{\"id\":"
            }
        }
    }

    /// Starts a server on a free port that sends this response until the process ends. Returns its base URL.
    pub fn serve(self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                thread::spawn(move || self.send(stream));
            }
        });
        url
    }

    /// Responds to the first request and closes the connection, or keeps it open until its other side closes.
    fn send(self, mut stream: TcpStream) {
        let mut buffer = [0; 16 << 10];
        let Ok(size) = stream.read(&mut buffer) else { return };
        // A client cannot tell a false 200 for an upload from a true one.
        let is_half = matches!(self, Self::HalfThenStall | Self::HalfThenClose);
        let bytes = if is_half && buffer[..size].starts_with(b"PUT") { b"" } else { self.bytes() };
        if stream.write_all(bytes).is_ok() && matches!(self, Self::Never | Self::HalfThenStall) {
            while stream.read(&mut buffer).is_ok_and(|size| size > 0) {}
        }
        let _ = stream.shutdown(Shutdown::Both);
    }
}

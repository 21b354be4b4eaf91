//! The write-ahead log of SQLite while a client reads an export slowly.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;

use anyhow::{Context, Result, ensure};

use super::loads::write::create_requests;
use crate::environment::BenchEnvironment;
use crate::load;

/// Clients that create loads meanwhile.
const WRITERS: usize = 16;
/// Maximum size of the log in MiB.
const MAX_LOG_MIB: f64 = 64.0;

/// Creates loads while an export of all loads is open whose client reads nothing after the first bytes.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    if env.postgres.is_some() {
        return Ok(());
    }
    let service = env.logistics()?;
    let requests = create_requests(env, service)?;
    let mut export = TcpStream::connect(("127.0.0.1", service.port())).context("cannot connect")?;
    write!(
        export,
        "GET /v1/loads?format=CSV HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {}\r\n\r\n",
        service.token(None)
    )?;
    let mut status = [0; 12];
    export.read_exact(&mut status)?;
    ensure!(status == *b"HTTP/1.1 200", "the export returned {}", String::from_utf8_lossy(&status));
    for _ in 0..env.rounds {
        env.stop.check()?;
        load::send(env, service, &requests, WRITERS)?;
    }
    let log = service.config().sqlite().with_extension("sqlite-wal");
    #[expect(clippy::cast_precision_loss, reason = "far below 2^52 bytes")]
    let mib = fs::metadata(log)?.len() as f64 / 1_048_576.0;
    drop(export);
    let name = "write-ahead log of logistics beside a slow export";
    env.add_metric(name.to_owned(), mib, Some(MAX_LOG_MIB), "MiB");
    env.record(name, Some(mib));
    Ok(())
}

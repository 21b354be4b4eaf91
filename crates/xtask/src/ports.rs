//! Are the ports free? Asked before minutes of building, not after.

use std::io::ErrorKind;
use std::net::TcpListener;

use anyhow::{Context, Result, anyhow, bail};

/// Fails with a sentence that names the first port that cannot be had, out of `count` from `first`.
pub fn check_free(first: u16, count: u16) -> Result<()> {
    let last = first.saturating_add(count - 1);
    for port in first..=last {
        TcpListener::bind(("127.0.0.1", port)).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => anyhow!(
                "port {port} is in use by another program: stop that program or choose other ports with --port \
                 (ports {first} to {last} were wanted)"
            ),
            _ => anyhow!("port {port} cannot be opened ({error}): choose other ports with --port"),
        })?;
    }
    Ok(())
}

/// So many ports that are free right now, each another one.
pub fn find_free<const N: usize>() -> Result<[u16; N]> {
    // All are held until the last is found.
    let mut held = Vec::new();
    let mut ports = [0; N];
    for port in &mut ports {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1: stop some programs")?;
        *port = listener.local_addr().context("cannot read the address of a listener")?.port();
        held.push(listener);
    }
    Ok(ports)
}

/// The first of so many ports in a row that are free right now.
pub fn find_free_row(count: u16) -> Result<u16> {
    for _ in 0..100 {
        let [first] = find_free()?;
        if first <= u16::MAX - count && check_free(first, count).is_ok() {
            return Ok(first);
        }
    }
    bail!("there are not {count} free ports in a row on 127.0.0.1: stop some programs")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_in_use_is_named() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let message = check_free(port, 1).unwrap_err().to_string();
        assert!(message.contains(&format!("port {port} is in use")), "{message}");
        assert!(message.contains("--port"), "{message}");
    }

    #[test]
    fn free_ports_are_different_ones() {
        let [a, b, c] = find_free().unwrap();
        assert!(a != b && b != c && c != a, "{a} {b} {c}");
    }
}

//! Free ports on 127.0.0.1.

use std::io::ErrorKind;
use std::net::TcpListener;

use anyhow::{Context, Result, anyhow, bail};

/// Fails unless all `count` ports from `first` are free, and names the first that is not.
pub fn check_free(first: u16, count: u16) -> Result<()> {
    let last = first.saturating_add(count - 1);
    for port in first..=last {
        TcpListener::bind(("127.0.0.1", port)).map_err(|error| match error.kind() {
            ErrorKind::AddrInUse => anyhow!(
                "port {port} is in use by another program: stop that program or choose other ports with --port \
                 (ports {first} to {last} are needed)"
            ),
            _ => anyhow!("port {port} cannot be opened ({error}): choose other ports with --port"),
        })?;
    }
    Ok(())
}

/// Finds `N` different free ports.
pub fn find_free<const N: usize>() -> Result<[u16; N]> {
    let ports = find_many(u16::try_from(N)?)?;
    ports.try_into().map_err(|_| anyhow!("a wrong number of ports was found"))
}

/// Finds different free ports.
pub fn find_many(count: u16) -> Result<Vec<u16>> {
    let bind =
        |_| TcpListener::bind(("127.0.0.1", 0)).context("no free port on 127.0.0.1: stop some programs");
    // All listeners are open until the last port is found.
    let listeners = (0..count).map(bind).collect::<Result<Vec<_>>>()?;
    listeners.iter().map(|listener| Ok(listener.local_addr()?.port())).collect()
}

/// Finds `count` consecutive free ports and returns the first.
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

//! The listening socket.

use std::io::ErrorKind;
use std::net::TcpListener;

/// Binds the listening socket.
///
/// # Errors
/// Names the setting to change.
pub(super) fn listen(host: &str, port: u16) -> anyhow::Result<TcpListener> {
    TcpListener::bind((host, port)).map_err(|error| {
        let remedy = match error.kind() {
            ErrorKind::AddrInUse => "stop what uses that port, or set server.port (DROVER_SERVER__PORT)",
            ErrorKind::PermissionDenied => "set server.port (DROVER_SERVER__PORT) to 1024 or more",
            _ => {
                "set server.host (DROVER_SERVER__HOST) to an address of this machine, such as 127.0.0.1, or 0.0.0.0 for \
                 all of them"
            }
        };
        anyhow::anyhow!("cannot listen on {host}:{port}: {error}: {remedy}")
    })
}

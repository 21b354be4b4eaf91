//! Injected failures: a TCP proxy that cuts, stalls and slows connections, a full disk, a shifted clock.

mod bad_response;
pub mod clock;
pub mod disk;
pub mod wire;

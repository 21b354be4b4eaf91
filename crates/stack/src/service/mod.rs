//! A service as a process of this machine: its configuration and its life.

mod config;
mod process;

pub use self::config::ServiceConfig;
pub use self::process::ServiceProcess;

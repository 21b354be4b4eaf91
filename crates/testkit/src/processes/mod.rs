//! The three services, and the servers that they need, as processes of this machine: for `xtask`, the trials and bench.

pub mod checkout;
pub mod databases;
pub mod environment;
pub mod folder_lock;
pub mod http;
pub mod interrupt;
pub mod ports;
pub mod process;
pub mod process_stats;
pub mod programs;
pub mod servers;
pub mod service;
pub mod stack;
pub mod text_table;
pub mod tokens;
pub mod tools;
pub mod trial;

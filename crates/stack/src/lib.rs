//! Runs the three services, and the servers they need, as processes of this machine: for `xtask`, the trials and bench.

pub mod checkout;
pub mod databases;
pub mod environment;
pub mod fixtures;
pub mod folder_lock;
pub mod http;
pub mod http_listener;
pub mod interrupt;
pub mod keys;
pub mod memory_folder;
pub mod multipart;
pub mod nginx;
pub mod ports;
pub mod process;
pub mod process_stats;
pub mod programs;
pub mod random;
pub mod servers;
pub mod service;
pub mod stack;
pub mod text_table;
pub mod token;
pub mod tools;
pub mod trial;
pub mod webhook_receiver;
pub mod webhook_secret;

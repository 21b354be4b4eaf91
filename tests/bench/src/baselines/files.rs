//! The cost of a durable file without a service.

use std::path::Path;

use super::limits;
use crate::benchmark::Baseline;
use crate::environment::BenchEnvironment;

/// Returns a baseline that writes and syncs files of `bytes` bytes in a folder, one after the other.
pub fn write(env: &BenchEnvironment, folder: &Path, bytes: usize) -> Baseline<'static> {
    let (folder, bytes, seconds) = (folder.display().to_string(), bytes.to_string(), env.seconds.to_string());
    limits::baseline(env, "write and fsync", ["files", &folder, &bytes, &seconds])
}

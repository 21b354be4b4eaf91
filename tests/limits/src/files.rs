//! Durable files: the minimum cost of an upload.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Result;
use serde_json::Value;

use crate::timed;

/// Writes files of `bytes` bytes for `seconds` seconds: each is staged, synced, renamed, and its folder synced. Removes
/// the folder afterwards.
pub fn write(folder: &Path, bytes: usize, seconds: f64) -> Result<Value> {
    fs::create_dir_all(folder)?;
    let (content, mut number) = (vec![b'x'; bytes], 0);
    let result = timed::repeat(seconds, || {
        number += 1;
        let staged = folder.join("staged");
        let mut file = File::create(&staged)?;
        file.write_all(&content)?;
        file.sync_all()?;
        fs::rename(&staged, folder.join(number.to_string()))?;
        File::open(folder)?.sync_all()?;
        Ok(1)
    });
    fs::remove_dir_all(folder)?;
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_files_and_removes_them() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        assert_eq!(write(&inner, 1000, 0.0).unwrap()["requests"], 1);
        assert!(!inner.exists());
    }
}

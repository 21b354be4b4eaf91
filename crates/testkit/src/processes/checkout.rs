//! The checkout of this workspace: its paths, and cargo in it.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// Names of the services in the order of their ports.
pub const SERVICES: [&str; 3] = ["system", "logistics", "livestock"];
/// Names of all programs that are deployed: the services, and the console.
pub const PROGRAMS: [&str; 4] = [SERVICES[0], SERVICES[1], SERVICES[2], CONSOLE];
/// Name of the console.
pub const CONSOLE: &str = "console";

/// Root folder of the workspace.
pub fn root() -> PathBuf {
    // Cargo sets the variable at run time. The folder may have moved since the build.
    let manifest =
        env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| env!("CARGO_MANIFEST_DIR").into(), PathBuf::from);
    // Each package of the workspace is two folders below its root.
    manifest.ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Returns a command that runs cargo in the root of the workspace.
pub fn cargo() -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Returns a command that runs a program in the root of the workspace, without the variables that `cargo run` sets.
///
/// Build scripts watch some of them (`CARGO_PKG_NAME`, …): with them, cargo would build those crates again.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    for (name, _) in env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        let ours =
            ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_"].iter().any(|prefix| text.starts_with(prefix));
        if ours || ["CARGO_CRATE_NAME", "CARGO_PRIMARY_PACKAGE", "OUT_DIR"].contains(&text) {
            command.env_remove(name);
        }
    }
    command
}

/// `cargo metadata` of the workspace's own crates.
pub fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot run cargo: install Rust and put it on PATH")?;
    if !output.status.success() {
        bail!("cargo metadata failed:\n{}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata printed invalid JSON")
}

/// Cargo's target folder (`CARGO_TARGET_DIR`, `build.target-dir` or `target`).
pub fn target_dir() -> Result<PathBuf> {
    let metadata = metadata()?;
    let path = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(path))
}

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("crates/testkit/src/processes/checkout.rs").is_file());
    }
}

//! Where this workspace is, and how to call cargo in it.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use serde_json::Value;

/// The services, in the order of their ports.
pub const SERVICES: [&str; 3] = ["system", "logistics", "livestock"];

/// The folder of the workspace.
pub fn root() -> PathBuf {
    // The running cargo knows better than the one that compiled us: the folder may have moved since.
    let manifest = env::var_os("CARGO_MANIFEST_DIR")
        .map(PathBuf::from)
        .filter(|path| path.ends_with("crates/xtask"))
        .unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    manifest.ancestors().nth(2).map_or_else(|| PathBuf::from("."), Path::to_path_buf)
}

/// Cargo, in the root of the workspace.
///
/// `cargo run` sets variables for us (`CARGO_PKG_NAME`, …) that build scripts of other crates watch; passed on, they
/// would have those crates compiled again.
pub fn cargo() -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
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

/// `cargo metadata` of our own crates, without what they get from elsewhere.
pub fn metadata() -> Result<Value> {
    let output = cargo()
        .args(["metadata", "--format-version", "1", "--no-deps"])
        .output()
        .context("cannot run cargo: install Rust and put it on PATH")?;
    if !output.status.success() {
        bail!(
            "cargo metadata failed, mend the manifest it names:\n{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata answered with something that is not JSON")
}

/// Where cargo puts what it builds (`CARGO_TARGET_DIR`, `build.target-dir` or `target`).
pub fn target_dir() -> Result<PathBuf> {
    let metadata = metadata()?;
    let path = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(PathBuf::from(path))
}

/// The folder for programs that are only ours, beside what cargo builds.
pub fn tools() -> Result<PathBuf> {
    let tools = target_dir()?.join("tools");
    fs::create_dir_all(&tools)
        .with_context(|| format!("cannot make {}: make it writable", tools.display()))?;
    Ok(tools)
}

#[cfg(test)]
mod tests {
    use super::root;

    #[test]
    fn the_root_holds_the_workspace() {
        assert!(root().join("crates/xtask/src/workspace.rs").is_file());
    }
}

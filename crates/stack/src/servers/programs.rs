//! Programs of the servers.

use std::path::PathBuf;

use anyhow::Result;

use crate::tools;

/// Paths of the servers' programs.
#[derive(Debug)]
pub struct Programs {
    /// The folder with `initdb` and `postgres`.
    pub postgres: PathBuf,
    /// `redis-server`.
    pub redis: PathBuf,
    /// `weed`, the program of SeaweedFS.
    pub weed: PathBuf,
}

impl Programs {
    /// Finds the programs.
    ///
    /// # Errors
    /// Programs are missing; the message names all of them.
    pub fn find() -> Result<Self> {
        tools::require(&tools::SERVERS)?;
        Ok(Self {
            postgres: tools::postgres_folder()?,
            redis: tools::find("redis-server")?,
            weed: tools::find("weed")?,
        })
    }
}

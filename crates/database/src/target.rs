//! Which database a URL names, and what to tell the person whose URL names none.

use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use crate::Error;

/// A database URL, understood.
#[derive(Clone, Debug)]
pub enum Target {
    /// A SQLite file, made when it is missing and its folder can be written.
    Sqlite(PathBuf),
    /// A PostgreSQL server, as libpq takes it.
    Postgres(SecretString),
}

impl Target {
    /// Reads `sqlite://PATH` (relative or absolute) or `postgres://…`.
    ///
    /// # Errors
    /// [`Error::Setup`] with a sentence that names the two forms, or the folder that cannot be written.
    pub fn parse(url: &str) -> Result<Self, Error> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            return sqlite_path(path).map(Self::Sqlite);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.into()));
        }
        // What has no scheme may be a password.
        let found = url.split_once("://").map(|(scheme, _)| format!(", but starts with {scheme}://"));
        Err(Error::Setup(format!(
            "database.url (DROVER_DATABASE__URL) must start with sqlite:// or postgres://{}: write sqlite://PATH or \
             postgres://USER:PASSWORD@HOST/NAME",
            found.unwrap_or_default()
        )))
    }
}

fn sqlite_path(path: &str) -> Result<PathBuf, Error> {
    if path.is_empty() || path.starts_with(':') || path.starts_with("file:") || path.contains('?') {
        return Err(Error::Setup(format!(
            "database.url (DROVER_DATABASE__URL) must name a file, as in sqlite:///var/lib/drover/system.sqlite, but names \"{path}\""
        )));
    }
    let path = PathBuf::from(path);
    let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.is_dir() {
        return Err(Error::Setup(format!(
            "the folder {} of database.url (DROVER_DATABASE__URL) does not exist: make it, or name another",
            folder.display()
        )));
    }
    if path.is_dir() {
        return Err(Error::Setup(format!(
            "database.url (DROVER_DATABASE__URL) names the folder {}, not a file",
            path.display()
        )));
    }
    Ok(path)
}

impl fmt::Display for Target {
    /// The URL without its password.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite://{}", path.display()),
            Self::Postgres(url) => {
                let url = url.expose_secret();
                match url.split_once("://").and_then(|(s, rest)| Some((s, rest.rsplit_once('@')?))) {
                    Some((scheme, (login, host))) => {
                        let user = login.split(':').next().unwrap_or_default();
                        write!(f, "{scheme}://{user}:…@{}", host.split('?').next().unwrap_or_default())
                    }
                    None => write!(f, "{}", url.split('?').next().unwrap_or_default()),
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_url_is_no_file() {
        for url in
            ["", "data.sqlite", "postgress://x/y", "sqlite://", "sqlite://:memory:", "sqlite:///no/such/f"]
        {
            assert!(matches!(Target::parse(url), Err(Error::Setup(_))), "{url}");
        }
    }

    #[test]
    fn a_password_is_not_shown() {
        let target =
            Target::parse("postgres://drover:s3cr@t@db:5432/drover?sslmode=require&password=x").unwrap();
        assert_eq!(target.to_string(), "postgres://drover:…@db:5432/drover");
        assert!(!format!("{target:?}").contains("s3cr"), "{target:?}");
    }
}

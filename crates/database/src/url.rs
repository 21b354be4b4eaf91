//! Parsing of database URLs, with error messages for the operator.

use std::fmt;
use std::path::{Path, PathBuf};

use secrecy::{ExposeSecret, SecretString};

use crate::Error;

/// A parsed database URL.
#[derive(Clone, Debug)]
pub enum DatabaseUrl {
    /// The path of a SQLite file. SQLite creates a missing file.
    Sqlite(PathBuf),
    /// The URL of a PostgreSQL database in the syntax of libpq, which may name several hosts.
    Postgres(SecretString),
}

impl DatabaseUrl {
    /// Parses `sqlite://PATH` (relative or absolute), `postgres://…` or `postgresql://…`.
    ///
    /// # Errors
    /// [`Error::Setup`] if the URL has another form, or if the path of a SQLite file is a folder or in a folder that
    /// does not exist.
    pub fn parse(url: &str) -> Result<Self, Error> {
        if let Some(path) = url.strip_prefix("sqlite://") {
            return sqlite_path(path).map(Self::Sqlite);
        }
        if url.starts_with("postgres://") || url.starts_with("postgresql://") {
            return Ok(Self::Postgres(url.into()));
        }
        // A text without a scheme is not shown: it may be a password.
        let scheme = url.split_once("://").map(|(scheme, _)| format!(", but starts with {scheme}://"));
        Err(Error::Setup(format!(
            "database.url (DROVER_DATABASE__URL) must start with sqlite:// or postgres://{}: write sqlite://PATH or \
             postgres://USER:PASSWORD@HOST/NAME",
            scheme.unwrap_or_default()
        )))
    }

    /// Returns the names of the hosts in the authority of a PostgreSQL URL; one empty name if it has none.
    pub(crate) fn hosts(&self) -> Vec<String> {
        let redacted = self.to_string();
        let (_, rest) = redacted.split_once("://").unwrap_or_default();
        let authority = rest.rsplit('@').next().unwrap_or_default().split('/').next().unwrap_or_default();
        let name = |host: &str| match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
            Some((address, _)) => address.to_owned(),
            None => host.split(':').next().unwrap_or_default().to_owned(),
        };
        authority.split(',').map(name).collect()
    }

    /// Returns true if libpq selects the server among several hosts, or one that accepts writes.
    pub(crate) fn selects_server(&self) -> bool {
        match self {
            Self::Sqlite(_) => false,
            Self::Postgres(url) => {
                let selections = ["target_session_attrs=read-write", "target_session_attrs=primary"];
                let url = url.expose_secret();
                self.hosts().len() > 1 || selections.iter().any(|selection| url.contains(selection))
            }
        }
    }
}

/// Adds a parameter to a PostgreSQL URL that does not have it.
pub(crate) fn add_parameter(url: &mut String, name: &str, value: &str) {
    if !url.contains(name) {
        url.push(if url.contains('?') { '&' } else { '?' });
        url.extend([name, "=", value]);
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
            "the folder {} of database.url (DROVER_DATABASE__URL) does not exist: create it or name another",
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

impl fmt::Display for DatabaseUrl {
    /// Writes the URL without its password and query parameters.
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
    fn rejects_mistyped_urls() {
        for url in
            ["", "data.sqlite", "postgress://x/y", "sqlite://", "sqlite://:memory:", "sqlite:///no/such/f"]
        {
            assert!(matches!(DatabaseUrl::parse(url), Err(Error::Setup(_))), "{url}");
        }
    }

    #[test]
    fn display_omits_the_password() {
        let url =
            DatabaseUrl::parse("postgres://drover:s3cr@t@db:5432/drover?sslmode=require&password=x").unwrap();
        assert_eq!(url.to_string(), "postgres://drover:…@db:5432/drover");
        assert!(!format!("{url:?}").contains("s3cr"), "{url:?}");
        let several = DatabaseUrl::parse("postgres://drover:s3cr@t@a:5432,b:5433?sslmode=require").unwrap();
        assert_eq!(several.to_string(), "postgres://drover:…@a:5432,b:5433");
    }

    #[test]
    fn hosts_are_found_in_the_authority() {
        for (url, hosts, selects_server) in [
            ("postgres://u:p@db/drover", &["db"][..], false),
            ("postgres://db:5432?target_session_attrs=primary", &["db"], true),
            ("postgres://u:p@t@a:5432,b,[::1]:5432/drover", &["a", "b", "::1"], true),
            ("postgres:///drover", &[""], false),
        ] {
            let url = DatabaseUrl::parse(url).unwrap();
            assert_eq!(
                (url.hosts(), url.selects_server()),
                (hosts.iter().map(|h| (*h).to_owned()).collect(), selects_server)
            );
        }
    }
}

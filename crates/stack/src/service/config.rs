//! The configuration of a service, given by environment variables only.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::environment::{Environment, TEST_SERVERS, variables};
use crate::keys::JWKS_FILE;
use crate::token;

/// Where a service runs and what it uses.
#[derive(Debug, Clone)]
pub struct ServiceConfig {
    /// Name, one of [`SERVICES`](crate::checkout::SERVICES).
    pub name: &'static str,
    /// Path of its program.
    pub program: PathBuf,
    /// Absolute path of the folder of its SQLite database, its files and its log.
    pub data: PathBuf,
    /// Folder of the development keys that its tokens are signed with.
    pub keys: PathBuf,
    /// Port on 127.0.0.1.
    pub port: u16,
    /// URL of its database, or none for a SQLite file in its folder.
    pub database: Option<String>,
    /// Log format: `json` or `pretty`.
    pub log_format: &'static str,
    /// Further variables. They win over those that are made of the other members.
    pub environment: Environment,
}

impl ServiceConfig {
    /// Its base URL.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Path of its log file.
    pub fn log(&self) -> PathBuf {
        self.data.join("log").join(format!("{}.log", self.name))
    }

    /// Path of its SQLite file.
    pub fn sqlite(&self) -> PathBuf {
        self.data.join(format!("{}.sqlite", self.name))
    }

    /// All its variables.
    pub fn environment(&self) -> Environment {
        let sqlite = || format!("sqlite://{}", self.sqlite().display());
        let mut all = variables([
            ("SERVER__HOST", "127.0.0.1".to_owned()),
            ("SERVER__PORT", self.port.to_string()),
            ("SERVER__PUBLIC_URL", self.url()),
            ("DATABASE__URL", self.database.clone().unwrap_or_else(sqlite)),
            ("AUTH__JWKS_FILE", self.keys.join(JWKS_FILE).display().to_string()),
            ("AUTH__ISSUER", token::ISSUER.to_owned()),
            ("AUTH__AUDIENCE", token::AUDIENCE.to_owned()),
            ("LOG__FORMAT", self.log_format.to_owned()),
        ]);
        all.push(("NO_COLOR".to_owned(), "1".to_owned())); // the log is a file
        if self.name == "system" {
            all.extend(variables([("SERVICE__STORE_URL", format!("file://{}/files", self.data.display()))]));
        }
        all.extend(self.environment.iter().cloned());
        all
    }

    /// A command of its program, without arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        for name in TEST_SERVERS {
            command.env_remove(name);
        }
        command.envs(self.environment()).stdin(Stdio::null());
        command
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn config(name: &'static str) -> ServiceConfig {
        ServiceConfig {
            name,
            program: "/bin/true".into(),
            data: "/d".into(),
            keys: "/k".into(),
            port: 8081,
            database: None,
            log_format: "json",
            environment: Vec::new(),
        }
    }

    #[test]
    fn further_variables_win() {
        let mut config = config("system");
        let value = |config: &ServiceConfig, name: &str| {
            let all: std::collections::BTreeMap<_, _> = config.environment().into_iter().collect();
            all[name].clone()
        };
        assert_eq!(value(&config, "DROVER_DATABASE__URL"), "sqlite:///d/system.sqlite");
        assert_eq!(value(&config, "DROVER_SERVICE__STORE_URL"), "file:///d/files");
        assert_eq!(value(&config, "DROVER_AUTH__JWKS_FILE"), "/k/auth/jwks.json");
        config.environment = variables([("SERVICE__STORE_URL", "s3://bucket")]);
        assert_eq!(value(&config, "DROVER_SERVICE__STORE_URL"), "s3://bucket");
    }
}

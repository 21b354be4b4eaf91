//! The settings that each service has, as its `--help` lists them.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use testkit::processes::checkout::PROGRAMS;
use testkit::processes::process::output;

/// What the services need at the end of a shutdown, in seconds: 1.5 s for requests that arrive late, 3 s to send the
/// last traces, and 5 s of margin.
const SHUTDOWN_MARGIN_SECONDS: u64 = 10;

/// Environment variables of each service with their default values.
#[derive(Debug)]
pub struct Settings(BTreeMap<&'static str, BTreeMap<String, String>>);

impl Settings {
    /// Runs `SERVICE --help` for each service.
    pub fn read(programs: &Path) -> Result<Self> {
        let mut all = BTreeMap::new();
        for service in PROGRAMS {
            let help = output(Command::new(programs.join(service)).arg("--help"))?;
            let lines = help.lines().filter(|line| line.starts_with("DROVER_"));
            let pairs = lines.filter_map(|line| line.split_once('='));
            let settings: BTreeMap<_, _> =
                pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
            ensure!(!settings.is_empty(), "`{service} --help` lists no settings");
            all.insert(service, settings);
        }
        Ok(Self(all))
    }

    /// Returns whether the service has this setting, directly or as `NAME_FILE`.
    pub fn contains(&self, service: &str, variable: &str) -> bool {
        let known = |name: &str| self.0.get(service).is_some_and(|all| all.contains_key(name));
        known(variable) || variable.strip_suffix("_FILE").is_some_and(known)
    }

    /// Seconds from SIGTERM until the process may be killed.
    pub fn stop_seconds(&self, service: &str, drain_seconds: u64) -> u64 {
        let name = "DROVER_SERVER__SHUTDOWN_SECONDS";
        let value = self.0.get(service).and_then(|all| all.get(name));
        let shutdown: u64 = value.and_then(|value| value.parse().ok()).unwrap_or_default();
        drain_seconds + shutdown + SHUTDOWN_MARGIN_SECONDS
    }
}

/// Returns whether a variable contains a secret. Secrets are given as files: `NAME_FILE`.
pub fn is_secret(variable: &str) -> bool {
    let is_url = ["DROVER_DATABASE__URL", "DROVER_SERVICE__CACHE_URL"].contains(&variable);
    let is_key = variable.ends_with("_KEY") && !variable.ends_with("_ACCESS_KEY");
    let is_key = is_key || variable.ends_with("_SESSION_KEYS");
    let name_says_so = ["PASSWORD", "SECRET", "TRACES__HEADERS"].iter().any(|word| variable.contains(word));
    (is_url || is_key || name_says_so) && !variable.ends_with("_FILE")
}

#[cfg(test)]
mod tests {
    use super::is_secret;

    #[test]
    fn secrets_are_recognized_by_name() {
        for secret in [
            "POSTGRES_PASSWORD",
            "DROVER_DATABASE__URL",
            "DROVER_SERVICE__CACHE_URL",
            "DROVER_SERVICE__STORE_SECRET_KEY",
            "DROVER_SERVICE__WEBHOOK_SECRETS",
            "DROVER_SERVICE__WORDS_KEY",
            "DROVER_SERVICE__DEVELOPMENT_KEY",
            "DROVER_SERVICE__SESSION_KEYS",
        ] {
            assert!(is_secret(secret), "{secret}");
            assert!(!is_secret(&format!("{secret}_FILE")), "{secret}_FILE");
        }
        for harmless in
            ["DROVER_SERVICE__STORE_ACCESS_KEY", "DROVER_SERVICE__SYSTEM_URL", "DROVER_AUTH__ISSUER"]
        {
            assert!(!is_secret(harmless), "{harmless}");
        }
    }
}

//! Settings in the pages against those that the services list in their `--help`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use testkit::processes::checkout::{self, PROGRAMS};

use crate::markdown::Page;

/// Variables of the clients and the command line, without `DROVER_`.
const OF_CLIENTS: [&str; 3] = ["CLIENT_ID", "CLIENT_SECRET", "WEBHOOK_SECRET"];

/// The page with the table of all settings.
const REFERENCE: &str = "docs/operations/configure.md";

/// Files whose variables may be set in `.env`.
const COMPOSE_FILES: [&str; 6] = [
    "docker-compose.yml",
    "deploy/compose/parts.yml",
    "deploy/compose/system.yml",
    "deploy/compose/logistics.yml",
    "deploy/compose/livestock.yml",
    "deploy/compose/console.yml",
];

/// The console, which has no sections `auth` and `database`.
const SITE: &str = "console";

/// Setting (`server.port`) to default, for each of [`PROGRAMS`].
#[derive(Debug)]
pub struct Settings([BTreeMap<String, String>; 4]);

impl Settings {
    /// Reads the help of the programs.
    pub fn read(programs: &Path) -> Result<Self> {
        let mut all = [const { BTreeMap::new() }; 4];
        for (settings, service) in all.iter_mut().zip(PROGRAMS) {
            let output = Command::new(programs.join(service)).arg("--help").output();
            let help = String::from_utf8(output.with_context(|| format!("cannot run {service}"))?.stdout)?;
            let pairs = help.lines().filter_map(|line| line.strip_prefix("DROVER_")?.split_once('='));
            settings.extend(pairs.map(|(name, value)| (dotted(name), value.to_owned())));
            ensure!(settings.len() > 30, "{service} --help lists {} settings", settings.len());
        }
        Ok(Self(all))
    }

    fn has(&self, setting: &str) -> bool {
        self.0.iter().any(|settings| settings.contains_key(setting))
    }

    /// Checks each setting and variable that a page names, and the table of all. Returns the number of names.
    pub fn check(&self, pages: &[Page], defects: &mut Vec<String>) -> usize {
        let files = COMPOSE_FILES.iter().map(|file| fs::read_to_string(checkout::root().join(file)));
        let compose = files.collect::<Result<String, _>>().unwrap_or_default();
        let mut count = 0;
        for page in pages {
            let texts = page.spans.iter().chain(page.blocks.iter().map(|block| &block.text));
            let variables = texts.flat_map(|text| variables(text)).map(|variable| {
                let setting = dotted(variable);
                let file = setting.strip_suffix("_file").unwrap_or_default();
                let of_compose =
                    !variable.contains("__") && compose.contains(&format!("${{DROVER_{variable}"));
                let of_clients = OF_CLIENTS.contains(&variable);
                (variable, self.has(&setting) || self.has(file) || of_compose || of_clients)
            });
            let settings =
                page.spans.iter().filter(|span| is_setting(span)).map(|span| (&**span, self.has(span)));
            for (name, exists) in variables.chain(settings) {
                count += 1;
                if !exists {
                    defects.push(format!("{}: there is no setting {name}", page.path));
                }
            }
        }
        let text = fs::read_to_string(checkout::root().join(REFERENCE)).unwrap_or_default();
        defects.extend(self.compare(&text));
        count
    }

    /// Compares the tables of the reference with the settings: names, services and defaults.
    fn compare(&self, text: &str) -> Vec<String> {
        let mut defects = Vec::new();
        for (settings, service) in self.0.iter().zip(PROGRAMS) {
            let is_absent =
                |name: &str| service == SITE && (name.starts_with("auth.") || name.starts_with("database."));
            let mut missing: BTreeSet<_> = settings.keys().collect();
            let sections = text.split("\n## ").filter(|section| {
                let title = section.lines().next().unwrap_or_default();
                title == "Settings of every service" || title == format!("Settings of {service}")
            });
            for row in sections.flat_map(str::lines).filter(|line| line.starts_with("| `")) {
                let cells: Vec<_> = row.split('|').map(str::trim).collect();
                for name in cells[1].split('`').skip(1).step_by(2).filter(|name| !is_absent(name)) {
                    missing.remove(&name.to_owned());
                    let Some(default) = settings.get(name) else {
                        defects.push(format!("{REFERENCE}: {service} has no setting {name}"));
                        continue;
                    };
                    // Text without code describes a default that depends on something.
                    let stated = cells[2].strip_prefix('`').and_then(|cell| cell.strip_suffix('`'));
                    let is_right = if cells[2].is_empty() {
                        default.is_empty()
                    } else {
                        stated.is_none_or(|s| s == default)
                    };
                    if !is_right {
                        defects.push(format!("{REFERENCE}: the default of {name} is `{default}`"));
                    }
                }
            }
            defects.extend(missing.iter().map(|name| format!("{REFERENCE}: {name} of {service} is missing")));
        }
        defects
    }
}

/// Returns the setting of a variable without its prefix: `SERVER__PORT` is `server.port`.
fn dotted(name: &str) -> String {
    name.replace("__", ".").to_lowercase()
}

fn is_setting(span: &str) -> bool {
    let sections = ["server.", "database.", "auth.", "log.", "traces.", "service."];
    let is_name = |c: char| c.is_ascii_lowercase() || c == '_' || c == '.';
    sections.iter().any(|section| span.starts_with(section))
        && span.chars().all(is_name)
        && !span.contains(".toml")
}

/// Returns the variables in a text, without `DROVER_`.
fn variables(text: &str) -> impl Iterator<Item = &str> {
    let names = text.split("DROVER_").skip(1);
    let names = names.filter_map(|rest| rest.split(|c: char| !c.is_ascii_uppercase() && c != '_').next());
    names.filter(|name| !name.is_empty() && !name.ends_with('_'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_missing_unknown_and_wrong_settings() {
        let of =
            |pairs: &[(&str, &str)]| pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let common = ("server.port", "1");
        let settings =
            Settings([of(&[common, ("service.a", "2")]), of(&[common]), of(&[common]), of(&[common])]);
        let page = |row: &str| {
            format!(
                "x\n## Settings of every service\n| `server.port` | `1` | x |\n## Settings of system\n{row}\n"
            )
        };
        assert_eq!(settings.compare(&page("| `service.a` | `2` | x |")), Vec::<String>::new());
        for (row, part) in [
            ("", "service.a of system is missing"),
            ("| `service.a` | `3` |", "default"),
            ("| `service.a`, `service.b` | `2` |", "no setting service.b"),
        ] {
            let defects = settings.compare(&page(row));
            assert!(defects.len() == 1 && defects[0].contains(part), "{defects:?}");
        }
    }

    #[test]
    fn recognizes_settings_and_variables() {
        assert!(is_setting("server.drain_seconds") && !is_setting("service.toml") && !is_setting("server"));
        let text = "A=1 DROVER_SERVER__PORT=2 DROVER_…_FILE DROVER_AUTH__";
        assert_eq!(variables(text).collect::<Vec<_>>(), ["SERVER__PORT"]);
        assert_eq!(dotted("AUTH__CLAIMS__ORG_NAME"), "auth.claims.org_name");
    }
}

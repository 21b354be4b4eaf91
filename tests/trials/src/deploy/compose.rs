//! The Compose files: validated by Docker Compose itself, then checked against the rules of this project.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use serde_json::{Value, json};
use testkit::processes::checkout::{self, PROGRAMS};
use testkit::processes::process::output_without_warnings;
use testkit::processes::tools;

use crate::deploy::objects::{Rule, rule};
use crate::deploy::settings::{Settings, is_secret};

/// The file that starts everything.
pub const MAIN: &str = "docker-compose.yml";
/// The files that start one service alone, and the console.
pub const SINGLE: [&str; 4] = [
    "deploy/compose/system.yml",
    "deploy/compose/logistics.yml",
    "deploy/compose/livestock.yml",
    "deploy/compose/console.yml",
];
/// The tag of our own images.
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// These members give more rights than needed, or prevent scaling.
const FORBIDDEN: [&str; 8] =
    ["container_name", "privileged", "cap_add", "devices", "network_mode", "pid", "ipc", "userns_mode"];
/// Containers with data.
const STATEFUL: [&str; 3] = ["postgres", "redis", "store"];

/// Compose files that are used together, with anchors merged and variables replaced by their defaults.
#[derive(Debug)]
pub struct Compose {
    file: &'static str,
    model: Value,
    /// The same without interpolation. Only this form keeps networks, volumes and secrets that nothing uses.
    raw: Value,
}

impl Compose {
    /// Validates and reads a file with `docker-compose config`, which checks the schema, duplicate keys, undefined
    /// names, cycles, and variables without a default.
    pub fn load(file: &'static str) -> Result<Self> {
        Self::read(file, &[])
    }

    /// Reads docker-compose.yml with the test tokens of docker-compose.demo.yml.
    pub fn load_demo() -> Result<Self> {
        Self::read(MAIN, &["--file", "docker-compose.demo.yml"])
    }

    /// Reads docker-compose.yml with the OpenID provider of the profile `login`.
    pub fn load_login() -> Result<Self> {
        Self::read(MAIN, &["--env-file", "deploy/login/env"])
    }

    fn read(file: &'static str, more: &[&str]) -> Result<Self> {
        Ok(Self { file, model: config(file, more, &[])?, raw: config(file, more, &["--no-interpolate"])? })
    }

    /// Returns all containers.
    pub fn containers(&self) -> impl Iterator<Item = Container<'_>> {
        let services = self.model["services"].as_object().into_iter().flatten();
        services.map(|(name, spec)| Container { name, spec })
    }

    /// Returns a container by name.
    pub fn container(&self, name: &str) -> Result<Container<'_>> {
        let found = self.containers().find(|container| container.name == name);
        found.with_context(|| format!("{} has no container {name}", self.file))
    }

    /// Returns the file of a secret: absolute path on the host.
    pub fn secret_file(&self, name: &str) -> Option<&Path> {
        self.model["secrets"][name]["file"].as_str().map(Path::new)
    }

    /// Returns the names of all secrets.
    pub fn secrets(&self) -> BTreeSet<&str> {
        names(&self.model["secrets"])
    }

    /// Checks the rules.
    pub fn rules(&self, settings: &Settings) -> Vec<Rule> {
        let containers = self.containers().flat_map(|container| {
            let mut rules = container_rules(container);
            rules.extend(self.start_rules(container));
            rules.extend(environment_rules(container, settings));
            rules.extend(
                container
                    .service()
                    .map(|service| service_rules(container, service, settings))
                    .unwrap_or_default(),
            );
            rules.into_iter().map(move |rule| rule.of(container.name))
        });
        containers.chain(self.project_rules()).map(|rule| rule.of(self.file)).collect()
    }

    fn project_rules(&self) -> Vec<Rule> {
        let data = &self.model["networks"]["data"];
        let mut rules = vec![rule(data.is_null() || data["internal"] == true, "data must be internal")];
        for kind in ["networks", "volumes", "secrets"] {
            let used = names(&self.model[kind]);
            let declared = names(&self.raw[kind]).into_iter();
            rules.extend(
                declared.map(|name| rule(used.contains(name), format!("{kind}: {name} must be used"))),
            );
        }
        let folder = checkout::root().join("deploy/secrets");
        rules.extend(self.secrets().into_iter().map(|name| {
            let parent = self.secret_file(name).and_then(Path::parent);
            rule(parent == Some(&folder), format!("the secret {name} must be in deploy/secrets"))
        }));
        for service in PROGRAMS.into_iter().filter(|service| self.container(service).is_ok()) {
            let arguments = &self.model["services"][service]["build"]["args"];
            let is_right = arguments["SERVICE"] == service && arguments["VERSION"] == VERSION;
            rules.push(rule(
                is_right,
                format!("{service}: build.args must have this SERVICE, and VERSION {VERSION}"),
            ));
        }
        rules
    }

    /// Each dependency is waited for until it is healthy, or has succeeded.
    fn start_rules(&self, container: Container<'_>) -> Vec<Rule> {
        let dependencies = container.dependencies().into_iter().map(|(other, condition)| {
            let is_one_shot = self.container(other).is_ok_and(|other| other.is_one_shot());
            let expected = if is_one_shot { "service_completed_successfully" } else { "service_healthy" };
            rule(condition == expected, format!("the condition of {other} must be {expected}"))
        });
        dependencies.collect()
    }
}

/// Runs `docker-compose config` without the caller's environment and `.env`.
fn config(file: &str, more: &[&str], options: &[&str]) -> Result<Value> {
    let mut command = Command::new(tools::find("docker-compose")?);
    command.env_clear().env("HOME", "/nonexistent").current_dir(checkout::root());
    command.env("COMPOSE_PROFILES", "login");
    for service in ["system", "logistics", "livestock"] {
        // They have no defaults.
        let name = format!("DROVER_{}_URL", service.to_uppercase());
        command.env(name, format!("https://drover.example/{service}"));
    }
    command.args(["--env-file", "/dev/null", "--file", file]).args(more);
    let text = output_without_warnings(command.args(["config", "--format", "json"]).args(options))?;
    serde_json::from_str(&text).context("docker-compose config printed no JSON")
}

fn names(object: &Value) -> BTreeSet<&str> {
    object.as_object().into_iter().flatten().map(|(name, _)| name.as_str()).collect()
}

/// Every container: no rights, limits, a health check, and no way in except through the proxy.
fn container_rules(container: Container<'_>) -> Vec<Rule> {
    let (spec, name) = (container.spec, container.name);
    let is_set = |member: &str| !spec[member].is_null();
    let user = spec["user"].as_str().and_then(|user| user.split(':').next()?.parse().ok());
    // deploy/Dockerfile sets the user of our own images.
    let user = user.unwrap_or(u32::from(container.service().is_some() && !is_set("user")));
    let mut rules = vec![
        rule(user != 0, "user must be a number other than 0"),
        rule(spec["read_only"] == true, "read_only must be true"),
        rule(spec["cap_drop"] == json!(["ALL"]), "cap_drop must be [ALL]"),
        rule(
            spec["security_opt"] == json!(["no-new-privileges:true"]),
            "security_opt must forbid new privileges",
        ),
        rule(is_set("mem_limit") && is_set("pids_limit"), "mem_limit and pids_limit must be set"),
        rule(spec["logging"]["options"]["max-size"].is_string(), "logging must have a max-size"),
        rule(container.is_one_shot() || !container.health_check().is_empty(), "healthcheck must be set"),
        rule(
            name == "proxy" || container.ports().all(|port| port["host_ip"] == "127.0.0.1"),
            "ports must be published by the proxy only, or to this machine only",
        ),
        rule(
            !(container.is_on("front") && STATEFUL.contains(&name)),
            "data must not be on the network front",
        ),
        rule(!(container.is_on("data") && name == "proxy"), "the proxy must not be on the network data"),
    ];
    rules.extend(FORBIDDEN.map(|member| rule(!is_set(member), format!("{member} must not be set"))));
    for bind in container.binds() {
        rules.push(rule(bind.read_only, format!("{} must be mounted read-only", bind.source)));
        rules.push(rule(Path::new(bind.source).is_file(), format!("{} must exist", bind.source)));
        rules.push(rule(bind.is_relabelled, format!("{} must have the option z, for SELinux", bind.source)));
    }
    let all_named =
        container.volumes().all(|volume| volume["type"] != "volume" || volume["source"].is_string());
    rules.push(rule(all_named, "volumes must have names"));
    if name == "proxy" {
        let binds = container.binds();
        let mounted: BTreeSet<_> =
            binds.iter().filter_map(|bind| Path::new(bind.target).file_name()).collect();
        for entry in fs::read_dir(checkout::root().join("deploy/nginx")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            rules.push(rule(mounted.contains(&*name), format!("{} must be mounted", name.display())));
        }
    }
    rules
}

/// Secrets are files, which the container has.
fn environment_rules(container: Container<'_>, settings: &Settings) -> Vec<Rule> {
    let paths: BTreeSet<_> = container.secrets().into_iter().map(|(_, path)| path).collect();
    let variables = container.environment().into_iter().map(|(variable, value)| {
        let is_file = !value.starts_with("/run/secrets/") || paths.contains(value);
        let is_setting = container.service().is_none_or(|service| settings.contains(service, variable));
        let is_public = !is_secret(variable) || value.is_empty();
        [
            rule(is_file, format!("{variable}: {value} must be a secret of the container")),
            rule(is_setting, format!("{variable} must be a setting")),
            rule(is_public, format!("{variable} must be given as a file: {variable}_FILE")),
        ]
    });
    variables.flatten().collect()
}

fn service_rules(container: Container<'_>, service: &str, settings: &Settings) -> Vec<Rule> {
    let image = format!("drover/{service}:{VERSION}");
    let mut rules = vec![rule(container.image() == image, format!("image must be {image}"))];
    if !container.is_one_shot() {
        let environment = container.environment();
        // A service without an issuer or keys does not start.
        let has_no_keys = ["ISSUER", "JWKS_URL", "JWKS_FILE"].iter().all(|name| {
            environment.get(&*format!("DROVER_AUTH__{name}")).is_none_or(|value| value.is_empty())
        });
        rules.push(rule(has_no_keys, "DROVER_AUTH__… must name no issuer and no keys by default"));
        let drain = environment.get("DROVER_SERVER__DRAIN_SECONDS").and_then(|value| value.parse().ok());
        let needed = settings.stop_seconds(service, drain.unwrap_or_default());
        let given = container.stop_grace_seconds();
        rules.push(rule(drain.is_some(), "DROVER_SERVER__DRAIN_SECONDS must be set"));
        rules.push(rule(given >= needed, format!("stop_grace_period must be at least {needed} s")));
        // Without trusted proxies, all clients share the proxy's rate limit.
        let is_limited = environment.contains_key("DROVER_SERVER__RATE_PER_SECOND");
        let has_proxies = environment.contains_key("DROVER_SERVER__TRUSTED_PROXIES");
        rules.push(rule(!is_limited || has_proxies, "DROVER_SERVER__TRUSTED_PROXIES must be set"));
    }
    rules
}

/// A container. Compose calls it a service.
#[derive(Debug, Clone, Copy)]
pub struct Container<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its definition.
    pub spec: &'a Value,
}

impl<'a> Container<'a> {
    /// Returns the Drover service that the image contains.
    pub fn service(&self) -> Option<&'a str> {
        self.image().strip_prefix("drover/")?.split(':').next()
    }

    /// Returns the image with its tag.
    pub fn image(&self) -> &'a str {
        self.spec["image"].as_str().unwrap_or_default()
    }

    /// Returns the environment variables.
    pub fn environment(&self) -> BTreeMap<&'a str, &'a str> {
        let members = self.spec["environment"].as_object().into_iter().flatten();
        members.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default())).collect()
    }

    /// Returns the secrets: name and path in the container.
    pub fn secrets(&self) -> Vec<(&'a str, &'a str)> {
        let secrets = self.spec["secrets"].as_array().into_iter().flatten();
        secrets.filter_map(|secret| Some((secret["source"].as_str()?, secret["target"].as_str()?))).collect()
    }

    /// Returns the mounted files of this checkout.
    pub fn binds(&self) -> Vec<Bind<'a>> {
        let binds = self.volumes().filter(|volume| volume["type"] == "bind").filter_map(|volume| {
            let (source, target) = (volume["source"].as_str()?, volume["target"].as_str()?);
            let is_relabelled = volume["bind"]["selinux"] == "z";
            Some(Bind { source, target, read_only: volume["read_only"] == true, is_relabelled })
        });
        binds.collect()
    }

    /// Returns the published ports.
    pub fn ports(&self) -> impl Iterator<Item = &'a Value> {
        self.spec["ports"].as_array().into_iter().flatten()
    }

    /// Returns the volumes and mounted files.
    pub fn volumes(&self) -> impl Iterator<Item = &'a Value> {
        self.spec["volumes"].as_array().into_iter().flatten()
    }

    /// Returns the containers that start first, each with the condition that is waited for.
    pub fn dependencies(&self) -> Vec<(&'a str, &'a str)> {
        let members = self.spec["depends_on"].as_object().into_iter().flatten();
        members.map(|(name, how)| (name.as_str(), how["condition"].as_str().unwrap_or_default())).collect()
    }

    /// Returns whether the container runs one command and ends.
    pub fn is_one_shot(&self) -> bool {
        self.spec["restart"] == "no"
    }

    /// Returns whether the container is attached to a network.
    pub fn is_on(&self, network: &str) -> bool {
        self.spec["networks"].get(network).is_some()
    }

    /// Returns the words of the health check, without `CMD`. Empty if there is none.
    pub fn health_check(&self) -> Vec<&'a str> {
        let test = strings(&self.spec["healthcheck"]["test"]);
        match test.split_first() {
            Some((&"CMD", words)) => words.to_vec(),
            Some((&"CMD-SHELL", words)) => [&["/bin/sh", "-c"], words].concat(),
            _ => Vec::new(),
        }
    }

    /// Returns `stop_grace_period` in seconds. Compose's default is 10.
    pub fn stop_grace_seconds(&self) -> u64 {
        self.spec["stop_grace_period"].as_str().map_or(Some(10), seconds).unwrap_or_default()
    }
}

/// A mounted file.
#[derive(Debug)]
pub struct Bind<'a> {
    /// Absolute path on the host.
    pub source: &'a str,
    /// Path in the container.
    pub target: &'a str,
    /// Whether the container cannot write to it.
    pub read_only: bool,
    /// Whether Docker labels the file for SELinux, for use by several containers.
    pub is_relabelled: bool,
}

fn strings(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Parses a duration as Compose prints it: `1m30s`.
fn seconds(duration: &str) -> Option<u64> {
    let parts = duration.split_inclusive(['h', 'm', 's']).map(|part| {
        let (number, unit) = part.split_at(part.len() - 1);
        let seconds = match unit {
            "h" => 3600,
            "m" => 60,
            "s" => 1,
            _ => return None,
        };
        Some(number.parse::<u64>().ok()? * seconds)
    });
    parts.sum()
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn durations_of_compose() {
        assert_eq!(seconds("45s"), Some(45));
        assert_eq!(seconds("1m0s"), Some(60));
        assert_eq!(seconds("1h2m3s"), Some(3723));
        assert_eq!(seconds("10"), None);
    }
}

//! docker-compose.yml: read as Compose reads it, and our rules for it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::container::Container;
use super::tools::{Settings, Tools};
use crate::workspace::{self, SERVICES};

/// Of `server.drain_seconds` in production, as deploy/*.toml have it.
const DRAIN_SECONDS: u64 = 10;
/// What stopping may take besides: 1.5 s for whoever comes in at the last moment, 3 s for traces that are sent; and 5
/// s so that nobody is killed on the last stroke.
const AT_LAST_SECONDS: u64 = 10;
/// What is said of every container.
const ALWAYS: [(&str, &str); 4] = [
    ("/read_only", "true"),
    ("/cap_drop", r#"["ALL"]"#),
    ("/security_opt", r#"["no-new-privileges:true"]"#),
    ("/logging/options/max-size", r#""10m""#),
];
/// What says how containers are scaled, or gives them more than they need.
const NEVER: [&str; 6] = ["container_name", "privileged", "cap_add", "devices", "network_mode", "pid"];

/// The file, its variables replaced by their defaults.
#[derive(Debug)]
pub struct Compose(Value);

impl Compose {
    /// Reads it by the schema of Compose.
    pub fn read(tools: &Tools) -> Result<Self> {
        let mut file = tools.read("compose", &workspace::root().join("docker-compose.yml"))?;
        interpolate(&mut file)?;
        Ok(Self(file))
    }

    /// All containers.
    pub fn containers(&self) -> impl Iterator<Item = Container<'_>> {
        let services = self.0["services"].as_object().into_iter().flatten();
        services.map(|(name, what)| Container { name, what })
    }

    /// One of them.
    pub fn container(&self, name: &str) -> Option<Container<'_>> {
        self.containers().find(|container| container.name == name)
    }

    /// The file in which a secret is.
    pub fn secret(&self, name: &str) -> Option<&str> {
        self.0["secrets"][name]["file"].as_str()
    }

    /// Every rule that is broken.
    pub fn check(&self, settings: &Settings) -> Vec<String> {
        let mut problems: Vec<_> =
            self.containers().flat_map(|container| self.of_one(container, settings)).collect();
        for kind in ["networks", "volumes", "secrets"] {
            let declared = self.0[kind].as_object().into_iter().flatten();
            let declared: BTreeSet<_> = declared.map(|(name, _)| name.as_str()).collect();
            let used: BTreeSet<_> = self.containers().flat_map(|container| used(container, kind)).collect();
            let differ = declared.symmetric_difference(&used);
            problems.extend(differ.map(|name| format!("{kind}: {name} is not both declared and used")));
        }
        for service in SERVICES {
            let built = self.container(service).map(|container| &container.what["build"]["args"]["SERVICE"]);
            if built.and_then(Value::as_str) != Some(service) {
                problems.push(format!("{service}: it is not built with SERVICE={service}"));
            }
        }
        problems
    }

    fn of_one(&self, container: Container<'_>, settings: &Settings) -> Vec<String> {
        let (name, what) = (container.name, container.what);
        let mut problems = Vec::new();
        let mut broken = |wrong: String| problems.push(format!("{name}: {wrong}"));
        for (pointer, value) in ALWAYS {
            if what.pointer(pointer).map(Value::to_string).as_deref() != Some(value) {
                broken(format!("{} is not {value}", pointer.trim_start_matches('/')));
            }
        }
        for member in NEVER.into_iter().filter(|member| !what[member].is_null()) {
            broken(format!("{member} must not be given"));
        }
        let user = what["user"].as_str().and_then(|user| user.split(':').next()?.parse().ok()).unwrap_or(0);
        if user == 0 && container.service().is_none() {
            broken("user is not a number, or root's".to_owned()); // the Dockerfile says who ours are
        }
        if what["mem_limit"].is_null() || what["pids_limit"].is_null() {
            broken("it has no limit of memory or of processes".to_owned());
        }
        if !what["ports"].is_null() && name != "proxy" {
            broken("ports: clients come in by the proxy only".to_owned());
        }
        if container.list("networks").contains(&"front") && ["postgres", "redis", "store"].contains(&name) {
            broken("networks: what keeps data is reached by the services only".to_owned());
        }
        if !container.ends() && what["healthcheck"]["test"].is_null() {
            broken("it has no health check".to_owned());
        }
        for (other, until) in container.waits_for() {
            let right = self.container(other).is_some_and(|other| match until {
                "service_healthy" => !other.ends(),
                "service_completed_successfully" => other.ends(),
                _ => false,
            });
            if !right {
                broken(format!("depends_on: {other} will never be {until}"));
            }
        }
        for (secret, _) in container.secrets() {
            if !self.secret(secret).is_some_and(|file| file.starts_with("deploy/secrets/")) {
                broken(format!("secrets: {secret} does not come from deploy/secrets/"));
            }
        }
        for (ours, _) in container.files() {
            if !workspace::root().join(ours).exists() {
                broken(format!("volumes: there is no {ours}"));
            }
        }
        let paths: BTreeSet<_> = container.secrets().into_iter().map(|(_, path)| path).collect();
        for (variable, value) in container.environment() {
            if value.starts_with("/run/secrets/") && !paths.contains(&value) {
                broken(format!("{variable} is not among its secrets"));
            }
            if let Some(service) = container.service()
                && !settings.has(service, variable)
            {
                broken(format!("{variable} is no setting of {service}"));
            }
        }
        if let Some(service) = container.service() {
            let version = container.image().rsplit(':').next();
            if version != Some(env!("CARGO_PKG_VERSION")) {
                broken(format!("its image is not of version {}", env!("CARGO_PKG_VERSION")));
            }
            let needs = stop_seconds(settings, service);
            let grace =
                what["stop_grace_period"].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
            if !container.ends() && grace.unwrap_or(0) < needs {
                broken(format!("stop_grace_period is shorter than the {needs} s that it may take to stop"));
            }
        }
        problems
    }
}

/// How long a service has to be given to stop.
pub fn stop_seconds(settings: &Settings, service: &str) -> u64 {
    DRAIN_SECONDS + settings.number(service, "DROVER_SERVER__SHUTDOWN_SECONDS") + AT_LAST_SECONDS
}

/// What of one kind a container uses, by name.
fn used<'a>(container: Container<'a>, kind: &str) -> Vec<&'a str> {
    match kind {
        "secrets" => container.secrets().into_iter().map(|(name, _)| name).collect(),
        "networks" => container.list(kind),
        _ => {
            let named = container.list(kind).into_iter().filter(|volume| !volume.starts_with(['.', '/']));
            named.filter_map(|volume| volume.split(':').next()).collect()
        }
    }
}

/// Replaces variables in all texts.
fn interpolate(value: &mut Value) -> Result<()> {
    match value {
        Value::String(text) => *text = replaced(text)?,
        Value::Array(items) => items.iter_mut().try_for_each(interpolate)?,
        Value::Object(members) => members.values_mut().try_for_each(interpolate)?,
        _ => {}
    }
    Ok(())
}

/// `${NAME-default}` is the default, as where nothing is set; `$$` a dollar.
fn replaced(text: &str) -> Result<String> {
    let (mut out, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        if let Some(after) = after.strip_prefix('$') {
            out.push('$');
            rest = after;
            continue;
        }
        let inner = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        let Some((inner, after)) = inner else { bail!("{text}: a dollar of your own is $$") };
        let (_, default) =
            inner.split_once('-').with_context(|| format!("{text}: {inner} has no default"))?;
        out.push_str(default);
        rest = after;
    }
    Ok(out + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_have_their_defaults() {
        assert_eq!(replaced("a ${B-c}/d$$e ${F-}.").unwrap(), "a c/d$e .");
        for wrong in ["${A}", "$A", "${A-b"] {
            assert!(replaced(wrong).is_err(), "{wrong}");
        }
    }
}

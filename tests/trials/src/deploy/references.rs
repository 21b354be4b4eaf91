//! References between Kubernetes objects, and to the Secrets that docs/operations/install.md creates.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::processes::checkout::{self, CONSOLE, PROGRAMS, SERVICES};

use crate::deploy::objects::{Rule, array, find, has_port, of_kind, pod_template, rule, setting, text};

const INSTALL: &str = "docs/operations/install.md";
const SECRETS_FOLDER: &str = "/run/secrets/drover/";

/// What the page on installation says.
#[derive(Debug)]
pub struct Documented {
    page: String,
    /// Names of the Secrets, with their keys.
    secrets: BTreeMap<String, BTreeSet<String>>,
}

impl Documented {
    /// Reads the page.
    pub fn read() -> Result<Self> {
        let page = fs::read_to_string(checkout::root().join(INSTALL))
            .with_context(|| format!("cannot read {INSTALL}"))?;
        Ok(Self { secrets: created_secrets(&page), page })
    }

    /// Returns the rule that a Secret is created by a command of the page.
    pub fn secret_rule(&self, name: &str) -> Rule {
        rule(self.secrets.contains_key(name), format!("{INSTALL} must create the Secret {name}"))
    }
}

/// Returns the Secrets that the commands of a page create, with their keys.
fn created_secrets(page: &str) -> BTreeMap<String, BTreeSet<String>> {
    let page = page.replace("\\\n", " ");
    let commands = page.lines().filter_map(|line| line.split_once(" create secret "));
    let secrets = commands.filter_map(|(_, arguments)| {
        let mut words = arguments.split_whitespace().skip(1);
        let name = words.next()?.to_owned();
        let sources = words.filter_map(|word| word.strip_prefix("--from-file="));
        // KEY, or KEY=FILE
        let keys = sources.map(|source| source.split('=').next().unwrap_or_default().to_owned());
        Some((name, keys.collect()))
    });
    secrets.collect()
}

/// Checks the references of a site.
pub fn rules(all: &[Value], documented: &Documented) -> Vec<Rule> {
    let pods: Vec<_> = all.iter().filter(|object| !pod_template(object).is_null()).collect();
    let mut rules = vec![connection_rule(all, documented)];
    for object in all {
        let found = object_rules(object, all, &pods, documented);
        rules.extend(found.into_iter().map(|rule| rule.of(&title(object))));
    }
    for service in PROGRAMS {
        // System calls no other service, the console all of them, the others system.
        let called = match service {
            "system" => &[][..],
            CONSOLE => &SERVICES,
            _ => &SERVICES[..1],
        };
        for other in called {
            let name = format!("{other}_url");
            let url = setting(all, service, &name);
            let address = url.and_then(|url| url.strip_prefix("http://")?.split_once(':'));
            let exists = address.is_some_and(|(name, port)| {
                name == *other && has_port(all, name, &port.parse::<u64>().unwrap_or_default().into())
            });
            rules.push(rule(exists, format!("{name} of {service} must be a Service and its port")));
        }
    }
    rules
}

/// Returns kind and name of an object.
pub fn title(object: &Value) -> String {
    format!("{} {}", text(&object["kind"]), text(&object["metadata"]["name"]))
}

fn object_rules(object: &Value, all: &[Value], pods: &[&Value], documented: &Documented) -> Vec<Rule> {
    let spec = &object["spec"];
    let selected = pods.iter().filter(|pod| selects(object, pod)).count();
    match text(&object["kind"]) {
        "NetworkPolicy" => vec![rule(selected > 0, "the selector must match a pod")],
        "Service" => vec![rule(selected == 1, "the selector must match the pods of one Deployment")],
        "PodDisruptionBudget" => vec![
            rule(selected == 1, "the selector must match the pods of one Deployment"),
            rule(spec["maxUnavailable"] == 1, "maxUnavailable must be 1"),
        ],
        "HorizontalPodAutoscaler" => {
            let target = text(&spec["scaleTargetRef"]["name"]);
            let deployment = find(all, "Deployment", target);
            vec![
                rule(deployment.is_some(), format!("the Deployment {target} must exist")),
                rule(
                    deployment.is_some_and(|it| it["spec"]["replicas"].is_null()),
                    "its Deployment must not set replicas",
                ),
                // A single replica is absent while it moves.
                rule(spec["minReplicas"].as_u64() >= Some(2), "minReplicas must be at least 2"),
            ]
        }
        "Deployment" => deployment_rules(object, all, documented),
        _ => Vec::new(),
    }
}

/// Volumes, ConfigMaps and Secrets of a Deployment.
fn deployment_rules(deployment: &Value, all: &[Value], documented: &Documented) -> Vec<Rule> {
    let spec = &pod_template(deployment)["spec"];
    let containers: Vec<_> = array(&spec["containers"]).chain(array(&spec["initContainers"])).collect();
    let volumes: BTreeSet<_> = array(&spec["volumes"]).map(|volume| text(&volume["name"])).collect();
    let mounted: BTreeSet<_> = containers
        .iter()
        .flat_map(|container| array(&container["volumeMounts"]).map(|mount| text(&mount["name"])))
        .collect();
    let mut rules = vec![rule(volumes == mounted, "the containers must mount all volumes, and no others")];

    let maps = array(&spec["volumes"]).filter_map(|volume| volume["configMap"]["name"].as_str());
    let sources = containers.iter().flat_map(|container| array(&container["envFrom"]));
    let sources = sources.filter_map(|source| source["configMapRef"]["name"].as_str());
    for name in maps.chain(sources) {
        rules.push(rule(find(all, "ConfigMap", name).is_some(), format!("the ConfigMap {name} must exist")));
    }

    let variables = containers.iter().flat_map(|container| array(&container["env"]));
    let files = variables.filter_map(|variable| text(&variable["value"]).strip_prefix(SECRETS_FOLDER));
    let used: BTreeSet<_> = files.map(str::to_owned).collect();
    for name in array(&spec["volumes"]).filter_map(|volume| volume["secret"]["secretName"].as_str()) {
        rules.push(documented.secret_rule(name));
        let keys = documented.secrets.get(name);
        rules.push(rule(keys == Some(&used), format!("{INSTALL} must create {name} with the keys {used:?}")));
    }
    rules
}

/// PostgreSQL has enough connections if the page on installation is followed.
fn connection_rule(all: &[Value], documented: &Documented) -> Rule {
    let connections: u64 = of_kind(all, "HorizontalPodAutoscaler")
        .filter_map(|scaler| {
            let name = text(&scaler["spec"]["scaleTargetRef"]["name"]);
            let surge = &find(all, "Deployment", name)?["spec"]["strategy"]["rollingUpdate"]["maxSurge"];
            let pool = setting(all, name.strip_suffix("-replicas")?, "pool_size")?.parse::<u64>().ok()?;
            Some((scaler["spec"]["maxReplicas"].as_u64()? + surge.as_u64()?) * 2 * pool)
        })
        .sum();
    let figure = format!("{connections} connections");
    rule(documented.page.contains(&figure), format!("{INSTALL} must say that PostgreSQL needs {figure}"))
}

/// Returns whether the selector of an object matches a pod.
fn selects(object: &Value, pod: &Value) -> bool {
    let labels = &pod_template(pod)["metadata"]["labels"];
    let spec = &object["spec"];
    let selector = if spec["podSelector"].is_object() { &spec["podSelector"] } else { &spec["selector"] };
    let equal = if object["kind"] == "Service" { selector } else { &selector["matchLabels"] };
    let matches = equal.as_object().into_iter().flatten().all(|(name, value)| labels[name] == *value);
    let is_listed = array(&selector["matchExpressions"]).all(|expression| {
        let key = text(&expression["key"]);
        expression["operator"] == "In" && array(&expression["values"]).any(|value| *value == labels[key])
    });
    matches && is_listed
}

#[cfg(test)]
mod tests {
    use super::created_secrets;

    #[test]
    fn reads_the_commands_that_create_secrets() {
        let page = "Text\nkubectl create secret generic a --from-file=x \\\n    --from-file=y=file\n\
                    kubectl --namespace n create secret tls b --cert=c --key=k\n";
        let secrets = created_secrets(page);
        assert_eq!(secrets.keys().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(secrets["a"].iter().collect::<Vec<_>>(), ["x", "y"]);
        assert!(secrets["b"].is_empty());
    }
}

//! The manifests of deploy/kubernetes: built by kustomize, validated against Kubernetes' schemas, then checked against
//! the rules of this project.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Deserializer, Value};

use super::compose::Compose;
use super::objects::{find, pod_template};
use super::pods;
use super::rule::{Rule, rule};
use super::settings::Settings;
use crate::command::output;
use stack::checkout::{self, SERVICES};
use stack::tools;
use stack::trial::Trial;

/// The oldest supported version of Kubernetes, and the newest that the tool knows.
const KUBERNETES: [&str; 2] = ["1.33", "1.37"];
/// The manifests that each service has: kind and suffix of the name.
const PER_SERVICE: [(&str, &str); 4] = [
    ("Service", ""),
    ("Deployment", "-replicas"),
    ("HorizontalPodAutoscaler", "-replicas"),
    ("PodDisruptionBudget", "-replicas"),
];

/// Builds and validates a layer of deploy/kubernetes.
pub fn build(trial: &Trial<'_>, layer: &str) -> Result<Vec<Value>> {
    let folder = format!("deploy/kubernetes/{layer}");
    let mut kustomize = Command::new(tools::find("kubectl")?);
    kustomize.args(["kustomize", &folder]);
    let yaml = output(kustomize.current_dir(checkout::root()))?;
    let file = trial.path(&format!("{layer}.yaml"));
    fs::write(&file, yaml).with_context(|| format!("cannot write {}", file.display()))?;

    for version in KUBERNETES {
        let mut validate = Command::new(tools::find("kubernetes-validate")?);
        let arguments = ["--strict", "--quiet", "--kubernetes-version", version];
        let report = output(validate.args(arguments).arg(&file))?;
        // A kind that Kubernetes does not have is only a warning.
        ensure!(report.trim().is_empty(), "kubernetes-validate, Kubernetes {version}, {folder}:\n{report}");
    }

    // Adding a label locally is kubectl's way from YAML to JSON. It needs no cluster.
    let mut convert = Command::new(tools::find("kubectl")?);
    convert.args(["label", "--local", "--overwrite", "--output=json", "drover/checked=yes", "--filename"]);
    let json = output(convert.arg(&file))?;
    let manifests: Vec<Value> = Deserializer::from_str(&json).into_iter().collect::<Result<_, _>>()?;
    trial.note(
        folder,
        format!("{} manifests", manifests.len()),
        format!("valid for Kubernetes {}", KUBERNETES.join(" and ")),
    );
    Ok(manifests)
}

/// Checks the rules.
pub fn rules(manifests: &[Value], compose: &Compose, settings: &Settings) -> Vec<Rule> {
    let pods: Vec<_> = manifests.iter().filter(|manifest| !pod_template(manifest).is_null()).collect();
    let mut rules = Vec::new();
    for pod in &pods {
        let found = pods::rules(pod, manifests, compose, settings);
        rules.extend(found.into_iter().map(|rule| rule.of(&title(pod))));
    }
    for manifest in manifests {
        let found = reference_rules(manifest, manifests, &pods);
        rules.extend(found.into_iter().map(|rule| rule.of(&title(manifest))));
    }
    for service in SERVICES {
        rules.extend(PER_SERVICE.map(|(kind, suffix)| {
            let name = format!("{service}{suffix}");
            rule(find(manifests, kind, &name).is_some(), format!("{kind} {name} must exist"))
        }));
    }
    rules
}

/// References to other manifests lead somewhere.
fn reference_rules(manifest: &Value, all: &[Value], pods: &[&Value]) -> Vec<Rule> {
    let (mut rules, spec) = (Vec::new(), &manifest["spec"]);
    let kind = manifest["kind"].as_str().unwrap_or_default();
    let selected: Vec<_> = pods.iter().filter(|pod| selects(manifest, pod)).collect();
    match kind {
        "NetworkPolicy" | "Service" | "PodDisruptionBudget" => {
            rules.push(rule(!selected.is_empty(), "the selector must match a pod"));
        }
        "HorizontalPodAutoscaler" => {
            let target = spec["scaleTargetRef"]["name"].as_str().unwrap_or_default();
            let exists = find(all, "Deployment", target).is_some();
            rules.push(rule(exists, format!("the Deployment {target} must exist")));
            // A single replica is absent while it moves.
            rules.push(rule(spec["minReplicas"].as_u64() >= Some(2), "minReplicas must be at least 2"));
        }
        _ => {}
    }
    let hosts = spec["rules"].as_array().into_iter().flatten();
    for path in hosts.flat_map(|host| host["http"]["paths"].as_array().into_iter().flatten()) {
        let backend = &path["backend"]["service"];
        let service = find(all, "Service", backend["name"].as_str().unwrap_or_default());
        let ports = service.and_then(|service| service["spec"]["ports"].as_array());
        let exists =
            ports.is_some_and(|ports| ports.iter().any(|port| port["name"] == backend["port"]["name"]));
        rules.push(rule(exists, format!("the Service and port {backend} must exist")));
    }
    rules
}

/// Returns whether the selector of a manifest matches a pod.
fn selects(manifest: &Value, pod: &Value) -> bool {
    let labels = &pod_template(pod)["metadata"]["labels"];
    let spec = &manifest["spec"];
    let selector = if spec["podSelector"].is_object() { &spec["podSelector"] } else { &spec["selector"] };
    let equal = if manifest["kind"] == "Service" { selector } else { &selector["matchLabels"] };
    let matches = equal.as_object().into_iter().flatten().all(|(name, value)| labels[name] == *value);
    let is_listed = selector["matchExpressions"].as_array().into_iter().flatten().all(|expression| {
        let key = expression["key"].as_str().unwrap_or_default();
        expression["operator"] == "In"
            && expression["values"].as_array().is_some_and(|values| values.contains(&labels[key]))
    });
    matches && is_listed
}

fn title(manifest: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&manifest["kind"]), text(&manifest["metadata"]["name"]))
}

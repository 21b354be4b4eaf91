//! The manifests of deploy/kubernetes: put together by kustomize, held against Kubernetes' own schema, and our rules.

use std::collections::BTreeSet;
use std::fs;

use anyhow::{Context, Result};
use serde_json::Value;

use super::compose::{Compose, stop_seconds};
use super::tools::{Settings, Tools, output};
use crate::trial::Trial;
use crate::workspace::SERVICES;

/// What is said of every pod and its container, as the restricted profile of Kubernetes wants it and we do.
const ALWAYS: [(&str, &str); 8] = [
    ("/automountServiceAccountToken", "false"),
    ("/enableServiceLinks", "false"),
    ("/securityContext/runAsNonRoot", "true"),
    ("/securityContext/runAsUser", "65532"),
    ("/securityContext/seccompProfile/type", r#""RuntimeDefault""#),
    ("/containers/0/securityContext/allowPrivilegeEscalation", "false"),
    ("/containers/0/securityContext/readOnlyRootFilesystem", "true"),
    ("/containers/0/securityContext/capabilities/drop", r#"["ALL"]"#),
];
/// How a replica is asked how it is.
const PROBES: [&str; 3] = ["startupProbe", "readinessProbe", "livenessProbe"];

/// What `kubectl apply` would be given, for the base and the overlay.
pub fn read(trial: &Trial<'_>, tools: &Tools) -> Result<Vec<Value>> {
    let mut all = Vec::new();
    for layer in ["base", "production"] {
        let mut kubectl = tools.program("kubectl");
        kubectl.args(["kustomize", "--load-restrictor", "LoadRestrictionsNone"]);
        let yaml = output(kubectl.arg(format!("deploy/kubernetes/{layer}")))?;
        let path = trial.path(&format!("{layer}.yaml"));
        fs::write(&path, yaml).with_context(|| format!("cannot write {}", path.display()))?;
        let read = tools.read("manifests", &path)?;
        all = read.as_array().cloned().unwrap_or_default();
        trial.note(
            format!("deploy/kubernetes/{layer}"),
            format!("{} manifests", all.len()),
            "as the schema says",
        );
    }
    Ok(all)
}

/// Every rule that is broken.
pub fn check(manifests: &[Value], compose: &Compose, settings: &Settings) -> Vec<String> {
    let mut problems = Vec::new();
    let pods: Vec<_> = manifests.iter().filter(|manifest| !manifest["spec"]["template"].is_null()).collect();
    for pod in &pods {
        problems.extend(of_pod(pod, compose, settings));
    }
    for manifest in manifests {
        let (title, spec) = (title(manifest), &manifest["spec"]);
        let selected: Vec<_> = pods.iter().filter(|pod| selects(manifest, pod)).collect();
        let kind = manifest["kind"].as_str().unwrap_or_default();
        if ["Service", "PodDisruptionBudget", "NetworkPolicy"].contains(&kind) && selected.is_empty() {
            problems.push(format!("{title} selects no pod"));
        }
        if kind == "Service" || kind == "PodDisruptionBudget" {
            let jobs = selected.iter().filter(|pod| pod["kind"] == "Job");
            problems.extend(jobs.map(|job| format!("{title} selects {}", self::title(job))));
        }
        if kind == "HorizontalPodAutoscaler" && spec["minReplicas"].as_u64() < Some(2) {
            problems.push(format!("{title}: one replica is none while it moves"));
        }
        let target = spec["scaleTargetRef"]["name"].as_str();
        if target.is_some_and(|target| !pods.iter().any(|pod| pod["metadata"]["name"] == target)) {
            problems.push(format!("{title} scales nothing"));
        }
    }
    for (kind, each) in [
        ("Deployment", "replicas"),
        ("HorizontalPodAutoscaler", "replicas"),
        ("PodDisruptionBudget", "replicas"),
        ("Job", "migration"),
        ("Service", ""),
    ] {
        for service in SERVICES {
            let name = format!("{service}-{each}");
            let name = name.trim_end_matches('-');
            let is = |m: &Value| m["kind"] == kind && m["metadata"]["name"] == name;
            if !manifests.iter().any(is) {
                problems.push(format!("there is no {kind} {name}"));
            }
        }
    }
    problems
}

/// The paths that replicas are asked.
pub fn probes(manifests: &[Value]) -> BTreeSet<String> {
    let containers = manifests.iter().map(|manifest| &manifest["spec"]["template"]["spec"]["containers"][0]);
    let asked = containers.flat_map(|c| PROBES.map(|probe| c[probe]["httpGet"]["path"].as_str()));
    let metrics =
        manifests.iter().map(|m| &m["spec"]["template"]["metadata"]["annotations"]["prometheus.io/path"]);
    asked.chain(metrics.map(Value::as_str)).flatten().map(str::to_owned).collect()
}

fn of_pod(pod: &Value, compose: &Compose, settings: &Settings) -> Vec<String> {
    let (spec, mut problems) = (&pod["spec"]["template"]["spec"], Vec::new());
    let mut broken = |wrong: String| problems.push(format!("{}: {wrong}", title(pod)));
    for (pointer, value) in ALWAYS {
        if spec.pointer(pointer).map(Value::to_string).as_deref() != Some(value) {
            broken(format!("{} is not {value}", pointer.trim_start_matches('/')));
        }
    }
    let container = &spec["containers"][0];
    let image = container["image"].as_str().unwrap_or_default();
    let named = image.rfind("drover/").map_or("", |at| &image[at..]);
    let Some(run) = compose.containers().find(|container| container.image() == named) else {
        broken(format!("docker-compose.yml has no image {named}"));
        return problems;
    };
    let service = run.service().unwrap_or_default();
    if container["resources"]["limits"]["memory"].is_null()
        || container["resources"]["requests"]["cpu"].is_null()
    {
        broken("it asks for no processor, or has no limit of memory".to_owned());
    }
    let variables = container["env"].as_array().into_iter().flatten();
    let variables: Vec<_> =
        variables.map(|v| (v["name"].as_str().unwrap_or_default(), &v["value"])).collect();
    for (name, _) in variables.iter().filter(|(name, _)| !settings.has(service, name)) {
        broken(format!("{name} is no setting of {service}"));
    }
    if pod["kind"] == "Deployment" {
        let port = variables.iter().find(|(name, _)| *name == "DROVER_SERVER__PORT").map(|(_, port)| *port);
        let opened = &container["ports"][0];
        let told = port.and_then(Value::as_str).and_then(|port| port.parse::<u64>().ok());
        let scraped = &pod["spec"]["template"]["metadata"]["annotations"]["prometheus.io/port"];
        if told.is_none() || opened["containerPort"].as_u64() != told || Some(scraped) != port {
            broken("its ports are not one".to_owned());
        }
        let asked = PROBES.iter().all(|probe| container[probe]["httpGet"]["port"] == opened["name"]);
        if !asked || opened["name"] != "http" {
            broken("its probes ask another port".to_owned());
        }
        let needs = stop_seconds(settings, service);
        if spec["terminationGracePeriodSeconds"].as_u64().unwrap_or(30) < needs {
            broken(format!(
                "terminationGracePeriodSeconds is shorter than the {needs} s that it may take to stop"
            ));
        }
    }
    problems
}

/// Whether what a manifest selects has this pod in it.
fn selects(manifest: &Value, pod: &Value) -> bool {
    let labels = &pod["spec"]["template"]["metadata"]["labels"];
    let spec = &manifest["spec"];
    let selector = if spec["podSelector"].is_object() { &spec["podSelector"] } else { &spec["selector"] };
    let exact = if manifest["kind"] == "Service" { selector } else { &selector["matchLabels"] };
    let exact = exact.as_object().into_iter().flatten().all(|(name, value)| labels[name] == *value);
    let listed = selector["matchExpressions"].as_array().into_iter().flatten().all(|expression| {
        let key = expression["key"].as_str().unwrap_or_default();
        expression["values"].as_array().is_some_and(|values| values.contains(&labels[key]))
    });
    exact && listed
}

fn title(manifest: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    format!("{} {}", text(&manifest["kind"]), text(&manifest["metadata"]["name"]))
}

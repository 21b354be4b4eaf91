//! The manifests of deploy/kubernetes: built by kustomize, validated against Kubernetes' schemas, then checked against
//! the rules of this project.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Deserializer, Value};
use testkit::processes::checkout::{self, PROGRAMS};
use testkit::processes::process::output;
use testkit::processes::tools;
use testkit::processes::trial::Trial;

use super::compose::Compose;
use super::references::{self, Documented, title};
use super::{pods, routes};
use crate::deploy::objects::{Rule, find, of_kind, rule};
use crate::deploy::settings::Settings;

/// The oldest supported version of Kubernetes, and the newest that the tool knows.
const KUBERNETES: [&str; 2] = ["1.27", "1.37"];
/// The parts of deploy/kubernetes, each of which can be built alone.
const PARTS: [&str; 8] =
    ["service", "system", "logistics", "livestock", "console", "base", "ingress", "gateway"];
/// The overlay.
const SITE: &str = "production";
/// The edit of the overlay that docs/operations/install.md describes.
const TO_GATEWAY: [&str; 2] = ["  - ../ingress # or ../gateway", "  - ../gateway"];
/// The manifests that each service has: kind and suffix of the name.
const PER_SERVICE: [(&str, &str); 4] = [
    ("Service", ""),
    ("Deployment", "-replicas"),
    ("HorizontalPodAutoscaler", "-replicas"),
    ("PodDisruptionBudget", "-replicas"),
];

/// Checks all folders of deploy/kubernetes. Returns the rules for the overlay with an Ingress, and with a Gateway.
pub fn rules(trial: &Trial<'_>, compose: &Compose, settings: &Settings) -> Result<Vec<Rule>> {
    let root = checkout::root().join("deploy/kubernetes");
    for part in PARTS {
        build(trial, &root.join(part), part)?;
    }
    let documented = Documented::read()?;
    let sites = [(root.join(SITE), "Ingress"), (with_gateway(trial)?, "Gateway")];
    let mut rules = Vec::new();
    for (folder, way) in sites {
        let name = format!("{SITE} with {way}");
        let manifests = build(trial, &folder, &name)?;
        let found = site_rules(&manifests, compose, settings, &documented);
        rules.extend(found.into_iter().map(|rule| rule.of(&name)));
    }
    Ok(rules)
}

/// Returns the paths that Kubernetes and Prometheus request from the services.
pub fn probe_paths(trial: &Trial<'_>) -> Result<Vec<String>> {
    let folder = checkout::root().join("deploy/kubernetes").join(SITE);
    Ok(build(trial, &folder, SITE)?.iter().flat_map(pods::probe_paths).collect())
}

/// Copies the manifests, and chooses the Gateway in the copy of the overlay.
fn with_gateway(trial: &Trial<'_>) -> Result<PathBuf> {
    let copy = trial.path("deploy");
    fs::create_dir_all(&copy)?;
    let mut command = Command::new("cp");
    output(
        command.current_dir(checkout::root()).args(["-r", "deploy/kubernetes", "deploy/settings"]).arg(&copy),
    )?;
    let folder = copy.join("kubernetes").join(SITE);
    let file = folder.join("kustomization.yaml");
    let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let [from, to] = TO_GATEWAY;
    ensure!(text.contains(from), "{} must contain `{from}`", file.display());
    fs::write(&file, text.replace(from, to))?;
    Ok(folder)
}

/// Builds a folder without options, and validates the result.
fn build(trial: &Trial<'_>, folder: &Path, name: &str) -> Result<Vec<Value>> {
    let yaml = output(Command::new(tools::find("kubectl")?).arg("kustomize").arg(folder))?;
    let file = trial.path(&format!("{name}.yaml"));
    fs::write(&file, yaml).with_context(|| format!("cannot write {}", file.display()))?;

    for version in KUBERNETES {
        let mut validate = Command::new(tools::find("kubernetes-validate")?);
        let arguments = ["--strict", "--quiet", "--kubernetes-version", version];
        let report = output(validate.args(arguments).arg(&file))?;
        // A kind without a schema is only a warning. The Gateway API has none: routes.rs checks its objects.
        let mut warnings =
            report.lines().filter(|line| !line.contains("version gateway.networking.k8s.io/v1 "));
        ensure!(
            warnings.all(|line| line.trim().is_empty()),
            "kubernetes-validate, Kubernetes {version}, {name}:\n{report}"
        );
    }

    // Adding a label locally is kubectl's way from YAML to JSON. It needs no cluster.
    let mut convert = Command::new(tools::find("kubectl")?);
    convert.args(["label", "--local", "--overwrite", "--output=json", "drover/checked=yes", "--filename"]);
    let json = output(convert.arg(&file))?;
    let manifests: Vec<Value> = Deserializer::from_str(&json).into_iter().collect::<Result<_, _>>()?;
    trial.note(
        format!("deploy/kubernetes/{name}"),
        format!("{} manifests", manifests.len()),
        format!("valid for Kubernetes {}", KUBERNETES.join(" and ")),
    );
    Ok(manifests)
}

/// Checks the rules of a complete site.
fn site_rules(
    manifests: &[Value],
    compose: &Compose,
    settings: &Settings,
    documented: &Documented,
) -> Vec<Rule> {
    let mut rules = references::rules(manifests, documented);
    rules.extend(routes::rules(manifests, documented));
    for deployment in of_kind(manifests, "Deployment") {
        let found = pods::rules(deployment, manifests, compose, settings);
        rules.extend(found.into_iter().map(|rule| rule.of(&title(deployment))));
    }
    for service in PROGRAMS {
        rules.extend(PER_SERVICE.map(|(kind, suffix)| {
            let name = format!("{service}{suffix}");
            rule(find(manifests, kind, &name).is_some(), format!("{kind} {name} must exist"))
        }));
    }
    rules
}

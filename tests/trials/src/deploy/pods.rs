//! Rules for the pods of Deployments.

use serde_json::{Value, json};
use testkit::processes::checkout::CONSOLE;

use super::compose::Compose;
use super::objects::{array, pod_template, setting, site};
use crate::deploy::objects::{Rule, rule};
use crate::deploy::settings::{Settings, is_secret};

const PROBES: [&str; 3] = ["startupProbe", "readinessProbe", "livenessProbe"];

/// Returns the paths that Kubernetes and Prometheus request from a pod.
pub fn probe_paths(manifest: &Value) -> Vec<String> {
    let template = pod_template(manifest);
    let container = &template["spec"]["containers"][0];
    let probes = PROBES.iter().map(|probe| &container[probe]["httpGet"]["path"]);
    let metrics = &template["metadata"]["annotations"]["prometheus.io/path"];
    probes.chain([metrics]).filter_map(|path| path.as_str().map(str::to_owned)).collect()
}

/// Checks the rules of a pod.
pub fn rules(pod: &Value, all: &[Value], compose: &Compose, settings: &Settings) -> Vec<Rule> {
    let spec = &pod_template(pod)["spec"];
    let container = &spec["containers"][0];
    let migrations: Vec<_> = array(&spec["initContainers"]).collect();
    let mut rules = pod_rules(spec);
    let image = container["image"].as_str().unwrap_or_default();
    rules.extend(container_rules(container));
    for migration in &migrations {
        rules.extend(container_rules(migration));
        rules.push(rule(migration["image"] == image, format!("the image of migration must be {image}")));
        rules.push(rule(migration["args"][0] == "migrate", "migration must run `migrate`"));
    }
    let ours = image.rfind("drover/").map_or("", |at| &image[at..]);
    let same = compose.containers().find(|container| container.image() == ours);
    let service = same.and_then(|container| container.service());
    rules.push(rule(service.is_some(), format!("{image} must be an image of docker-compose.yml")));
    let Some(service) = service else { return rules };
    // The console has no database.
    let needed = usize::from(service != CONSOLE);
    rules.push(rule(migrations.len() == needed, format!("there must be {needed} init containers")));
    let variables = site(all, service);
    rules.push(rule(variables.is_some(), format!("the ConfigMap {service}-site must exist")));
    for name in variables.into_iter().flatten().map(|(name, _)| name) {
        rules.push(rule(settings.contains(service, name), format!("{name} must be a setting")));
        rules.push(rule(!is_secret(name), format!("{name} must not be in a ConfigMap")));
    }
    for variable in [container].iter().chain(&migrations).flat_map(|from| array(&from["env"])) {
        let name = variable["name"].as_str().unwrap_or_default();
        let is_public = !is_secret(name) && variable["valueFrom"].is_null();
        rules.push(rule(settings.contains(service, name), format!("{name} must be a setting")));
        rules.push(rule(is_public, format!("{name} must be given as a file: {name}_FILE")));
    }
    rules.extend(port_rules(pod, container));
    rules.extend(rollout_rules(pod));
    let drain = setting(all, service, "drain_seconds").and_then(|seconds| seconds.parse().ok());
    let needed = settings.stop_seconds(service, drain.unwrap_or_default());
    let given = spec["terminationGracePeriodSeconds"].as_u64().unwrap_or(30);
    rules.push(rule(drain.is_some(), "drain_seconds must be in its settings"));
    rules.push(rule(given >= needed, format!("terminationGracePeriodSeconds must be at least {needed}")));
    rules
}

/// Most of these are Kubernetes' restricted profile.
fn pod_rules(spec: &Value) -> Vec<Rule> {
    let pod = &spec["securityContext"];
    let count = |member: &str| spec[member].as_array().map(Vec::len);
    vec![
        rule(spec["automountServiceAccountToken"] == false, "automountServiceAccountToken must be false"),
        rule(spec["enableServiceLinks"] == false, "enableServiceLinks must be false"),
        rule(count("containers") == Some(1), "a pod must have one container"),
        rule(pod["runAsNonRoot"] == true, "runAsNonRoot must be true"),
        rule(pod["runAsUser"] == 65532, "runAsUser must be 65532"),
        rule(pod["seccompProfile"]["type"] == "RuntimeDefault", "seccompProfile must be RuntimeDefault"),
    ]
}

fn container_rules(container: &Value) -> Vec<Rule> {
    let (own, resources) = (&container["securityContext"], &container["resources"]);
    vec![
        rule(own["allowPrivilegeEscalation"] == false, "allowPrivilegeEscalation must be false"),
        rule(own["readOnlyRootFilesystem"] == true, "readOnlyRootFilesystem must be true"),
        rule(own["capabilities"]["drop"] == json!(["ALL"]), "capabilities.drop must be [ALL]"),
        rule(!resources["requests"]["cpu"].is_null(), "resources must request processors"),
        rule(!resources["limits"]["memory"].is_null(), "resources must limit memory"),
    ]
}

/// No replica stops before a new one is ready, and the replicas run on different nodes.
fn rollout_rules(deployment: &Value) -> Vec<Rule> {
    let (spec, template) = (&deployment["spec"], pod_template(deployment));
    let spread = &template["spec"]["topologySpreadConstraints"];
    let labels = &spec["selector"]["matchLabels"];
    vec![
        rule(spec["strategy"]["rollingUpdate"]["maxUnavailable"] == 0, "maxUnavailable must be 0"),
        rule(spec["minReadySeconds"].as_u64() >= Some(5), "minReadySeconds must be at least 5"),
        rule(array(spread).count() > 0, "topologySpreadConstraints must be set"),
        rule(
            array(spread).all(|constraint| constraint["labelSelector"]["matchLabels"] == *labels),
            "topologySpreadConstraints must select the pods of the Deployment",
        ),
    ]
}

/// The service, the container port, the probes and Prometheus use one port.
fn port_rules(pod: &Value, container: &Value) -> Vec<Rule> {
    let mut variables = array(&container["env"]);
    let port = variables
        .find(|variable| variable["name"] == "DROVER_SERVER__PORT")
        .map(|variable| &variable["value"]);
    let number = port.and_then(Value::as_str).and_then(|port| port.parse::<u64>().ok());
    let open = &container["ports"][0];
    let scraped = &pod_template(pod)["metadata"]["annotations"]["prometheus.io/port"];
    let mut rules = vec![
        rule(number.is_some(), "DROVER_SERVER__PORT must be set"),
        rule(open["containerPort"].as_u64() == number, "containerPort must be DROVER_SERVER__PORT"),
        rule(Some(scraped) == port, "prometheus.io/port must be DROVER_SERVER__PORT"),
        rule(open["name"] == "http", "the port must have the name http"),
    ];
    rules.extend(PROBES.map(|probe| {
        rule(container[probe]["httpGet"]["port"] == "http", format!("{probe} must use the port http"))
    }));
    rules
}

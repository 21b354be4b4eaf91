//! Accessors of Kubernetes objects, and rules that files must follow.

use anyhow::{Result, ensure};
use serde_json::{Map, Value};

/// Returns the object with a kind and a name.
pub fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// Returns the objects of a kind.
pub fn of_kind<'a>(objects: &'a [Value], kind: &str) -> impl Iterator<Item = &'a Value> {
    objects.iter().filter(move |object| object["kind"] == kind)
}

/// Returns the pod template of an object, `null` if it has none.
pub fn pod_template(object: &Value) -> &Value {
    &object["spec"]["template"]
}

/// Returns the elements of an array, none of another value.
pub fn array(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Returns a string, empty for another value.
pub fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Returns whether the Service with a name has a port with this `name`, or this number.
pub fn has_port(objects: &[Value], service: &str, port: &Value) -> bool {
    let ports = find(objects, "Service", service).map(|service| &service["spec"]["ports"]);
    ports.is_some_and(|ports| array(ports).any(|open| open["name"] == *port || open["port"] == *port))
}

/// Returns the variables that an overlay sets for a service.
pub fn site<'a>(objects: &'a [Value], service: &str) -> Option<&'a Map<String, Value>> {
    let deployment = find(objects, "Deployment", &format!("{service}-replicas"))?;
    let source = &pod_template(deployment)["spec"]["containers"][0]["envFrom"][0]["configMapRef"]["name"];
    find(objects, "ConfigMap", source.as_str()?)?["data"].as_object()
}

/// Returns a setting from the settings file of a service, as it is written there.
pub fn setting<'a>(objects: &'a [Value], service: &str, name: &str) -> Option<&'a str> {
    let deployment = find(objects, "Deployment", &format!("{service}-replicas"))?;
    let mut volumes = array(&pod_template(deployment)["spec"]["volumes"]);
    let map = volumes.find_map(|volume| volume["configMap"]["name"].as_str())?;
    let file = find(objects, "ConfigMap", map)?["data"]["service.toml"].as_str()?;
    let value = file.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(" = "))?;
    Some(value.split('#').next().unwrap_or_default().trim().trim_matches('"'))
}

/// A rule that holds or is broken.
#[derive(Debug)]
pub struct Rule {
    holds: bool,
    text: String,
}

/// Creates a rule from its result and a sentence with "must".
pub fn rule(holds: bool, text: impl Into<String>) -> Rule {
    Rule { holds, text: text.into() }
}

impl Rule {
    /// Puts the subject of the rule before its text.
    pub fn of(mut self, subject: &str) -> Self {
        self.text = format!("{subject}: {}", self.text);
        self
    }
}

/// Fails with a list of the broken rules. Returns how many rules there are.
pub fn check(rules: &[Rule]) -> Result<usize> {
    let broken: Vec<_> = rules.iter().filter(|rule| !rule.holds).map(|rule| rule.text.as_str()).collect();
    ensure!(broken.is_empty(), "broken rules:\n{}", broken.join("\n"));
    Ok(rules.len())
}

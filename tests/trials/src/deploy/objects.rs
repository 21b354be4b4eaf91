//! Accessors of Kubernetes objects.

use serde_json::Value;

/// Returns the object with a kind and a name.
pub fn find<'a>(objects: &'a [Value], kind: &str, name: &str) -> Option<&'a Value> {
    objects.iter().find(|object| object["kind"] == kind && object["metadata"]["name"] == name)
}

/// Returns the pod template of an object, `null` if it has none.
pub fn pod_template(object: &Value) -> &Value {
    &object["spec"]["template"]
}

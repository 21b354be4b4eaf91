//! What docker-compose.yml says of one container.

use serde_json::Value;

/// A service by its name, as Compose calls a container.
#[derive(Debug, Clone, Copy)]
pub struct Container<'a> {
    /// Its name.
    pub name: &'a str,
    /// All that is said of it.
    pub what: &'a Value,
}

impl<'a> Container<'a> {
    /// The service of ours that it runs, if it does.
    pub fn service(&self) -> Option<&'a str> {
        self.image().strip_prefix("drover/")?.split(':').next()
    }

    /// Its image.
    pub fn image(&self) -> &'a str {
        self.what["image"].as_str().unwrap_or_default()
    }

    /// A member that is a list of texts: `command`, `networks`.
    pub fn list(&self, member: &str) -> Vec<&'a str> {
        texts(&self.what[member])
    }

    /// Its variables.
    pub fn environment(&self) -> Vec<(&'a str, String)> {
        let members = self.what["environment"].as_object().into_iter().flatten();
        members.map(|(name, value)| (name.as_str(), plain(value))).collect()
    }

    /// Its secrets, each with the path at which it finds it.
    pub fn secrets(&self) -> Vec<(&'a str, String)> {
        let one = |secret: &'a Value| {
            let name = secret.as_str().or(secret["source"].as_str())?;
            let path =
                secret["target"].as_str().map_or_else(|| format!("/run/secrets/{name}"), str::to_owned);
            Some((name, path))
        };
        self.what["secrets"].as_array().into_iter().flatten().filter_map(one).collect()
    }

    /// Whom it waits for, and until what.
    pub fn waits_for(&self) -> Vec<(&'a str, &'a str)> {
        let members = self.what["depends_on"].as_object().into_iter().flatten();
        members.map(|(name, how)| (name.as_str(), how["condition"].as_str().unwrap_or_default())).collect()
    }

    /// Whether it does something once and ends.
    pub fn ends(&self) -> bool {
        self.what["restart"] == "no"
    }

    /// The command of its health check; none if it has none.
    pub fn health(&self) -> Option<Vec<&'a str>> {
        let test = texts(&self.what["healthcheck"]["test"]);
        let (kind, command) = test.split_first()?;
        let shell: &[&str] = if *kind == "CMD-SHELL" { &["/bin/sh", "-c"] } else { &[] };
        Some([shell, command].concat())
    }

    /// What of the repository it has, each file with its path in the container.
    pub fn files(&self) -> Vec<(&'a str, &'a str)> {
        let volumes = self.list("volumes").into_iter();
        let bound = volumes.filter_map(|volume| volume.strip_prefix("./")?.split_once(':'));
        bound.map(|(ours, theirs)| (ours, theirs.trim_end_matches(":ro"))).collect()
    }
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

//! One container of a Compose file, as `docker-compose config` renders it.

use std::collections::BTreeMap;

use serde_json::Value;

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

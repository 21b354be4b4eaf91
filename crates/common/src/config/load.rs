//! Loads the configuration from its layers, and prints it.

use std::fs;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error_message::error_message;
use super::{Config, environment, redact};

impl<S: Default + Serialize + DeserializeOwned> Config<S> {
    /// Loads the configuration: the defaults, overridden by the TOML file and the environment variables.
    ///
    /// # Errors
    /// Names the setting that is unknown or has an invalid value, or the file that cannot be read.
    pub fn load(defaults: Self, file: Option<&Path>) -> anyhow::Result<Self> {
        // Names and values that are not UTF-8 cannot be settings.
        let variables = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        Self::merge(&defaults, file, variables)
    }

    /// Merges the layers. `variables` are the environment variables.
    ///
    /// # Errors
    /// As [`Config::load`].
    pub(super) fn merge(
        defaults: &Self,
        file: Option<&Path>,
        variables: impl Iterator<Item = (String, String)>,
    ) -> anyhow::Result<Self> {
        let mut layers = config::Config::builder().add_source(config::Config::try_from(defaults)?);
        if let Some(path) = file {
            let text = fs::read_to_string(path).map_err(|error| {
                let path = path.display();
                anyhow::anyhow!("the configuration file {path} (--config) cannot be read: {error}")
            })?;
            layers = layers.add_source(config::File::from_str(&text, config::FileFormat::Toml));
        }
        let layers = environment::apply(layers, &serde_json::to_value(defaults)?, variables)
            .map_err(|error| anyhow::anyhow!("an environment variable cannot be read: {error}"))?;
        let merged = layers.build().map_err(|error| {
            let (file, error) = (file.unwrap_or(Path::new("")).display(), error.to_string());
            anyhow::anyhow!("the configuration file {file} is not TOML: {}", redact::error_message(&error))
        })?;
        merged.clone().try_deserialize().map_err(|error| {
            anyhow::anyhow!(error_message(&error, defaults, |key| merged.get_string(key).ok()))
        })
    }

    /// Returns one line per setting: its environment variable and its value, without secrets.
    pub fn describe(&self) -> String {
        let mut lines = Vec::new();
        flatten("DROVER_", &serde_json::to_value(self).unwrap_or_default(), &mut lines);
        lines.join("\n")
    }
}

fn flatten(name: &str, value: &Value, lines: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (member, value) in members {
                let separator = if name.ends_with('_') { "" } else { "__" };
                flatten(&format!("{name}{separator}{}", member.to_uppercase()), value, lines);
            }
        }
        Value::Null => lines.push(format!("{name}=")),
        Value::String(text) => lines.push(format!("{name}={text}")),
        Value::Array(items) => {
            let items: Vec<_> =
                items.iter().map(|i| i.as_str().map_or_else(|| i.to_string(), str::to_owned)).collect();
            lines.push(format!("{name}={}", items.join(",")));
        }
        other => lines.push(format!("{name}={other}")),
    }
}

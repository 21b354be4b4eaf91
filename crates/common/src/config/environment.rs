//! Environment variables as a layer of the configuration.

use std::collections::BTreeMap;
use std::fs;

use config::builder::DefaultState;
use config::{ConfigBuilder, ConfigError};
use serde_json::Value;

const PREFIX: &str = "DROVER_";
/// What a variable ends with that names the file with its setting, as images have it that are given secrets as files.
const FILE: &str = "_FILE";

/// Lays the variables over what the builder has: `DROVER_SERVER__CORS_ORIGINS` is `server.cors_origins`, a list
/// because the default is one. Values stay texts until the field's type is known: a password of digits is no number.
pub(super) fn lay_over(
    mut builder: ConfigBuilder<DefaultState>,
    defaults: &Value,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<ConfigBuilder<DefaultState>, ConfigError> {
    // Without a section it is none of ours: orchestrators and test runners set such variables too.
    let ours = |name: &str| name.strip_prefix(PREFIX).is_some_and(|path| path.contains("__"));
    let given: BTreeMap<_, _> = variables.filter(|(name, text)| ours(name) && !text.is_empty()).collect();
    for (name, text) in &given {
        let (setting, text) = match name.strip_suffix(FILE) {
            Some(setting) if find(defaults, name).is_none() && find(defaults, setting).is_some() => {
                if given.contains_key(setting) {
                    return Err(ConfigError::Message(format!(
                        "{setting} and {name} are both given: keep one"
                    )));
                }
                (setting, read(name, text)?)
            }
            _ => (name.as_str(), text.clone()),
        };
        let key = parts(setting).join(".");
        builder = if find(defaults, setting).is_some_and(Value::is_array) {
            let items = text.split([',', '\n']).map(str::trim).filter(|item| !item.is_empty());
            builder.set_override(key, items.map(str::to_owned).collect::<Vec<_>>())?
        } else {
            builder.set_override(key, text)?
        };
    }
    Ok(builder)
}

/// The names that lead from the whole configuration to a variable's setting.
fn parts(name: &str) -> Vec<String> {
    name[PREFIX.len()..].split("__").map(str::to_lowercase).collect()
}

/// The default of a variable's setting, if there is such a setting.
fn find<'a>(defaults: &'a Value, name: &str) -> Option<&'a Value> {
    parts(name).iter().try_fold(defaults, |value, part| value.get(part))
}

/// The text of a file, without the newline that editors end it with. An empty one is a mistake: what is not given has
/// its default, which for a database is another database.
fn read(name: &str, path: &str) -> Result<String, ConfigError> {
    let wrong = |reason: &str| ConfigError::Message(format!("{name} names {path}, but that {reason}"));
    let text = fs::read_to_string(path).map_err(|error| wrong(&format!("cannot be read: {error}")))?;
    let value = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if value.is_empty() { Err(wrong("is empty")) } else { Ok(value.to_owned()) }
}

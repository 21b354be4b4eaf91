//! The layer of environment variables.

use std::collections::BTreeMap;
use std::fs;

use config::builder::DefaultState;
use config::{ConfigBuilder, ConfigError};
use serde_json::Value;

/// Prefix of the names of all variables.
const PREFIX: &str = "DROVER_";
/// Suffix of a variable that names a file with the value, as containers receive secrets.
const FILE_SUFFIX: &str = "_FILE";

/// Overrides settings with the variables: `DROVER_SERVER__CORS_ORIGINS` sets `server.cors_origins`, which is a list
/// because its default is. Values are passed on as text, because only the field's type decides whether digits are a
/// number or a password.
///
/// # Errors
/// Fails if a setting is given both as a value and as a file, or if a file cannot be read.
pub(super) fn apply(
    mut builder: ConfigBuilder<DefaultState>,
    defaults: &Value,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<ConfigBuilder<DefaultState>, ConfigError> {
    // A variable without a section is not a setting. Orchestrators and test runners set such variables too.
    let is_setting = |name: &str| name.strip_prefix(PREFIX).is_some_and(|path| path.contains("__"));
    let given: BTreeMap<_, _> =
        variables.filter(|(name, text)| is_setting(name) && !text.is_empty()).collect();
    for (name, text) in &given {
        let (setting, text) = match name.strip_suffix(FILE_SUFFIX) {
            Some(setting)
                if default_of(defaults, name).is_none() && default_of(defaults, setting).is_some() =>
            {
                if given.contains_key(setting) {
                    return Err(ConfigError::Message(format!(
                        "{setting} and {name} are both set: set only one of them"
                    )));
                }
                (setting, read_file(name, text)?)
            }
            _ => (name.as_str(), text.clone()),
        };
        let key = key_path(setting).join(".");
        builder = if default_of(defaults, setting).is_some_and(Value::is_array) {
            let items = text.split([',', '\n']).map(str::trim).filter(|item| !item.is_empty());
            builder.set_override(key, items.map(str::to_owned).collect::<Vec<_>>())?
        } else {
            builder.set_override(key, text)?
        };
    }
    Ok(builder)
}

/// Returns the path of a variable's setting: `DROVER_SERVER__PORT` is `["server", "port"]`.
fn key_path(name: &str) -> Vec<String> {
    name[PREFIX.len()..].split("__").map(str::to_lowercase).collect()
}

/// Returns the default of a variable's setting; `None` if there is no such setting.
fn default_of<'a>(defaults: &'a Value, name: &str) -> Option<&'a Value> {
    key_path(name).iter().try_fold(defaults, |value, part| value.get(part))
}

/// Reads a value from a file, without one newline at its end. An empty file is an error, because an empty value would
/// mean the default: for `database.url`, another database.
fn read_file(name: &str, path: &str) -> Result<String, ConfigError> {
    let error = |reason: &str| ConfigError::Message(format!("{name} names {path}, which {reason}"));
    let text = fs::read_to_string(path).map_err(|cause| error(&format!("cannot be read: {cause}")))?;
    let value = text.strip_suffix('\n').map_or(text.as_str(), |line| line.strip_suffix('\r').unwrap_or(line));
    if value.is_empty() { Err(error("is empty")) } else { Ok(value.to_owned()) }
}

//! Loads the configuration from its layers, and prints it. Errors name the setting, its environment variable and the
//! allowed values.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use config::builder::DefaultState;
use config::{ConfigBuilder, ConfigError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::values;

/// Loads a configuration: the defaults, overridden by the TOML file and the environment variables.
///
/// # Errors
/// Names the setting that is unknown or has an invalid value, or the file that cannot be read.
pub fn load<C: Serialize + DeserializeOwned>(defaults: &C, file: Option<&Path>) -> anyhow::Result<C> {
    // Names and values that are not UTF-8 cannot be settings.
    let variables = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    merge(defaults, file, variables)
}

/// Merges the layers. `variables` are the environment variables.
///
/// # Errors
/// As [`load`].
pub(super) fn merge<C: Serialize + DeserializeOwned>(
    defaults: &C,
    file: Option<&Path>,
    variables: impl Iterator<Item = (String, String)>,
) -> anyhow::Result<C> {
    let mut layers = config::Config::builder().add_source(config::Config::try_from(defaults)?);
    if let Some(path) = file {
        let text = fs::read_to_string(path).map_err(|error| {
            let path = path.display();
            anyhow::anyhow!("the configuration file {path} (--config) cannot be read: {error}")
        })?;
        layers = layers.add_source(config::File::from_str(&text, config::FileFormat::Toml));
    }
    let layers = apply(layers, &serde_json::to_value(defaults)?, variables)
        .map_err(|error| anyhow::anyhow!("an environment variable cannot be read: {error}"))?;
    let merged = layers.build().map_err(|error| {
        let (file, error) = (file.unwrap_or(Path::new("")).display(), error.to_string());
        anyhow::anyhow!("the configuration file {file} is not TOML: {}", values::redact_message(&error))
    })?;
    merged
        .clone()
        .try_deserialize()
        .map_err(|error| anyhow::anyhow!(error_message(&error, defaults, |key| merged.get_string(key).ok())))
}

/// Returns one line per setting: its environment variable and its value, without secrets.
pub fn describe(config: &impl Serialize) -> String {
    let mut lines = Vec::new();
    flatten("DROVER_", &serde_json::to_value(config).unwrap_or_default(), &mut lines);
    lines.join("\n")
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

/// Returns the message for an error of the merged configuration. `value_of` returns the value of a setting. The message
/// contains no values, which may be secrets, except numbers for settings that take numbers.
pub(super) fn error_message<T: Serialize + DeserializeOwned>(
    error: &ConfigError,
    defaults: &T,
    value_of: impl Fn(&str) -> Option<String>,
) -> String {
    let must_be = |key: &str, values: &str| {
        let number = value_of(key).filter(|text| takes_number(values) && text.parse::<f64>().is_ok());
        match number {
            Some(number) => format!("{} is {number}: set it to {values}", setting(key)),
            None => format!("{} must be {values}", setting(key)),
        }
    };
    match error {
        ConfigError::Type { key: Some(key), expected, .. } => {
            must_be(key, &allowed_values(key, defaults).unwrap_or_else(|| (*expected).to_owned()))
        }
        ConfigError::At { error, key: Some(key), .. } => {
            let message = error.to_string();
            unknown_setting(key, &message).unwrap_or_else(|| match allowed_values(key, defaults) {
                // For an unknown variant, the message of the library contains the name of the Rust type.
                Some(values) if message.starts_with("enum ") || takes_number(&values) => {
                    must_be(key, &values)
                }
                Some(values) => {
                    format!("{} must be {values}: {}", setting(key), values::redact_message(&message))
                }
                None => format!("{} is invalid: {}", setting(key), values::redact_message(&message)),
            })
        }
        other => {
            let message = other.to_string();
            unknown_setting("", &message).unwrap_or_else(|| values::redact_message(&message))
        }
    }
}

/// Returns whether these are the allowed values of a setting that takes a number.
fn takes_number(values: &str) -> bool {
    values.starts_with("a whole number") || values.starts_with("a number")
}

/// Returns a setting and its environment variable: `server.port (DROVER_SERVER__PORT)`.
fn setting(key: &str) -> String {
    let name = key.split('[').next().unwrap_or(key);
    format!("{key} (DROVER_{})", name.replace('.', "__").to_uppercase())
}

/// Returns the message for an unknown name, with the known names.
fn unknown_setting(section: &str, message: &str) -> Option<String> {
    let mut names = message.strip_prefix("unknown field `")?.split('`');
    let name = names.next()?;
    let allowed: Vec<_> = names.skip(1).step_by(2).collect();
    if section.is_empty() {
        return Some(format!("there is no section {name}: the sections are {}", allowed.join(", ")));
    }
    let unknown = setting(&format!("{section}.{name}"));
    Some(format!("there is no setting {unknown}: section {section} has {}", allowed.join(", ")))
}

/// Returns the values that a setting takes: deserializes an invalid value in its place and reads serde's message.
fn allowed_values<T: Serialize + DeserializeOwned>(key: &str, defaults: &T) -> Option<String> {
    let mut document = serde_json::to_value(defaults).ok()?;
    let (name, is_item) = key.split_once('[').map_or((key, false), |(name, _)| (name, true));
    let value = name.split('.').try_fold(&mut document, |value, part| value.get_mut(part))?;
    let invalid = Value::from("\u{0}");
    *value = if is_item { Value::Array(vec![invalid]) } else { invalid };
    let message = serde_json::from_value::<T>(document).err()?.to_string();
    if message.starts_with("relative URL without a base") {
        return Some("a URL such as https://host.example/path".to_owned());
    }
    if let Some(variants) = message.strip_prefix("unknown variant `\u{0}`, ") {
        let variants: Vec<_> = variants.split('`').skip(1).step_by(2).collect();
        let (last, others) = variants.split_last()?;
        return Some(if others.is_empty() {
            (*last).to_owned()
        } else {
            format!("{} or {last}", others.join(", "))
        });
    }
    let whole = "a whole number, 0 ";
    Some(match message.rsplit_once("expected ")?.1 {
        "a boolean" => "true or false".to_owned(),
        "u8" => format!("{whole}to {}", u8::MAX),
        "u16" => format!("{whole}to {}", u16::MAX),
        "u32" => format!("{whole}to {}", u32::MAX),
        "u64" | "usize" => format!("{whole}or more"),
        "f32" | "f64" => "a number such as 0.5".to_owned(),
        other => other.to_owned(),
    })
}

//! Error messages for invalid settings. Each names the setting, its environment variable and the allowed values.

use config::ConfigError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::redact;

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
                    format!("{} must be {values}: {}", setting(key), redact::error_message(&message))
                }
                None => format!("{} is invalid: {}", setting(key), redact::error_message(&message)),
            })
        }
        other => {
            let message = other.to_string();
            unknown_setting("", &message).unwrap_or_else(|| redact::error_message(&message))
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

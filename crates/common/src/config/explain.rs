//! Messages for settings that cannot be read: each names the setting, its variable and the values that it takes.

use config::ConfigError;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::shown;

/// The message for an error of the layered configuration. `given` returns the value of a setting. Values are not part of
/// the message, for they may be secrets, except numbers for settings that take numbers.
pub(super) fn explain<T: Serialize + DeserializeOwned>(
    error: &ConfigError,
    defaults: &T,
    given: impl Fn(&str) -> Option<String>,
) -> String {
    let must_be = |key: &str, values: &str| {
        let number = given(key).filter(|text| takes_number(values) && text.parse::<f64>().is_ok());
        match number {
            Some(number) => format!("{} is {number}: set it to {values}", named(key)),
            None => format!("{} must be {values}", named(key)),
        }
    };
    match error {
        ConfigError::Type { key: Some(key), expected, .. } => {
            must_be(key, &values(key, defaults).unwrap_or_else(|| (*expected).to_owned()))
        }
        ConfigError::At { error, key: Some(key), .. } => {
            let message = error.to_string();
            unknown(key, &message).unwrap_or_else(|| match values(key, defaults) {
                // Of a word that is none of them, the library says how the type is called in the program.
                Some(values) if message.starts_with("enum ") || takes_number(&values) => {
                    must_be(key, &values)
                }
                Some(values) => format!("{} must be {values}: {}", named(key), shown::redact(&message)),
                None => format!("{} cannot be read: {}", named(key), shown::redact(&message)),
            })
        }
        other => {
            let message = other.to_string();
            unknown("", &message).unwrap_or_else(|| shown::redact(&message))
        }
    }
}

/// True for the values of a setting that takes a number.
fn takes_number(values: &str) -> bool {
    values.starts_with("a whole number") || values.starts_with("a number")
}

/// A setting with the variable that sets it: `server.port (DROVER_SERVER__PORT)`.
fn named(key: &str) -> String {
    let setting = key.split('[').next().unwrap_or(key);
    format!("{key} (DROVER_{})", setting.replace('.', "__").to_uppercase())
}

/// The message for a name that no setting has, with the names that there are.
fn unknown(section: &str, message: &str) -> Option<String> {
    let mut names = message.strip_prefix("unknown field `")?.split('`');
    let name = names.next()?;
    let allowed: Vec<_> = names.skip(1).step_by(2).collect();
    if section.is_empty() {
        return Some(format!("there is no section {name}: the sections are {}", allowed.join(", ")));
    }
    let unknown = named(&format!("{section}.{name}"));
    Some(format!("there is no setting {unknown}: section {section} has {}", allowed.join(", ")))
}

/// The values that a setting takes, from serde's message for a text in its place that is none of them.
fn values<T: Serialize + DeserializeOwned>(key: &str, defaults: &T) -> Option<String> {
    let mut document = serde_json::to_value(defaults).ok()?;
    let (setting, is_item) = key.split_once('[').map_or((key, false), |(setting, _)| (setting, true));
    let value = setting.split('.').try_fold(&mut document, |value, part| value.get_mut(part))?;
    let none = Value::from("\u{0}");
    *value = if is_item { Value::Array(vec![none]) } else { none };
    let message = serde_json::from_value::<T>(document).err()?.to_string();
    if message.starts_with("relative URL without a base") {
        return Some("an address with its scheme, as in https://host.example/path".to_owned());
    }
    if let Some(words) = message.strip_prefix("unknown variant `\u{0}`, ") {
        let words: Vec<_> = words.split('`').skip(1).step_by(2).collect();
        let (last, others) = words.split_last()?;
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
        "f32" | "f64" => "a number, as in 0.5".to_owned(),
        other => other.to_owned(),
    })
}

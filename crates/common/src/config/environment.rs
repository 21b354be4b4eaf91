//! Environment variables as a layer of the configuration.

use config::builder::DefaultState;
use config::{ConfigBuilder, ConfigError};
use serde_json::Value;

const PREFIX: &str = "DROVER_";

/// Lays the variables over what the builder has: `DROVER_SERVER__CORS_ORIGINS` is `server.cors_origins`, a list
/// because the default is one. Values stay texts until the field's type is known: a password of digits is no number.
pub(super) fn lay_over(
    mut builder: ConfigBuilder<DefaultState>,
    defaults: &Value,
    variables: impl Iterator<Item = (String, String)>,
) -> Result<ConfigBuilder<DefaultState>, ConfigError> {
    for (name, text) in variables {
        // Without a section it is none of ours: orchestrators and test runners set such variables too.
        let Some(path) = name.strip_prefix(PREFIX).filter(|path| path.contains("__")) else { continue };
        if text.is_empty() {
            continue;
        }
        let parts: Vec<_> = path.split("__").map(str::to_lowercase).collect();
        let default = parts.iter().fold(defaults, |value, part| &value[part.as_str()]);
        let key = parts.join(".");
        builder = if default.is_array() {
            let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
            builder.set_override(key, items.map(str::to_owned).collect::<Vec<_>>())?
        } else {
            builder.set_override(key, text)?
        };
    }
    Ok(builder)
}

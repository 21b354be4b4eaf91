//! Sections `log` and `traces`.

use anyhow::{Context, ensure};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::values;

/// Section `log`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Log {
    /// Format of the lines.
    pub format: LogFormat,
    /// `off`, `error`, `warn`, `info`, `debug` or `trace`.
    pub level: String,
}

impl Default for Log {
    fn default() -> Self {
        Self { format: LogFormat::Json, level: "info".into() }
    }
}

/// Format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// One JSON object per line.
    Json,
    /// Text for a terminal.
    Pretty,
}

/// Section `traces`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Traces {
    /// URL that spans are sent to (OTLP over HTTP), such as `http://collector:4318/v1/traces`; without it nothing is
    /// traced. The variable `OTEL_RESOURCE_ATTRIBUTES` adds attributes of the service.
    #[serde(serialize_with = "values::url")]
    pub url: Option<Url>,
    /// Share of the requests without `traceparent` that are traced, 0 to 1. A request whose `traceparent` is sampled is
    /// always traced; a proxy should remove the header from requests of untrusted clients.
    pub ratio: f64,
    /// Headers for the collector, each `name=value`.
    #[serde(serialize_with = "values::secrets")]
    pub headers: Vec<SecretString>,
}

impl Default for Traces {
    fn default() -> Self {
        Self { url: None, ratio: 0.01, headers: Vec::new() }
    }
}

impl Traces {
    /// Validates the section.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (0.0..=1.0).contains(&self.ratio),
            "traces.ratio (DROVER_TRACES__RATIO) is {}: set it to a number from 0 to 1",
            self.ratio
        );
        headers(&self.headers)?;
        let Some(url) = &self.url else { return Ok(()) };
        ensure!(
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.path().len() > 1,
            "traces.url (DROVER_TRACES__URL) must be an http:// or https:// URL with a path, such as \
             http://collector:4318/v1/traces"
        );
        Ok(())
    }
}

/// Parses the configured headers.
pub(crate) fn headers(lines: &[SecretString]) -> anyhow::Result<HeaderMap> {
    const INVALID: &str = "traces.headers (DROVER_TRACES__HEADERS) must be a list of name=value";
    let header = |line: &SecretString| {
        let (name, value) = line.expose_secret().split_once('=').context(INVALID)?;
        let name: HeaderName = name.parse().context(INVALID)?;
        let mut value: HeaderValue = value.parse().context(INVALID)?;
        value.set_sensitive(true);
        Ok((name, value))
    };
    lines.iter().map(header).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn traces(url: &str, ratio: f64, header: &str) -> Traces {
        Traces { url: Some(url.parse().unwrap()), ratio, headers: vec![header.into()] }
    }

    #[test]
    fn names_the_invalid_setting_without_its_secret() {
        let valid = "http://collector:4318/v1/traces";
        assert!(traces(valid, 1.0, "authorization=Bearer s3cret=").check().is_ok());
        for (invalid, setting) in [
            (traces("grpc://collector:4317/x", 0.1, "a=b"), "traces.url"),
            (traces("http://collector:4318", 0.1, "a=b"), "traces.url"),
            (traces(valid, 1.1, "a=b"), "traces.ratio"),
            (traces(valid, f64::NAN, "a=b"), "traces.ratio"),
            (traces(valid, 0.1, "s3cret"), "traces.headers"),
            (traces(valid, 0.1, "a b=s3cret"), "traces.headers"),
            (traces(valid, 0.1, "a=s3cret\n"), "traces.headers"),
        ] {
            let error = format!("{:#}", invalid.check().unwrap_err());
            assert!(error.contains(setting) && !error.contains("s3cret"), "{error}");
        }
    }
}

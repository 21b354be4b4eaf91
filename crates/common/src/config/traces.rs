//! Section `traces`.

use anyhow::{Context, ensure};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use secrecy::{ExposeSecret, SecretString};
use serde::{Deserialize, Serialize};
use url::Url;

use super::shown;

/// Section `traces`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Traces {
    /// Where spans are sent (OTLP over HTTP), such as `http://collector:4318/v1/traces`; none: nothing is traced. The
    /// variable `OTEL_RESOURCE_ATTRIBUTES` adds to what they tell of the service.
    #[serde(serialize_with = "shown::address")]
    pub url: Option<Url>,
    /// The share of requests that are traced, 0 to 1, where no `traceparent` decides. One that says so has its request
    /// traced whatever this is: a proxy before clients who are not trusted takes it away.
    pub ratio: f64,
    /// Headers for the collector, `name=value`.
    #[serde(serialize_with = "shown::all_hidden")]
    pub headers: Vec<SecretString>,
}

impl Default for Traces {
    fn default() -> Self {
        Self { url: None, ratio: 0.01, headers: Vec::new() }
    }
}

impl Traces {
    /// Says which setting cannot work.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        ensure!(
            (0.0..=1.0).contains(&self.ratio),
            "traces.ratio (DROVER_TRACES__RATIO) is {}: set it to 0 to 1",
            self.ratio
        );
        headers(&self.headers)?;
        let Some(url) = &self.url else { return Ok(()) };
        ensure!(
            matches!(url.scheme(), "http" | "https") && url.has_host() && url.path().len() > 1,
            "traces.url (DROVER_TRACES__URL) must be http:// or https:// with a path, as in http://collector:4318/v1/traces"
        );
        Ok(())
    }
}

/// Headers as they are configured.
pub(crate) fn headers(lines: &[SecretString]) -> anyhow::Result<HeaderMap> {
    const WRONG: &str = "traces.headers (DROVER_TRACES__HEADERS) must be name=value each";
    let header = |line: &SecretString| {
        let (name, value) = line.expose_secret().split_once('=').context(WRONG)?;
        let name: HeaderName = name.parse().context(WRONG)?;
        let mut value: HeaderValue = value.parse().context(WRONG)?;
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
    fn what_cannot_work_is_named_without_its_secret() {
        let right = "http://collector:4318/v1/traces";
        assert!(traces(right, 1.0, "authorization=Bearer s3cret=").check().is_ok());
        for (wrong, named) in [
            (traces("grpc://collector:4317/x", 0.1, "a=b"), "traces.url"),
            (traces("http://collector:4318", 0.1, "a=b"), "traces.url"),
            (traces(right, 1.1, "a=b"), "traces.ratio"),
            (traces(right, f64::NAN, "a=b"), "traces.ratio"),
            (traces(right, 0.1, "s3cret"), "traces.headers"),
            (traces(right, 0.1, "a b=s3cret"), "traces.headers"),
            (traces(right, 0.1, "a=s3cret\n"), "traces.headers"),
        ] {
            let error = format!("{:#}", wrong.check().unwrap_err());
            assert!(error.contains(named) && !error.contains("s3cret"), "{error}");
        }
    }
}

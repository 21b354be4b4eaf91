//! Ranges of integers, and the redaction of secrets in printed settings and messages.

use secrecy::SecretString;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use url::Url;

/// Deserializes an integer from `MIN` to `MAX`, for `#[serde(deserialize_with = "within::<1, 100, _, _>")]`.
///
/// # Errors
/// The message states the range, for every other value.
pub fn within<'de, const MIN: u64, const MAX: u64, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: TryFrom<u64>,
    D: Deserializer<'de>,
{
    let number = u64::deserialize(deserializer).ok().filter(|number| (MIN..=MAX).contains(number));
    let number = number.and_then(|number| T::try_from(number).ok());
    number.ok_or_else(|| D::Error::custom(format_args!("expected a whole number, {MIN} to {MAX}")))
}

/// Stands for a secret in printed settings and messages.
const REDACTED: &str = "…";

/// Serializes whether there is a secret.
pub fn secret<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|_| REDACTED).serialize(serializer)
}

/// Serializes one redacted item per secret.
pub fn secrets<S: Serializer>(secrets: &[SecretString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(secrets.iter().map(|_| REDACTED))
}

/// Serializes a URL without credentials.
pub fn url<S: Serializer>(url: &Option<Url>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_ref().map(|url| redacted_url(url.clone())).serialize(serializer)
}

/// Serializes the text of a URL without credentials.
pub fn url_text<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Url::parse(url).map_or_else(|_| REDACTED.to_owned(), redacted_url).serialize(serializer)
}

/// Serializes origins. An origin with a user name may contain a password; validation refuses it.
pub(super) fn origins<S: Serializer>(origins: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(origins.iter().map(|origin| if origin.contains('@') { REDACTED } else { origin }))
}

/// Redacts a URL without a host as a whole: `user:password@host` parses as one.
fn redacted_url(url: Url) -> String {
    if url.has_host() { without_credentials(url).to_string() } else { REDACTED.to_owned() }
}

/// Removes user, password and query from a URL.
pub fn without_credentials(mut url: Url) -> Url {
    let _ = url.set_password(None);
    let _ = url.set_username("");
    if url.query().is_some() {
        url.set_query(Some("redacted"));
    }
    url
}

/// Redacts an error message: removes quoted values and excerpts of the configuration file, and joins its lines.
pub(super) fn redact_message(error: &str) -> String {
    let lines = error.lines().filter(|line| !line.contains(" |") && !line.starts_with('|'));
    let lines = lines.map(|line| match (line.find('"'), line.rfind('"')) {
        (Some(first), Some(last)) if first < last => {
            format!("{}\"{REDACTED}{}", &line[..first], &line[last..])
        }
        _ => line.to_owned(),
    });
    lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(": ")
}

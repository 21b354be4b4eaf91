//! What of secrets and addresses may be seen, wherever a configuration is shown.

use secrecy::SecretString;
use serde::{Serialize, Serializer};
use url::Url;

/// That there is a secret may be seen.
pub fn hidden<S: Serializer>(secret: &Option<SecretString>, serializer: S) -> Result<S::Ok, S::Error> {
    secret.as_ref().map(|_| "…").serialize(serializer)
}

/// How many secrets there are may be seen.
pub fn all_hidden<S: Serializer>(secrets: &[SecretString], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(secrets.iter().map(|_| "…"))
}

/// An address without the user and password that somebody may have put there.
pub fn address<S: Serializer>(url: &Option<Url>, serializer: S) -> Result<S::Ok, S::Error> {
    url.as_ref().map(|url| shown(url.clone())).serialize(serializer)
}

/// As [`address`], for one that is kept as text.
pub fn base<S: Serializer>(url: &str, serializer: S) -> Result<S::Ok, S::Error> {
    Url::parse(url).map_or_else(|_| "…".to_owned(), shown).serialize(serializer)
}

/// What has no host (`user:password@host`) may be a secret as a whole.
fn shown(url: Url) -> String {
    if url.has_host() { anonymous(url).to_string() } else { "…".to_owned() }
}

/// What may be told of an error: not the values that it quotes, nor the lines of the file that it shows.
pub(super) fn redact(error: &str) -> String {
    let lines = error.lines().filter(|line| !line.contains(" |") && !line.starts_with('|'));
    let lines = lines.map(|line| match (line.find('"'), line.rfind('"')) {
        (Some(first), Some(last)) if first < last => format!("{}\"…{}", &line[..first], &line[last..]),
        _ => line.to_owned(),
    });
    lines.filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join(": ")
}

/// The same address for anybody: without user, password and query.
pub fn anonymous(mut url: Url) -> Url {
    let _ = url.set_password(None);
    let _ = url.set_username("");
    if url.query().is_some() {
        url.set_query(Some("redacted"));
    }
    url
}

/// Origins; one with a user name, which is refused, may have a password.
pub(super) fn origins<S: Serializer>(origins: &[String], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(origins.iter().map(|origin| if origin.contains('@') { "…" } else { origin }))
}

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
    url.clone().map(anonymous).serialize(serializer)
}

/// The same address for anybody.
pub fn anonymous(mut url: Url) -> Url {
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url
}

//! Section `auth`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use url::Url;

use super::{Docs, values};

/// Section `auth`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Auth {
    /// JWKS file with the verification keys.
    pub jwks_file: Option<PathBuf>,
    /// JWKS URL of the identity provider: `https://`, or `http://` on this machine or in a private network. Redirects
    /// are not followed. The response must be complete within 5 s and have at most 1 MiB.
    #[serde(serialize_with = "values::url")]
    pub jwks_url: Option<Url>,
    /// The issuer (`iss`) that every token must have.
    pub issuer: Option<String>,
    /// The audience (`aud`) that every token must have.
    pub audience: Option<String>,
    /// Allowed difference between clocks, in seconds.
    pub leeway_seconds: u64,
    /// Whether tokens of service accounts (`docs/api/authentication.md`) are accepted, and issued by system. Default:
    /// `true` in system, and in services whose `service.system_url` is `https://` or in a private network.
    pub service_accounts: Option<bool>,
    /// Names of the claims.
    pub claims: Claims,
    /// Login on the docs page.
    pub docs: Docs,
}

impl Default for Auth {
    fn default() -> Self {
        Self {
            jwks_file: None,
            jwks_url: None,
            issuer: None,
            audience: None,
            leeway_seconds: 30,
            service_accounts: None,
            claims: Claims::default(),
            docs: Docs::default(),
        }
    }
}

/// Section `auth.claims`: the identity provider's names of the claims (`docs/api/authentication.md`). If a token has no
/// claim of a name, the name is a path of members of nested objects, separated by dots, such as `realm_access.roles`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Claims {
    /// User id.
    pub sub: String,
    /// User name.
    pub name: String,
    /// Organisation id.
    pub org: String,
    /// Organisation name.
    pub org_name: String,
    /// Array of roles.
    pub roles: String,
}

impl Default for Claims {
    fn default() -> Self {
        let [sub, name, org, org_name, roles] = ["sub", "name", "org", "orgName", "roles"].map(str::to_owned);
        Self { sub, name, org, org_name, roles }
    }
}

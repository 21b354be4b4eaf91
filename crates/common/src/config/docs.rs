//! Section `auth.docs`.

use anyhow::ensure;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::values;

/// Section `auth.docs`: the login on the page `/docs/`, by authorization code with PKCE. Without these settings users
/// of the page paste a token.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Docs {
    /// Authorization endpoint of the identity provider: `https://`, or `http://` on localhost. May have a query.
    #[serde(serialize_with = "values::url")]
    pub authorization_url: Option<Url>,
    /// Token endpoint of the identity provider: `https://`, or `http://` on localhost.
    #[serde(serialize_with = "values::url")]
    pub token_url: Option<Url>,
    /// Id of a public client of the identity provider, which has no secret.
    pub client_id: Option<String>,
    /// Scopes that the page requests.
    pub scopes: Vec<String>,
}

/// Valid settings of the login.
#[derive(Clone)]
pub(crate) struct DocsLogin {
    pub(crate) authorization_url: Url,
    pub(crate) token_url: Url,
    pub(crate) client_id: String,
    pub(crate) scopes: Vec<String>,
}

impl Docs {
    /// Returns the login, or `None` if there are no settings.
    ///
    /// # Errors
    /// Names a missing or invalid setting.
    pub(crate) fn login(&self) -> anyhow::Result<Option<DocsLogin>> {
        let missing = match (&self.authorization_url, &self.token_url, &self.client_id) {
            (Some(authorization_url), Some(token_url), Some(client_id)) => {
                for (name, url) in [("authorization_url", authorization_url), ("token_url", token_url)] {
                    check(name, url)?;
                }
                return Ok(Some(DocsLogin {
                    authorization_url: authorization_url.clone(),
                    token_url: token_url.clone(),
                    client_id: client_id.clone(),
                    scopes: self.scopes.clone(),
                }));
            }
            (None, None, None) if self.scopes.is_empty() => return Ok(None),
            (None, _, _) => "authorization_url",
            (_, None, _) => "token_url",
            (_, _, None) => "client_id",
        };
        anyhow::bail!(
            "auth.docs.{missing} (DROVER_AUTH__DOCS__{}) is missing: the login of the docs page needs \
             authorization_url, token_url and client_id",
            missing.to_uppercase()
        )
    }
}

/// Fails for a URL to which a browser should not send a code or a password.
fn check(name: &str, url: &Url) -> anyhow::Result<()> {
    ensure!(
        (url.scheme() == "https" || url.scheme() == "http" && is_localhost(url))
            && url.username().is_empty()
            && url.password().is_none()
            && url.fragment().is_none(),
        "auth.docs.{name} (DROVER_AUTH__DOCS__{}) must be https:// (http:// only for localhost), without a user name, a \
         password and a fragment",
        name.to_uppercase()
    );
    Ok(())
}

fn is_localhost(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs(authorization: &str, token: &str, client: &str, scopes: &[&str]) -> Docs {
        let url = |text: &str| (!text.is_empty()).then(|| Url::parse(text).unwrap());
        Docs {
            authorization_url: url(authorization),
            token_url: url(token),
            client_id: (!client.is_empty()).then(|| client.to_owned()),
            scopes: scopes.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn needs_all_settings_or_none() {
        assert!(Docs::default().login().unwrap().is_none());
        let (a, t) = ("https://login.example/authorize?audience=drover", "https://login.example/token");
        assert!(docs(a, t, "docs", &[]).login().unwrap().is_some());
        for (docs, missing) in [
            (docs("", t, "docs", &[]), "AUTHORIZATION_URL"),
            (docs(a, "", "docs", &[]), "TOKEN_URL"),
            (docs(a, t, "", &[]), "CLIENT_ID"),
            (docs("", "", "", &["openid"]), "AUTHORIZATION_URL"),
        ] {
            let error = docs.login().err().unwrap().to_string();
            assert!(error.contains(&format!("(DROVER_AUTH__DOCS__{missing}) is missing")), "{error}");
        }
    }

    #[test]
    fn endpoints_are_encrypted_except_on_localhost() {
        let good = "https://login.example/x";
        for url in
            ["http://localhost:8000/token", "http://login.localhost/", "http://127.0.0.1:1/", "http://[::1]/"]
        {
            assert!(docs(url, url, "docs", &[]).login().is_ok(), "{url}");
        }
        for url in [
            "http://login.example/token",
            "http://10.0.0.1/token",
            "http://localhost.example/token",
            "javascript:alert(1)",
            "file:///token",
            "https://ruth:s3cret@login.example/token",
            "https://login.example/token#s3cret",
        ] {
            for (docs, name) in [
                (docs(url, good, "docs", &[]), "authorization_url (DROVER_AUTH__DOCS__AUTHORIZATION_URL)"),
                (docs(good, url, "docs", &[]), "token_url (DROVER_AUTH__DOCS__TOKEN_URL)"),
            ] {
                let error = docs.login().err().unwrap().to_string();
                assert!(error.contains(name) && !error.contains("s3cret"), "{error}");
            }
        }
    }
}

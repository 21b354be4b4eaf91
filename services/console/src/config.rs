//! Settings of the console in addition to those of all services.

use anyhow::ensure;
use chrono_tz::Tz;
use common::config::Claims;
use common::config::values::{secret, secrets, url_text, within};
use common::is_trusted_url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize};
use url::Url;

/// Section `service`.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Settings {
    /// Base URL of the system service.
    #[serde(serialize_with = "url_text")]
    pub system_url: String,
    /// Base URL of the logistics service.
    #[serde(serialize_with = "url_text")]
    pub logistics_url: String,
    /// Base URL of the livestock service.
    #[serde(serialize_with = "url_text")]
    pub livestock_url: String,
    /// How long a page waits for a service, in milliseconds, 100 to 60,000. Later, the page says that the service is
    /// away.
    #[serde(deserialize_with = "within::<100, 60_000, _, _>")]
    pub timeout_ms: u64,
    /// The issuer of the OpenID Connect provider, exactly as it names itself. Its metadata is at
    /// `/.well-known/openid-configuration`.
    pub provider_url: Option<String>,
    /// Where the console reaches the provider, if not at `provider_url`, which browsers use: requests to URLs that
    /// begin with the issuer go here instead.
    pub provider_internal_url: Option<String>,
    /// Id of the client at the provider. Its redirect URL is `server.public_url` and `/login/callback`.
    pub client_id: Option<String>,
    /// Secret of the client, unless it is a public one.
    #[serde(serialize_with = "secret")]
    pub client_secret: Option<SecretString>,
    /// Scopes that the log-in requests. `offline_access` is what many providers want for refresh tokens.
    pub scopes: Vec<String>,
    /// The parameter `audience` of the log-in, which Auth0 needs to issue tokens of an API.
    pub audience: Option<String>,
    /// The names of the claims, as in section `auth.claims` of the other services.
    pub claims: Claims,
    /// Keys that encrypt sessions, each the base64 of 32 random bytes. The first encrypts, all decrypt: to rotate, put
    /// a new key before the old one, and remove the old one after `session_hours`.
    #[serde(serialize_with = "secrets")]
    pub session_keys: Vec<SecretString>,
    /// How long a session lasts at most, in hours, 1 to 12.
    #[serde(deserialize_with = "within::<1, 12, _, _>")]
    pub session_hours: u64,
    /// The private key of development tokens (PEM; Ed25519 or RSA), which replaces the provider: whoever opens the
    /// console chooses who to be. Never use it with real data.
    #[serde(serialize_with = "secret")]
    pub development_key: Option<SecretString>,
    /// The issuer of development tokens.
    pub development_issuer: String,
    /// The audience of development tokens.
    pub development_audience: String,
    /// URL of map tiles, with `{z}`, `{x}` and `{y}` (Web Mercator). Browsers request the tiles from there. Without it,
    /// maps have outlines only.
    pub tiles_url: Option<String>,
    /// The source that maps with tiles name, as the terms of the tile server demand.
    pub tiles_attribution: String,
    /// The time zone of times on pages, an IANA name.
    pub time_zone: String,
}

impl Default for Settings {
    fn default() -> Self {
        let [system_url, logistics_url, livestock_url] =
            [8081, 8082, 8083].map(|port| format!("http://127.0.0.1:{port}"));
        Self {
            system_url,
            logistics_url,
            livestock_url,
            timeout_ms: 10_000,
            provider_url: None,
            provider_internal_url: None,
            client_id: None,
            client_secret: None,
            scopes: ["openid", "profile"].map(str::to_owned).into(),
            audience: None,
            claims: Claims::default(),
            session_keys: Vec::new(),
            session_hours: 12,
            development_key: None,
            development_issuer: "drover-dev".to_owned(),
            development_audience: "drover".to_owned(),
            tiles_url: None,
            tiles_attribution: String::new(),
            time_zone: "Europe/London".to_owned(),
        }
    }
}

impl Settings {
    /// Validates what types do not express. `public_url` is the base URL that browsers use.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn check(&self, public_url: &Url) -> anyhow::Result<()> {
        for (name, url) in [
            ("system_url", &self.system_url),
            ("logistics_url", &self.logistics_url),
            ("livestock_url", &self.livestock_url),
        ] {
            let is_valid = Url::parse(url).is_ok_and(|url| is_trusted_url(&url) && url.query().is_none());
            ensure!(
                is_valid,
                "service.{name} (DROVER_SERVICE__{}) must be https:// (http:// only on this machine or within a private \
                 network), without a query",
                name.to_uppercase()
            );
        }
        ensure!(
            self.time_zone.parse::<Tz>().is_ok(),
            "service.time_zone (DROVER_SERVICE__TIME_ZONE) must be an IANA name such as Europe/London"
        );
        ensure!(
            self.tiles_url.as_ref().is_none_or(|url| {
                let is_trusted = Url::parse(url).is_ok_and(|url| is_trusted_url(&url));
                is_trusted && ["{z}", "{x}", "{y}"].iter().all(|part| url.contains(part))
            }),
            "service.tiles_url (DROVER_SERVICE__TILES_URL) must be https:// (http:// only on this machine or within a \
             private network) and contain {{z}}, {{x}} and {{y}}"
        );
        if self.development_key.is_some() {
            ensure!(
                self.provider_url.is_none(),
                "set service.provider_url (DROVER_SERVICE__PROVIDER_URL) or service.development_key \
                 (DROVER_SERVICE__DEVELOPMENT_KEY), not both: with the key, whoever opens the console chooses who to be"
            );
            return Ok(());
        }
        let Some(provider) = &self.provider_url else {
            anyhow::bail!(
                "nobody can log in: set service.provider_url (DROVER_SERVICE__PROVIDER_URL) to the issuer of your OpenID \
                 Connect provider and service.client_id (DROVER_SERVICE__CLIENT_ID) to the console's client there, or, \
                 for a demonstration, service.development_key (DROVER_SERVICE__DEVELOPMENT_KEY_FILE) to the key of \
                 development tokens"
            )
        };
        ensure!(
            Url::parse(provider).is_ok_and(|url| is_trusted_url(&url)),
            "service.provider_url (DROVER_SERVICE__PROVIDER_URL) must be https:// (http:// only on this machine or within \
             a private network)"
        );
        ensure!(
            self.provider_internal_url.as_ref().is_none_or(
                |url| Url::parse(url).is_ok_and(|url| is_trusted_url(&url) && url.query().is_none())
            ),
            "service.provider_internal_url (DROVER_SERVICE__PROVIDER_INTERNAL_URL) must be https:// (http:// only on this \
             machine or within a private network), without a query"
        );
        ensure!(
            self.client_id.is_some(),
            "service.client_id (DROVER_SERVICE__CLIENT_ID) is missing: set it to the id of the console's client at the \
             provider"
        );
        ensure!(
            is_trusted_url(public_url),
            "server.public_url (DROVER_SERVER__PUBLIC_URL) must be https:// (http:// only on this machine or within a \
             private network): browsers send sessions to it"
        );
        ensure!(
            !self.session_keys.is_empty(),
            "service.session_keys (DROVER_SERVICE__SESSION_KEYS_FILE) is missing: create a key with `openssl rand \
             -base64 32`, put it into a file and name the file"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn valid() -> Settings {
        Settings {
            provider_url: Some("https://login.example/".to_owned()),
            client_id: Some("console".to_owned()),
            session_keys: vec!["a".into()],
            ..Settings::default()
        }
    }

    #[test]
    fn wrong_settings_are_named_with_what_to_do() {
        let check = |settings: Settings| settings.check(&"https://console.example/".parse().unwrap());
        assert!(check(valid()).is_ok());
        let development = Settings { development_key: Some("pem".into()), ..Settings::default() };
        assert!(check(development.clone()).is_ok());
        for (settings, name) in [
            (Settings::default(), "DROVER_SERVICE__PROVIDER_URL"),
            (Settings { logistics_url: "http://logistics.example".to_owned(), ..valid() }, "LOGISTICS_URL"),
            (Settings { provider_url: Some("http://login.example".to_owned()), ..valid() }, "PROVIDER_URL"),
            (
                Settings { provider_internal_url: Some("http://login.example".to_owned()), ..valid() },
                "PROVIDER_INTERNAL_URL",
            ),
            (Settings { time_zone: "London".to_owned(), ..valid() }, "TIME_ZONE"),
            (
                Settings { tiles_url: Some("https://tiles.example/{z}/{x}".to_owned()), ..valid() },
                "TILES_URL",
            ),
            (Settings { client_id: None, ..valid() }, "CLIENT_ID"),
            (Settings { session_keys: Vec::new(), ..valid() }, "openssl rand -base64 32"),
            (Settings { development_key: Some("pem".into()), ..valid() }, "not both"),
        ] {
            let message = check(settings).unwrap_err().to_string();
            assert!(message.contains(name), "{message}");
        }
        let message = valid().check(&"http://console.example/".parse().unwrap()).unwrap_err().to_string();
        assert!(message.contains("DROVER_SERVER__PUBLIC_URL"), "{message}");
    }
}

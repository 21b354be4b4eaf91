//! How people log in: at an OpenID Connect provider, or by choosing who to be.

mod people;
mod provider;

use url::Url;

use crate::config::Settings;

pub(crate) use people::{DemoPerson, DevelopmentKey, PEOPLE};
pub(crate) use provider::{Attempt, Provider, ProviderOptions, Refused};

/// The log-in that the settings choose.
pub(crate) enum Login {
    Provider(Box<Provider>),
    /// For demonstrations: whoever opens the console chooses who to be.
    Development(DevelopmentKey),
}

impl Login {
    /// Opens the configured log-in. `public_url` has no slash at the end.
    ///
    /// # Errors
    /// Names the setting to change.
    pub(crate) fn open(settings: &Settings, public_url: &str) -> anyhow::Result<Self> {
        settings.check(&Url::parse(public_url)?)?;
        let hours = settings.session_hours;
        if let Some(key) = &settings.development_key {
            let (issuer, audience) = (&settings.development_issuer, &settings.development_audience);
            return DevelopmentKey::new(key, issuer, audience, hours).map(Self::Development);
        }
        let (Some(issuer), Some(client_id)) = (&settings.provider_url, &settings.client_id) else {
            anyhow::bail!("the provider is missing")
        };
        let provider = Provider::new(&ProviderOptions {
            issuer,
            internal_url: settings.provider_internal_url.as_deref(),
            client_id,
            client_secret: settings.client_secret.as_ref(),
            scopes: &settings.scopes,
            audience: settings.audience.as_deref(),
            public_url,
            session_hours: hours,
        })?;
        Ok(Self::Provider(Box::new(provider)))
    }

    /// Returns true for the log-in of demonstrations.
    pub(crate) fn is_development(&self) -> bool {
        matches!(self, Self::Development(_))
    }
}

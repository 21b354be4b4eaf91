//! Who the caller is: the base URLs of the services, and a token from the options, the environment or the stored
//! profile.

use std::env;
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chrono::Utc;
use reqwest::Url;
use serde_json::Value;

use crate::args::Connection;
use crate::error::Failure;
use crate::oauth;
use crate::profile::{Profile, Proof, Secret};

/// Seconds before its end at which a token is replaced.
const RENEW_BEFORE: i64 = 30;

/// The base URLs and the token of a command.
pub struct Session {
    /// The base URL of each service.
    pub urls: [Url; 3],
    source: Source,
}

/// Where tokens come from.
enum Source {
    /// A file, which is read for each request: another program may replace the token in it.
    File(PathBuf),
    /// `DROVER_TOKEN`.
    Fixed(Secret),
    /// What `drover login` stored.
    Stored(Box<Profile>),
}

impl Session {
    /// Finds out where the services are and who the caller is. Options win over the environment, and the environment
    /// over the stored profile.
    pub fn open(connection: &Connection) -> Result<Self, Failure> {
        let profile = Profile::read()?;
        let given = connection.urls();
        let local = |i: usize| Url::parse(&format!("http://127.0.0.1:{}", 8081 + i)).ok();
        let url = |i: usize| given[i].clone().or_else(|| profile.urls[i].clone()).or_else(|| local(i));
        let [Some(system), Some(logistics), Some(livestock)] = [url(0), url(1), url(2)] else {
            return Err(Failure::Usage("the base URL of a service is missing".to_owned()));
        };
        for url in [&system, &logistics, &livestock] {
            // The URL is not repeated: it may contain a password.
            let is_plain = url.username().is_empty() && url.password().is_none();
            if !is_plain || !matches!(url.scheme(), "http" | "https") {
                let message =
                    "a base URL begins with http:// or https:// and contains no user name or password";
                return Err(Failure::Usage(message.to_owned()));
            }
        }
        let fixed = env::var("DROVER_TOKEN").ok().filter(|token| !token.trim().is_empty());
        let source = match (&connection.token_file, fixed) {
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(token)) => Source::Fixed(Secret::new(&token)),
            (None, None) => Source::Stored(Box::new(profile)),
        };
        Ok(Self { urls: [system, logistics, livestock], source })
    }

    /// Makes a session of a test: all services at one address, and a token.
    #[cfg(test)]
    pub fn fixed(url: &Url, token: &str) -> Self {
        Self { urls: [url.clone(), url.clone(), url.clone()], source: Source::Fixed(Secret::new(token)) }
    }

    /// Returns a token to send. A stored one that is about to end is replaced first.
    pub async fn token(&mut self, http: &reqwest::Client) -> Result<Secret, Failure> {
        let token = match &self.source {
            Source::File(path) => Secret::read(path, "--token-file")?,
            Source::Fixed(token) => token.clone(),
            Source::Stored(profile) => match (&profile.token, &profile.renewal) {
                (None, None) => {
                    let message = "You are not logged in. Use `drover login`, --token-file or DROVER_TOKEN.";
                    return Err(Failure::NotLoggedIn(message.to_owned()));
                }
                (Some(token), _) if token.is_valid(Utc::now().timestamp() + RENEW_BEFORE) => {
                    token.access_token.clone()
                }
                _ => self.renewed(http).await?,
            },
        };
        // Anything else cannot stand in a header, and the error would say which bytes it has.
        if token.reveal().is_empty() || !token.reveal().bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(Failure::NotLoggedIn(
                "The token is empty or contains characters that no token has.".to_owned(),
            ));
        }
        Ok(token)
    }

    /// Gets another token for the stored profile, and stores it.
    async fn renewed(&mut self, http: &reqwest::Client) -> Result<Secret, Failure> {
        let Source::Stored(profile) = &mut self.source else { return Err(ended()) };
        let renewal = profile.renewal.as_mut().ok_or_else(ended)?;
        let granted = oauth::renew(http, renewal).await?;
        if let (Some(next), Proof::RefreshToken(token)) = (granted.refresh_token, &mut renewal.proof) {
            *token = next;
        }
        let token = granted.token.access_token.clone();
        profile.token = Some(granted.token);
        profile.write()?;
        Ok(token)
    }

    /// Replaces a stored token that the service does not accept. Returns false if there is none.
    pub async fn renew(&mut self, http: &reqwest::Client) -> Result<bool, Failure> {
        let is_stored = matches!(&self.source, Source::Stored(profile) if profile.renewal.is_some());
        if is_stored {
            self.renewed(http).await?;
        }
        Ok(is_stored)
    }

    /// Returns a claim of the token, such as `org`. The service verifies the token, not we.
    pub async fn claim(&mut self, http: &reqwest::Client, name: &str) -> Result<Option<String>, Failure> {
        let token = self.token(http).await?;
        Ok(claim(token.reveal(), name))
    }
}

fn ended() -> Failure {
    Failure::NotLoggedIn("Your log-in has ended. Log in again with `drover login`.".to_owned())
}

fn claim(token: &str, name: &str) -> Option<String> {
    let payload = URL_SAFE_NO_PAD.decode(token.split('.').nth(1)?).ok()?;
    let claims: Value = serde_json::from_slice(&payload).ok()?;
    claims[name].as_str().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_read_from_a_token_without_verifying_it() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"org": "border-grain"}"#);
        assert_eq!(claim(&format!("e30.{payload}.x"), "org").as_deref(), Some("border-grain"));
        assert_eq!(claim("opaque", "org"), None);
    }
}

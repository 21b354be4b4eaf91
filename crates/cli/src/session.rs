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
use crate::http::is_secure;
use crate::oauth;
use crate::profile::{Profile, Proof, Secret, Token};

/// Seconds before its end at which a token is replaced.
const RENEW_BEFORE: i64 = 30;

/// The base URLs and the token of a command.
pub struct Session {
    /// The base URL of each service, in the order of [`Service::ALL`](crate::profile::Service::ALL).
    pub urls: [Option<Url>; 3],
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
        let urls = base_urls(connection.urls(), &profile.urls)?;
        let fixed = env::var("DROVER_TOKEN").ok().filter(|token| !token.trim().is_empty());
        let source = match (&connection.token_file, fixed) {
            (Some(path), _) => Source::File(path.clone()),
            (None, Some(token)) => Source::Fixed(Secret::new(&token)),
            (None, None) => Source::Stored(Box::new(profile)),
        };
        Ok(Self { urls, source })
    }

    /// Makes a session of a test: all services at one address, and a token.
    #[cfg(test)]
    pub fn fixed(url: &Url, token: &str) -> Self {
        let urls = [(); 3].map(|()| Some(url.clone()));
        Self { urls, source: Source::Fixed(Secret::new(token)) }
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
        // A header cannot contain other characters, and the error of the HTTP client would repeat them.
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
        // Another process may have renewed the token, or logged out.
        let stored = Profile::read()?;
        if stored.urls != profile.urls {
            return Err(ended());
        }
        let used = std::mem::replace(profile.as_mut(), stored);
        if let Some(token) = replacement(&used, profile) {
            return Ok(token.access_token.clone());
        }
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

/// Returns the base URLs. Those of `cargo xtask up` apply only if none is set: a token must not go to another service.
fn base_urls(given: [Option<Url>; 3], stored: &[Option<Url>; 3]) -> Result<[Option<Url>; 3], Failure> {
    let mut urls = given;
    for (url, stored) in urls.iter_mut().zip(stored) {
        *url = url.take().or_else(|| stored.clone());
    }
    if urls.iter().all(Option::is_none) {
        urls = [8081, 8082, 8083].map(|port| Url::parse(&format!("http://127.0.0.1:{port}")).ok());
    }
    // The URL is not repeated: it may contain a password.
    let is_allowed = |url: &Url| is_secure(url) && url.username().is_empty() && url.password().is_none();
    if urls.iter().flatten().all(is_allowed) {
        return Ok(urls);
    }
    Err(Failure::Usage(
        "A base URL must begin with https://, or with http:// on this machine, and must not contain a user name or \
         password."
            .to_owned(),
    ))
}

/// Returns the token of a profile if it is valid and not the one that was used.
fn replacement<'a>(used: &Profile, stored: &'a Profile) -> Option<&'a Token> {
    let old = used.token.as_ref().map(|token| token.access_token.reveal());
    let token = stored.token.as_ref().filter(|token| Some(token.access_token.reveal()) != old)?;
    token.is_valid(Utc::now().timestamp() + RENEW_BEFORE).then_some(token)
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
    fn the_default_urls_apply_only_without_others() {
        let url = |text: &str| Some(Url::parse(text).unwrap());
        let none = [None, None, None];
        assert_eq!(base_urls(none.clone(), &none).unwrap()[2], url("http://127.0.0.1:8083"));
        let stored = [url("https://a.example"), None, None];
        assert_eq!(base_urls(none.clone(), &stored).unwrap(), stored);
        for refused in
            ["http://a.example", "https://u:p@a.example", "ftp://127.0.0.1", "http://127.0.0.1.example"]
        {
            assert!(base_urls([url(refused), None, None], &none).is_err(), "{refused}");
        }
        for local in ["http://localhost:1", "http://[::1]:1"] {
            assert!(base_urls([url(local), None, None], &none).is_ok(), "{local}");
        }
    }

    #[test]
    fn the_token_of_another_process_is_used_if_it_is_valid() {
        let profile = |token: &str, expires_at: i64| {
            let token = Token { access_token: Secret::new(token), expires_at: Some(expires_at) };
            Profile { token: Some(token), ..Profile::default() }
        };
        let used = profile("old", 0);
        assert!(replacement(&used, &profile("new", i64::MAX)).is_some());
        assert!(replacement(&used, &profile("new", 0)).is_none());
        assert!(replacement(&used, &profile("old", i64::MAX)).is_none());
        assert!(replacement(&used, &Profile::default()).is_none());
    }

    #[test]
    fn a_claim_is_read_from_a_token_without_verifying_it() {
        let payload = URL_SAFE_NO_PAD.encode(r#"{"org": "border-grain"}"#);
        assert_eq!(claim(&format!("e30.{payload}.x"), "org").as_deref(), Some("border-grain"));
        assert_eq!(claim("opaque", "org"), None);
    }
}

//! The session of a person: the tokens of the provider, in an encrypted cookie. The console itself stores nothing.

mod cookies;
mod person;
mod seal;

use std::io::{Read, Write};

use anyhow::Context;
use flate2::Compression;
use flate2::read::DeflateDecoder;
use flate2::write::DeflateEncoder;
use serde::{Deserialize, Serialize};

pub(crate) use cookies::{CookieStyle, Cookies, MAX_VALUE_BYTES};
pub(crate) use person::Person;
pub(crate) use seal::Keys;

/// Name of the cookie, and the purpose that it is sealed for.
const COOKIE: &str = "session";
/// The most bytes of a decompressed session.
const MAX_BYTES: u64 = 64 << 10;

/// The tokens of a person who is logged in. All times are seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Session {
    /// The token that the console calls the services with.
    #[serde(rename = "a")]
    pub(crate) access_token: String,
    /// Gets the next access token.
    #[serde(rename = "r", skip_serializing_if = "Option::is_none", default)]
    pub(crate) refresh_token: Option<String>,
    /// Names the person at the provider's log-out. Left out if the cookie would be too long.
    #[serde(rename = "i", skip_serializing_if = "Option::is_none", default)]
    pub(crate) id_token: Option<String>,
    /// When the access token expires.
    #[serde(rename = "x")]
    pub(crate) expires_at: u64,
    /// When the session ends, however often it is refreshed.
    #[serde(rename = "e")]
    pub(crate) ends_at: u64,
}

/// The tokens of the person do not fit into a cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the tokens of the identity provider are too long for a cookie")]
pub(crate) struct TooLong;

/// Reads and writes the cookies of sessions.
pub(crate) struct Sessions {
    pub(crate) keys: Keys,
    pub(crate) style: CookieStyle,
}

impl Sessions {
    /// Returns the session that a request's cookies contain, unless it has ended.
    pub(crate) fn find(&self, cookies: &Cookies, now: u64) -> Option<Session> {
        let sealed = self.style.joined(COOKIE, cookies)?;
        let bytes = inflate(&self.keys.open_sealed(COOKIE, &sealed)?).ok()?;
        serde_json::from_slice(&bytes).ok().filter(|session: &Session| session.ends_at > now)
    }

    /// Returns the headers that store a session.
    ///
    /// # Errors
    /// [`TooLong`], or the encryption failed.
    pub(crate) fn store(
        &self,
        session: &Session,
        cookies: &Cookies,
        now: u64,
    ) -> anyhow::Result<Vec<String>> {
        let seal = |session: &Session| self.keys.seal(COOKIE, &deflate(&serde_json::to_vec(session)?)?);
        let mut value = seal(session)?;
        if value.len() > MAX_VALUE_BYTES {
            value = seal(&Session { id_token: None, ..session.clone() })?;
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(TooLong.into());
        }
        Ok(self.style.set_split(COOKIE, &value, session.ends_at.saturating_sub(now), cookies))
    }

    /// Returns the headers that remove the session of a request.
    pub(crate) fn remove(&self, cookies: &Cookies) -> Vec<String> {
        let names = self.style.beginning_with(COOKIE, cookies);
        names.iter().map(|name| self.style.set(name, "", 0)).collect()
    }
}

/// Compresses: tokens repeat themselves, and a cookie must be short.
fn deflate(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(bytes)?;
    encoder.finish().context("cannot compress")
}

fn inflate(bytes: &[u8]) -> anyhow::Result<Vec<u8>> {
    let mut inflated = Vec::new();
    DeflateDecoder::new(bytes).take(MAX_BYTES).read_to_end(&mut inflated)?;
    Ok(inflated)
}

#[cfg(test)]
mod tests {
    use base64::Engine;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    fn token(bytes: usize) -> String {
        let mut random = vec![0; bytes * 3 / 4];
        aws_lc_rs::rand::fill(&mut random).unwrap();
        URL_SAFE_NO_PAD.encode(random)
    }

    fn sessions() -> Sessions {
        Sessions { keys: Keys::open(&[]).unwrap(), style: CookieStyle { is_secure: true } }
    }

    fn session(access: usize, id: usize) -> Session {
        Session {
            access_token: token(access),
            refresh_token: Some(token(400)),
            id_token: Some(token(id)),
            expires_at: 50,
            ends_at: 100,
        }
    }

    #[test]
    fn tokens_of_6_kb_fit_and_larger_ones_are_refused() {
        let (sessions, none) = (sessions(), Cookies::default());
        assert!(sessions.store(&session(6000, 1500), &none, 0).is_ok());
        let error = sessions.store(&session(8000, 10), &none, 0).unwrap_err();
        assert_eq!(error.downcast_ref(), Some(&TooLong));
    }

    #[test]
    fn a_session_ends() {
        let sessions = sessions();
        let stored = session(600, 600);
        let headers = sessions.store(&stored, &Cookies::default(), 0).unwrap();
        assert!(headers[0].contains("; Max-Age=100;"), "{headers:?}");
        let request = actix_web::test::TestRequest::default();
        let request = headers.iter().fold(request, |request, header| {
            request.append_header(("cookie", header.split(';').next().unwrap().to_owned()))
        });
        let cookies = Cookies::of(&request.to_http_request());
        assert_eq!(sessions.find(&cookies, 99).as_ref(), Some(&stored));
        assert_eq!(sessions.find(&cookies, 100), None);
        assert_eq!(sessions.remove(&cookies).len(), headers.len());
    }
}

//! A link, and its signature.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::Error;
use database::{Id, Timestamp};

use super::maker::Maker;
use super::model::{LinkKey, MAX_LINK_SECONDS};
use super::parameters::LinkParams;
use crate::files::images::Width;

/// The message for a link that was altered or has expired.
pub(in crate::files) const INVALID_LINK: &str = "This link is invalid or has expired: ask for a new one.";

/// What a link gives access to, and until when.
#[derive(Clone, Debug)]
pub(in crate::files) struct LinkTarget {
    /// The file.
    pub(in crate::files) id: Id,
    /// The width of a smaller image.
    pub(in crate::files) width: Option<Width>,
    /// Seconds since 1970.
    expires: i64,
    /// Who made the link. `None` for links of releases before 1.2, which are valid until they expire, at most seven
    /// days.
    pub(in crate::files) maker: Option<Maker>,
}

/// A link as a client sends it. Its signature is not verified yet.
#[derive(Debug)]
pub(in crate::files) struct SignedLink {
    /// What the link claims to give access to.
    pub(in crate::files) target: LinkTarget,
    /// The number of its key.
    pub(in crate::files) key: i64,
    signature: Vec<u8>,
}

impl LinkTarget {
    /// Creates a target that is valid for this many seconds.
    pub(in crate::files) fn new(id: Id, width: Option<Width>, seconds: i64, maker: Maker) -> Self {
        Self { id, width, expires: now() + seconds, maker: Some(maker) }
    }

    /// Returns the time when the link expires.
    pub(in crate::files) fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.expires * 1000).unwrap_or_else(Timestamp::now)
    }

    /// Returns the seconds for which the link is still valid.
    pub(in crate::files) fn seconds_left(&self) -> i64 {
        (self.expires - now()).max(0)
    }

    /// Returns the URL of the link.
    pub(in crate::files) fn url(&self, public_url: &str, key: &LinkKey) -> String {
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key.hmac(), self.message().as_bytes()));
        let width = self.width.map(|width| format!("width={width}&")).unwrap_or_default();
        let by = self.maker.as_ref().map(|maker| format!("by={}&", maker.0)).unwrap_or_default();
        let (id, expires, number) = (self.id, self.expires, key.number);
        format!(
            "{public_url}/v1/public/files/{id}?{width}expires={expires}&{by}key={number}&signature={signature}"
        )
    }

    /// Returns what is signed.
    fn message(&self) -> String {
        let width = self.width.map(|width| width.to_string()).unwrap_or_default();
        let by = self.maker.as_ref().map(|maker| format!("\nby {}", maker.0)).unwrap_or_default();
        format!("file {}\nwidth {width}\nexpires {}{by}", self.id, self.expires)
    }
}

impl SignedLink {
    /// Reads the parameters of a link. Refuses one that has expired, before the database is asked.
    ///
    /// # Errors
    /// 403 if a parameter is missing or is not as this service writes it, or if the link has expired.
    pub(in crate::files) fn parse(id: Id, width: Option<Width>, params: &LinkParams) -> Result<Self, Error> {
        let number = |text: &Option<String>| {
            let text = text.as_deref()?;
            let number = text.parse::<i64>().ok()?;
            (number.to_string() == text).then_some(number)
        };
        let parse = || {
            let expires = number(&params.expires)?;
            let signature = URL_SAFE_NO_PAD.decode(params.signature.as_deref()?).ok()?;
            let target = LinkTarget { id, width, expires, maker: params.by.clone().map(Maker) };
            Some(Self { target, key: number(&params.key)?, signature })
        };
        let link = parse().filter(|link| {
            let left = link.target.expires.saturating_sub(now());
            // A minute, because the clocks of replicas differ.
            left > 0 && left <= MAX_LINK_SECONDS + 60
        });
        link.ok_or(Error::Forbidden(INVALID_LINK))
    }

    /// Verifies the signature. `key` is the key that the link names, if it exists.
    ///
    /// # Errors
    /// 403 if the signature is wrong, or the key was replaced so long ago that it cannot have signed the link.
    pub(in crate::files) fn verify(&self, key: Option<&LinkKey>) -> Result<(), Error> {
        let verify = || {
            let key = key?;
            // So a key that was stolen and replaced is of no use after seven days.
            let last = key.replaced_at.map_or(i64::MAX, |at| at.millis() / 1000 + MAX_LINK_SECONDS + 60);
            let message = self.target.message();
            // Compares in constant time.
            hmac::verify(&key.hmac(), message.as_bytes(), &self.signature).ok()?;
            (self.target.expires <= last).then_some(())
        };
        verify().ok_or(Error::Forbidden(INVALID_LINK))
    }
}

/// Returns the seconds since 1970.
fn now() -> i64 {
    Timestamp::now().millis() / 1000
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: i64, replaced_at: Option<Timestamp>) -> LinkKey {
        LinkKey { number, secret: vec![7; 32], replaced_at }
    }

    /// Reads the parameters of a URL.
    fn parse(url: &str, id: Id, width: Option<Width>) -> Result<SignedLink, Error> {
        let url = url::Url::parse(url).unwrap();
        let value =
            |name: &str| url.query_pairs().find(|(key, _)| key == name).map(|(_, value)| value.into_owned());
        let params = LinkParams {
            expires: value("expires"),
            by: value("by"),
            key: value("key"),
            signature: value("signature"),
        };
        SignedLink::parse(id, width, &params)
    }

    #[test]
    fn a_signature_covers_id_width_expiry_and_maker() {
        let (id, width) = (Id::new(), Width::parse(320));
        let target = LinkTarget::new(id, width, 3600, Maker::everybody());
        let url = target.url("http://h", &key(3, None));
        let verify =
            |url: &str, id, width| parse(url, id, width).and_then(|link| link.verify(Some(&key(3, None))));
        assert!(verify(&url, id, width).is_ok());
        assert!(verify(&url, Id::new(), width).is_err());
        assert!(verify(&url, id, None).is_err());
        assert!(verify(&url, id, Width::parse(640)).is_err());
        let expires = target.expires.to_string();
        for (from, to) in [
            (expires.clone(), (target.expires + 1).to_string()),
            (expires.clone(), format!("+{expires}")),
            (expires.clone(), "soon".into()),
            ("by=everybody".into(), "by=admin-x".into()),
            ("by=everybody&".into(), String::new()),
            ("key=3".into(), "key=03".into()),
            ("&signature=".into(), "&signature=x".into()),
            ("&signature=".into(), "&other=".into()),
        ] {
            assert!(verify(&url.replace(&from, &to), id, width).is_err(), "{to}");
        }
        assert!(parse(&url, id, width).unwrap().verify(None).is_err());
    }

    #[test]
    fn links_of_the_previous_release_are_valid() {
        let id = Id::new();
        let target = LinkTarget { maker: None, ..LinkTarget::new(id, None, 3600, Maker::everybody()) };
        let url = target.url("http://h", &key(1, None));
        assert!(!url.contains("by="));
        assert!(parse(&url, id, None).unwrap().verify(Some(&key(1, None))).is_ok());
        assert!(parse(&format!("{url}&by=admin-x"), id, None).unwrap().verify(Some(&key(1, None))).is_err());
    }

    #[test]
    fn links_expire() {
        let id = Id::new();
        for (seconds, is_valid) in
            [(60, true), (0, false), (-60, false), (MAX_LINK_SECONDS, true), (MAX_LINK_SECONDS + 3600, false)]
        {
            let url = LinkTarget::new(id, None, seconds, Maker::everybody()).url("http://h", &key(1, None));
            assert_eq!(parse(&url, id, None).is_ok(), is_valid, "{seconds}");
        }
    }

    /// A key that was replaced cannot have signed links that expire more than seven days later.
    #[test]
    fn a_replaced_key_signs_nothing_new() {
        let id = Id::new();
        let ago = |days: i64| Timestamp::from_millis((now() - days * 24 * 3600) * 1000);
        let url = LinkTarget::new(id, None, 2 * 24 * 3600, Maker::everybody()).url("http://h", &key(1, None));
        let link = parse(&url, id, None).unwrap();
        assert!(link.verify(Some(&key(1, ago(4)))).is_ok());
        assert!(link.verify(Some(&key(1, ago(6)))).is_err());
    }
}

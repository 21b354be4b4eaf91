//! Signed links: downloads without a token (`docs/api/files.md`, "Links").
//!
//! A link states the file, the width, the time until which it is valid and who made it, and a signature over these by a
//! key that only this service has. The keys are in the database, so replicas share them, and each request reads the one
//! it needs. A replica therefore never signs with a key that another one has replaced, nor refuses a link of a new key.

use std::collections::BTreeMap;

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use common::wire::QueryText;
use common::{Caller, Error};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use url::form_urlencoded;
use utoipa::{IntoParams, PartialSchema, ToSchema};

use super::images::Width;
use super::model::{File, distinct_ids};
use crate::examples;
use crate::keys::{MAX_LINK_SECONDS, SigningKey};

/// The message for a link that was altered or has expired.
pub(crate) const INVALID_LINK: &str = "This link is invalid or has expired: ask for a new one.";
/// How long a link is valid by default, in seconds.
const DEFAULT_SECONDS: i64 = 3600;
/// The longest time that a link is valid: its seconds, a quarter by which they are rounded up, and a minute, because
/// the clocks of replicas differ.
const MAX_SECONDS_LEFT: i64 = MAX_LINK_SECONDS / 4 * 5 + 60;
/// Bytes of the hash that stands for a tenant.
const TAG_BYTES: usize = 12;
const ADMIN: &str = "admin-";
const EVERYBODY: &str = "everybody";

/// How long a link is valid, and what it downloads.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "expiresInSeconds": 3600 }))]
pub(crate) struct LinkForm {
    /// Seconds for which the link is valid, by default 3600: one hour.
    #[schema(minimum = 60, maximum = 604_800, nullable = false)]
    expires_in_seconds: Option<i64>,
    /// The width of a smaller image. Other files are linked as they are.
    #[schema(schema_with = Width::schema, required = false)]
    width: Option<Width>,
    /// Widths of smaller images, each of which gets a link in `urls`.
    #[schema(schema_with = Width::list_schema, required = false)]
    widths: Vec<Width>,
}

/// Files to link, how long the links are valid, and what they download.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[schema(example = json!({ "ids": [examples::FILE], "expiresInSeconds": 3600 }))]
pub(crate) struct LinksForm {
    /// Ids of files. Texts that are not UUIDs are ignored.
    #[serde(default)]
    #[schema(required = true, min_items = 1, max_items = 50)]
    ids: Vec<QueryText>,
    #[serde(flatten)]
    link: LinkForm,
}

impl LinkForm {
    /// Returns a form for links with these widths that are valid for this many seconds.
    pub(crate) fn new(seconds: i64, width: Option<Width>, widths: Vec<Width>) -> Self {
        Self { expires_in_seconds: Some(seconds), width, widths }
    }

    /// Returns a link to a file.
    pub(crate) fn sign(&self, id: Id, maker: &Maker, public_url: &str, key: &SigningKey) -> Link {
        let seconds = self.expires_in_seconds.unwrap_or(DEFAULT_SECONDS);
        let target = |width| LinkTarget::new(id, width, seconds, maker.clone());
        let urls =
            self.widths.iter().map(|width| (width.pixels(), target(Some(*width)).url(public_url, key)));
        let target = target(self.width);
        Link { url: target.url(public_url, key), urls: urls.collect(), expires_at: target.expires_at() }
    }

    /// Returns a link to each of these files.
    pub(crate) fn sign_all(
        &self,
        ids: &[Id],
        maker: &Maker,
        public_url: &str,
        key: &SigningKey,
    ) -> Vec<FileLink> {
        let link = |id: &Id| FileLink { id: *id, link: self.sign(*id, maker, public_url, key) };
        ids.iter().map(link).collect()
    }
}

impl LinksForm {
    /// Returns the valid ids without duplicates.
    pub(crate) fn ids(&self) -> Vec<Id> {
        distinct_ids(&self.ids)
    }

    /// Returns a link to each of these files.
    pub(crate) fn sign(
        &self,
        ids: &[Id],
        maker: &Maker,
        public_url: &str,
        key: &SigningKey,
    ) -> Vec<FileLink> {
        self.link.sign_all(ids, maker, public_url, key)
    }
}

/// The parameters of a link that its creation wrote, besides `width`. All of them are texts here, because a link that
/// was changed is 403.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct LinkParams {
    /// When the link expires, in seconds since 1970.
    pub(crate) expires: Option<String>,
    /// Who made the link. Absent from links of earlier releases.
    pub(crate) by: Option<String>,
    /// The number of the key that signed the link.
    pub(crate) key: Option<String>,
    /// The signature.
    pub(crate) signature: Option<String>,
}

/// A link to a file.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Link {
    /// The absolute URL of a download that needs no token. If the request has no `width`, `&width=` with 160, 320, 640
    /// or 1280 may be added.
    url: String,
    /// By width in pixels: the URL of the smaller image. Only with `widths`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    #[schema(required = false)]
    urls: BTreeMap<u32, String>,
    /// When the link expires.
    #[serde(rename = "expiresAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    expires_at: Timestamp,
}

/// A link to one of several files.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FileLink {
    /// The file's id.
    #[schema(value_type = String, format = Uuid)]
    id: Id,
    /// The link.
    #[serde(flatten)]
    link: Link,
}

/// What a link gives access to, and until when.
#[derive(Clone, Debug)]
pub(crate) struct LinkTarget {
    /// The file.
    pub(crate) id: Id,
    /// The width of a smaller image.
    pub(crate) width: Option<Width>,
    /// Seconds since 1970.
    expires: i64,
    /// Who made the link. `None` for links of releases before 1.2, which are valid until they expire, at most seven
    /// days.
    pub(crate) maker: Option<Maker>,
}

/// A link as a client sends it. Its signature is not verified yet.
#[derive(Debug)]
pub(crate) struct SignedLink {
    /// What the link claims to give access to.
    pub(crate) target: LinkTarget,
    /// The number of its key.
    pub(crate) key: i64,
    signature: Vec<u8>,
}

impl LinkTarget {
    /// Creates a target that is valid for this many seconds, rounded up to a multiple of a quarter of them since 1970:
    /// equal requests get equal URLs meanwhile.
    pub(crate) fn new(id: Id, width: Option<Width>, seconds: i64, maker: Maker) -> Self {
        let quarter = (seconds + 3) / 4;
        let quarters = (now() + seconds + quarter - 1) / quarter.max(1);
        Self { id, width, expires: quarters * quarter, maker: Some(maker) }
    }

    /// Returns the time when the link expires.
    pub(crate) fn expires_at(&self) -> Timestamp {
        Timestamp::from_millis(self.expires * 1000).unwrap_or_else(Timestamp::now)
    }

    /// Returns the seconds for which the link is still valid.
    pub(crate) fn seconds_left(&self) -> i64 {
        (self.expires - now()).max(0)
    }

    /// Returns the URL of the link.
    pub(crate) fn url(&self, public_url: &str, key: &SigningKey) -> String {
        let signature = URL_SAFE_NO_PAD.encode(hmac::sign(&key.hmac(), self.message(self.width).as_bytes()));
        let width = self.width.map(|width| format!("width={width}&")).unwrap_or_default();
        let by = self.maker.as_ref().map(|maker| format!("by={}&", maker.0)).unwrap_or_default();
        let (id, expires, number) = (self.id, self.expires, key.number);
        format!(
            "{public_url}/v1/public/files/{id}?{width}expires={expires}&{by}key={number}&signature={signature}"
        )
    }

    /// Returns what is signed for a width.
    fn message(&self, width: Option<Width>) -> String {
        let width = width.map(|width| width.to_string()).unwrap_or_default();
        let by = self.maker.as_ref().map(|maker| format!("\nby {}", maker.0)).unwrap_or_default();
        format!("file {}\nwidth {width}\nexpires {}{by}", self.id, self.expires)
    }
}

/// Returns true if a query has a parameter of a link more than once.
pub(crate) fn repeats_parameter(query: &str) -> bool {
    let names = || form_urlencoded::parse(query.as_bytes()).map(|(name, _)| name);
    ["expires", "by", "key", "signature", "width"]
        .iter()
        .any(|known| names().filter(|name| name == known).count() > 1)
}

impl SignedLink {
    /// Reads the parameters of a link. Refuses one that has expired, before the database is asked.
    ///
    /// # Errors
    /// 403 if a parameter is missing or is not as this service writes it, or if the link has expired.
    pub(crate) fn parse(id: Id, width: Option<Width>, params: &LinkParams) -> Result<Self, Error> {
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
            left > 0 && left <= MAX_SECONDS_LEFT
        });
        link.ok_or(Error::Forbidden(INVALID_LINK))
    }

    /// Verifies the signature. `key` is the key that the link names, if it exists.
    ///
    /// # Errors
    /// 403 if the signature is wrong, or the key was replaced so long ago that it cannot have signed the link.
    pub(crate) fn verify(&self, key: Option<&SigningKey>) -> Result<(), Error> {
        let verify = || {
            let key = key?;
            // So a key that was stolen and replaced is of no use after nine days.
            let last = key.replaced_at.map_or(i64::MAX, |at| at.millis() / 1000 + MAX_SECONDS_LEFT);
            let covers = |width| {
                // Compares in constant time.
                hmac::verify(&key.hmac(), self.target.message(width).as_bytes(), &self.signature).is_ok()
            };
            // A link without a width takes any.
            let is_signed = covers(self.target.width) || self.target.width.is_some() && covers(None);
            (is_signed && self.target.expires <= last).then_some(())
        };
        verify().ok_or(Error::Forbidden(INVALID_LINK))
    }
}

/// Returns the seconds since 1970.
fn now() -> i64 {
    Timestamp::now().millis() / 1000
}

/// Who made a link, as the link states it. A link shows the hash of a tenant, because whoever gets it need not know the
/// ids of its maker.
#[derive(Clone, Debug)]
pub(crate) struct Maker(String);

impl Maker {
    /// Returns the maker of the links of a caller.
    pub(crate) fn of(caller: &Caller) -> Self {
        let tag = tenant_tag(&caller.tenant());
        Self(if caller.admin { format!("{ADMIN}{tag}") } else { tag })
    }

    /// Returns the maker of links to images that are shared with everybody.
    pub(crate) fn everybody() -> Self {
        Self(EVERYBODY.to_owned())
    }

    /// Returns true if the maker may read the file. `admin` may read all files, and the role is not checked again.
    pub(crate) fn may_read(&self, file: &File) -> bool {
        if self.0.starts_with(ADMIN) {
            return true;
        }
        if self.0 == EVERYBODY {
            return file.organisations.includes_everybody();
        }
        file.is_public() || file.readers().any(|tenant| tenant_tag(&tenant) == self.0)
    }

    /// Returns what stands for the tenant whose limits a download counts against: that of the maker.
    pub(crate) fn tenant(&self) -> Option<&str> {
        (self.0 != EVERYBODY).then(|| self.0.strip_prefix(ADMIN).unwrap_or(&self.0))
    }
}

/// Returns what stands for a [tenant](Caller::tenant) in links, and in the limits on smaller images.
pub(crate) fn tenant_tag(tenant: &str) -> String {
    URL_SAFE_NO_PAD.encode(&Sha256::digest(format!("drover tenant {tenant}"))[..TAG_BYTES])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(number: i64, replaced_at: Option<Timestamp>) -> SigningKey {
        SigningKey { number, secret: vec![7; 32], replaced_at }
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
        let without = LinkTarget::new(id, None, 3600, Maker::everybody()).url("http://h", &key(3, None));
        assert!([None, width, Width::parse(640)].iter().all(|width| verify(&without, id, *width).is_ok()));
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
            [(60, true), (0, false), (-60, false), (MAX_LINK_SECONDS, true), (2 * MAX_LINK_SECONDS, false)]
        {
            let url = LinkTarget::new(id, None, seconds, Maker::everybody()).url("http://h", &key(1, None));
            assert_eq!(parse(&url, id, None).is_ok(), is_valid, "{seconds}");
        }
    }

    #[test]
    fn expiry_is_rounded_up_to_a_quarter() {
        for seconds in [60, 61, 62, 3600, MAX_LINK_SECONDS] {
            let target = LinkTarget::new(Id::new(), None, seconds, Maker::everybody());
            let (left, quarter) = (target.expires - now(), (seconds + 3) / 4);
            assert!(
                target.expires % quarter == 0 && left >= seconds - 1 && left <= seconds + quarter,
                "{left}"
            );
        }
    }

    /// A key that was replaced cannot have signed links that expire much more than seven days later.
    #[test]
    fn a_replaced_key_signs_nothing_new() {
        let id = Id::new();
        let ago = |days: i64| Timestamp::from_millis((now() - days * 24 * 3600) * 1000);
        let url = LinkTarget::new(id, None, 2 * 24 * 3600, Maker::everybody()).url("http://h", &key(1, None));
        let link = parse(&url, id, None).unwrap();
        assert!(link.verify(Some(&key(1, ago(4)))).is_ok());
        assert!(link.verify(Some(&key(1, ago(8)))).is_err());
    }
}

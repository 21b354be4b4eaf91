//! Revisions as entity tags, and the conditions that requests state on them (docs/api/conventions.md, "Revisions").

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::http::header::{self, EntityTag, IfMatch, IfNoneMatch};
use actix_web::{FromRequest, HttpMessage, HttpRequest, HttpResponse, Responder};

use crate::{Error, JsonResponse};

/// The revision of a new resource, and of one whose document does not show it yet.
pub fn first_revision() -> i64 {
    1
}

/// Returns the entity tag of a revision.
fn tag(revision: i64) -> EntityTag {
    EntityTag::new_strong(revision.to_string())
}

/// Returns whether a tag names a revision. Proxies that compress responses make their tags weak (`W/"3"`) or add the
/// encoding (`"3-gzip"`, `"3;br"`), and clients send these tags back.
fn names(known: &EntityTag, revision: i64) -> bool {
    let number = known.tag().split_once(['-', ';']).map_or(known.tag(), |(number, _)| number);
    number == revision.to_string()
}

/// The `If-Match` header of a request that changes a resource (RFC 9110, section 13.1.1).
#[derive(Clone, Debug, Default)]
pub struct Precondition(Option<IfMatch>);

impl Precondition {
    /// Checks the condition against the current revision of the resource.
    ///
    /// # Errors
    /// 412 with `body.revision` if the header names other revisions or no tag at all.
    pub fn check(&self, revision: i64) -> Result<(), Error> {
        let matches = match &self.0 {
            None | Some(IfMatch::Any) => true,
            Some(IfMatch::Items(tags)) => tags.iter().any(|known| names(known, revision)),
        };
        if matches { Ok(()) } else { Err(Error::PreconditionFailed(revision)) }
    }
}

impl FromRequest for Precondition {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let is_sent = request.headers().contains_key(header::IF_MATCH);
        // A header without a readable tag matches nothing.
        let tags = || request.get_header().unwrap_or(IfMatch::Items(Vec::new()));
        ready(Ok(Self(is_sent.then(tags))))
    }
}

/// The document of a resource with its revision as `ETag`, or 304 if `If-None-Match` names it.
#[derive(Debug)]
pub struct WithEtag {
    /// JSON text.
    pub document: String,
    /// The number of the revision, from 1.
    pub revision: i64,
}

impl Responder for WithEtag {
    type Body = actix_web::body::BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let tag = tag(self.revision);
        let is_known = match request.get_header() {
            Some(IfNoneMatch::Any) => true,
            Some(IfNoneMatch::Items(tags)) => tags.iter().any(|known| names(known, self.revision)),
            None => false,
        };
        if is_known {
            return HttpResponse::NotModified().insert_header(header::ETag(tag)).finish();
        }
        JsonResponse::raw(self.document).revision(self.revision).respond_to(request)
    }
}

impl JsonResponse {
    /// Adds the revision of the resource as `ETag`.
    #[must_use]
    pub fn revision(self, revision: i64) -> Self {
        self.header("ETag", tag(revision).to_string())
    }
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;

    use super::*;

    fn is_met(value: &str, revision: i64) -> bool {
        let request = TestRequest::default().insert_header((header::IF_MATCH, value)).to_http_request();
        let condition = Precondition::from_request(&request, &mut Payload::None).into_inner().unwrap();
        condition.check(revision).is_ok()
    }

    #[test]
    fn if_match_names_revisions_as_proxies_write_them() {
        for met in ["\"7\"", "*", "\"1\", \"7\"", "W/\"7\"", "\"7-gzip\"", "W/\"7;br\"", "W/\"7--gzip\""] {
            assert!(is_met(met, 7), "{met}");
        }
        for failed in ["\"6\"", "W/\"6\"", "7", "", "\"77\"", "\"-7\"", "\"gzip-7\"", "\"\"", "W/*"] {
            assert!(!is_met(failed, 7), "{failed}");
        }
        let request = TestRequest::default().to_http_request();
        let absent = Precondition::from_request(&request, &mut Payload::None).into_inner().unwrap();
        absent.check(7).unwrap();
    }

    #[test]
    fn if_none_match_names_revisions_as_proxies_write_them() {
        let status = |value: &str| {
            let request =
                TestRequest::default().insert_header((header::IF_NONE_MATCH, value)).to_http_request();
            let response = WithEtag { document: "{}".into(), revision: 7 }.respond_to(&request);
            assert_eq!(response.headers().get(header::ETAG).unwrap(), "\"7\"");
            response.status().as_u16()
        };
        for known in ["\"7\"", "W/\"7\"", "*", "\"1\", W/\"7\"", "\"7-gzip\""] {
            assert_eq!(status(known), 304, "{known}");
        }
        for other in ["\"6\"", "7", "", "\"1\", \"2\""] {
            assert_eq!(status(other), 200, "{other}");
        }
    }
}

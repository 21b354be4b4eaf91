//! Listings.

use serde_json::json;
use stack::http::Body;

use super::Write;
use crate::crash::client::{Caller, LIVESTOCK, Request};
use crate::crash::fixture::ListingFixture;
use crate::ledger::WriteState;

/// A listing and the writes that changed it.
#[derive(Debug)]
pub struct ListingRecord {
    pub fixture: ListingFixture,
    pub create: Write,
    /// Changes of its status in order, by the new status.
    pub transitions: Vec<(&'static str, WriteState)>,
    /// It was put on the wishlist.
    pub wish: Option<WriteState>,
    /// It was reported by the partner.
    pub report: Option<WriteState>,
}

impl ListingRecord {
    /// The request that creates it.
    pub fn request(&self) -> Request<'_> {
        let ListingFixture { category, body, .. } = &self.fixture;
        let path = format!("/v1/listings/{category}");
        Request::post(LIVESTOCK, path, self.create.key.as_deref(), Body::Json(body.clone()))
    }

    /// The acknowledged status, and the one that a transition with an unknown outcome may have led to.
    pub fn status(&self) -> (&'static str, Option<&'static str>) {
        let (mut acknowledged, mut possible) = (self.fixture.status(), None);
        for (status, state) in &self.transitions {
            match state {
                WriteState::Acknowledged(_) => acknowledged = status,
                WriteState::Unknown => possible = Some(*status),
                WriteState::Refused => {}
            }
        }
        (acknowledged, possible)
    }

    /// The request that publishes or closes a listing.
    pub fn transition_request(id: &str, status: &str) -> Request<'static> {
        let (verb, body) = match status {
            "active" => ("publish", Body::Empty),
            _ => ("close", Body::Json(json!({"status": status}))),
        };
        Request::post(LIVESTOCK, format!("/v1/listings/{id}/{verb}"), None, body)
    }

    /// The request that puts a listing on the wishlist.
    pub fn wish_request(id: &str) -> Request<'static> {
        let path = format!("/v1/listings/{id}/wishlist");
        Request { method: "PUT", ..Request::post(LIVESTOCK, path, None, Body::Empty) }
    }

    /// The request by which the partner reports this listing. Its message is the marker of the listing.
    pub fn report_request(&self, id: &str) -> Request<'static> {
        let body = Body::Json(json!({"reason": "other", "message": self.fixture.marker}));
        let path = format!("/v1/listings/{id}/report");
        Request { caller: Caller::Partner, ..Request::post(LIVESTOCK, path, None, body) }
    }
}

//! Ids in paths.

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use database::Id;

use crate::Error;

/// An id in the path. One that is no UUID names nothing, which is found out where the thing is looked up: what
/// is wrong with the rest of the request comes first (contract, section 6, "Order of checks").
pub struct PathId(Option<Id>);

impl PathId {
    /// The id, or 404.
    pub fn id(&self) -> Result<Id, Error> {
        self.0.ok_or(Error::NotFound)
    }
}

impl FromRequest for PathId {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.match_info().get("id").and_then(Id::parse))))
    }
}

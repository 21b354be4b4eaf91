//! Requests to the public operations, which need no token.

use std::future::{Ready, ready};
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use secrecy::SecretString;

use super::Caller;
use crate::Error;
use crate::openapi::unknown_parameters;
use crate::telemetry::context::RequestContext;

/// Whoever sends a request to a public operation, in the form of a caller: without an id, an organisation, a role and a
/// token. A token of the request is not read.
///
/// All visitors are one tenant.
#[derive(Clone, Debug)]
pub struct Visitor(Caller);

impl Visitor {
    fn new(request: RequestContext) -> Self {
        Self(Caller {
            user_id: String::new(),
            user_name: String::new(),
            organisation: None,
            admin: false,
            roles: Vec::new(),
            is_service_account: false,
            expires_at: u64::MAX,
            token: SecretString::default(),
            request,
        })
    }
}

impl Deref for Visitor {
    type Target = Caller;
    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl FromRequest for Visitor {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let context = request.extensions().get::<RequestContext>().cloned();
        let visitor = Self::new(context.unwrap_or_else(RequestContext::without_request));
        ready(unknown_parameters::check_without_extractor(request).map(|()| visitor).map_err(Error::from))
    }
}

//! Requirements on the caller, stated by the type of a handler's argument.

use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use secrecy::SecretString;

use super::Caller;
use crate::Error;
use crate::openapi::unknown_parameters;
use crate::telemetry::context::RequestContext;

/// A requirement on the caller that is checked before the parameters and the body of the request.
pub trait Policy: 'static {
    /// The message of the 403 for a caller who does not meet the requirement.
    const DENIED_MESSAGE: &'static str;
    /// Returns true if the caller meets the requirement.
    fn allows(caller: &Caller) -> bool;
}

/// Requires the role `admin`.
pub struct Admin;

impl Policy for Admin {
    const DENIED_MESSAGE: &'static str = "This needs the role admin.";
    fn allows(caller: &Caller) -> bool {
        caller.admin
    }
}

/// Requires an organisation.
pub struct Member;

impl Policy for Member {
    const DENIED_MESSAGE: &'static str = "This needs a token that names an organisation.";
    fn allows(caller: &Caller) -> bool {
        caller.organisation.is_some()
    }
}

/// Requires an organisation, or the role `admin`, which acts for every organisation.
pub struct MemberOrAdmin;

impl Policy for MemberOrAdmin {
    const DENIED_MESSAGE: &'static str = Member::DENIED_MESSAGE;
    fn allows(caller: &Caller) -> bool {
        caller.admin || Member::allows(caller)
    }
}

/// A caller who satisfies a policy. A handler with this argument refuses other callers with 403.
pub struct Authorized<P>(Caller, PhantomData<P>);

impl<P> Deref for Authorized<P> {
    type Target = Caller;
    fn deref(&self) -> &Caller {
        &self.0
    }
}

impl<P: Policy> FromRequest for Authorized<P> {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Caller::of(request).and_then(|caller| {
            if !P::allows(&caller) {
                return Err(Error::Forbidden(P::DENIED_MESSAGE));
            }
            unknown_parameters::check_without_extractor(request)?;
            Ok(Self(caller, PhantomData))
        }))
    }
}

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

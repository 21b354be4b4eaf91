//! Who is calling: bearer tokens, and what a handler's signature says about who may call it.

mod keys;
mod strict;
mod token;
mod token_cache;

use std::future::{Ready, ready};
use std::marker::PhantomData;
use std::ops::Deref;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use secrecy::SecretString;

pub use token::Verifier;

use crate::Error;
use crate::middleware::context::RequestContext;
use crate::wire::without_invisible;

/// The organisation that a caller acts for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Organisation {
    /// Claim `org`.
    pub id: String,
    /// Claim `orgName`.
    pub name: Option<String>,
}

impl Organisation {
    /// The name, or the id without invisible characters where the token has none.
    pub fn name_or_id(&self) -> String {
        let visible_id = || Some(without_invisible(&self.id)).filter(|id| !id.trim().is_empty());
        self.name.clone().or_else(visible_id).unwrap_or_else(|| self.id.clone())
    }
}

/// Whoever holds the valid token of this request. As a handler's argument: any caller may.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Claim `sub`.
    pub user_id: String,
    /// Claim `name`; the id where the token has none.
    pub user_name: String,
    /// Claims `org` and `orgName`; a caller without acts for nobody.
    pub organisation: Option<Organisation>,
    /// Claim `roles` has `admin`.
    pub admin: bool,
    /// The credential itself, passed on to other services so that they see no more than this caller may.
    pub token: SecretString,
    /// The request that carries it.
    pub request: RequestContext,
}

impl Caller {
    /// True when the caller acts for this organisation.
    pub fn acts_for(&self, organisation_id: &str) -> bool {
        self.organisation.as_ref().is_some_and(|o| o.id == organisation_id)
    }

    /// The name that the token gives this organisation, if the caller acts for it.
    pub fn own_name(&self, organisation_id: &str) -> Option<&str> {
        self.organisation.as_ref().filter(|o| o.id == organisation_id)?.name.as_deref()
    }

    /// Whose requests these are: those of an organisation, or of a user without one. Tenants take turns, and limits and
    /// failures are counted for each.
    pub fn tenant(&self) -> String {
        match &self.organisation {
            Some(organisation) => format!("organisation {}", organisation.id),
            None => format!("user {}", self.user_id),
        }
    }

    /// The id of the caller's organisation, empty (which no organisation has) for a caller without.
    pub fn organisation_id(&self) -> &str {
        self.organisation.as_ref().map_or("", |o| &o.id)
    }
}

/// What the authentication middleware found; the reason when there was a token that is not good.
#[derive(Clone)]
pub(crate) struct Authentication(pub(crate) Result<Caller, AuthError>);

/// Why there is no caller.
#[derive(Clone, Copy)]
pub(crate) enum AuthError {
    NoToken,
    BadToken(&'static str),
    /// The keys could not be fetched, so nothing can be said of the token.
    NoKeys,
}

impl FromRequest for Caller {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let found = request.extensions().get::<Authentication>().cloned();
        ready(match found {
            Some(Authentication(Ok(caller))) => Ok(caller),
            Some(Authentication(Err(AuthError::BadToken(why)))) => Err(Error::Unauthenticated(Some(why))),
            Some(Authentication(Err(AuthError::NoKeys))) => {
                Err(Error::Unavailable(anyhow::anyhow!("no verification keys"), "The identity provider"))
            }
            _ => Err(Error::Unauthenticated(None)),
        })
    }
}

/// A rule about the caller alone, checked before the request's parameters and body.
pub trait Policy: 'static {
    /// What to say to whoever does not meet it.
    const DENIED_MESSAGE: &'static str;
    /// True when the caller meets it.
    fn allows(caller: &Caller) -> bool;
}

/// The role `admin`.
pub struct Admin;

impl Policy for Admin {
    const DENIED_MESSAGE: &'static str = "This needs the role admin.";
    fn allows(caller: &Caller) -> bool {
        caller.admin
    }
}

/// An organisation to act for.
pub struct Member;

impl Policy for Member {
    const DENIED_MESSAGE: &'static str = "This needs a token that names an organisation.";
    fn allows(caller: &Caller) -> bool {
        caller.organisation.is_some()
    }
}

/// An organisation to act for, or the role `admin`, which acts for any.
pub struct MemberOrAdmin;

impl Policy for MemberOrAdmin {
    const DENIED_MESSAGE: &'static str = Member::DENIED_MESSAGE;
    fn allows(caller: &Caller) -> bool {
        caller.admin || Member::allows(caller)
    }
}

/// A caller who meets a policy. As a handler's argument: only such a caller may.
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

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let caller = Caller::from_request(request, payload).into_inner();
        ready(caller.and_then(|caller| {
            if P::allows(&caller) {
                Ok(Self(caller, PhantomData))
            } else {
                Err(Error::Forbidden(P::DENIED_MESSAGE))
            }
        }))
    }
}

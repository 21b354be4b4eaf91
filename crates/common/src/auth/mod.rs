//! Authentication by bearer tokens, and authorization by the arguments of a handler (docs/api/authentication.md).

mod identity;
mod keys;
mod policy;
mod settings;
mod strict;
mod token;
mod token_cache;

use std::future::{Ready, ready};
use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use jsonwebtoken::get_current_timestamp;
use secrecy::SecretString;

pub(crate) use identity::ERASED_PREFIX;
pub use identity::{Organisation, Role, SERVICE_ACCOUNT_PREFIX};
pub use keys::{IssuerKeys, KeyLoader};
pub use policy::{Admin, Authorized, Member, MemberOrAdmin, Policy, Visitor};
pub use settings::is_trusted;
pub(crate) use token::StatedKey;
pub use token::Verifier;

use crate::Error;
use crate::openapi::unknown_parameters;
use crate::telemetry::context::RequestContext;

/// The caller of a request, as a valid token names them. A handler with this argument accepts every caller.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Claim `sub`.
    pub user_id: String,
    /// Claim `name`; the id if the token has no name.
    pub user_name: String,
    /// Claims `org` and `orgName`; `None` if the caller acts for no organisation.
    pub organisation: Option<Organisation>,
    /// True if claim `roles` contains `admin`.
    pub admin: bool,
    /// The roles that restrict the caller. None restricts `admin`.
    pub roles: Vec<Role>,
    /// True for tokens that the system service has issued to a service account.
    pub is_service_account: bool,
    /// When the token expires, in seconds since 1970.
    pub expires_at: u64,
    /// The token, which calls to other services pass on, so that these see no more than the caller may.
    pub token: SecretString,
    /// The request that carries the token.
    pub request: RequestContext,
}

impl Caller {
    /// Returns a user of the demo data: id, name, organisation and its name. Has no token.
    pub fn sample([id, name, organisation, organisation_name]: [&str; 4]) -> Self {
        Self {
            user_id: id.to_owned(),
            user_name: name.to_owned(),
            organisation: Some(Organisation {
                id: organisation.to_owned(),
                name: Some(organisation_name.to_owned()),
            }),
            admin: false,
            roles: Vec::new(),
            is_service_account: false,
            expires_at: u64::MAX,
            token: SecretString::default(),
            request: RequestContext::without_request(),
        }
    }

    /// Returns the time until the token expires.
    pub fn time_left(&self) -> Duration {
        Duration::from_secs(self.expires_at.saturating_sub(get_current_timestamp()))
    }

    /// Returns true if the caller acts for this organisation.
    pub fn acts_for(&self, organisation_id: &str) -> bool {
        self.organisation.as_ref().is_some_and(|own| own.id == organisation_id)
    }

    /// Returns the name that the token gives this organisation, if the caller acts for it.
    pub fn own_organisation_name(&self, organisation_id: &str) -> Option<&str> {
        self.organisation.as_ref().filter(|own| own.id == organisation_id)?.name.as_deref()
    }

    /// Returns the key of the caller's tenant: the organisation, or the user if there is none. Limits, failures and
    /// queues are kept for each tenant separately.
    pub fn tenant(&self) -> String {
        match &self.organisation {
            Some(organisation) => format!("organisation {}", organisation.id),
            None => format!("user {}", self.user_id),
        }
    }

    /// Returns the id of the caller's organisation, or an empty text, which no organisation has as its id.
    pub fn organisation_id_or_empty(&self) -> &str {
        self.organisation.as_ref().map_or("", |own| &own.id)
    }
}

/// A function of a service that is called with the caller of each request (app data). It must not block.
pub struct CallerObserver(Box<dyn Fn(&Caller) + Send + Sync>);

impl CallerObserver {
    /// Creates an observer.
    pub fn new(observe: impl Fn(&Caller) + Send + Sync + 'static) -> Self {
        Self(Box::new(observe))
    }

    /// Calls the function.
    pub(crate) fn observe(&self, caller: &Caller) {
        (self.0)(caller);
    }
}

/// The result of authentication, which the middleware stores in the extensions of the request.
#[derive(Clone)]
pub(crate) struct Authentication(pub(crate) Result<Caller, AuthError>);

/// The reason why a request has no caller.
#[derive(Clone, Copy)]
pub(crate) enum AuthError {
    /// The request has no token.
    NoToken,
    /// The token is invalid; the reason.
    BadToken(&'static str),
    /// There are no keys to verify the token with, because their source could not be read; who publishes them.
    NoKeys(&'static str),
}

impl From<AuthError> for Error {
    fn from(error: AuthError) -> Self {
        match error {
            AuthError::NoToken => Self::Unauthenticated(None),
            AuthError::BadToken(reason) => Self::Unauthenticated(Some(reason)),
            AuthError::NoKeys(source) => Self::Unavailable(anyhow::anyhow!("no verification keys"), source),
        }
    }
}

impl FromRequest for Caller {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let checked = Self::of(request).and_then(|caller| {
            unknown_parameters::check_without_extractor(request)?;
            Ok(caller)
        });
        ready(checked)
    }
}

impl Caller {
    /// Returns the caller of a request.
    ///
    /// # Errors
    /// 401 without a valid token.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Error> {
        let authentication = request.extensions().get::<Authentication>().cloned();
        let result = authentication.map_or(Err(AuthError::NoToken), |authentication| authentication.0);
        result.map_err(Error::from)
    }
}

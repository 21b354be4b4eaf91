//! The person who sends a request, and why a page of the person cannot be shown.

use actix_web::ResponseError;
use actix_web::http::StatusCode;
use common::RequestContext;

use crate::api::{Api, Authority, CallError, Caller};
use crate::fields::Fields;
use crate::session::{Keys, Person, Session, TooLong};

/// A person who is logged in.
pub(crate) struct User {
    pub(crate) person: Person,
    pub(crate) session: Session,
    pub(crate) context: RequestContext,
    /// Proves that a form was made for this person.
    pub(crate) form_token: String,
    /// Whether the console accepts development tokens, which every page says.
    pub(crate) is_development: bool,
}

impl User {
    /// Returns the services as the person may use them.
    pub(crate) fn caller<'a>(&'a self, api: &'a Api) -> Caller<'a> {
        Caller { api, authority: Authority::Token(&self.session.access_token), context: &self.context }
    }

    /// Returns true for people without an organisation, who see the loads that were sent to them.
    pub(crate) fn is_driver(&self) -> bool {
        self.person.organisation_id.is_none() && !self.person.is_admin
    }

    /// Returns true if this is the id of the person.
    pub(crate) fn wrote(&self, user_id: Option<&str>) -> bool {
        user_id == Some(&*self.person.id)
    }

    /// Returns true if this is the token of a form that was made for the person.
    pub(crate) fn is_form_token(&self, keys: &Keys, token: &str) -> bool {
        keys.is_signature(&self.person.form_owner(), token)
    }
}

/// Why a page cannot be shown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// Nobody is logged in. The path to go back to afterwards.
    #[error("nobody is logged in")]
    LoggedOut { to: String },
    /// The tokens have expired, and another request of the browser may have refreshed them. The path of the request.
    #[error("the request must be sent again with the present cookies")]
    Retry { to: String },
    /// Nobody is logged in any more who sends a form. Its path and fields, so that nothing is lost.
    #[error("nobody is logged in who sends the form")]
    LoggedOutForm { action: String, fields: Fields },
    /// A service is away, and may have recorded the form or not. Its path and fields, so that nothing is lost.
    #[error("a service is away that the form needs")]
    AwayForm { action: String, fields: Fields },
    /// A form of another site, or without an origin.
    #[error("the form comes from another site")]
    ForeignOrigin,
    /// A form that was made for another person or organisation.
    #[error("the form was made for somebody else")]
    ForeignForm,
    /// There is no such page.
    #[error("there is no such page")]
    NotFound,
    /// The body of a form cannot be read.
    #[error("the form cannot be read")]
    UnreadableForm,
    /// The log-in did not succeed; what to do.
    #[error("the log-in failed: {0}")]
    LogIn(&'static str),
    /// A service refused the request or is away.
    #[error(transparent)]
    Call(#[from] CallError),
    /// A defect, or the provider is away.
    #[error("{0:#}")]
    Internal(#[from] anyhow::Error),
}

impl Failure {
    /// Keeps the fields of a form that was not answered, or not accepted because nobody is logged in any more.
    pub(crate) fn keeping(self, action: &str, fields: Fields) -> Self {
        let action = action.to_owned();
        match self {
            Self::Call(CallError::LoggedOut) => Self::LoggedOutForm { action, fields },
            Self::Call(CallError::Away { .. }) => Self::AwayForm { action, fields },
            failure => failure,
        }
    }

    /// Returns the failure that stands for an error of the framework.
    pub(crate) fn of_status(status: StatusCode) -> Self {
        match status {
            StatusCode::NOT_FOUND | StatusCode::METHOD_NOT_ALLOWED => Self::NotFound,
            status if status.is_client_error() => Self::UnreadableForm,
            status => Self::Internal(anyhow::anyhow!("{status}")),
        }
    }
}

impl ResponseError for Failure {
    fn status_code(&self) -> StatusCode {
        match self {
            Self::LoggedOut { .. } => StatusCode::SEE_OTHER,
            Self::Retry { .. } => StatusCode::TEMPORARY_REDIRECT,
            Self::LoggedOutForm { .. } | Self::Call(CallError::LoggedOut) => StatusCode::UNAUTHORIZED,
            Self::ForeignOrigin | Self::ForeignForm => StatusCode::FORBIDDEN,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::UnreadableForm | Self::LogIn(_) => StatusCode::BAD_REQUEST,
            Self::AwayForm { .. } | Self::Call(CallError::Away { .. }) => StatusCode::SERVICE_UNAVAILABLE,
            Self::Call(CallError::Refused(refusal)) => refusal.status_code(),
            Self::Internal(cause) if cause.is::<TooLong>() => StatusCode::BAD_REQUEST,
            Self::Internal(_) => StatusCode::INTERNAL_SERVER_ERROR,
        }
    }
}

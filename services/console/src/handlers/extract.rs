//! The arguments of handlers: the person who sends the request, and the fields of a form.

use std::time::Duration;

use actix_web::dev::Payload;
use actix_web::http::header::HeaderMap;
use actix_web::http::uri::PathAndQuery;
use actix_web::web::{Bytes, Data};
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use chrono::Utc;
use common::RequestContext;
use futures_util::FutureExt;
use futures_util::future::{LocalBoxFuture, Ready, ready};

use super::uploads;
use crate::Console;
use crate::api::{Api, Authority, Caller};
use crate::fields::{FORM_TOKEN, Fields};
use crate::guard::{is_same_origin, way_back};
use crate::login::{Login, Refused};
use crate::session::{Cookies, Person, Session};
use crate::user::{Failure, User};

/// How long before its end an access token is refreshed. Whoever loses a race of two replicas still has a valid one.
const REFRESH_SECONDS: u64 = 60;
/// How often a browser sends a request again whose tokens have expired and are not refreshed, and after which pause:
/// another replica may have refreshed them meanwhile, and the browser then has the new cookie.
const MAX_RETRIES: u32 = 4;
const RETRY_PAUSE: Duration = Duration::from_millis(500);
/// The cookie that counts these requests, and its lifetime in seconds.
const RETRIES: &str = "retries";
const RETRIES_SECONDS: u64 = 10;
/// Cookies that a handler or extractor sets, for the response.
pub(crate) struct NewCookies(pub(crate) Vec<String>);

/// Returns the present time in seconds since 1970.
pub(crate) fn now() -> u64 {
    Utc::now().timestamp().unsigned_abs()
}

/// Returns the context of a request, whose ids the calls of services carry.
fn context(request: &HttpRequest) -> Option<RequestContext> {
    request.extensions().get::<RequestContext>().cloned()
}

/// Somebody without a log-in.
pub(crate) struct Visitor {
    context: RequestContext,
    /// The addresses from which the request came, the last one that of the browser or proxy that sent it.
    addresses: String,
}

impl Visitor {
    /// Returns who sends a request.
    ///
    /// # Errors
    /// If the request has no context, which is a defect.
    pub(crate) fn of(request: &HttpRequest) -> Result<Self, Failure> {
        let context = context(request).ok_or_else(|| anyhow::anyhow!("a request without a context"))?;
        // As a proxy does, so that the services decide which of the addresses they believe.
        let named = request.headers().get_all("x-forwarded-for").filter_map(|line| line.to_str().ok());
        let peer = request.peer_addr().map_or_else(|| "unknown".to_owned(), |peer| peer.ip().to_string());
        let addresses: Vec<_> = named.chain([peer.as_str()]).collect();
        Ok(Self { context, addresses: addresses.join(", ") })
    }

    /// Returns the services as a visitor may use them.
    pub(crate) fn caller<'a>(&'a self, api: &'a Api) -> Caller<'a> {
        Caller { api, authority: Authority::Addresses(&self.addresses), context: &self.context }
    }
}

/// The parameters of the address.
pub(crate) struct Parameters(pub(crate) Fields);

impl FromRequest for Parameters {
    type Error = Failure;
    type Future = Ready<Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(Fields::parse(request.query_string().as_bytes()))))
    }
}

impl FromRequest for User {
    type Error = Failure;
    type Future = LocalBoxFuture<'static, Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        let request = request.clone();
        async move {
            let to = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
            find_user(&request).await?.ok_or(Failure::LoggedOut { to })
        }
        .boxed_local()
    }
}

/// Returns who sends a request. Refreshes the tokens if they are about to expire.
///
/// # Errors
/// [`Failure::Retry`]; the tokens cannot be read; or the request has no context, which is a defect.
pub(crate) async fn find_user(request: &HttpRequest) -> Result<Option<User>, Failure> {
    let (Some(console), Some(context)) = (request.app_data::<Data<Console>>(), context(request)) else {
        return Err(anyhow::anyhow!("the app has no state").into());
    };
    let cookies = Cookies::of(request);
    let Some(session) = console.sessions.find(&cookies, now()) else { return Ok(None) };
    let Some(session) = refreshed(console, session, request, &cookies).await? else { return Ok(None) };
    let Some(person) = Person::of_token(&session.access_token, &console.claims) else {
        return Err(Failure::LogIn(
            "The identity provider issues tokens that Drover cannot read. Ask its operator for JWT access tokens.",
        ));
    };
    let form_token = console.sessions.keys.sign(&person.form_owner());
    let is_development = console.login.is_development();
    Ok(Some(User { person, session, context, form_token, is_development }))
}

/// Returns who sends a form, or the [`Failure::Retry`] to answer with once the whole form is read: browsers read no
/// answer before they have sent it.
pub(super) async fn find_sender(request: &HttpRequest) -> Result<(Option<User>, Option<Failure>), Failure> {
    match find_user(request).await {
        Err(retry @ Failure::Retry { .. }) => Ok((None, Some(retry))),
        found => Ok((found?, None)),
    }
}

/// Returns the session with tokens that are still valid, or `None` if there are none to be had.
async fn refreshed(
    console: &Console,
    session: Session,
    request: &HttpRequest,
    cookies: &Cookies,
) -> Result<Option<Session>, Failure> {
    let now = now();
    if session.expires_at > now + REFRESH_SECONDS {
        return Ok(Some(session));
    }
    if let Login::Provider(provider) = &console.login
        && session.refresh_token.is_some()
    {
        match provider.refresh(&session, now).await {
            Ok(refreshed) => {
                let headers = console.sessions.store(&refreshed, cookies, now)?;
                request.extensions_mut().insert(NewCookies(headers));
                return Ok(Some(refreshed));
            }
            // The cookie stays: another replica may have refreshed the tokens, and the browser be about to get them.
            Err(error) => {
                tracing::info!(error = format!("{error:#}"), "tokens were not refreshed");
                if session.expires_at <= now && error.is::<Refused>() {
                    retry(console, request, cookies).await?;
                }
            }
        }
    }
    Ok((session.expires_at > now).then_some(session))
}

/// Lets the browser send a request again after a pause, unless it has done so often enough.
async fn retry(console: &Console, request: &HttpRequest, cookies: &Cookies) -> Result<(), Failure> {
    let style = console.sessions.style;
    let retries = cookies.get(&style.name(RETRIES)).and_then(|count| count.parse().ok()).unwrap_or(0);
    if retries >= MAX_RETRIES {
        return Ok(());
    }
    tokio::time::sleep(RETRY_PAUSE).await;
    let count = style.set(RETRIES, &(retries + 1).to_string(), RETRIES_SECONDS);
    request.extensions_mut().insert(NewCookies(vec![count]));
    let to = way_back(request.uri().path_and_query().map(PathAndQuery::as_str)).to_owned();
    Err(Failure::Retry { to })
}

/// A form that a person sends: from this origin, and made for this person. Its files are stored already, each as a
/// field of the form.
pub(crate) struct PostForm {
    pub(crate) user: User,
    pub(crate) fields: Fields,
}

impl FromRequest for PostForm {
    type Error = Failure;
    type Future = LocalBoxFuture<'static, Result<Self, Failure>>;

    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let is_multipart = request.content_type().eq_ignore_ascii_case("multipart/form-data");
        let mut payload = payload.take();
        let request = request.clone();
        async move {
            let Some(console) = request.app_data::<Data<Console>>() else {
                return Err(anyhow::anyhow!("the app has no state").into());
            };
            check_origin(console, request.headers())?;
            let (user, retry) = find_sender(&request).await?;
            let fields = if is_multipart {
                uploads::receive(console, &request, &mut payload, user.as_ref()).await?
            } else {
                let body = Bytes::from_request(&request, &mut payload).await;
                Fields::parse(&body.map_err(|_| Failure::UnreadableForm)?)
            };
            if let Some(retry) = retry {
                return Err(retry);
            }
            let Some(user) = user else {
                return Err(Failure::LoggedOutForm { action: request.path().to_owned(), fields });
            };
            if !user.is_form_token(&console.sessions.keys, fields.get(FORM_TOKEN)) {
                return Err(Failure::ForeignForm);
            }
            Ok(Self { user, fields })
        }
        .boxed_local()
    }
}

/// Checks that a write comes from a page of the console.
///
/// # Errors
/// [`Failure::ForeignOrigin`]
pub(crate) fn check_origin(console: &Console, headers: &HeaderMap) -> Result<(), Failure> {
    if is_same_origin(headers, &console.origin) { Ok(()) } else { Err(Failure::ForeignOrigin) }
}

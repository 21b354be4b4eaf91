//! Logging in and out.

use actix_web::http::header::SET_COOKIE;
use actix_web::web::{Bytes, Data, Form, Query};
use actix_web::{HttpRequest, HttpResponse};
use common::{RefusalLog, security_event};
use serde::Deserialize;

use super::extract::{check_origin, now};
use super::{html, secret, see_other};
use crate::Console;
use crate::fields::{FORM_TOKEN, Fields};
use crate::guard::way_back;
use crate::login::{Attempt, DemoPerson, Login, PEOPLE};
use crate::session::{Cookies, Person, Session};
use crate::user::{Failure, User};
use crate::views::login as views;

/// Start of the names of the cookies that hold attempts, one for each: several tabs log in independently.
const ATTEMPT: &str = "login-";
/// How long an attempt may take, in seconds.
const ATTEMPT_SECONDS: u64 = 600;
/// The most attempts that a browser holds.
const MAX_ATTEMPTS: usize = 8;
/// Letters of the state that name the cookie of an attempt.
const NAME_LETTERS: usize = 12;

#[derive(Deserialize)]
pub(super) struct WayBack {
    to: Option<String>,
}

pub(super) async fn page(
    console: Data<Console>,
    request: HttpRequest,
    query: Query<WayBack>,
) -> HttpResponse {
    let to = way_back(query.to.as_deref());
    if console.login.is_development() {
        return html(&views::people(to));
    }
    // Another request of this browser may have refreshed its tokens meanwhile, at another replica. Without `to`, or
    // with the address of the log-in tab, the person asked to log in.
    let is_led_here = query.to.is_some() && to != "/logged-in";
    let session = console.sessions.find(&Cookies::of(&request), now()).filter(|_| is_led_here);
    if session.is_some_and(|session| session.expires_at > now()) {
        return see_other(to);
    }
    html(&views::to_provider(to))
}

pub(super) async fn start(
    console: Data<Console>,
    request: HttpRequest,
    query: Query<WayBack>,
) -> Result<HttpResponse, Failure> {
    let Login::Provider(provider) = &console.login else { return Ok(see_other("/login")) };
    let (attempt, url) = provider.begin(way_back(query.to.as_deref())).await.map_err(|error| away(&error))?;
    let (name, sealed) =
        (name_of(attempt.state()), serde_json::to_vec(&attempt).map_err(anyhow::Error::from)?);
    let (sessions, cookies) = (&console.sessions, Cookies::of(&request));
    let mut response = HttpResponse::SeeOther();
    response.insert_header(("location", url.as_str()));
    response.append_header((
        SET_COOKIE,
        sessions.style.set(&name, &sessions.keys.seal(ATTEMPT, &sealed)?, ATTEMPT_SECONDS),
    ));
    let held = sessions.style.beginning_with(ATTEMPT, &cookies);
    // The oldest come first in the header.
    for name in held.iter().take((held.len() + 1).saturating_sub(MAX_ATTEMPTS)) {
        response.append_header((SET_COOKIE, sessions.style.set(name, "", 0)));
    }
    Ok(response.finish())
}

/// What the provider sends the browser back with.
#[derive(Deserialize)]
pub(super) struct Answer {
    #[serde(default)]
    state: String,
    code: Option<String>,
    error: Option<String>,
}

pub(super) async fn callback(
    console: Data<Console>,
    request: HttpRequest,
    answer: Query<Answer>,
    refusals: Data<RefusalLog>,
) -> Result<HttpResponse, Failure> {
    let Login::Provider(provider) = &console.login else { return Err(Failure::NotFound) };
    let (sessions, cookies, answer) = (&console.sessions, Cookies::of(&request), answer.into_inner());
    let name = name_of(&answer.state);
    let sealed = cookies.get(&sessions.style.name(&name));
    let attempt = sealed.and_then(|sealed| sessions.keys.open_sealed(ATTEMPT, sealed));
    let attempt: Option<Attempt> = attempt.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    let Some(attempt) = attempt.filter(|attempt| attempt.has_state(&answer.state)) else {
        log_refusal(&refusals, "the log-in was not begun in this browser");
        return Err(Failure::LogIn(
            "This log-in was begun in another browser, or longer than ten minutes ago. Begin again.",
        ));
    };
    let Some(code) = answer.code else {
        let is_denied = answer.error.as_deref() == Some("access_denied");
        let reason = if is_denied { "the provider denied access" } else { "the provider failed" };
        log_refusal(&refusals, reason);
        return Err(Failure::LogIn(
            "The identity provider did not log you in. Try again, or ask its operator.",
        ));
    };
    let session = match provider.end(&attempt, code, now()).await {
        Ok(session) => session,
        Err(error) => {
            log_refusal(&refusals, "the answer of the provider was not accepted");
            return Err(away(&error));
        }
    };
    security_event!("session_began", "somebody logged in");
    let mut response = logged_in_response(&console, &session, &cookies, &attempt.to)?;
    let ended = sessions.style.set(&name, "", 0);
    if let Ok(ended) = ended.parse() {
        response.headers_mut().append(SET_COOKIE, ended);
    }
    Ok(response)
}

/// The card of a person.
#[derive(Deserialize)]
pub(super) struct Card {
    person: String,
    to: Option<String>,
}

pub(super) async fn person(
    console: Data<Console>,
    request: HttpRequest,
    card: Form<Card>,
) -> Result<HttpResponse, Failure> {
    check_origin(&console, request.headers())?;
    let Login::Development(key) = &console.login else { return Err(Failure::NotFound) };
    let is_chosen = |person: &&DemoPerson| person.id == card.person;
    let person = PEOPLE.iter().find(is_chosen).ok_or(Failure::NotFound)?;
    let session = key.session(person, now())?;
    security_event!("session_began", "somebody logged in");
    logged_in_response(&console, &session, &Cookies::of(&request), way_back(card.to.as_deref()))
}

/// Ends the session, whatever state its tokens are in: they are not refreshed for it.
pub(super) async fn log_out(
    console: Data<Console>,
    request: HttpRequest,
    body: Bytes,
) -> Result<HttpResponse, Failure> {
    check_origin(&console, request.headers())?;
    let cookies = Cookies::of(&request);
    let session = console.sessions.find(&cookies, now());
    let person =
        session.as_ref().and_then(|session| Person::of_token(&session.access_token, &console.claims));
    let (fields, keys) = (Fields::parse(&body), &console.sessions.keys);
    if person.is_some_and(|person| !keys.is_signature(&person.form_owner(), fields.get(FORM_TOKEN))) {
        return Err(Failure::ForeignForm);
    }
    let provider = match &console.login {
        Login::Provider(provider) => provider.log_out_url(session.as_ref()).await,
        Login::Development(_) => None,
    };
    if session.is_some() {
        security_event!("session_ended", "somebody logged out");
    }
    let mut response = html(&views::logged_out(provider.as_ref().map(url::Url::as_str)));
    for cookie in console.sessions.remove(&cookies) {
        if let Ok(cookie) = cookie.parse() {
            response.headers_mut().append(SET_COOKIE, cookie);
        }
    }
    secret::forget(response, &console)
}

/// Shows who is logged in, to become somebody else.
pub(super) async fn account(user: User) -> HttpResponse {
    html(&views::account(&user))
}

pub(super) async fn logged_out() -> HttpResponse {
    html(&views::logged_out(None))
}

pub(super) async fn logged_in() -> HttpResponse {
    html(&views::logged_in())
}

fn logged_in_response(
    console: &Console,
    session: &Session,
    cookies: &Cookies,
    to: &str,
) -> Result<HttpResponse, Failure> {
    let mut response = see_other(to);
    for cookie in console.sessions.store(session, cookies, now())? {
        let value = cookie.parse().map_err(|_| anyhow::anyhow!("a cookie is no header"))?;
        response.headers_mut().append(SET_COOKIE, value);
    }
    Ok(response)
}

/// Logs why nobody was logged in, once a minute for each reason: everybody can cause it.
fn log_refusal(refusals: &RefusalLog, reason: &'static str) {
    if refusals.admits(None, "log_in_refused", reason) {
        security_event!("log_in_refused", reason, "somebody was not logged in");
    }
}

fn name_of(state: &str) -> String {
    let letters = state.chars().filter(char::is_ascii_alphanumeric).take(NAME_LETTERS);
    format!("{ATTEMPT}{}", letters.collect::<String>())
}

fn away(error: &anyhow::Error) -> Failure {
    tracing::warn!(error = format!("{error:#}"), "a log-in failed");
    Failure::LogIn("The log-in at the identity provider did not work. Try again in a minute.")
}

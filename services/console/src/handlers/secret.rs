//! A secret that the API shows once. Until the person has copied it, it stays in an encrypted cookie of the browser,
//! because the console stores nothing.

use actix_web::http::header::{HeaderValue, SET_COOKIE};
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use serde::{Deserialize, Serialize};

use super::extract::PostForm;
use super::{html, see_other};
use crate::Console;
use crate::session::Cookies;
use crate::user::{Failure, User};
use crate::views::connections::{SECRET_PATH, SecretPage};
use crate::views::{Section, page as document};

/// Name of the cookie, and the purpose that it is sealed for.
const COOKIE: &str = "secret";
/// How long the cookie stays, in seconds.
const SECONDS: u64 = 3_600;

/// A secret, and what is shown with it.
#[derive(Serialize, Deserialize)]
pub(super) struct NewSecret {
    /// The name of the account, or what has the secret.
    pub(super) title: String,
    /// The address of the webhook, or the id of the account.
    pub(super) of: String,
    /// Absent if the form was sent before: the service shows a secret once.
    pub(super) secret: Option<String>,
    pub(super) is_account: bool,
    /// Where it goes on.
    pub(super) on: String,
}

/// A secret in a cookie.
#[derive(Serialize, Deserialize)]
struct KeptSecret {
    owner: String,
    new: NewSecret,
}

impl NewSecret {
    /// Keeps the secret in the browser and leads to its page. Without a secret, returns the page, which says so.
    pub(super) fn show(self, console: &Console, user: &User) -> Result<HttpResponse, Failure> {
        if self.secret.is_none() {
            return Ok(self.page(user));
        }
        let kept = KeptSecret { owner: user.person.form_owner(), new: self };
        let bytes = serde_json::to_vec(&kept).map_err(anyhow::Error::from)?;
        let sealed = console.sessions.keys.seal(COOKIE, &bytes)?;
        with_cookie(see_other(SECRET_PATH), console, &sealed, SECONDS)
    }

    fn page(&self, user: &User) -> HttpResponse {
        let view = SecretPage {
            user,
            title: &self.title,
            of: &self.of,
            secret: self.secret.as_deref(),
            is_account: self.is_account,
            on: &self.on,
        };
        html(&document(user, Section::Connections, "Secret", &view.markup()))
    }
}

/// Returns the secret that the person has not copied yet.
pub(super) fn find(console: &Console, request: &HttpRequest, user: &User) -> Option<NewSecret> {
    let cookies = Cookies::of(request);
    let sealed = cookies.get(&console.sessions.style.name(COOKIE))?;
    let kept: KeptSecret =
        serde_json::from_slice(&console.sessions.keys.open_sealed(COOKIE, sealed)?).ok()?;
    (kept.owner == user.person.form_owner()).then_some(kept.new)
}

/// Removes the secret from the browser.
pub(super) fn forget(response: HttpResponse, console: &Console) -> Result<HttpResponse, Failure> {
    with_cookie(response, console, "", 0)
}

fn with_cookie(
    mut response: HttpResponse,
    console: &Console,
    value: &str,
    seconds: u64,
) -> Result<HttpResponse, Failure> {
    let cookie = HeaderValue::try_from(console.sessions.style.set(COOKIE, value, seconds));
    response.headers_mut().append(SET_COOKIE, cookie.map_err(anyhow::Error::from)?);
    Ok(response)
}

pub(super) async fn page(console: Data<Console>, user: User, request: HttpRequest) -> HttpResponse {
    find(&console, &request, &user).map_or_else(|| see_other("/connections"), |new| new.page(&user))
}

/// Removes the secret, which the person has copied.
pub(super) async fn have(
    console: Data<Console>,
    form: PostForm,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let on = find(&console, &request, &form.user).map_or_else(|| "/connections".to_owned(), |new| new.on);
    forget(see_other(&on), &console)
}

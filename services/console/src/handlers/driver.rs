//! The pages of a driver: the loads of today, the next ones, and the forms about a load. Without signal, the phone
//! keeps the pages and what was typed. Its script sends that later, and asks for JSON.

use actix_web::http::StatusCode;
use actix_web::http::header::{ACCEPT, USER_AGENT};
use actix_web::web::{Data, Path};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use chrono::{DateTime, Days, NaiveDate, SecondsFormat, TimeDelta, Utc};
use futures_util::join;
use serde::Deserialize;
use serde_json::json;

use super::extract::{PostForm, find_user};
use super::load::{find_load, load_path};
use super::load_form::{Outcome, act};
use super::{html_with, new_key, optional, see_other};
use crate::Console;
use crate::api::model::{Load, Note};
use crate::api::{CallError, FieldError, Service, segment, with_query};
use crate::fields::Fields;
use crate::format::Clock;
use crate::loads::{Action, FILE_ERROR, FILES, Form, in_tonnes};
use crate::user::{Failure, User};
use crate::views::driver::{FormView, ListView, Map, has_steps, reason};
use crate::views::messages::sentence;
use crate::views::{driver_worker, phone};

/// The most loads that the page shows of those that are not done yet.
const MAX_LOADS: &str = "30";
/// How many days before and after today a load may be due that was done today.
const DONE_DAYS: [u64; 2] = [14, 7];
/// The most loads of these days that are searched for those that were done today.
const MAX_DONE: &str = "100";
/// How old an entry of a phone may be, in days. The API accepts 366.
const MAX_AGE_DAYS: i64 = 365;
/// The API remembers idempotency keys for a day. Somewhat less is on the safe side.
const KEYS_LAST: TimeDelta = TimeDelta::hours(20);
/// How far the corrected clock of a phone may be off.
const CLOCK_ERROR: TimeDelta = TimeDelta::minutes(5);
/// The weights of two proofs that differ by less are the same, in tonnes.
const SAME_TONNES: f64 = 0.005;
/// What is said about an entry that is refused although its photographs were added.
const ADDED: &str =
    "The office has your photographs. Write a note if what it recorded is wrong, and delete this entry.";
/// The most pages of 100 notes that are searched for one.
const MAX_NOTE_PAGES: usize = 10;

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let today = console.clock.today();
    let [before, after] = DONE_DAYS.map(Days::new);
    let (first, last) = ((today - before).to_string(), (today + after).to_string());
    let own = [("f:driverId", "me"), ("sortBy", "deliveryDateISO")];
    let open = [("f:status", "upcoming,collected"), ("sortDesc", "false"), ("limit", MAX_LOADS)];
    let open = [&own[..], &open].concat();
    // The API does not search by the time of a proof.
    let done = [
        ("f:status", "completed,rejected"),
        ("sortDesc", "true"),
        ("limit", MAX_DONE),
        ("startDateISO", first.as_str()),
        ("endDateISO", last.as_str()),
    ];
    let done = [&own[..], &done].concat();
    let (open, done) = join!(
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &open),
        caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &done),
    );
    let mut missing = Vec::new();
    let open = optional(open, &mut missing)?;
    let is_cut = open.as_ref().is_some_and(|reply| reply.next.is_some());
    let open = open.map(|reply| reply.value);
    let mut done = optional(done, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    done.retain(|load| day_done(load, console.clock) == Some(today));
    let parameters = Fields::parse(request.query_string().as_bytes());
    let view = ListView {
        user: &user,
        clock: console.clock,
        today,
        open: open.as_deref(),
        done: &done,
        is_cut,
        recorded: parameters.find("done").and_then(Action::of_slug),
        missing: &missing,
        map: Map::of_browser(user_agent(&request)),
    };
    let status = if open.is_some() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(html_with(status, &phone(&user, "My loads", &view.markup())))
}

/// Returns the day on which a load was proven or rejected.
fn day_done(load: &Load, clock: Clock) -> Option<NaiveDate> {
    let rejected = load.rejection.as_ref().map(|rejection| &rejection.at);
    let at = DateTime::parse_from_rfc3339(rejected.or(load.completed_at.as_ref())?).ok()?;
    Some(at.with_timezone(&clock.zone).date_naive())
}

fn user_agent(request: &HttpRequest) -> &str {
    request.headers().get(USER_AGENT).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// Returns who is logged in, the token of the person's forms, and the present time in milliseconds, because the clock
/// of a phone may be wrong.
pub(super) async fn me(request: HttpRequest) -> Result<HttpResponse, Failure> {
    let user = find_user(&request).await?.ok_or(CallError::LoggedOut)?;
    Ok(HttpResponse::Ok().json(json!({
        "owner": user.person.form_owner(), "token": user.form_token, "now": Utc::now().timestamp_millis(),
    })))
}

/// Stores a photograph, and returns the field of the form that names it.
pub(super) async fn upload(form: PostForm) -> HttpResponse {
    match (form.fields.find(FILES), form.fields.find(FILE_ERROR)) {
        (Some(file), _) => HttpResponse::Ok().json(json!({"file": file})),
        (None, error) => {
            let reason = format!("The photograph {}", error.unwrap_or("is missing"));
            HttpResponse::BadRequest().json(json!({"reason": reason}))
        }
    }
}

/// The script that keeps the pages of a driver on the phone. Browsers look for a new one at each visit.
pub(super) async fn worker() -> HttpResponse {
    let mut response = HttpResponse::Ok();
    response
        .insert_header(("cache-control", "no-cache"))
        .insert_header(("service-worker-allowed", "/driver"));
    response.content_type("text/javascript; charset=utf-8").body(driver_worker())
}

#[derive(Deserialize)]
pub(super) struct FormPath {
    id: String,
    action: String,
}

impl FormPath {
    fn action(&self) -> Result<Action, Failure> {
        let action = Action::of_slug(&self.action).ok_or(Failure::NotFound)?;
        let is_of_driver = matches!(
            action,
            Action::Collect | Action::Prove | Action::Reject | Action::Note | Action::AddFiles
        );
        is_of_driver.then_some(action).ok_or(Failure::NotFound)
    }

    fn address(&self, action: Action) -> String {
        format!("/driver/{}/{}", segment(&self.id), action.slug())
    }
}

/// A form as it is shown.
#[derive(Default)]
struct Shown<'a> {
    typed: Fields,
    errors: &'a [FieldError],
    /// Whether the weights follow the photograph already.
    is_second: bool,
    status: StatusCode,
}

pub(super) async fn form(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
    path: Path<FormPath>,
) -> Result<HttpResponse, Failure> {
    let action = path.action()?;
    let load = find_load(&user.caller(&console.api), &path.id).await?;
    let shown = Shown { typed: Fields(registration(&console, &user, action, &load)), ..Shown::default() };
    Ok(show(&console, &user, &request, (&path.address(action), action, &load), &shown))
}

/// Returns the field with the registration of the lorry, if the load has one.
fn registration(console: &Console, user: &User, action: Action, load: &Load) -> Vec<(String, String)> {
    let mut fields = Form::new(action, load, &user.person).initial(load, console.clock).0;
    fields.retain(|(name, _)| name == "vehicleRegistration");
    fields
}

fn show(
    console: &Console,
    user: &User,
    request: &HttpRequest,
    (address, action, load): (&str, Action, &Load),
    shown: &Shown<'_>,
) -> HttpResponse {
    let view = FormView {
        user,
        clock: console.clock,
        action,
        address,
        load,
        typed: &shown.typed,
        errors: shown.errors,
        is_second: shown.is_second,
        key: &new_key(),
        map: Map::of_browser(user_agent(request)),
    };
    let title = format!("{}: {}", load.reference, action.title());
    html_with(shown.status, &phone(user, &title, &view.markup()))
}

pub(super) async fn submit(
    console: Data<Console>,
    form: PostForm,
    request: HttpRequest,
    path: Path<FormPath>,
) -> Result<HttpResponse, Failure> {
    let action = path.action()?;
    let address = path.address(action);
    let wants_json = request
        .headers()
        .get(ACCEPT)
        .and_then(|accepted| accepted.to_str().ok())
        .is_some_and(|accepted| accepted.starts_with("application/json"));
    let is_multipart = request.content_type().eq_ignore_ascii_case("multipart/form-data");
    let PostForm { user, fields } = form;
    let sent = fields.clone();
    let result = async {
        let load = find_load(&user.caller(&console.api), &path.id).await?;
        // The photograph comes first, and the weights on a page that follows.
        let is_second = !is_multipart && fields.find("ticketNumber").is_some();
        let is_back = fields.get("step") == "photographs" || fields.find(FILE_ERROR).is_some();
        if has_steps(action) && (!is_second || is_back) {
            return Ok((load, Answer::Next { is_second: !is_back }));
        }
        if action == Action::Note && is_noted(&user, &console, &load.id, &fields).await? {
            return Ok((load, Answer::Done));
        }
        let (status, errors) = match in_tonnes(&fields) {
            Ok(fields) => {
                let is_timed = ![Action::Note, Action::AddFiles].contains(&action);
                let captured_at = is_timed.then(|| captured_at(&fields)).flatten();
                let outcome =
                    act(&console, &user, action, load.clone(), fields.clone(), captured_at.as_deref())
                        .await?;
                match outcome {
                    Outcome::Done(_) => return Ok((load, Answer::Done)),
                    Outcome::Again(again) if again.status == StatusCode::CONFLICT => {
                        match add_late(&console, &user, &load.id, &fields).await? {
                            Some(Late::Same) if action == Action::Prove => return Ok((load, Answer::Done)),
                            Some(_) => {
                                let errors = again.errors.into_iter().chain([FieldError::of_form(ADDED)]);
                                (again.status, errors.collect())
                            }
                            None => (again.status, again.errors),
                        }
                    }
                    Outcome::Again(again) => (again.status, again.errors),
                }
            }
            Err(errors) => (StatusCode::BAD_REQUEST, errors),
        };
        Ok::<_, Failure>((load, Answer::Refused(status, errors)))
    };
    let (load, answer) = match result.await {
        Ok(answered) => answered,
        Err(failure) if wants_json => return Ok(failed(&failure)),
        Err(failure) => return Err(failure.keeping(&address, sent)),
    };
    let place = (&*address, action, &load);
    match answer {
        Answer::Done if wants_json => Ok(HttpResponse::Ok().json(json!({"done": true}))),
        Answer::Done => Ok(see_other(&with_query("/driver", &[("done", action.slug())]))),
        Answer::Refused(status, errors) if wants_json => {
            let reasons: Vec<_> = errors.iter().map(reason).collect();
            Ok(HttpResponse::build(status).json(json!({"reason": reasons.join(" ")})))
        }
        Answer::Refused(status, errors) => {
            let shown = Shown { typed: sent, errors: &errors, is_second: true, status };
            Ok(show(&console, &user, &request, place, &shown))
        }
        Answer::Next { .. } if wants_json => {
            let reason = "The weights and the number of the ticket are missing.";
            Ok(HttpResponse::BadRequest().json(json!({"reason": reason})))
        }
        Answer::Next { is_second } => {
            let errors: Vec<_> = sent
                .all(FILE_ERROR)
                .into_iter()
                .map(|error| FieldError { path: FILES.to_owned(), message: error.to_owned() })
                .collect();
            let mut typed = sent;
            typed.0.extend(registration(&console, &user, action, &load));
            let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
            let shown = Shown { typed, errors: &errors, is_second, status };
            Ok(show(&console, &user, &request, place, &shown))
        }
    }
}

/// What a load has whose end somebody else recorded before the phone had signal.
enum Late {
    /// What the driver recorded.
    Same,
    /// Something else.
    Other,
}

/// Adds the photographs of an entry that came too late to its load. Returns `None` if that has not ended, or the entry
/// has none.
async fn add_late(
    console: &Console,
    user: &User,
    id: &str,
    fields: &Fields,
) -> Result<Option<Late>, Failure> {
    let load = find_load(&user.caller(&console.api), id).await?;
    let is_of_files = |(name, _): &&(String, String)| [FILES, "key"].contains(&&**name);
    let files = Fields(fields.0.iter().filter(is_of_files).cloned().collect());
    if files.all(FILES).is_empty() || !["completed", "rejected"].contains(&&*load.status) {
        return Ok(None);
    }
    let late = if is_recorded(&load, fields) { Late::Same } else { Late::Other };
    let added = act(console, user, Action::AddFiles, load, files, None).await?;
    Ok(matches!(added, Outcome::Done(_)).then_some(late))
}

/// Returns true if a load shows the ticket and the net weight of a proof.
fn is_recorded(load: &Load, proof: &Fields) -> bool {
    let ticket = load.ticket_number.as_deref().unwrap_or_default();
    let net = proof.get("weightNet").parse::<f64>().ok();
    let is_same_weight =
        load.weight_net.zip(net).is_some_and(|(recorded, net)| (recorded.tonnes() - net).abs() < SAME_TONNES);
    is_same_weight && ticket.eq_ignore_ascii_case(proof.get("ticketNumber").trim())
}

/// Returns true if a note of a phone is recorded already, and so old that the API has forgotten its idempotency key.
async fn is_noted(user: &User, console: &Console, id: &str, fields: &Fields) -> Result<bool, CallError> {
    let captured = captured_at(fields).and_then(|at| DateTime::parse_from_rfc3339(&at).ok());
    let Some(captured) = captured.filter(|at| Utc::now() - at.to_utc() > KEYS_LAST) else { return Ok(false) };
    let (since, text) = (captured - CLOCK_ERROR, fields.get("text"));
    let is_same = |note: &Note| {
        note.user_id.as_deref() == Some(&*user.person.id)
            && note.text.as_deref().map(str::trim) == Some(text)
            && DateTime::parse_from_rfc3339(&note.at).is_ok_and(|at| at >= since)
    };
    let (caller, path) = (user.caller(&console.api), format!("{}/events", load_path(id)));
    let mut cursor = None;
    for _ in 0..MAX_NOTE_PAGES {
        let mut query = vec![("f:type", "noted"), ("limit", "100")];
        query.extend(cursor.as_deref().map(|cursor| ("cursor", cursor)));
        let found = caller.get::<Vec<Note>>(Service::Logistics, &path, &query).await?;
        if found.value.iter().any(is_same) {
            return Ok(true);
        }
        let Some(next) = found.next else { break };
        cursor = Some(next);
    }
    Ok(false)
}

/// What becomes of a form.
enum Answer {
    Done,
    /// The photographs are stored, or refused; the weights are next.
    Next {
        is_second: bool,
    },
    Refused(StatusCode, Vec<FieldError>),
}

/// Returns a failure for the script that sends what a phone kept.
fn failed(failure: &Failure) -> HttpResponse {
    let text = match failure {
        Failure::Call(CallError::Refused(refusal)) => sentence(refusal),
        failure => failure.to_string(),
    };
    let status = actix_web::ResponseError::status_code(failure);
    HttpResponse::build(status).json(json!({"reason": text}))
}

/// Returns when a form was filled in, by the clock of the server, if the phone says so. The API accepts the time,
/// however wrong the clock of the phone is.
fn captured_at(fields: &Fields) -> Option<String> {
    let named = DateTime::from_timestamp_millis(fields.get("captured").parse().ok()?)?;
    let now = Utc::now();
    let captured = named.clamp(now - TimeDelta::days(MAX_AGE_DAYS), now);
    Some(captured.to_rfc3339_opts(SecondsFormat::Millis, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_clock_is_never_refused() {
        let captured = |millis: i64| {
            let fields = Fields(vec![("captured".to_owned(), millis.to_string())]);
            captured_at(&fields).map(|text| DateTime::parse_from_rfc3339(&text).unwrap().timestamp_millis())
        };
        let now = Utc::now().timestamp_millis();
        let hour = 3_600_000;
        assert_eq!(captured(now - hour), Some(now - hour));
        assert!(captured(now + 48 * hour).unwrap() <= Utc::now().timestamp_millis(), "not in the future");
        assert!(captured(0).unwrap() > now - 366 * 24 * hour);
        assert_eq!(captured(i64::MAX), None);
        assert_eq!(captured_at(&Fields::default()), None);
    }
}

//! New loads: one, or the same load on several dates.

use actix_web::http::StatusCode;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse};
use reqwest::Method;
use serde_json::{Value, json};

use super::address_book::with_ids;
use super::extract::PostForm;
use super::load::find_load;
use super::load_form::find_suggestions;
use super::{html_with, new_key, see_other};
use crate::Console;
use crate::api::{CallError, Caller, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::loads::{DATES, Form, warning_codes};
use crate::session::Person;
use crate::user::{Failure, User};
use crate::views::forms::FormView;
use crate::views::messages::sentence;
use crate::views::new_load::{Made, NewLoads};
use crate::views::{Section, page as document};

/// The most loads that a form creates.
const MAX_DATES: usize = 31;

pub(super) async fn form(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let query = Fields::parse(request.query_string().as_bytes());
    let mut carries = query.get("as") == "carrier";
    let mut typed = Fields::default();
    if let Some(id) = query.find("copy") {
        let load = find_load(&user.caller(&console.api), id).await?;
        carries = load.carrier.as_ref().is_some_and(|carrier| user.person.acts_for(carrier.id.as_deref()))
            && !load.organiser.as_ref().is_some_and(|own| user.person.acts_for(own.id.as_deref()));
        // Neither weights of a ticket nor a proof nor files: they are those of one delivery.
        typed = Form::of_new(carries, console.clock).initial(&load, console.clock);
        let organiser = load.organiser.filter(|_| carries).unwrap_or_default();
        typed.0.retain(|(name, _)| !name.starts_with("organisation"));
        typed.0.push(("organisationId".to_owned(), organiser.id.unwrap_or_default()));
        typed.0.push(("organisationName".to_owned(), organiser.name));
    }
    show(&console, &user, carries, &typed, &Tried::default()).await
}

/// What a form has done so far.
#[derive(Default)]
struct Tried {
    made: Vec<Made>,
    errors: Vec<FieldError>,
    /// An error that belongs to no field.
    error: Option<String>,
}

async fn show(
    console: &Console,
    user: &User,
    carries: bool,
    typed: &Fields,
    tried: &Tried,
) -> Result<HttpResponse, Failure> {
    let form = Form::of_new(carries, console.clock);
    let caller = user.caller(&console.api);
    let suggestions = find_suggestions(&caller, &form, user.is_driver()).await;
    let action = if carries { "/loads/new?as=carrier" } else { "/loads/new" };
    let (placed, others) = form.place(typed, &tried.errors);
    let view = FormView {
        user,
        action,
        list: "",
        submit: "Create",
        back: "/loads",
        form: &form,
        typed,
        was: None,
        revision: "",
        key: &new_key(),
        suggestions: &suggestions,
        errors: &placed,
        conflicts: &[],
    };
    let page = NewLoads {
        carries,
        made: &tried.made,
        clock: console.clock,
        error: tried.error.as_deref(),
        others: &others,
        form: &view.markup(),
        command: &command(&form, &user.person, carries, typed),
    };
    let is_refused = tried.error.is_some() || !tried.errors.is_empty();
    let status = if is_refused { StatusCode::BAD_REQUEST } else { StatusCode::OK };
    Ok(html_with(status, &document(user, Section::Loads, "New load", &page.markup())))
}

pub(super) async fn submit(
    console: Data<Console>,
    request: HttpRequest,
    form: PostForm,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let carries = request.query_string() == "as=carrier";
    let result = create(&console, &user, carries, fields.clone()).await;
    let action = if carries { "/loads/new?as=carrier" } else { "/loads/new" };
    result.map_err(|failure| failure.keeping(action, fields))
}

async fn create(
    console: &Console,
    user: &User,
    carries: bool,
    mut typed: Fields,
) -> Result<HttpResponse, Failure> {
    let form = Form::of_new(carries, console.clock);
    let mut tried = Tried::default();
    let dates = parse_dates(typed.get(DATES), |text| console.clock.parse_delivery(text));
    let caller = user.caller(&console.api);
    let named = with_ids(&caller, &typed, &form.named()).await?;
    let body = body(&form, &user.person, carries, named.as_ref().unwrap_or(&typed));
    let (dates, body, named) = match (dates, body, named) {
        (Ok(dates), Ok(body), Ok(named)) => (dates, body, named),
        (dates, body, named) => {
            tried.errors.extend(dates.err());
            tried.errors.extend(body.err().into_iter().chain(named.err()).flatten());
            return show(console, user, carries, &typed, &tried).await;
        }
    };
    let mut warnings = Vec::new();
    let mut left: Vec<_> = dates.iter().map(|(text, _)| text.clone()).collect();
    for (_, date) in &dates {
        let made = create_one(&caller, carries, &body, date, &named).await;
        match made {
            Ok((made, codes)) => {
                warnings.extend(codes);
                tried.made.push(made);
                left.remove(0);
            }
            Err(CallError::Refused(refusal)) => {
                if refusal.validation.is_empty() {
                    tried.error = Some(sentence(&refusal));
                }
                let at_dates = |mut error: FieldError| {
                    if error.path == "deliveryDateISO" {
                        DATES.clone_into(&mut error.path);
                    }
                    error
                };
                tried.errors = refusal.validation.into_iter().map(at_dates).collect();
                // What is created already is not asked for again.
                typed.0.retain(|(name, _)| name != DATES);
                typed.0.push((DATES.to_owned(), left.join("\n")));
                return show(console, user, carries, &typed, &tried).await;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let [made] = tried.made.as_slice() {
        let mut query = vec![("done", "new")];
        let mut known = std::collections::BTreeSet::new();
        warnings.retain(|code| known.insert(code.clone()));
        query.extend(warnings.iter().map(|code| ("warning", code.as_str())));
        return Ok(see_other(&with_query(&format!("/loads/{}", segment(&made.id)), &query)));
    }
    let page = crate::views::new_load::created(&tried.made, console.clock, &warnings);
    Ok(html_with(StatusCode::OK, &document(user, Section::Loads, "New loads", &page)))
}

/// Creates a load on a date, and sends it to its haulier. A repeat with the same key creates nothing.
async fn create_one(
    caller: &Caller<'_>,
    carries: bool,
    body: &Value,
    date: &str,
    typed: &Fields,
) -> Result<(Made, Vec<String>), CallError> {
    let mut body = body.clone();
    body["deliveryDateISO"] = json!(date);
    let key = format!("{}-{date}", typed.get("key"));
    let write = Write { key: Some(&key), revision: None };
    let path = if carries { "/v1/loads/carrier" } else { "/v1/loads/organiser" };
    let load = caller.send_json(Service::Logistics, Method::POST, path, Some(&body), write).await?;
    let mut warnings = warning_codes(&load);
    let text = |name: &str| load[name].as_str().unwrap_or_default().to_owned();
    let mut made = Made {
        id: text("id"),
        reference: text("reference"),
        delivery: text("deliveryDateISO"),
        not_sent: None,
    };
    let haulier = typed.get("carrierId");
    if !carries && !haulier.is_empty() {
        let mut sending = json!({"loadId": made.id, "carrierId": haulier});
        if !typed.get("carrierName").is_empty() {
            sending["carrierName"] = json!(typed.get("carrierName"));
        }
        let key = format!("{key}-send");
        let write = Write { key: Some(&key), revision: None };
        let path = "/v1/loads/send-to-carrier";
        match caller.send_json(Service::Logistics, Method::POST, path, Some(&sending), write).await {
            Ok(answer) => warnings.extend(warning_codes(&answer)),
            // The load is created: its haulier can be mended there.
            Err(CallError::Refused(refusal)) => made.not_sent = Some(sentence(&refusal)),
            Err(error) => return Err(error),
        }
    }
    Ok((made, warnings))
}

/// Returns the members of new loads besides their dates.
fn body(form: &Form, person: &Person, carries: bool, typed: &Fields) -> Result<Value, Vec<FieldError>> {
    let is_sent = |name: &&str| *name != DATES && !name.starts_with("carrier");
    let names: Vec<_> = form.names().into_iter().filter(is_sent).collect();
    if typed.get("carrierId").is_empty() && !typed.get("carrierName").is_empty() {
        let message = "is needed with the name of a haulier".to_owned();
        return Err(vec![FieldError { path: "carrierId".to_owned(), message }]);
    }
    let mut body = form.body(typed, &names)?;
    body["files"] = Value::Null;
    body["weightNet"] = Value::Null;
    let own = person.organisation_id.as_deref().unwrap_or_default();
    body[if carries { "carrierId" } else { "organiserId" }] = json!(own);
    Ok(body)
}

/// Reads dates that stand in lines, or between semicolons or commas. Returns each with its text.
fn parse_dates(
    text: &str,
    parse: impl Fn(&str) -> Option<String>,
) -> Result<Vec<(String, String)>, FieldError> {
    let error = |message: String| FieldError { path: DATES.to_owned(), message };
    let lines = text.split(['\n', ';']).map(str::trim).filter(|line| !line.is_empty());
    let mut dates: Vec<(String, String)> = Vec::new();
    for line in lines {
        let parts: Vec<&str> = if parse(line).is_some() { vec![line] } else { line.split(',').collect() };
        for part in parts.into_iter().map(str::trim).filter(|part| !part.is_empty()) {
            let Some(date) = parse(part) else {
                return Err(error(format!(
                    "contains “{part}”, which is not a date: write it as 10 Dec 2026"
                )));
            };
            if !dates.iter().any(|(_, known)| *known == date) {
                dates.push((part.to_owned(), date));
            }
        }
    }
    match dates.len() {
        0 => Err(error("are needed: write one in each line".to_owned())),
        1..=MAX_DATES => Ok(dates),
        count => Err(error(format!("are {count}: at most {MAX_DATES} at a time"))),
    }
}

/// Returns the operation as a command.
fn command(form: &Form, person: &Person, carries: bool, typed: &Fields) -> String {
    let mut body = body(form, person, carries, typed).unwrap_or_else(|_| json!({}));
    body["deliveryDateISO"] = json!("2026-12-10");
    let body = body.to_string().replace('\'', "'\\''");
    let path = if carries { "/v1/loads/carrier" } else { "/v1/loads/organiser" };
    format!(
        "curl -X POST \"$LOGISTICS{path}\" -H \"Authorization: Bearer $TOKEN\" -H 'Content-Type: application/json' -d \
         '{body}'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_stand_in_lines_or_between_commas() {
        let clock = crate::format::Clock { zone: chrono_tz::Europe::London };
        let dates = |text: &str| parse_dates(text, |text| clock.parse_delivery(text));
        let iso = |text: &str| {
            let dates = dates(text).unwrap();
            dates.into_iter().map(|(_, date)| date).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(iso("Thu 10 Dec 2026\r\n11/12/2026; 10 Dec 2026"), "2026-12-10 2026-12-11");
        assert_eq!(iso("10 Dec 2026, 11 Dec 2026"), "2026-12-10 2026-12-11");
        assert_eq!(iso("Thursday, 10 December 2026"), "2026-12-10");
        assert!(dates("10 Dec 2026\nsoon").unwrap_err().message.contains("“soon”"));
        assert!(dates(" \n").is_err());
        let many: Vec<_> = (1..=31).map(|day| format!("{day} Dec 2026\n{day} Jan 2027\n")).collect();
        assert!(dates(&many.concat()).unwrap_err().message.contains("62"));
    }
}

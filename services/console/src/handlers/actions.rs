//! Actions on many loads at once.

use actix_web::HttpResponse;
use actix_web::http::StatusCode;
use actix_web::web::Data;
use reqwest::Method;
use serde_json::json;

use super::address_book::{find_drivers, find_organisations, with_ids};
use super::extract::PostForm;
use super::loads::borrowed;
use super::{html, html_with, new_key};
use crate::Console;
use crate::api::model::{ActionError, ActionResult, ActionResults, Load};
use crate::api::{CallError, Caller, FieldError, Service, Write};
use crate::loads::{Kind, LIST, ListQuery};
use crate::user::Failure;
use crate::views::loads::{Confirmation, outcome};
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// The most loads that the API reads at once.
const MAX_IDS: usize = 100;
/// The most loads that the API changes at once.
const MAX_ACTIONS: usize = 200;
/// The most loads that are changed with one form.
const MAX_ALL: usize = 1_000;

/// Asks whether to do an action, and for what it needs.
pub(super) async fn confirm(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    show(&console, &form, &[]).await
}

/// Does an action, and shows what became of each load.
pub(super) async fn run(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = &form;
    let (ids, action) = (fields.all("ids"), fields.get("action"));
    if ids.is_empty() {
        return show(&console, &form, &[FieldError::of_form("Select at least one load.")]).await;
    }
    let caller = user.caller(&console.api);
    let keeping = |error| Failure::from(error).keeping("/loads/actions/run", fields.clone());
    let named = with_ids(&caller, fields, &[("carrierId", Kind::Organisation), ("driverId", Kind::Driver)]);
    let named = match named.await.map_err(keeping)? {
        Ok(named) => named,
        Err(errors) => return show(&console, &form, &errors).await,
    };
    let mut results = ActionResults::default();
    for (number, ids) in ids.chunks(MAX_ACTIONS).enumerate() {
        let mut body = json!({"action": action, "ids": ids});
        for name in ["reason", "carrierId", "driverId"] {
            if !named.get(name).is_empty() {
                body[name] = json!(named.get(name));
            }
        }
        let key = format!("{}-{number}", fields.get("key"));
        let write = Write { key: Some(&key), revision: None };
        let path = "/v1/loads/actions";
        let done = caller.send_json(Service::Logistics, Method::POST, path, Some(&body), write).await;
        match done {
            Ok(done) => {
                let done: ActionResults = serde_json::from_value(done).map_err(anyhow::Error::from)?;
                results.done += done.done;
                results.unchanged += done.unchanged;
                results.failed += done.failed;
                results.results.extend(done.results);
                results.warnings.extend(done.warnings);
            }
            Err(CallError::Refused(refusal)) if number == 0 => {
                return show(&console, &form, &[FieldError::of_form(sentence(&refusal))]).await;
            }
            // The loads before these have their outcome.
            Err(CallError::Refused(refusal)) => {
                let failed = |id: &&str| ActionResult {
                    id: (*id).to_owned(),
                    status: "failed".to_owned(),
                    error: Some(ActionError { message: sentence(&refusal) }),
                };
                results.failed += ids.len() as u64;
                results.results.extend(ids.iter().map(failed));
            }
            Err(error) => return Err(keeping(error)),
        }
    }
    // What was done is shown also if the loads cannot be read.
    let loads = find_loads(&caller, &ids).await.unwrap_or_default();
    let page = outcome(user, action, &ListQuery::parse(fields.get(LIST)), &results, &loads);
    Ok(html(&document(user, Section::Loads, "Loads", &page)))
}

async fn show(console: &Console, form: &PostForm, errors: &[FieldError]) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let caller = user.caller(&console.api);
    let action = fields.get("action");
    if !["cancel", "accept", "sendToCarrier", "sendToDriver"].contains(&action) {
        return Err(Failure::NotFound);
    }
    let list = ListQuery::parse(fields.get(LIST));
    let selected = async {
        if fields.get("all").is_empty() {
            Ok((find_loads(&caller, &fields.all("ids")).await?, 0))
        } else {
            find_all(&caller, &list.parameters(user.is_driver(), console.clock)).await
        }
    };
    let (loads, organisations, drivers) = futures_util::join!(
        selected,
        find_organisations(&caller, user.is_driver()),
        find_drivers(&caller, action == "sendToDriver"),
    );
    let (loads, too_many) = loads?;
    let mut errors = errors.to_vec();
    if errors.is_empty() && loads.is_empty() {
        errors.push(FieldError::of_form("Select at least one load in the list."));
    }
    let page = Confirmation {
        user,
        action,
        loads: &loads,
        list: &list.encoded(),
        key: &new_key(),
        organisations: &organisations,
        drivers: &drivers,
        too_many,
        typed: fields,
        errors: &errors,
    };
    let status = if errors.is_empty() { StatusCode::OK } else { StatusCode::BAD_REQUEST };
    Ok(html_with(status, &document(user, Section::Loads, "Loads", &page.markup())))
}

/// Reads loads by their ids.
async fn find_loads(caller: &Caller<'_>, ids: &[&str]) -> Result<Vec<Load>, CallError> {
    let mut loads = Vec::new();
    for ids in ids.chunks(MAX_IDS) {
        let query = [("ids", &*ids.join(","))];
        loads.extend(caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads/by-ids", &query).await?.value);
    }
    Ok(loads)
}

/// Reads the loads that a list finds, and how many there are beyond the most of one action.
async fn find_all(
    caller: &Caller<'_>,
    filters: &[(&'static str, String)],
) -> Result<(Vec<Load>, u64), CallError> {
    let (mut loads, mut cursor, mut total) = (Vec::new(), None::<String>, 0);
    while loads.len() < MAX_ALL {
        let mut query = borrowed(filters);
        query.push(("limit", "100"));
        match &cursor {
            Some(cursor) => query.push(("cursor", cursor)),
            None => query.push(("count", "true")),
        }
        let page = caller.get::<Vec<Load>>(Service::Logistics, "/v1/loads", &query).await?;
        total = page.total.unwrap_or(total);
        loads.extend(page.value);
        cursor = page.next;
        if cursor.is_none() {
            break;
        }
    }
    let further = total.saturating_sub(loads.len() as u64);
    Ok((loads, further))
}

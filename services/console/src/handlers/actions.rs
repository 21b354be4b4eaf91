//! Actions on many loads at once.

use actix_web::HttpResponse;
use actix_web::web::Data;
use reqwest::Method;
use serde_json::json;

use super::extract::PostForm;
use super::loads::{borrowed, find_drivers, find_organisations};
use super::{html, html_with, new_key};
use crate::Console;
use crate::api::model::{ActionResults, Load};
use crate::api::{CallError, Caller, Service, Write};
use crate::loads::ListQuery;
use crate::user::Failure;
use crate::views::loads::{Confirmation, outcome};
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// The most ids that the API reads at once, and the most that it changes.
const MAX_IDS: usize = 100;
const MAX_ACTIONS: usize = 200;
/// The most loads that are changed with one form.
const MAX_ALL: usize = 1_000;

/// Asks whether to do it, and for what it needs.
pub(super) async fn confirm(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    show(&console, &form, None).await
}

/// Does it.
pub(super) async fn run(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = &form;
    let (ids, action) = (fields.all("ids"), fields.get("action"));
    if ids.is_empty() {
        return show(&console, &form, Some("Select at least one load.")).await;
    }
    let caller = user.caller(&console.api);
    let mut results = ActionResults::default();
    for (number, ids) in ids.chunks(MAX_ACTIONS).enumerate() {
        let mut body = json!({"action": action, "ids": ids});
        for name in ["reason", "carrierId", "driverId"] {
            if !fields.get(name).is_empty() {
                body[name] = json!(fields.get(name));
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
            Err(CallError::Refused(refusal)) => {
                return show(&console, &form, Some(&sentence(&refusal))).await;
            }
            Err(error) => return Err(Failure::from(error).keeping("/loads/actions/run", fields.clone())),
        }
    }
    let loads = find_loads(&caller, &ids).await?;
    let list = ListQuery::parse(fields.get("list")).encoded();
    let page = outcome(user, action, &list, &results, &loads);
    Ok(html(&document(user, Section::Loads, "Loads", &page)))
}

async fn show(console: &Console, form: &PostForm, error: Option<&str>) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let caller = user.caller(&console.api);
    let action = fields.get("action");
    if !["cancel", "accept", "sendToCarrier", "sendToDriver"].contains(&action) {
        return Err(Failure::NotFound);
    }
    let list = ListQuery::parse(fields.get("list"));
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
    let error = error.or_else(|| loads.is_empty().then_some("Select at least one load in the list."));
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
        error,
    };
    let status = if error.is_some() { 400 } else { 200 };
    let status = actix_web::http::StatusCode::from_u16(status).map_err(anyhow::Error::from)?;
    Ok(html_with(status, &document(user, Section::Loads, "Loads", &page.markup())))
}

/// Reads loads by their ids.
async fn find_loads(caller: &Caller<'_>, ids: &[&str]) -> Result<Vec<Load>, CallError> {
    let mut loads = Vec::new();
    for ids in ids.chunks(MAX_IDS) {
        let query = [("ids", ids.join(","))];
        let query = query.each_ref().map(|(name, ids)| (*name, ids.as_str()));
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

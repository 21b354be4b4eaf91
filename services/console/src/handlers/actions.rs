//! Actions on many loads at once.

use actix_web::HttpResponse;
use actix_web::web::Data;
use reqwest::Method;
use serde_json::json;

use super::extract::PostForm;
use super::loads::find_organisations;
use super::{html, html_with, new_key};
use crate::Console;
use crate::api::model::{ActionResults, Load};
use crate::api::{CallError, Caller, Service, Write};
use crate::loads::ListQuery;
use crate::user::Failure;
use crate::views::loads::{Confirmation, outcome};
use crate::views::messages::sentence;
use crate::views::{Section, page as document};

/// The most ids that the API reads at once.
const MAX_IDS: usize = 100;

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
    let mut body = json!({"action": action, "ids": ids});
    for name in ["reason", "carrierId"] {
        if !fields.get(name).is_empty() {
            body[name] = json!(fields.get(name));
        }
    }
    let caller = user.caller(&console.api);
    let write = Write { key: Some(fields.get("key")), revision: None };
    let path = "/v1/loads/actions";
    let done = caller.send_json(Service::Logistics, Method::POST, path, Some(&body), write).await;
    let results: ActionResults = match done {
        Ok(results) => serde_json::from_value(results).map_err(anyhow::Error::from)?,
        Err(CallError::Refused(refusal)) => return show(&console, &form, Some(&sentence(&refusal))).await,
        Err(error) => return Err(Failure::from(error).keeping("/loads/actions/run", fields.clone())),
    };
    let loads = find_loads(&caller, &ids).await?;
    let list = ListQuery::parse(fields.get("list")).encoded();
    let page = outcome(user, action, &list, &results, &loads);
    Ok(html(&document(user, Section::Loads, "Loads", &page)))
}

async fn show(console: &Console, form: &PostForm, error: Option<&str>) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let caller = user.caller(&console.api);
    let action = fields.get("action");
    let ids = fields.all("ids");
    if !["cancel", "accept", "sendToCarrier"].contains(&action) {
        return Err(Failure::NotFound);
    }
    let (loads, organisations) =
        futures_util::join!(find_loads(&caller, &ids), find_organisations(&caller, user.is_driver()));
    let loads = loads?;
    let error = error.or_else(|| loads.is_empty().then_some("Select at least one load in the list."));
    let page = Confirmation {
        user,
        action,
        loads: &loads,
        list: &ListQuery::parse(fields.get("list")).encoded(),
        key: &new_key(),
        organisations: &organisations,
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

//! Connections with other programs: webhooks, service accounts, and saved searches.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::join_all;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::PostForm;
use super::market::{errors_of, may_write, only};
use super::{html, html_with, new_key, optional, see_other};
use crate::Console;
use crate::api::connections::{SavedSearch, ServiceAccount};
use crate::api::model::Webhook;
use crate::api::{CallError, Caller, FieldError, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::market::MarketQuery;
use crate::user::{Failure, User};
use crate::views::connections::{AccountForm, Connections, Hook, Secret};
use crate::views::{Section, page as document};

/// Webhooks of a service that are shown. An organisation has at most 20.
const MAX_WEBHOOKS: &str = "50";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let parameters = Fields::parse(request.query_string().as_bytes());
    show(&console, &user, &parameters, &[], StatusCode::OK).await
}

async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    errors: &[FieldError],
    status: StatusCode,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let (loads, market, accounts, searches) = futures_util::join!(
        find_hooks(&caller, Service::Logistics),
        find_hooks(&caller, Service::Livestock),
        caller.get::<Vec<ServiceAccount>>(Service::System, "/v1/service-accounts", &[("limit", "50")]),
        caller.get::<Vec<SavedSearch>>(Service::Livestock, "/v1/saved-searches", &[("limit", "50")]),
    );
    let mut missing = Vec::new();
    let mut hooks = Vec::new();
    for found in [loads, market] {
        let found = found.map(|hooks| crate::api::Reply { value: hooks, total: None, next: None });
        hooks.extend(optional(found, &mut missing)?.into_iter().flat_map(|reply| reply.value));
    }
    let accounts = optional(accounts, &mut missing)?.map(|reply| reply.value);
    let searches = optional(searches, &mut missing)?.map(|reply| reply.value).unwrap_or_default();
    let view = Connections {
        user,
        clock: console.clock,
        hooks: &hooks,
        accounts: accounts.as_deref(),
        searches: &searches,
        missing: &missing,
        errors,
        key: &new_key(),
        done: parameters.find("done").and_then(done),
        may_write: may_write(user),
    };
    Ok(html_with(status, &document(user, Section::Connections, "Connections", &view.markup())))
}

fn done(name: &str) -> Option<&'static str> {
    Some(match name {
        "deleted" => "Deleted.",
        "saved" => "Saved.",
        _ => return None,
    })
}

/// Reads the webhooks of a service, with how many of their deliveries succeeded and failed.
async fn find_hooks(caller: &Caller<'_>, service: Service) -> Result<Vec<Hook>, CallError> {
    let webhooks =
        caller.get::<Vec<Webhook>>(service, "/v1/webhooks", &[("limit", MAX_WEBHOOKS)]).await?.value;
    let counted = webhooks.into_iter().map(async |webhook| {
        let path = format!("/v1/webhooks/{}/deliveries", segment(&webhook.id));
        let (delivered, failed) = futures_util::join!(
            count(caller, service, &path, "delivered"),
            count(caller, service, &path, "failed")
        );
        Hook { service, webhook, delivered, failed }
    });
    Ok(join_all(counted).await)
}

/// Counts the deliveries with a status; `None` if that is not known.
pub(super) async fn count(caller: &Caller<'_>, service: Service, path: &str, status: &str) -> Option<u64> {
    let query = [("f:status", status), ("count", "true"), ("limit", "1")];
    caller.get::<Value>(service, path, &query).await.ok()?.total
}

pub(super) async fn account_form(user: User) -> Result<HttpResponse, Failure> {
    only(user.person.organisation_id.is_some() && may_write(&user))?;
    Ok(show_account(&user, &Fields::default(), &[], StatusCode::OK))
}

fn show_account(user: &User, typed: &Fields, errors: &[FieldError], status: StatusCode) -> HttpResponse {
    let view = AccountForm { user, typed, errors, key: &new_key() };
    html_with(status, &document(user, Section::Connections, "New service account", &view.markup()))
}

/// Creates a service account, and shows its secret once.
pub(super) async fn create_account(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let body = json!({"name": fields.get("name"), "roles": fields.all("roles")});
    let write = Write { key: Some(fields.get("key")), revision: None };
    let caller = user.caller(&console.api);
    let created =
        caller.send_json(Service::System, Method::POST, "/v1/service-accounts", Some(&body), write).await;
    match created {
        Ok(account) => show_secret(&user, account),
        Err(CallError::Refused(refusal)) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            Ok(show_account(&user, &fields, &errors_of(&refusal), status))
        }
        Err(error) => Err(Failure::from(error).keeping("/connections/accounts/new", fields)),
    }
}

fn show_secret(user: &User, account: Value) -> Result<HttpResponse, Failure> {
    let account = serde_json::from_value::<ServiceAccount>(account).ok();
    let account = account.filter(|account| !account.client_id.is_empty());
    let account = account.ok_or_else(|| anyhow::anyhow!("system answers something unexpected"))?;
    let view = Secret {
        title: &account.name,
        lines: &[
            ("Client id", Some(account.client_id.as_str())),
            ("Client secret", account.client_secret.as_deref()),
        ],
        about: "With these, a program gets tokens at /v1/token of the system service. A secret that is lost is replaced \
                by a new one; the old one works for another 24 hours.",
        on: "/connections",
    };
    Ok(html(&document(user, Section::Connections, &account.name, &view.markup())))
}

#[derive(Deserialize)]
pub(super) struct ActionPath {
    id: String,
    action: String,
}

/// Replaces the secret of a service account, or deletes it.
pub(super) async fn act_on_account(
    console: Data<Console>,
    form: PostForm,
    path: Path<ActionPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let own = format!("/v1/service-accounts/{}", segment(&path.id));
    let caller = user.caller(&console.api);
    let write = Write { key: Some(fields.get("key")).filter(|key| !key.is_empty()), revision: None };
    let place = format!("/connections/accounts/{}/{}", segment(&path.id), segment(&path.action));
    let sent = match path.action.as_str() {
        "rotate" => {
            let path = format!("{own}/rotate-secret");
            caller.send_json(Service::System, Method::POST, &path, None, write).await
        }
        "delete" => caller.send_json(Service::System, Method::DELETE, &own, None, Write::default()).await,
        _ => return Err(Failure::NotFound),
    };
    match sent {
        Ok(answer) if path.action == "rotate" => show_secret(&user, answer),
        Ok(_) => Ok(see_other("/connections?done=deleted")),
        Err(error) => show_again(&console, &user, error, (&place, fields)).await,
    }
}

/// Shows the page again with why something was refused.
async fn show_again(
    console: &Console,
    user: &User,
    error: CallError,
    (place, fields): (&str, Fields),
) -> Result<HttpResponse, Failure> {
    match error {
        CallError::Refused(refusal) if ![403, 404].contains(&refusal.status) => {
            let status = StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::BAD_REQUEST);
            show(console, user, &Fields::default(), &errors_of(&refusal), status).await
        }
        error => Err(Failure::from(error).keeping(place, fields)),
    }
}

/// Opens what a saved search finds. The service then counts its new listings from 0.
pub(super) async fn open_search(
    console: Data<Console>,
    user: User,
    id: Path<String>,
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let path = format!("/v1/saved-searches/{}", segment(&id));
    let listings = format!("{path}/listings");
    let (search, read) = futures_util::join!(
        caller.get::<SavedSearch>(Service::Livestock, &path, &[]),
        caller.get::<Value>(Service::Livestock, &listings, &[("limit", "1")]),
    );
    let search = search?.value;
    read?;
    Ok(see_other(&MarketQuery::of_saved(&search.parameters).path()))
}

/// Changes whether a saved search counts new listings, or deletes it.
pub(super) async fn act_on_search(
    console: Data<Console>,
    form: PostForm,
    path: Path<ActionPath>,
) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let own = format!("/v1/saved-searches/{}", segment(&path.id));
    let caller = user.caller(&console.api);
    let (method, body) = match path.action.as_str() {
        "count" => (Method::PATCH, Some(json!({"notify": true}))),
        "rest" => (Method::PATCH, Some(json!({"notify": false}))),
        "delete" => (Method::DELETE, None),
        _ => return Err(Failure::NotFound),
    };
    let sent = caller.send_json(Service::Livestock, method, &own, body.as_ref(), Write::default()).await;
    let place = format!("/connections/searches/{}/{}", segment(&path.id), segment(&path.action));
    if let Err(error) = sent {
        return show_again(&console, &user, error, (&place, fields)).await;
    }
    let done = if path.action == "delete" { "deleted" } else { "saved" };
    Ok(see_other(&with_query("/connections", &[("done", done)])))
}

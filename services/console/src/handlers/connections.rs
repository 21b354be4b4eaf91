//! Connections with other programs: webhooks, service accounts, and saved searches.

use actix_web::http::StatusCode;
use actix_web::web::{Data, Path};
use actix_web::{HttpRequest, HttpResponse};
use futures_util::future::join_all;
use reqwest::Method;
use serde::Deserialize;
use serde_json::{Value, json};

use super::extract::{Parameters, PostForm};
use super::secret::{self, NewSecret};
use super::{SUMS_TIMEOUT, errors_of, html_with, new_key, only, optional, see_other};
use crate::Console;
use crate::api::connections::{SavedSearch, ServiceAccount};
use crate::api::model::Webhook;
use crate::api::{CallError, Caller, FieldError, Reply, Service, Write, segment, with_query};
use crate::fields::Fields;
use crate::market::MarketQuery;
use crate::user::{Failure, User};
use crate::views::connections::{AccountForm, Connections, Hook};
use crate::views::{Section, page as document};

/// Entries on a page of each list. An organisation has at most as many webhooks of a service and service accounts, but
/// administrators see those of all organisations.
const ROWS: &str = "20";

pub(super) async fn page(
    console: Data<Console>,
    user: User,
    Parameters(parameters): Parameters,
    request: HttpRequest,
) -> Result<HttpResponse, Failure> {
    let has_secret = secret::find(&console, &request, &user).is_some();
    show(&console, &user, &parameters, has_secret, (StatusCode::OK, &[])).await
}

/// Shows the page. `has_secret`: the browser keeps a secret that the person has not copied yet.
async fn show(
    console: &Console,
    user: &User,
    parameters: &Fields,
    has_secret: bool,
    (status, errors): (StatusCode, &[FieldError]),
) -> Result<HttpResponse, Failure> {
    let caller = user.caller(&console.api);
    let [of_loads, of_market, of_accounts, of_searches] = ["loads", "market", "accounts", "searches"]
        .map(|list| [vec![("limit", ROWS)], parameters.parameters(&[(list, "cursor")])].concat());
    let (loads, market, accounts, searches) = futures_util::join!(
        find_hooks(&caller, Service::Logistics, &of_loads),
        find_hooks(&caller, Service::Livestock, &of_market),
        caller.get::<Vec<ServiceAccount>>(Service::System, "/v1/service-accounts", &of_accounts),
        caller.get::<Vec<SavedSearch>>(Service::Livestock, "/v1/saved-searches", &of_searches),
    );
    let mut missing = Vec::new();
    let (loads, market) = (optional(loads, &mut missing)?, optional(market, &mut missing)?);
    let (accounts, searches) = (optional(accounts, &mut missing)?, optional(searches, &mut missing)?);
    let view = Connections {
        user,
        clock: console.clock,
        hooks: [loads.as_ref(), market.as_ref()],
        accounts: accounts.as_ref(),
        searches: searches.as_ref(),
        missing: &missing,
        has_secret,
        errors,
        key: &new_key(),
        done: done(parameters.get("done")),
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

/// Reads a page of the webhooks of a service, with how many of their deliveries succeeded and failed.
async fn find_hooks(
    caller: &Caller<'_>,
    service: Service,
    query: &[(&str, &str)],
) -> Result<Reply<Vec<Hook>>, CallError> {
    let found = caller.get::<Vec<Webhook>>(service, "/v1/webhooks", query).await?;
    let counted = found.value.into_iter().map(async |webhook| {
        let path = format!("/v1/webhooks/{}/deliveries", segment(&webhook.id));
        let (delivered, failed) = futures_util::join!(
            count(caller, service, &path, "delivered"),
            count(caller, service, &path, "failed")
        );
        Hook { service, webhook, delivered, failed }
    });
    Ok(Reply { value: join_all(counted).await, total: found.total, next: found.next })
}

/// Counts the deliveries with a status; `None` if that is not known, or takes longer than a page waits.
pub(super) async fn count(caller: &Caller<'_>, service: Service, path: &str, status: &str) -> Option<u64> {
    let query = [("f:status", status), ("count", "true"), ("limit", "1")];
    let counted = tokio::time::timeout(SUMS_TIMEOUT, caller.get::<Value>(service, path, &query));
    counted.await.ok()?.ok()?.total
}

pub(super) async fn account_form(user: User) -> Result<HttpResponse, Failure> {
    only(user.person.organisation_id.is_some() && user.person.may_write())?;
    Ok(show_account(&user, &Fields::default(), &[], StatusCode::OK))
}

fn show_account(user: &User, typed: &Fields, errors: &[FieldError], status: StatusCode) -> HttpResponse {
    let view = AccountForm { user, typed, errors, key: &new_key() };
    html_with(status, &document(user, Section::Connections, "New service account", &view.markup()))
}

/// Creates a service account, and shows its secret.
pub(super) async fn create_account(console: Data<Console>, form: PostForm) -> Result<HttpResponse, Failure> {
    let PostForm { user, fields } = form;
    let body = json!({"name": fields.get("name"), "roles": fields.all("roles")});
    let write = Write { key: Some(fields.get("key")), revision: None };
    let caller = user.caller(&console.api);
    let created =
        caller.send_json(Service::System, Method::POST, "/v1/service-accounts", Some(&body), write).await;
    match created {
        Ok(account) => show_secret(&console, &user, account),
        Err(CallError::Refused(refusal)) => {
            Ok(show_account(&user, &fields, &errors_of(&refusal), refusal.status_code()))
        }
        Err(error) => Err(Failure::from(error).keeping("/connections/accounts/new", fields)),
    }
}

fn show_secret(console: &Console, user: &User, account: Value) -> Result<HttpResponse, Failure> {
    let account = serde_json::from_value::<ServiceAccount>(account).ok();
    let account = account.filter(|account| !account.client_id.is_empty());
    let account = account.ok_or_else(|| anyhow::anyhow!("system answers something unexpected"))?;
    let new = NewSecret {
        title: account.name,
        of: account.client_id,
        secret: account.client_secret,
        is_account: true,
        on: "/connections".to_owned(),
    };
    new.show(console, user)
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
        Ok(answer) if path.action == "rotate" => show_secret(&console, &user, answer),
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
            let (status, errors) = (refusal.status_code(), errors_of(&refusal));
            show(console, user, &Fields::default(), false, (status, &errors)).await
        }
        error => Err(Failure::from(error).keeping(place, fields)),
    }
}

/// Opens what a saved search finds. From then on, the service counts its new listings from 0.
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

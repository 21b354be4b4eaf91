//! Operations that create, change and list things.

use std::time::Duration;

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, Responder, get, post, put};
use common::validation::{Code, ValidationErrors};
use common::wire::{Name, QueryText, Tag};
use common::{
    Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, PageRequest, PathId, Query, ResultPage,
    SortDefinition, Sorting,
};
use database::search::{Column, MergedQuery, Nulls, SortKey, SortType};
use database::{AnyConnection, Id, Json};
use diesel::prelude::*;
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_actix_web::service_config::ServiceConfig;

use super::Echo;

diesel::table! {
    things (id) {
        id -> database::IdSql,
        name -> Text,
        document -> database::JsonSql,
    }
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default)]
struct Price {
    #[schema(required = true, minimum = 0)]
    amount: f64,
    #[schema(required = true, pattern = "^[A-Z]{3}$")]
    currency: String,
}

#[derive(Debug, Default, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
struct NewThing {
    #[schema(required = true)]
    name: Name,
    #[schema(required = true)]
    price: Price,
    #[schema(required = true)]
    tags: Vec<Tag>,
    note: Option<String>,
    /// Delay before the write, in milliseconds.
    #[schema(minimum = 0)]
    delay_ms: Option<u64>,
    /// Makes the transaction fail after the row is written.
    fail: bool,
}

fn rules(thing: &NewThing, errors: &mut ValidationErrors) {
    if thing.name.starts_with('-') {
        errors.push("name", Code::Format, "must not begin with a dash");
    }
    if thing.price.amount > 1000.0 {
        errors.push("price.amount", Code::Range, "must not be dear");
    }
}

#[derive(Serialize, ToSchema)]
struct Made {
    id: String,
    by: String,
}

#[utoipa::path(operation_id = "make_thing", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    request_body = NewThing,
    responses((status = 200, body = Made), ErrorResponses))]
#[post("/things")]
async fn make(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<NewThing>,
    app: Data<Echo>,
) -> Result<JsonResponse, Error> {
    let (thing, fingerprint) = body.check(rules)?;
    idempotency
        .run(&app.db, fingerprint, async || {
            tokio::time::sleep(Duration::from_millis(thing.delay_ms.unwrap_or(0))).await;
            let (id, mut document) = (Id::new(), serde_json::to_value(&thing)?);
            document["id"] = serde_json::json!(id);
            let document = Json::of(&document)?;
            Ok(move |c: &mut AnyConnection| {
                let row = (
                    things::id.eq(id),
                    things::name.eq(thing.name.0.clone()),
                    things::document.eq(&document),
                );
                diesel::insert_into(things::table).values(row).execute(c)?;
                if thing.fail {
                    return Err(Error::conflict(
                        common::Reason::LoadCompleted,
                        "The request specifies this failure.",
                    ));
                }
                let response = JsonResponse::json(&Made { id: id.to_string(), by: caller.user_id.clone() })?;
                Ok(response.header("Location", format!("/v1/things/{id}")))
            })
        })
        .await
}

/// The same body, as one object or an array of it.
#[utoipa::path(operation_id = "check_one", request_body = NewThing, extensions(("x-one-or-array" = json!(true))),
    responses((status = 200, body = NewThing), ErrorResponses))]
#[post("/one")]
async fn check_one(body: Body<NewThing>) -> Result<JsonResponse, Error> {
    JsonResponse::json(&body.check(rules)?.0)
}

#[utoipa::path(operation_id = "change_thing", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    request_body = NewThing,
    params(("id" = String, Path)), responses((status = 200, body = NewThing), ErrorResponses))]
#[put("/things/{id}")]
async fn change(
    _: Caller,
    path: PathId,
    body: Body<NewThing>,
    app: Data<Echo>,
) -> Result<JsonResponse, Error> {
    let (thing, _) = body.check(rules)?;
    let (id, document) = (path.id()?, Json::of(&thing)?);
    let (name, new) = (thing.name.0.clone(), document.clone());
    let changed = app.db.write(move |c| {
        let new = (things::name.eq(&name), things::document.eq(&new));
        Ok::<_, Error>(diesel::update(things::table.find(id)).set(new).execute(c)?)
    });
    if changed.await? == 0 { Err(Error::NotFound) } else { Ok(JsonResponse::raw(document.0)) }
}

#[utoipa::path(operation_id = "get_thing", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(("id" = String, Path)),
    responses((status = 200, body = NewThing), ErrorResponses))]
#[get("/things/{id}")]
async fn find(_: Caller, path: PathId, app: Data<Echo>) -> Result<JsonResponse, Error> {
    let id = path.id()?;
    let row = app.db.read(move |c| {
        let row = things::table.find(id).select(things::document).first::<Json>(c).optional()?;
        row.ok_or(Error::NotFound)
    });
    Ok(JsonResponse::raw(row.await?.0))
}

#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Search {
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    cursor: Option<QueryText>,
    count: bool,
    format: Option<QueryText>,
}

#[utoipa::path(operation_id = "list_things", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer", "weighbridge"]))),
    params(Search),
    responses((status = 200, content((Vec<NewThing> = "application/json"), (String = "text/csv"))), ErrorResponses))]
#[get("/things")]
async fn list(
    _: Caller,
    query: Query<Search>,
    request: HttpRequest,
    app: Data<Echo>,
) -> Result<HttpResponse, Error> {
    let (page, count, csv) = query.check(|q, errors| {
        let page = PageRequest::new(q.limit, q.offset, q.cursor.as_deref(), &by_name(), errors);
        (page, q.count, q.format.as_deref().is_some_and(|f| f.eq_ignore_ascii_case("csv")))
    })?;
    if csv {
        return Ok(HttpResponse::Ok().content_type("text/csv; charset=utf-8").body("name\r\n"));
    }
    let requested = page.clone();
    let rows = app.db.read(move |c| {
        let order = by_name().order(Column("name"));
        let mut rest = things::table.into_boxed();
        if let Some(rows_after) = requested.position().and_then(|position| order.after(position)) {
            rest = rest.filter(rows_after);
        }
        let branch = rest.select((things::id, SortKey(order.key), things::document));
        let query = MergedQuery::new(vec![branch], &order, requested.fetch(), requested.offset);
        let mut rows = ResultPage::new(query.load(c)?, &requested, &by_name());
        rows.total = if count { Some(things::table.count().get_result(c)?) } else { None };
        Ok::<_, Error>(rows)
    });
    Ok(rows.await?.response(&request, &app.public_url, &page).respond_to(&request))
}

fn by_name() -> Sorting<()> {
    static BY_NAME: SortDefinition<()> =
        SortDefinition { name: "name", key: (), sort_type: SortType::Text, nulls: Nulls::Never };
    Sorting::new(&BY_NAME, false)
}

pub(super) fn routes(v1: &mut ServiceConfig) {
    v1.service(make).service(list).service(find).service(change).service(check_one);
}

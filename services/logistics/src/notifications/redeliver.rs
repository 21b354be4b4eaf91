//! Delivering again what failed, or what a receiver has lost: as an operation, and on the command line.

use actix_web::web::Data;
use actix_web::{HttpRequest, post};
use anyhow::Context;
use clap::{Arg, ArgMatches, Command};
use common::wire::ActionResult;
use common::{Admin, Authorized, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse, PathId};
use database::{AnyConnection, Database, Id};

use super::store;
use crate::Logistics;

const COMMAND: &str = "redeliver";
const ID: &str = "id";

/// Redeliver a notification
///
/// It is pending again, with ten tries before it and under the same `webhook-id`, whatever became of it before.
#[utoipa::path(operation_id = "redeliver_notification", tag = "notifications", security(("bearer" = [])),
    params(("loadId" = String, Path, description = "The load's id"),
        ("id" = String, Path, description = "The notification's id")),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/{loadId}/notifications/{id}/redeliver")]
pub(super) async fn redeliver(
    _admin: Authorized<Admin>,
    path: PathId,
    idempotency: Idempotency,
    request: HttpRequest,
    fingerprint: Fingerprint,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let load = request.match_info().get("loadId").and_then(Id::parse).ok_or(Error::NotFound)?;
    let id = path.id()?;
    let effect = move |c: &mut AnyConnection| {
        let was = store::redeliver(c, Some(load), id)?.ok_or(Error::NotFound)?;
        JsonResponse::json(&ActionResult::created(told(&was), id))
    };
    let answer = idempotency.run(&app.db, fingerprint, async || Ok(effect)).await?;
    app.notifications.wake();
    Ok(answer)
}

fn told(was: &str) -> String {
    format!("The notification was {was} and is delivered again.")
}

/// `logistics redeliver <id>`
pub(crate) fn command() -> Command {
    let id =
        Arg::new(ID).value_name("ID").required(true).help("The notification's id, which is its webhook-id");
    common::cli::command(
        COMMAND,
        "Has a notification delivered again, by a service that runs over the same database",
        ["database.url", "when it is pending again", "redeliver 01890a5d-ac96-774b-bcce-b302099a8057"],
    )
    .arg(id)
}

/// Runs the command.
pub(crate) async fn run(arguments: &ArgMatches, db: Database) -> anyhow::Result<()> {
    let given = arguments.get_one::<String>(ID).map_or("", String::as_str);
    let unknown = || {
        format!(
            "there is no notification {given}: GET /v1/loads/{{id}}/notifications lists those of a load, the log names \
             those that failed"
        )
    };
    let id = Id::parse(given).with_context(unknown)?;
    let was = db.write(move |c| store::redeliver(c, None, id)).await?.with_context(unknown)?;
    println!("{}", told(&was));
    Ok(())
}

//! Notifications of drivers and carriers: stored with the load that is sent, delivered afterwards, at least once
//! (docs/api/webhooks.md). The organisations that send loads take turns in delivery ([`outbox`]).

mod channel;
mod handlers;
mod model;
mod store;

use anyhow::Context;
use clap::{Arg, ArgMatches, Command};
use database::{Database, Id};

pub(crate) use channel::{Channel, register_metrics};
pub(crate) use handlers::routes;
use model::redelivery_message;
pub(crate) use model::{Event, NewNotification, Notification, Recipients};
pub(crate) use store::{create, create_many, create_with_id, drop_pending, list, was_sent_before};

const COMMAND: &str = "redeliver";
const ID: &str = "id";

/// Delivers notifications.
pub(crate) type Dispatcher = outbox::Dispatcher<Channel>;

/// Returns the definition of the command `logistics redeliver ID`.
pub(crate) fn command() -> Command {
    let id =
        Arg::new(ID).value_name("ID").required(true).help("Id of the notification, which is its webhook-id");
    common::cli::command(
        COMMAND,
        "Makes a notification pending again, so that a service that runs over the same database delivers it",
        ["database.url", "when it is pending again", "redeliver 01890a5d-ac96-774b-bcce-b302099a8057"],
    )
    .arg(id)
}

/// Runs the command: makes the notification pending, so that a running service delivers it.
///
/// # Errors
/// If there is no such notification, or the database fails.
pub(crate) async fn run(arguments: &ArgMatches, db: Database) -> anyhow::Result<()> {
    let argument = arguments.get_one::<String>(ID).map_or("", String::as_str);
    let unknown = || {
        format!(
            "there is no notification {argument}: GET /v1/loads/{{id}}/notifications lists those of a load, the log \
             names those that failed"
        )
    };
    let id = Id::parse(argument).with_context(unknown)?;
    let previous_status = db.write(move |c| store::redeliver(c, None, id)).await?.with_context(unknown)?;
    println!("{}", redelivery_message(&previous_status));
    Ok(())
}

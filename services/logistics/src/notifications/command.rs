//! The command `logistics redeliver ID`.

use anyhow::Context;
use clap::{Arg, ArgMatches, Command};
use database::{Database, Id};

use super::model::redelivery_message;
use super::store;

const COMMAND: &str = "redeliver";
const ID: &str = "id";

/// Returns the definition of the command.
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

//! The parser of the arguments, and the help texts.

use std::path::PathBuf;

use clap::{Arg, ArgAction, Command, value_parser};
use serde::Serialize;

use super::command;
use crate::config::{Config, SiteConfig, describe};
use crate::service::{Service, Site};

/// Returns the parser of a service's arguments.
pub(super) fn parser<S: Service>(defaults: &Config<S::Settings>) -> Command {
    let needs = "auth.jwks_url or auth.jwks_file, auth.issuer, auth.audience, database.url";
    program(S::NAME, S::ABOUT, defaults, needs).subcommands(database_commands()).subcommands(S::commands())
}

/// Returns the parser of a site's arguments.
pub(super) fn site_parser<S: Site>(defaults: &SiteConfig<S::Settings>) -> Command {
    program(S::NAME, S::ABOUT, defaults, S::NEEDS)
}

/// Returns the parser with the commands of every program. `needs` are the settings that `serve` needs.
fn program(
    name: &'static str,
    about: &'static str,
    defaults: &impl Serialize,
    needs: &'static str,
) -> Command {
    let environment = format!(
        "Every setting is an environment variable, or a member of the TOML file (DROVER_SERVER__PORT is port in \
         [server]). A variable may end in _FILE and name a file with the value, as containers receive secrets: \
         DROVER_DATABASE__URL_FILE. The variables and their defaults:\n\n{}",
        describe(defaults)
    );
    Command::new(name)
        .about(about)
        .version(env!("CARGO_PKG_VERSION"))
        .after_long_help(environment)
        .arg(
            Arg::new("config")
                .long("config")
                .global(true)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("TOML file with settings"),
        )
        .subcommands(server_commands(needs))
}

fn flag(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn server_commands(needs: &'static str) -> [Command; 3] {
    [
        command(
            "serve",
            "Answers requests until SIGTERM or Ctrl-C, and then finishes the requests in flight (the default)",
            [needs, "after SIGTERM or Ctrl-C", "serve --config /etc/drover/service.toml"],
        ),
        command(
            "check-config",
            "Prints the settings without secrets, and tries the keys, the database and the dependencies in section \
             service: one line for each, ok or failed with the reason",
            [
                "the settings of serve; may run while the service runs",
                "if nothing failed",
                "check-config --config /etc/drover/service.toml",
            ],
        )
        .arg(flag("offline", "Leaves out what needs the network")),
        command(
            "healthcheck",
            "Checks whether the service on this machine is ready, with a timeout of 5 s",
            ["server.host and server.port of the service", "if the service is ready", "healthcheck --live"],
        )
        .arg(flag(
            "live",
            "Checks only whether the service responds, even if its database is unavailable: for liveness probes",
        )),
    ]
}

fn database_commands() -> [Command; 3] {
    let to = Arg::new("to").value_name("TO").required(true).value_parser(value_parser!(PathBuf));
    [
        command(
            "migrate",
            "Applies pending migrations of the database schema and lists them",
            [
                "database.url, with a role that may change the schema",
                "if the schema is up to date; with --pending 3 if it is not",
                "migrate --pending",
            ],
        )
        .arg(flag("pending", "Changes nothing: lists the pending migrations, and exits with 3 if there are any")),
        command(
            "openapi",
            "Prints the OpenAPI document",
            ["no settings", "always", "openapi > openapi.json"],
        ),
        command(
            "backup",
            "Copies the SQLite database, which may be in use, to a new file and checks the copy; leaves no partial file",
            [
                "database.url; for a PostgreSQL database use pg_dump (docs/operations/backup.md)",
                "once the copy is on the disk",
                "backup /var/backups/service.sqlite",
            ],
        )
        .arg(to.help("The file to create; an existing file is not overwritten")),
    ]
}

//! The command line that every service has.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use actix_web::web::Data;
use anyhow::Context as _;
use clap::{Arg, ArgMatches, Command, value_parser};
use database::Database;
use tokio::signal::unix::{SignalKind, signal};

use crate::auth::Verifier;
use crate::config::Config;
use crate::server::{self, Service};
use crate::{openapi, telemetry};

/// Runs a service by its command line; the exit code says how it went.
pub fn main<S: Service>() -> ExitCode {
    let matches = command::<S>().get_matches();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("cannot start").and_then(|runtime| {
        let result = runtime.block_on(run::<S>(&matches));
        // Threads that wait for a network that is silent are not waited for.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{}: {error:#}", S::NAME);
            ExitCode::FAILURE
        }
    }
}

fn command<S: Service>() -> Command {
    let environment = format!(
        "Every setting is an environment variable, or a member of the TOML file (DROVER_SERVER__PORT is port in \
         [server]). The variables and their defaults:\n\n{}",
        defaults::<S>().describe()
    );
    Command::new(S::NAME)
        .about(S::ABOUT)
        .version(env!("CARGO_PKG_VERSION"))
        .after_long_help(environment)
        .arg(
            Arg::new("config")
                .long("config")
                .global(true)
                .value_name("FILE")
                .value_parser(value_parser!(PathBuf))
                .help("A TOML file with settings"),
        )
        .subcommand(Command::new("serve").about("Answers requests until SIGTERM or Ctrl-C (the default)"))
        .subcommand(Command::new("migrate").about("Brings the database schema up to date and ends"))
        .subcommand(Command::new("check-config").about("Shows the settings in force and checks them"))
        .subcommand(Command::new("openapi").about("Prints the OpenAPI document"))
        .subcommand(Command::new("healthcheck").about("Asks the running service whether it is ready"))
        .subcommands(S::commands())
}

fn defaults<S: Service>() -> Config<S::Settings> {
    let mut defaults = Config::default();
    defaults.server.port = S::PORT;
    defaults.database.url = format!("sqlite://{}.sqlite", S::NAME).into();
    defaults
}

async fn run<S: Service>(matches: &ArgMatches) -> anyhow::Result<()> {
    if matches.subcommand_name() == Some("openapi") {
        println!("{}", serde_json::to_string_pretty(&openapi::<S>()?)?);
        return Ok(());
    }
    let file = matches.get_one::<PathBuf>("config").cloned();
    let config = Config::load(defaults::<S>(), file.as_deref())?;
    match matches.subcommand() {
        Some(("migrate", _)) => {
            let applied =
                Database::migrate(&server::options::<S>(&config.database), server::migrations::<S>())?;
            println!(
                "{} migrations applied{}",
                applied.len(),
                applied.iter().fold(String::new(), |all, name| all + "\n" + name)
            );
            Ok(())
        }
        Some(("check-config", _)) => {
            println!("{}", config.describe());
            config.server.check()?;
            config.traces.check()?;
            let verifier = Verifier::open(&config.auth).await?;
            S::check(&config.service, Data::new(verifier)).await?;
            Database::check(&server::options::<S>(&config.database))?;
            println!("# all is well: the keys, the database and what section service names can be opened");
            Ok(())
        }
        Some(("healthcheck", _)) => healthcheck(&config.server.host, config.server.port).await,
        None | Some(("serve", _)) => serve::<S>(config).await,
        Some((name, arguments)) => {
            let db = Database::open(server::options::<S>(&config.database), server::migrations::<S>).await?;
            S::run(name, arguments, &config.service, db).await
        }
    }
}

async fn serve<S: Service>(config: Config<S::Settings>) -> anyhow::Result<()> {
    telemetry::start(&config.log);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    let mut running = server::start::<S>(config).await?;
    tokio::select! {
        error = running.failed() => return Err(error),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: requests in flight may finish");
    running.stop().await;
    Ok(())
}

async fn healthcheck(host: &str, port: u16) -> anyhow::Result<()> {
    let host = match host {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let url = format!("http://{host}:{port}/readyz");
    let response = crate::http::client(Duration::from_secs(5))?.get(&url).send().await?;
    let status = response.status();
    println!("{}", response.text().await?);
    anyhow::ensure!(status.is_success(), "{url} answered {status}");
    Ok(())
}

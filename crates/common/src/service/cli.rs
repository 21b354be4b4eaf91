//! The command line that every service has.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use actix_web::web::Data;
use anyhow::Context as _;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use database::{BackupProgress, Database};
use secrecy::ExposeSecret;
use tokio::signal::unix::{SignalKind, signal};

use super::openapi;
use crate::auth::Verifier;
use crate::config::{Config, DatabaseConfig};
use crate::service::{self, Service};
use crate::telemetry;

/// What `migrate --pending` ends with where migrations are still to be applied.
const PENDING: u8 = 3;
/// How long `healthcheck` waits for an answer.
const CHECK_TIMEOUT: Duration = Duration::from_secs(5);
/// How often somebody at a terminal is told how far it is.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// Runs a service by its command line; the exit code says how it went.
pub fn main<S: Service>() -> ExitCode {
    let matches = commands::<S>().get_matches();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("cannot start").and_then(|runtime| {
        let result = runtime.block_on(run::<S>(&matches));
        // Threads that wait for a network that is silent are not waited for.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}: {error:#}", S::NAME);
            ExitCode::FAILURE
        }
    }
}

/// A command: what it does, which settings it needs and what exit code 0 says, with an example of its arguments.
pub fn command(
    name: &'static str,
    about: &'static str,
    [needs, well, example]: [&'static str; 3],
) -> Command {
    Command::new(name).about(about).after_help(format!(
        "Needs: {needs}.\nExit code: 0 {well}; 1 otherwise, with a line that says why; 2 where the arguments are wrong.\n\
         Example: {example}"
    ))
}

fn commands<S: Service>() -> Command {
    let environment = format!(
        "Every setting is an environment variable, or a member of the TOML file (DROVER_SERVER__PORT is port in \
         [server]). DROVER_DATABASE__URL_FILE, and so with every variable, names a file that has the value, as \
         containers are given secrets. The variables and their defaults:\n\n{}",
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
        .subcommands(own())
        .subcommands(S::commands())
}

fn own() -> [Command; 6] {
    let flag = |name, help| Arg::new(name).long(name).action(ArgAction::SetTrue).help(help);
    let to = Arg::new("to").value_name("TO").required(true).value_parser(value_parser!(PathBuf));
    [
        command(
            "serve",
            "Answers requests until SIGTERM or Ctrl-C, and lets those under way finish (the default)",
            ["auth.jwks_url or auth.jwks_file, auth.issuer, auth.audience, database.url", "when it was told to stop", "serve --config /etc/drover/service.toml"],
        ),
        command(
            "migrate",
            "Brings the database schema up to date, says what it applied and ends",
            ["database.url, with a role that may change the schema", "when the schema is up to date; with --pending 3 when it is not", "migrate --pending"],
        )
        .arg(flag("pending", "Changes nothing: lists what would be applied, and ends with 3 unless that is nothing")),
        command(
            "check-config",
            "Shows the settings in force, without secrets, and tries keys, database and what section service names",
            ["what serve needs; it may run beside", "when serve could start", "check-config --config /etc/drover/service.toml"],
        ),
        command(
            "healthcheck",
            "Asks the service that runs here whether it is ready, and waits 5 s at most",
            ["server.host and server.port, as the service has them", "when it is ready", "healthcheck --live"],
        )
        .arg(flag("live", "Asks only whether it answers, whatever became of its database: for those who restart what does not")),
        command("openapi", "Prints the OpenAPI document", ["nothing", "always", "openapi > openapi.json"]),
        command(
            "backup",
            "Copies the SQLite database, which may be in use, to a new file: whole and checked, or not at all",
            ["database.url; a PostgreSQL database is backed up with pg_dump (docs/operations.md)", "when the copy is on the disk", "backup /var/backups/service.sqlite"],
        )
        .arg(to.help("The file to make; one that is there stays as it is")),
    ]
}

fn defaults<S: Service>() -> Config<S::Settings> {
    let mut defaults = Config::default();
    defaults.server.port = S::PORT;
    defaults.database.url = format!("sqlite://{}.sqlite", S::NAME).into();
    defaults
}

async fn run<S: Service>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    if matches.subcommand_name() == Some("openapi") {
        println!("{}", serde_json::to_string_pretty(&openapi::<S>()?)?);
        return Ok(ExitCode::SUCCESS);
    }
    let file = matches.get_one::<PathBuf>("config").cloned();
    let config = Config::load(defaults::<S>(), file.as_deref())?;
    if !matches!(matches.subcommand_name(), None | Some("serve" | "check-config" | "healthcheck")) {
        named::<S>(&config.database)?;
    }
    let options = || service::options::<S>(&config.database);
    match matches.subcommand() {
        Some(("migrate", arguments)) if arguments.get_flag("pending") => {
            let pending = Database::pending(&options(), service::migrations::<S>())?;
            listed("to be applied", &pending);
            return Ok(if pending.is_empty() { ExitCode::SUCCESS } else { PENDING.into() });
        }
        Some(("migrate", _)) => {
            listed("applied", &Database::migrate(&options(), service::migrations::<S>())?)
        }
        Some(("check-config", _)) => {
            println!("{}", config.describe());
            service::check(&config)?;
            let verifier = Verifier::open(&config.auth).await?;
            S::check(&config.service, Data::new(verifier)).await?;
            Database::check(&options())?;
            if !config.database.migrate {
                Database::check_migrated(&options(), service::migrations::<S>())?;
            }
            println!("# all is well: the keys, the database and what section service names can be opened");
        }
        Some(("healthcheck", arguments)) => {
            let path = if arguments.get_flag("live") { "healthz" } else { "readyz" };
            healthcheck(&config.server.host, config.server.port, path).await?;
        }
        Some(("backup", arguments)) => {
            let to = arguments.get_one::<PathBuf>("to").context("no file is named")?;
            let mut told = Instant::now();
            Database::backup(&options(), to, |progress| tell(progress, &mut told))?;
            println!("{} is a whole copy of the database", to.display());
        }
        None | Some(("serve", _)) => serve::<S>(config).await?,
        Some((name, arguments)) => {
            let db = Database::open(options(), service::migrations::<S>).await?;
            S::run(name, arguments, &config.service, db).await?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// A command given by hand has not always what the service is told. It must not make a database of its own, and go by that.
fn named<S: Service>(database: &DatabaseConfig) -> anyhow::Result<()> {
    let file = format!("{}.sqlite", S::NAME);
    anyhow::ensure!(
        database.url.expose_secret() != defaults::<S>().database.url.expose_secret()
            || Path::new(&file).exists(),
        "database.url is not set, and there is no {file} here: tell this command what the service is told \
         (DROVER_DATABASE__URL or DROVER_DATABASE__URL_FILE)"
    );
    Ok(())
}

fn listed(what: &str, names: &[String]) {
    println!(
        "{} migrations {what}{}",
        names.len(),
        names.iter().fold(String::new(), |all, name| all + "\n" + name)
    );
}

/// Tells whoever waits long how far a copy is.
fn tell(progress: BackupProgress, told: &mut Instant) {
    if told.elapsed() < PROGRESS_INTERVAL {
        return;
    }
    *told = Instant::now();
    match progress {
        BackupProgress::Copying { copied, total } => {
            eprintln!("{} % copied", i64::from(copied) * 100 / i64::from(total.max(1)));
        }
        BackupProgress::Checking => eprintln!("copied; the copy is checked"),
    }
}

async fn serve<S: Service>(config: Config<S::Settings>) -> anyhow::Result<()> {
    telemetry::start(&config.log);
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    // A start may wait for another replica's migrations: nothing is answered yet that would have to end first.
    let mut running = tokio::select! {
        started = service::start::<S>(config) => started?,
        _ = terminate.recv() => return Ok(()),
        _ = interrupt.recv() => return Ok(()),
    };
    tokio::select! {
        error = running.failed() => return Err(error),
        _ = terminate.recv() => {}
        _ = interrupt.recv() => {}
    }
    tracing::info!("stopping: requests in flight may finish");
    let enough = async {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
    };
    running.drain_and_stop(enough).await;
    Ok(())
}

async fn healthcheck(host: &str, port: u16, path: &str) -> anyhow::Result<()> {
    let host = match host {
        "0.0.0.0" => "127.0.0.1".to_owned(),
        "::" => "[::1]".to_owned(),
        host if host.contains(':') => format!("[{host}]"),
        host => host.to_owned(),
    };
    let url = format!("http://{host}:{port}/{path}");
    // What runs here is not asked by way of a proxy, whatever HTTP_PROXY says.
    let client = crate::clients::http::builder(CHECK_TIMEOUT).no_proxy().build()?;
    let response = client.get(&url).send().await?;
    let (status, body) = (response.status(), response.text().await?);
    anyhow::ensure!(status.is_success(), "{url} answered {status}: {body}");
    println!("{body}");
    Ok(())
}

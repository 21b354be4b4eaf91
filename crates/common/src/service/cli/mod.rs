//! The command line of every service and site.

mod checks;
mod parser;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use actix_web::web::Data;
use anyhow::Context;
use clap::{ArgMatches, Command};
use database::{BackupProgress, Database};
use secrecy::ExposeSecret;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::document::openapi;
use super::start::{self, migrations, options, standby};
use super::{Service, Site, SiteContext, site, start_site};
use crate::auth::Verifier;
use crate::config::{Config, DatabaseConfig, Log, Server, SiteConfig, describe, load};
use crate::service::{Running, allocator};
use crate::telemetry::logs;

pub use checks::Checks;

/// Exit code of `migrate --pending` if there are pending migrations.
const PENDING_EXIT_CODE: u8 = 3;
/// How often the progress of a backup is printed.
const PRINT_INTERVAL: Duration = Duration::from_secs(2);

/// The last line of `check-config`.
const VALID: &str = "# the configuration is valid";

/// Runs the command that the arguments of a service's program name. Returns its exit code.
pub fn main<S: Service>() -> ExitCode {
    execute(&parser::parser::<S>(&defaults::<S>()), run::<S>)
}

/// Runs the command that the arguments of a site's program name. Returns its exit code.
pub fn site_main<S: Site>() -> ExitCode {
    execute(&parser::site_parser::<S>(&site_defaults::<S>()), run_site::<S>)
}

/// Parses the arguments and runs their command.
fn execute(parser: &Command, run: impl AsyncFnOnce(&ArgMatches) -> anyhow::Result<ExitCode>) -> ExitCode {
    let matches = parser.clone().get_matches();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let result = runtime.context("cannot start").and_then(|runtime| {
        let result = runtime.block_on(run(&matches));
        // Does not wait for blocking threads, which may be waiting for a network that does not respond.
        runtime.shutdown_background();
        result
    });
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("{}: {error:#}", parser.get_name());
            ExitCode::FAILURE
        }
    }
}

/// Creates a command. Its help states the settings that it needs, the meaning of exit code 0 and an example of its
/// arguments.
pub fn command(
    name: &'static str,
    about: &'static str,
    [needs, success, example]: [&'static str; 3],
) -> Command {
    Command::new(name).about(about).after_help(format!(
        "Needs: {needs}.\nExit code: 0 {success}; 1 on failure, with one line that states the reason; 2 if the arguments \
         are invalid.\nExample: {example}"
    ))
}

/// Returns the default configuration of a service.
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
    let config = load(&defaults::<S>(), file.as_deref())?;
    if !matches!(matches.subcommand_name(), None | Some("serve" | "check-config" | "healthcheck")) {
        ensure_database_configured::<S>(&config.database)?;
    }
    match matches.subcommand() {
        None | Some(("serve", _)) => serve(&config.log.clone(), start::start::<S>(config)).await?,
        Some(("migrate", arguments)) => return migrate::<S>(&config.database, arguments.get_flag("pending")),
        Some(("check-config", arguments)) => {
            check_config::<S>(&config, Checks::new(arguments.get_flag("offline"))).await?;
        }
        Some(("healthcheck", arguments)) => healthcheck(&config.server, arguments).await?,
        Some(("backup", arguments)) => {
            let to = arguments.get_one::<PathBuf>("to").context("the argument TO is missing")?;
            let mut printer = ProgressPrinter::new();
            Database::backup(&options::<S>(&config.database), to, |progress| printer.print(progress))?;
            println!("{} is a complete copy of the database", to.display());
        }
        Some((name, arguments)) => {
            let db = Database::open(options::<S>(&config.database), migrations::<S>).await?;
            let outcome = S::run(name, arguments, &config.service, db.clone()).await;
            db.close().await;
            outcome?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn run_site<S: Site>(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let file = matches.get_one::<PathBuf>("config").cloned();
    let config = load(&site_defaults::<S>(), file.as_deref())?;
    match matches.subcommand() {
        Some(("check-config", arguments)) => {
            println!("{}", describe(&config));
            site::check(&config)?;
            let mut checks = Checks::new(arguments.get_flag("offline"));
            let address = SocketAddr::from(([127, 0, 0, 1], config.server.port));
            S::check(&config.service, &SiteContext::new(&config.server, address), &mut checks).await?;
            checks.finish()?;
            println!("{VALID}");
        }
        Some(("healthcheck", arguments)) => healthcheck(&config.server, arguments).await?,
        _ => serve(&config.log.clone(), start_site::<S>(config)).await?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the default configuration of a site.
fn site_defaults<S: Site>() -> SiteConfig<S::Settings> {
    let mut defaults = SiteConfig::default();
    defaults.server.port = S::PORT;
    defaults
}

async fn healthcheck(server: &Server, arguments: &ArgMatches) -> anyhow::Result<()> {
    let path = if arguments.get_flag("live") { "healthz" } else { "readyz" };
    checks::healthcheck(&server.host, server.port, path).await
}

/// Fails if neither the setting nor the default SQLite file exists. The environment of a shell often lacks the
/// service's variables; the command must not create another database then.
fn ensure_database_configured<S: Service>(database: &DatabaseConfig) -> anyhow::Result<()> {
    let file = format!("{}.sqlite", S::NAME);
    anyhow::ensure!(
        database.url.expose_secret() != defaults::<S>().database.url.expose_secret()
            || Path::new(&file).exists(),
        "database.url is not set, and there is no {file} in this folder: set DROVER_DATABASE__URL or \
         DROVER_DATABASE__URL_FILE to the value that the service has"
    );
    Ok(())
}

/// Applies pending migrations, or only lists them.
fn migrate<S: Service>(database: &DatabaseConfig, only_list: bool) -> anyhow::Result<ExitCode> {
    let options = options::<S>(database);
    let (names, outcome) = if only_list {
        (Database::pending(&options, migrations::<S>())?, "to be applied")
    } else {
        (Database::migrate(&options, migrations::<S>())?, "applied")
    };
    println!("{} migrations {outcome}", names.len());
    for name in &names {
        println!("{name}");
    }
    Ok(if only_list && !names.is_empty() { PENDING_EXIT_CODE.into() } else { ExitCode::SUCCESS })
}

/// Prints the configuration, and tries what it names.
async fn check_config<S: Service>(config: &Config<S::Settings>, mut checks: Checks) -> anyhow::Result<()> {
    println!("{}", describe(config));
    start::check(config)?;
    let verifier = Data::new(Verifier::new(&config.auth)?);
    let remedy = "auth.jwks_url (DROVER_AUTH__JWKS_URL) or auth.jwks_file (DROVER_AUTH__JWKS_FILE) must name the JWKS \
                  document of the identity provider";
    if verifier.has_remote_keys() {
        checks.run_online("keys", remedy, verifier.check()).await;
    } else {
        checks.run("keys", remedy, verifier.check()).await;
    }
    let remedy = "change database.url (DROVER_DATABASE__URL or DROVER_DATABASE__URL_FILE)";
    let database = check_database::<S>(config.database.clone());
    if config.database.url.expose_secret().starts_with("sqlite:") {
        checks.run("database", remedy, database).await;
    } else {
        checks.run_online("database", remedy, database).await;
    }
    S::check(&config.service, verifier, &mut checks).await?;
    checks.finish()?;
    println!("{VALID}");
    Ok(())
}

/// Connects to the database. Returns what was found, for people.
async fn check_database<S: Service>(config: DatabaseConfig) -> anyhow::Result<String> {
    let check = move || {
        let options = options::<S>(&config);
        let found = Database::check(&options, migrations::<S>())?;
        if !config.migrate {
            Database::check_migrated(&options, migrations::<S>())?;
        }
        if let Some(standby) = standby(&config) {
            let standby = Database::check_standby(&options, &standby)?;
            return Ok(format!("{found}; database.read_url: {standby}"));
        }
        Ok(found)
    };
    let found = tokio::task::spawn_blocking(check).await?;
    found.map_err(|error: anyhow::Error| crate::http::explain_unresolved(error, "of database.url"))
}

/// Prints the progress of a backup on standard error, at most once per interval.
struct ProgressPrinter {
    last_printed: Instant,
}

impl ProgressPrinter {
    /// Creates a printer whose first line appears after an interval.
    fn new() -> Self {
        Self { last_printed: Instant::now() }
    }

    /// Prints the progress on standard error, if the last line is old enough.
    fn print(&mut self, progress: BackupProgress) {
        if self.last_printed.elapsed() < PRINT_INTERVAL {
            return;
        }
        self.last_printed = Instant::now();
        match progress {
            BackupProgress::Copying { copied, total } => {
                eprintln!("{} % copied", i64::from(copied) * 100 / i64::from(total.max(1)));
            }
            BackupProgress::Checking => eprintln!("copied; checking the copy"),
        }
    }
}

/// Time after the start in which workers and tasks still free what they needed to begin.
const START_DURATION: Duration = Duration::from_secs(1);

/// Runs the service until a signal. A second signal ends the drain.
///
/// # Errors
/// Fails if the service cannot start, or ends by itself.
async fn serve(log: &Log, start: impl Future<Output = anyhow::Result<Running>>) -> anyhow::Result<()> {
    logs::init(log);
    let mut signals = Signals::new()?;
    // The start may wait for migrations of another replica. A signal ends it at once: no request is in flight yet.
    let mut running = tokio::select! {
        started = start => started?,
        () = signals.received() => return Ok(()),
    };
    tokio::spawn(async {
        tokio::time::sleep(START_DURATION).await;
        allocator::return_freed_memory();
    });
    tokio::select! {
        error = running.failed() => return Err(error),
        () = signals.received() => {}
    }
    tracing::info!("stopping; requests in flight may finish");
    running.drain_and_stop(signals.received()).await;
    Ok(())
}

/// SIGTERM and SIGINT.
struct Signals {
    terminate: Signal,
    interrupt: Signal,
}

impl Signals {
    fn new() -> anyhow::Result<Self> {
        let (terminate, interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        Ok(Self { terminate, interrupt })
    }

    /// Waits for either signal.
    async fn received(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

//! `up`: runs the three services, and for a demonstration the console, on this machine until Ctrl-C.

use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use anyhow::Result;
use testkit::market::seed;
use testkit::processes::checkout::CONSOLE;
use testkit::processes::environment::variables;
use testkit::processes::interrupt::Interrupt;
use testkit::processes::service::ServiceConfig;
use testkit::processes::text_table;
use testkit::processes::tokens::{self, DevKeys, Identity};

use crate::cli::UpArgs;
use crate::launch::{self, Programs};
use crate::{events, examples};

/// How long the printed tokens are valid.
const TOKEN_TTL: Duration = Duration::from_secs(12 * 3600);

/// Builds and starts the services, prints how to call them, and stops them after a signal.
pub fn run(args: &UpArgs, interrupt: &Interrupt) -> Result<()> {
    let data = launch::data_folder(&args.data)?;
    let mut config = launch::config(&args.backends, &data, args.port, &Vec::new());
    // Pages and webhook receivers that are developed on this machine.
    for (index, environment) in config.environment.iter_mut().enumerate() {
        environment.extend(variables([("SERVER__CORS_ORIGINS", "loopback".to_owned())]));
        if index > 0 {
            environment.extend(variables([("SERVICE__WEBHOOK_ALLOW_PRIVATE", "true".to_owned())]));
        }
    }
    config.console = args.demo;
    if args.demo {
        for environment in &mut config.environment {
            environment.extend(variables([("SERVER__DEMO_DATA", "true".to_owned())]));
        }
    }
    let mut webhook = String::new();
    if let Some(url) = &args.webhook {
        let secret = tokens::webhook_secret(&data)?;
        config.environment[1].extend(variables([
            ("SERVICE__WEBHOOK_URL", url.clone()),
            ("SERVICE__WEBHOOK_SECRETS", secret.clone()),
        ]));
        webhook = format!("Webhooks of logistics go to {url}, signed by {secret}\n");
    }
    let services = config.services()?;
    let mut running = launch::launch(config, &args.backends, Programs::build(args.release), interrupt)?;
    let mut serve = || {
        if args.demo {
            demonstrate(args, &services, &data, &running.keys, interrupt)
                // A service that has ended explains more than the request that failed.
                .or_else(|error| running.stack.check_running().and(Err(error)))?;
        }
        let environment = examples::write_environment(&services, &data, &running.keys, TOKEN_TTL)?;
        print!("\n{}{webhook}", introduction(&services, &data, &running.keys, &environment));
        while !interrupt.requested() {
            running.stack.check_running()?;
            sleep(Duration::from_millis(200));
        }
        Ok(())
    };
    let result = serve();
    running.stop(result, interrupt)
}

/// Fills the services with the sample market, and runs the examples while it prints the events of logistics.
fn demonstrate(
    args: &UpArgs,
    services: &[ServiceConfig],
    data: &Path,
    keys: &DevKeys,
    interrupt: &Interrupt,
) -> Result<()> {
    seed::run(services, keys, interrupt)?;
    events::print_all(&services[1], keys, TOKEN_TTL);
    if !examples::has_curl() {
        println!("curl is missing: the examples are left out. Install it or put it on PATH");
        return Ok(());
    }
    examples::run(services, data, args.verbose, interrupt)
}

/// How to call the services: their URLs and a request to copy.
fn introduction(services: &[ServiceConfig], data: &Path, keys: &DevKeys, environment: &Path) -> String {
    let rows: Vec<[String; 4]> = services
        .iter()
        .map(|service| {
            let url = service.url();
            [
                service.name.to_owned(),
                url.clone(),
                if service.name == CONSOLE { String::new() } else { format!("{url}/docs/") },
                service.log().display().to_string(),
            ]
        })
        .collect();
    // The sample market has loads and listings of this organisation.
    let carys = Identity {
        user: "carys",
        name: Some("Carys"),
        org: Some("penybont-farm"),
        org_name: Some("Penybont Farm"),
        roles: &[],
    };
    // The last line, where it is seen.
    let console = services.iter().find(|service| service.name == CONSOLE);
    let console =
        console.map(|console| format!("\nOpen the console and choose who to be: {}/\n", console.url()));
    let console = console.unwrap_or_default();
    let token = carys.token(keys, TOKEN_TTL);
    let admin = ["admin".to_owned()];
    let docs_token = Identity { roles: &admin, ..carys }.token(keys, TOKEN_TTL);
    format!(
        "{}\nTry it (Carys of Penybont Farm; the token is valid for 12 hours):\n\n  \
         curl -H 'Authorization: Bearer {token}' '{}/v1/loads?limit=5'\n\n\
         On the documentation pages, press Authorize and paste this token of Carys with the role admin. With --demo, \
         every operation succeeds with its example:\n\n  {docs_token}\n\n\
         Base URLs and a token for each person of the examples, in another terminal:\n\n  . '{}'\n\n\
         The command line, with such a token (docs/api/command-line.md):\n\n  \
         cargo install --locked --path crates/cli\n  \
         DROVER_TOKEN=$OWEN drover loads list\n  \
         DROVER_TOKEN=$OWEN drover events follow\n\n\
         A token for another user: cargo xtask token --data '{}' --user NAME --org ORGANISATION\n\
         Ctrl-C stops everything.\n{console}",
        text_table::render(["service", "base URL", "documentation", "log"], &rows),
        services[1].url(),
        environment.display(),
        data.display(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::BackendArgs;

    #[test]
    fn the_introduction_has_a_line_to_copy() {
        let folder = tempfile::tempdir().unwrap();
        let keys = DevKeys::load_or_create(folder.path()).unwrap();
        let config = launch::config(&BackendArgs::default(), folder.path(), 9000, &Vec::new());
        let environment = folder.path().join("env.sh");
        let text = introduction(&config.services().unwrap(), folder.path(), &keys, &environment);
        assert!(text.contains("http://127.0.0.1:9002/docs/"), "{text}");
        assert!(text.contains("'http://127.0.0.1:9001/v1/loads?limit=5'"), "{text}");
    }
}

//! `docspage`: every example of the OpenAPI documents succeeds against services with the demo data, as it stands and on
//! the docs page in a browser: directly, and behind a proxy with a path prefix that the services do not know. A page
//! follows the stream of events across a restart, and visitors use the market page of the examples.

mod examples;
mod follow;
mod market;
mod page;

use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use testkit::processes::checkout::{self, SERVICES};
use testkit::processes::environment::variables;
use testkit::processes::ports;
use testkit::processes::service::ServiceProcess;
use testkit::processes::stack::Stack;
use testkit::processes::tokens::{DevKeys, Identity};
use testkit::processes::trial::Trial;

use self::page::{Visit, check_linked_image};
use crate::browser::{Browser, Page};
use crate::replicas::deployment::Proxy;

const TOKEN_TTL: Duration = Duration::from_secs(3600);
/// Operations that the short form tries on the page: each kind of request and response.
const SHORT: [&[&str]; 3] = [
    &["search_addresses", "download_file", "resolve_files", "upload_file"],
    &["search_loads", "find_load_batch_template", "create_load_as_organiser", "update_load", "accept_load"],
    &["search_listings", "create_cattle_listing", "add_listing_to_wishlist", "close_listing"],
];

/// Runs the trial on SQLite, and the examples in the long form on PostgreSQL too.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    // Side by side, like the default ports: the links between the pages follow from them.
    let mut stack = start(trial, false, Some(ports::find_free_row(3)?))?;
    let token = admin_of_farm(trial)?;
    send_examples(trial, &stack, &token, "SQLite")?;
    if !trial.short {
        send_examples(trial, &start(trial, true, None)?, &token, "PostgreSQL")?;
    }
    let mut browser = Browser::start()?;
    for (service, short) in stack.services.iter().zip(SHORT) {
        try_operations(trial, &mut browser, service, short, &token)?;
    }
    let [system, logistics, _] = &stack.services[..] else { bail!("there are three services") };
    let png = checkout::target_dir()?.join("docspage/system.png");
    check_linked_image(&mut browser, system, logistics, &png, &token)?;
    trial.note("a private image on a page of another origin, by a link", "shown", "shown");
    market::check(trial, &mut browser, &stack.services, &token)?;
    follow::check(trial, &mut browser, &mut stack, &token)?;
    let [port] = ports::find_free()?;
    let proxy = Proxy::start(trial, port, &stack)?;
    for name in SERVICES {
        trial.check()?;
        let visit = Visit::open(&mut browser, &format!("{}/docs/", proxy.url(name)))?;
        visit.check_links(&mut browser, name)?;
        visit.authorize(&mut browser, &token)?;
        visit.check_success(&mut browser, "find_settings", &format!("{}/v1/", proxy.url(name)))?;
        trial.note(format!("{name} behind a path prefix: title, links, a request"), "right", "right");
    }
    Ok(())
}

/// Opens a page with the origin of a service, like one of an app. It is a response for programs, so the browser is told
/// to ignore its policy, which forbids a page to load anything.
fn open_app(browser: &mut Browser, service: &ServiceProcess) -> Result<Page> {
    let page = browser.open("about:blank")?;
    browser.command(&page, "Page.setBypassCSP", &json!({"enabled": true}))?;
    browser.navigate(&page, &service.url("/healthz"))?;
    Ok(page)
}

/// Starts the services with the demo data. They do not know their public URL.
fn start(trial: &Trial<'_>, postgres: bool, first_port: Option<u16>) -> Result<Stack> {
    let mut config = trial.stack_config(if postgres { "postgres" } else { "sqlite" }, postgres)?;
    config.first_port = first_port;
    for environment in &mut config.environment {
        environment.extend(variables([
            ("SERVER__DEMO_DATA", "true"),
            ("SERVER__PUBLIC_URL", ""),
            ("SERVER__CORS_ORIGINS", "loopback"),
        ]));
    }
    trial.stack(&config)
}

/// Signs the token that `cargo xtask up` prints for the docs pages.
fn admin_of_farm(trial: &Trial<'_>) -> Result<String> {
    let roles = ["admin".to_owned()];
    let identity = Identity {
        user: "carys",
        name: Some("Carys"),
        org: Some("penybont-farm"),
        org_name: Some("Penybont Farm"),
        roles: &roles,
    };
    Ok(identity.token(&DevKeys::load_or_create(&trial.path("keys"))?, TOKEN_TTL))
}

fn send_examples(trial: &Trial<'_>, stack: &Stack, token: &str, database: &str) -> Result<()> {
    for service in &stack.services {
        let sent = examples::send_all(service, token, false)?;
        let file = checkout::target_dir()?.join("docspage").join(format!("{}-examples.json", service.name));
        fs::create_dir_all(file.parent().context("no folder")?)?;
        fs::write(&file, serde_json::to_string_pretty(&sent.responses)? + "\n")?;
        examples::send_all(service, token, true).context("in the second run")?;
        let result =
            format!("{} operations, {} parameters, {} bodies", sent.operations, sent.parameters, sent.bodies);
        trial.note(format!("{}: examples sent twice on {database}", service.name), result, "all succeed");
    }
    Ok(())
}

/// Tries operations on the page of a service: in the long form all that the examples can repeat.
fn try_operations(
    trial: &Trial<'_>,
    browser: &mut Browser,
    service: &ServiceProcess,
    short: &[&str],
    token: &str,
) -> Result<()> {
    let begun = Instant::now();
    let document = service.get("/openapi.json", token)?.json;
    let visit = Visit::open(browser, &service.url("/docs/"))?;
    visit.check_links(browser, service.name)?;
    visit.authorize(browser, token)?;
    browser.reload(&visit.page)?;
    visit.check_token(browser, token)?;
    let operations =
        if trial.short { short.iter().map(ToString::to_string).collect() } else { repeatable(&document) };
    for operation in &operations {
        trial.check()?;
        visit.check_success(browser, operation, &service.url("/v1/"))?;
    }
    if service.name == "system" {
        visit.check_upload(browser)?;
    }
    visit.check_error(browser, service.name)?;
    let folder = checkout::target_dir()?.join("docspage");
    fs::create_dir_all(&folder)?;
    browser.screenshot(&visit.page, &folder.join(format!("{}.png", service.name)))?;
    let (count, seconds) = (operations.len(), begun.elapsed().as_secs_f64());
    let result = format!("{count} operations in {seconds:.0} s");
    trial.note(format!("{}: title, links, token kept, requests, an error", service.name), result, "right");
    Ok(())
}

/// Returns the ids of the operations that succeed more than once.
fn repeatable(document: &Value) -> Vec<String> {
    let items = document["paths"].as_object().into_iter().flat_map(|paths| paths.values());
    let operations = items.filter_map(Value::as_object).flat_map(|item| item.values());
    let ids = operations.filter_map(|operation| operation["operationId"].as_str());
    let is_repeatable = |id: &&str| {
        !examples::ONCE.contains(id) && ![examples::SIGNED, examples::TOKEN, examples::STREAM].contains(id)
    };
    ids.filter(is_repeatable).map(str::to_owned).collect()
}

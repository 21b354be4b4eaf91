//! A page of another origin follows the stream of events with the code of docs/api/events.md while logistics is killed
//! and started again.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Value, json};
use testkit::market::organised_load;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;
use testkit::processes::stack::Stack;
use testkit::processes::trial::Trial;

use super::open_app;
use crate::browser::Browser;
use crate::markdown;

/// The page with the code, and the organisation of the loads.
const DOCUMENT: &str = "docs/api/events.md";
const ORGANISATION: &str = "penybont-farm";
/// Loads that are created before logistics is killed, and after.
const LOADS: usize = 3;
/// How long logistics is away.
const AWAY: Duration = Duration::from_secs(2);

/// Opens the page, creates loads, kills logistics, creates loads, and compares what the page has received.
pub fn check(trial: &Trial<'_>, browser: &mut Browser, stack: &mut Stack, token: &str) -> Result<()> {
    let [system, logistics, _] = &mut stack.services[..] else { bail!("there are three services") };
    let page = open_app(browser, system)?;
    let document = [DOCUMENT.to_owned()];
    let documents = markdown::read(&document)?;
    let code = documents[0]
        .block("js", "follow")?
        .replace("console.log(event.type, event.reference)", "received.push(event)");
    ensure!(code.contains("received.push"), "the example of {DOCUMENT} does not show events");
    let globals = json!([logistics.url(""), token]);
    browser.evaluate(
        &page,
        &format!("[logistics, token] = {globals}; received = []; (0, eval)({}); true", json!(code)),
    )?;
    // The stream begins with the next event.
    thread::sleep(Duration::from_secs(1));
    let mut loads = create(logistics, token, "FOLLOW-A")?;
    browser.wait(&page, &format!("received.length >= {LOADS}"))?;
    logistics.kill()?;
    thread::sleep(AWAY);
    logistics.restart()?;
    let begun = Instant::now();
    logistics.wait_ready(begun, || trial.check())?;
    loads.extend(create(logistics, token, "FOLLOW-B")?);
    browser.wait(&page, &format!("received.length >= {}", 2 * LOADS))?;
    let took = begun.elapsed().as_secs_f64();
    let received = browser.evaluate(&page, "received.map((event) => event.loadId)")?;
    ensure!(received == json!(loads), "the page received {received}, not {loads:?}");
    trial.note(
        format!("a page follows the stream while logistics is killed and started: {} events", loads.len()),
        format!("all once, in order; {took:.1} s after the start"),
        "all once, in order",
    );
    Ok(())
}

/// Creates loads and returns their ids.
fn create(logistics: &ServiceProcess, token: &str, prefix: &str) -> Result<Vec<String>> {
    (0..LOADS)
        .map(|number| {
            let load = organised_load(ORGANISATION, &format!("{prefix}-{number}"), &Value::Null);
            let created = logistics.send("POST", "/v1/loads/organiser", token, &Body::Json(load))?;
            Ok(created.json["id"].as_str().with_context(|| format!("created: {}", created.json))?.to_owned())
        })
        .collect()
}

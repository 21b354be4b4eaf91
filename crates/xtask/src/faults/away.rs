//! System away, seen by logistics and livestock, which ask it about files.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use serde_json::json;

use super::endure::Fault;
use super::stand_in::{Manner, StandIn};
use super::wire::{State, Wire};
use crate::client::Body;
use crate::load::site::{NEW, Site, file, load};
use crate::load::{Request, Work, new_run};
use crate::trial::Trial;

/// Three tries of two seconds, and the pauses between them (`files.rs`).
const SLOWEST: Duration = Duration::from_secs(8);
/// An answer of somebody who does not ask at all.
const AT_ONCE: Duration = Duration::from_millis(200);
/// So many loads wait for their proof.
const PROOFS: usize = 400;

/// Breaks it in every way, or in the most telling.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let system = trial.service("system", "away-system", None, Vec::new())?;
    let wire = Wire::to(system.port())?;
    let sites = ["logistics", "livestock"].map(|name| {
        let folder = format!("away-{name}");
        trial.share_keys("away-system", &folder)?;
        let url = format!("http://127.0.0.1:{}", wire.port());
        let environment = vec![("DROVER_SERVICE__SYSTEM_URL".to_owned(), url)];
        Site::new(trial.service(name, &folder, None, environment)?)
    });
    let [logistics, livestock] = sites;
    let sites = [logistics?, livestock?];
    let ticket = system.send(
        "POST",
        "/v1/files",
        &system.token(Some(NEW)),
        &file("ticket".into(), b"29.4".to_vec()),
    )?;
    let ticket = ticket.json["id"].as_str().context("an upload gave no id")?.to_owned();
    let stage = Stage { trial, ticket, loads: loads(&sites[0], trial.short)?, sites };
    let stand_in = StandIn::start(Manner::Failing)?;
    let whole = || {
        wire.set(State::Whole);
        wire.lead_to(system.port());
    };
    // Whether system can be reached is asked of the head of its answer alone.
    let lead = |manner| {
        stand_in.set(manner);
        wire.lead_to(stand_in.port());
    };
    stage.broken(
        "system never answers",
        if trial.short { 5 } else { 10 },
        true,
        &|| lead(Manner::Hanging),
        &whole,
    )?;
    if trial.short {
        return Ok(());
    }
    stage.broken("system answers 500", 3, true, &|| lead(Manner::Failing), &whole)?;
    stage.broken("system answers half a body and stalls", 8, false, &|| lead(Manner::Stalling), &whole)?;
    stage.broken("system answers what is no HTTP", 3, true, &|| lead(Manner::Babbling), &whole)?;
    stage.broken("system answers another page", 3, false, &|| lead(Manner::Lying), &whole)?;
    stage.broken("system gone", 3, true, &|| wire.set(State::Closed), &whole)?;
    stage.broken("system silent", 8, true, &|| wire.set(State::Silent), &whole)?;
    stage.broken("system ten bytes a second", 8, true, &|| wire.set(State::Trickling), &whole)
}

/// Loads that are not proven yet.
fn loads(site: &Site, short: bool) -> Result<Vec<String>> {
    let token = site.service.token(Some(NEW));
    let create = |number: usize| {
        let answer = site.service.send(
            "POST",
            "/v1/loads/organiser",
            &token,
            &load(NEW, &format!("P-{number}"), &json!(null)),
        )?;
        Ok(answer.json["id"].as_str().context("a load has no id")?.to_owned())
    };
    (0..if short { PROOFS / 4 } else { PROOFS }).map(create).collect()
}

struct Stage<'a, 'b> {
    trial: &'a Trial<'b>,
    sites: [Site; 2],
    ticket: String,
    loads: Vec<String>,
}

impl Stage<'_, '_> {
    fn broken(&self, what: &str, hold: u64, shown: bool, break_it: &dyn Fn(), mend: &dyn Fn()) -> Result<()> {
        let sites: Vec<_> = self.sites.iter().collect();
        let (hold, run, began) = (Duration::from_secs(hold), new_run(), Instant::now());
        let mut works: Vec<_> =
            sites.iter().map(|site| site.asker().with_file(site.service.name, &run, &self.ticket)).collect();
        works.push(self.proofs());
        for site in &sites {
            // Those that ask system nothing.
            works.extend(site.works(&format!("{run}x")).into_iter().map(|work| Work { apart: true, ..work }));
        }
        let fault = Fault {
            run,
            hold,
            shows: shown.then_some("system"),
            refuses: true,
            slowest: SLOWEST,
            ..Fault::new(what, sites)
        };
        let set = |act: &dyn Fn()| {
            act();
            Ok(())
        };
        let fault = Fault { works: Some(works), ..fault };
        let events = fault.endure(self.trial, || set(break_it), || set(mend))?;
        let usual = events.usual_refusal().unwrap_or_else(|| began.elapsed());
        let figure = format!("{} ms", usual.as_millis());
        let what = format!("{what}: usual refusal (median) once the breaker is open");
        // Whoever asks a system that never answers waits for seconds.
        let most = if self.trial.short { 5 * AT_ONCE } else { AT_ONCE };
        self.trial.expect(usual < most, what, figure, format!("{} ms", most.as_millis()))
    }

    /// Proofs of delivery with a file; one that was refused is made again later.
    fn proofs(&self) -> Work {
        let (base, token) = (self.sites[0].service.url(""), self.sites[0].service.token(Some(NEW)));
        let (loads, files) = (self.loads.clone(), json!([{"id": self.ticket}]));
        let ask = Box::new(move |number: usize| Request {
            method: "POST",
            url: format!("{base}/v1/loads/{}/proof-of-delivery", loads[number % loads.len()]),
            token: Some(token.clone()),
            body: Body::Json(json!({
                "weightNet": 28.6, "ticketNumber": "T-1", "vehicleRegistration": "VX21KLM", "files": files,
            })),
            mark: None,
            key: None,
        });
        let right = Box::new(|answer: &crate::client::Answer| answer.json["files"][0]["name"] == "ticket");
        Work { name: "proof", ask, right, also: &[], apart: false, breaks: false }
    }
}

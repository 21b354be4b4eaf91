//! The object store failing, hanging and breaking off, seen by system.

use std::time::Duration;

use anyhow::{Context, Result};

use super::endure::Fault;
use super::stand_in::{Manner, StandIn};
use super::wire::{State, Wire};
use crate::client::Body;
use crate::load::site::{FILLER, Site, file};
use crate::trial::Trial;

/// So long an upload waits for the store, three times at most: to look, to store, to abort (`cloud.rs`).
const SLOWEST: Duration = Duration::from_secs(13);
/// Larger than what is sent in one part.
const LARGE: usize = 6 << 20;

/// Breaks it in every way, or in the first two.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let url = trial.servers.s3_url();
    let (scheme, rest) = url.split_once("://").context("the store has no URL")?;
    let (login, address) = rest.split_once('@').context("the store has no key")?;
    let (key, secret) = login.split_once(':').context("the store has no secret")?;
    let port = address.rsplit(':').next().and_then(|port| port.trim_end_matches('/').parse().ok());
    let port = port.context("the store has no port")?;
    let wire = Wire::to(port)?;
    let folder = format!("s3://drover-test/faults-{}", std::process::id());
    let endpoint = format!("{scheme}://127.0.0.1:{}", wire.port());
    let environment = [
        ("DROVER_SERVICE__STORE_URL", folder.as_str()),
        ("DROVER_SERVICE__STORE_ENDPOINT", &endpoint),
        ("DROVER_SERVICE__STORE_REGION", "eu-west-2"),
        ("DROVER_SERVICE__STORE_ACCESS_KEY", key),
        ("DROVER_SERVICE__STORE_SECRET_KEY", secret),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec();
    let database = trial.databases.create("system")?;
    let site = Site::new(trial.service("system", "store", Some(database), environment)?)?;
    let stand_in = StandIn::start(Manner::Failing)?;
    let broken = |what, hold, break_it: &dyn Fn()| {
        broken(trial, &site, (what, hold), break_it, &|| wire.lead_to(port))
    };
    let manner = |manner| {
        stand_in.set(manner);
        wire.lead_to(stand_in.port());
    };
    broken("S3 answers 500", 2, &|| manner(Manner::Failing))?;
    broken("S3 never answers", if trial.short { 5 } else { 9 }, &|| manner(Manner::Hanging))?;
    if trial.short {
        return Ok(());
    }
    broken("S3 answers half a body and stalls", 5, &|| manner(Manner::Stalling))?;
    broken("S3 answers half a body and breaks off", 3, &|| manner(Manner::Breaking))?;
    broken("S3 answers what is no HTTP", 3, &|| manner(Manner::Babbling))?;
    let wired = |what, hold, state| {
        self::broken(trial, &site, (what, hold), &|| wire.set(state), &|| wire.set(State::Whole))
    };
    wired("S3 out of reach, uploads cut in the middle", 3, State::Closed)?;
    wired("S3 silent in the middle of all", 7, State::Silent)
}

fn broken(
    trial: &Trial<'_>,
    site: &Site,
    (what, hold): (&str, u64),
    break_it: &dyn Fn(),
    mend: &dyn Fn(),
) -> Result<()> {
    let hold = Duration::from_secs(hold);
    // The probe is content with the head of an answer.
    let shows = (!what.contains("half")).then_some("store");
    let databases = Some(&trial.databases);
    let fault =
        Fault { databases, hold, slowest: SLOWEST, shows, refuses: true, ..Fault::new(what, vec![site]) };
    let mut works = site.works(&fault.run);
    works[1].breaks = true;
    works[2].apart = true; // information needs no content
    if !trial.short {
        let run = format!("{}L", fault.run);
        works.push(site.asker().write("large upload", "/v1/files", &run, |mark| {
            match file(mark.clone(), mark.into_bytes()) {
                Body::Form(mut form) => {
                    form.content.to_mut().resize(LARGE, FILLER);
                    Body::Form(form)
                }
                other => other,
            }
        }));
    }
    let fault = Fault { works: Some(works), ..fault };
    let set = |act: &dyn Fn()| {
        act();
        Ok(())
    };
    fault.endure(trial, || set(break_it), || set(mend)).map(drop)
}

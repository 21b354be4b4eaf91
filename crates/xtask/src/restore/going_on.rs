//! Somebody who goes on writing while the backups are made: of that, what was acknowledged before they began is there
//! afterwards, and what came later as far as some moment, without a gap.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::known::{LIVESTOCK, LOGISTICS, SYSTEM};
use super::stage::Stage;
use crate::client::Body;
use crate::load::site::{file, listing, load};

const ORGANISATION: &str = "org-going-on";
const MARK: &str = "GO-";
const PATIENCE: Duration = Duration::from_secs(300);

/// Who it is.
#[derive(Default)]
pub struct GoingOn {
    written: AtomicUsize,
    enough: AtomicBool,
}

impl GoingOn {
    /// Writes a file, a load with it and a listing with it, again and again, until it is enough.
    pub fn write(&self, stage: &Stage<'_>) -> Result<()> {
        let token = stage.token(Some(ORGANISATION));
        let send = |service: usize, path: &str, body: Body| {
            stage.services[service].send("POST", path, &token, &body)
        };
        while !self.enough.load(Ordering::SeqCst) {
            let mark = format!("{MARK}{:06}", self.written.load(Ordering::SeqCst));
            let made = send(SYSTEM, "/v1/files", file(mark.clone(), mark.clone().into_bytes()))?;
            let files = json!([{"id": made.json["id"]}]);
            send(LOGISTICS, "/v1/loads/organiser", load(ORGANISATION, &mark, &files))?;
            send(LIVESTOCK, "/v1/listings/sheep", listing(&mark, &files))?;
            self.written.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// How many rounds are acknowledged.
    pub fn written(&self) -> usize {
        self.written.load(Ordering::SeqCst)
    }

    /// Waits until there are so many more.
    pub fn wait(&self, more: usize) -> Result<()> {
        let (least, begun) = (self.written() + more, Instant::now());
        while self.written() < least {
            ensure!(
                !self.enough.load(Ordering::SeqCst) && begun.elapsed() < PATIENCE,
                "nothing is written any more"
            );
            sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    pub fn end(&self) {
        self.enough.store(true, Ordering::SeqCst);
    }

    /// How many of its loads and listings are there: at least so many, without a gap, and their files with them.
    pub fn look(stage: &Stage<'_>, least: usize) -> Result<[usize; 2]> {
        let there = |service: usize, path: &str| {
            let token = stage.token(Some(ORGANISATION));
            let csv = String::from_utf8(
                stage.services[service].get(&format!("{path}={ORGANISATION}&format=CSV"), &token)?.bytes,
            )?;
            let mut marks: Vec<usize> =
                csv.split(MARK).skip(1).filter_map(|rest| rest.get(..6)?.parse().ok()).collect();
            marks.sort_unstable();
            ensure!(
                marks.len() >= least && marks.iter().copied().eq(0..marks.len()),
                "of {least} there are {marks:?}"
            );
            Ok(csv.lines().skip(1).map(str::to_owned).collect::<Vec<_>>())
        };
        let (loads, listings) = (
            there(LOGISTICS, "/v1/loads?f:organiserId")?,
            there(LIVESTOCK, "/v1/listings?f:organisationId")?,
        );
        let token = stage.token(Some(ORGANISATION));
        for load in &loads {
            let id = load.split(',').next().unwrap_or_default();
            let shown = stage.services[LOGISTICS].get(&format!("/v1/loads/{id}"), &token)?.json;
            let file = shown["files"][0]["id"].as_str().context("a load has lost its file")?;
            let content = stage.services[SYSTEM].get(&format!("/v1/files/{file}"), &token)?.bytes;
            ensure!(
                shown["reference"].as_str().map(str::as_bytes) == Some(&content[..]),
                "the file of {id} is another"
            );
        }
        Ok([loads.len(), listings.len()])
    }
}

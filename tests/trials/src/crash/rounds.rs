//! Rounds of writes and kills over the same data. After each round everything is checked.

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use anyhow::Result;
use testkit::market::random::Random;

use super::checks::files::{self, StoredFiles};
use super::checks::listings::StoredListings;
use super::checks::loads::StoredLoads;
use super::checks::shares::{self, ShareCounts};
use super::checks::{Checked, check};
use super::client::{Client, LIVESTOCK, LOGISTICS, SYSTEM};
use super::records::Records;
use super::services::{ALL, Services};
use super::writer::{Progress, write_during};
use crate::crash::findings::Findings;

/// The services that a kill hits, drawn from these.
const VICTIMS: [&[usize]; 7] =
    [&[SYSTEM], &[LOGISTICS], &[LIVESTOCK], &[SYSTEM, LOGISTICS], &[LOGISTICS, LIVESTOCK], &ALL, &ALL];
/// Single creates of a round, unless it takes longer than [`ROUND_TIME`]: long and short form.
const CREATES: [usize; 2] = [300, 40];
const ROUND_TIME: Duration = Duration::from_secs(30);

/// The state over all rounds on one database.
pub struct Rounds<'a> {
    pub services: Services<'a>,
    /// The writes of each round.
    pub records: Vec<Records>,
    pub findings: Findings,
    /// Findings of the checks of SQLite.
    pub damage: Vec<String>,
    /// Highest number of contents without a record after a round.
    pub max_orphans: usize,
    /// Contents that the final sweep removed.
    pub swept: usize,
    /// Highest number of uploads that a round interrupted.
    pub max_staged: usize,
    pub shares: ShareCounts,
    /// Contents whose hash was verified.
    verified: BTreeSet<String>,
}

impl<'a> Rounds<'a> {
    /// Executes all rounds. The first round with a violation is the last.
    pub fn run(services: Services<'a>) -> Result<Self> {
        let trial = services.trial;
        let mut rounds = Self {
            services,
            records: Vec::new(),
            findings: Findings::default(),
            damage: Vec::new(),
            max_orphans: 0,
            swept: 0,
            max_staged: 0,
            shares: ShareCounts::default(),
            verified: BTreeSet::new(),
        };
        for round in 0..if trial.short { 2 } else { 20 } {
            rounds.execute(round)?;
            if rounds.findings.ledger.violations() > 0 {
                break;
            }
        }
        rounds.finish()?;
        Ok(rounds)
    }

    fn execute(&mut self, round: usize) -> Result<()> {
        let (trial, begun) = (self.services.trial, Instant::now());
        let seed = usize::try_from(trial.seed)? * 2 + usize::from(self.services.is_postgres);
        let random = &mut Random::of(seed * 1000 + round);
        let endpoints = self.services.endpoints.clone();
        let kill = |progress: &_| kill(&mut self.services, random, progress);
        self.records.push(write_during(trial, &endpoints, (seed, round), kill)?);
        self.max_staged = self.max_staged.max(files::age_staged_uploads(&self.services)?);
        self.services.restart_all()?;
        files::wait_staging_empty(&self.services)?;
        let (write_time, check_begun) = (begun.elapsed(), Instant::now());
        self.check()?;
        let (kills, check_time) = (self.services.kills, check_begun.elapsed());
        eprintln!("    round {}: {kills} kills, {write_time:.1?}; checks {check_time:.1?}", round + 1);
        Ok(())
    }

    /// Checks all data after a round.
    fn check(&mut self) -> Result<()> {
        let Checked { damage, orphans, share_time } =
            check(&self.services, &mut self.records, &mut self.verified, &mut self.findings)?;
        self.damage.extend(damage);
        self.max_orphans = self.max_orphans.max(orphans);
        self.shares.duration = self.shares.duration.max(share_time);
        Ok(())
    }

    /// Removes what the kills left behind, and compares everything again after all outcomes are settled.
    fn finish(&mut self) -> Result<()> {
        let (trial, ledger) = (self.services.trial, &mut self.findings.ledger);
        self.swept = files::sweep(&mut self.services, ledger)?;
        let client = &Client::new(trial, &self.services.endpoints);
        trial.check()?;
        StoredFiles::read(&self.services, &mut BTreeSet::new(), ledger)?.compare(&self.records, ledger);
        files::check_reads(client, &self.records, ledger)?;
        trial.check()?;
        let (loads, listings) = (StoredLoads::read(client)?, StoredListings::read(client)?);
        loads.compare(&self.records, ledger);
        listings.compare(&self.records, ledger);
        let shares = shares::check(trial, client, &self.records, (&loads, &listings), ledger)?;
        self.shares = ShareCounts { duration: self.shares.duration, ..shares };
        self.damage.extend(self.services.damage()?);
        Ok(())
    }
}

/// Kills services at random moments and starts them again, sometimes twice in a row. Kills all services at the end.
fn kill(services: &mut Services<'_>, random: &mut Random, progress: &Progress) -> Result<()> {
    let (trial, begun) = (services.trial, Instant::now());
    let pause = |seconds| trial.pause(Duration::from_secs_f64(seconds));
    let (kills, max_pause) = if trial.short { (1, 1.0) } else { (1 + random.below(2), 1.5) };
    for _ in 0..kills {
        pause(random.between((0.0, max_pause)))?;
        let mut victims = random.one(&VICTIMS);
        services.kill(victims)?;
        services.restart(victims)?;
        if random.percent(40) {
            // Kill them during their recovery.
            pause(random.between((0.0, 0.3)))?;
            victims = &ALL;
            services.kill(victims)?;
            services.restart(victims)?;
        }
        services.wait_ready(victims)?;
    }
    let creates = CREATES[usize::from(trial.short)];
    while progress.creates.load(Ordering::Relaxed) < creates && begun.elapsed() < ROUND_TIME {
        pause(0.02)?;
    }
    pause(random.between((0.0, max_pause)))?;
    services.kill_all()
}

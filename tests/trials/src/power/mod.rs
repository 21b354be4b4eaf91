//! `power`: the machine loses its power at random moments. What was acknowledged must be on the disk.
//!
//! The services write to a [`Disk`](disk::Disk) that records every operation. Clients note the length of the record
//! when they send a request and when they get its response. So for each moment of a run it is known what the disk holds
//! for certain ([`loss`]), and what it has to hold. The services start on a choice of it, everything is checked as in
//! `crash`, and some of these starts lose their power again. Many moments are those right after a response, beside a
//! sync, or during the stop of the services.
//!
//! The same runs show that the trial finds a missing sync: the disk ignores those of one kind, as if the services did
//! not make them.
//!
//! PostgreSQL syncs by itself. There, all its processes and all services are killed at once.

mod disk;
mod loss;
mod tree;

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use anyhow::{Context, Result};
use testkit::market::random::Random;
use testkit::processes::servers::Cluster;
use testkit::processes::trial::Trial;

use self::disk::Disk;
use self::loss::{Defect, Durable};
use self::tree::{Op, Tree};
use crate::crash::checks::check;
use crate::crash::findings::{Findings, WriteKind};
use crate::crash::records::Records;
use crate::crash::report::{self, expect_nothing_lost};
use crate::crash::rounds::Rounds;
use crate::crash::services::{ALL, Services};
use crate::crash::writer::write_during;

/// Runs of the clients, and losses of power in each, not counting those of a start: long and short form.
const LOSSES: [(usize, usize); 2] = [(20, 22), (1, 6)];
/// Percentage of the starts after a loss that lose their power too.
const LOST_STARTS: usize = 20;
/// Time for which the clients of a run write, in seconds.
const WRITE_TIME: (f64, f64) = (1.0, 3.0);
/// Losses within which a defect must be found.
const DEFECT_LOSSES: usize = 50;
/// Settings of a PostgreSQL server that loses nothing.
const DURABLE: [&str; 3] = ["fsync=on", "synchronous_commit=on", "full_page_writes=on"];

/// Runs the trial on SQLite and files, and on PostgreSQL.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    let folder = trial.path("power");
    fs::create_dir(&folder).context("cannot make a mount point")?;
    match Disk::mount(&folder, empty_disk(), Arc::default()) {
        Ok(disk) => {
            disk.unmount()?;
            lose_power(trial, folder)?;
        }
        Err(error) => {
            let reason = format!(
                "cannot mount a file system through FUSE ({error}): run this as root, with /dev/fuse"
            );
            trial.not_tried("SQLite and files lose power", &reason);
        }
    }
    let server = Cluster::start_with(&trial.servers.programs().postgres, &DURABLE, trial.stop)?;
    let services = Services::start_with(trial, trial.stack_config("power-postgres", false)?, server)?;
    report::report(&Rounds::run(services)?)
}

/// The data folder before the first start.
fn empty_disk() -> Tree {
    Tree::with_folders(&["log"])
}

fn lose_power(trial: &Trial<'_>, folder: PathBuf) -> Result<()> {
    let (runs, losses) = LOSSES[usize::from(trial.short)];
    let mut total = Losses::default();
    let mut last = None;
    for number in 0..runs {
        let mut run = Run::record(trial, folder.clone(), number)?;
        let moments = run.moments(losses);
        run.lose(&moments, None, &mut total)?;
        eprintln!("    run {}: {} operations, {} losses so far", number + 1, run.log.len(), total.count);
        last = Some(run);
        if total.is_violated() {
            break;
        }
    }
    trial.note("runs of the clients", runs.to_string(), "");
    trial.note("losses of power, of them during a start", format!("{}, {}", total.count, total.starts), "");
    for kind in WriteKind::ALL {
        let writes = total.findings.writes(kind);
        let result = format!("{}, {}", writes.unknown, writes.unknown_stored);
        trial.note(format!("{} in progress at a loss, of which stored", kind.name()), result, "");
    }
    expect_nothing_lost(trial, "SQLite", &total.findings, &total.damage)?;
    let Some(mut run) = last else { return Ok(()) };
    for defect in &Defect::ALL[..if trial.short { 1 } else { Defect::ALL.len() }] {
        run.find_defect(*defect)?;
    }
    Ok(())
}

/// The results of losses.
#[derive(Default)]
struct Losses {
    count: usize,
    /// Losses during a start.
    starts: usize,
    findings: Findings,
    /// Findings of the checks of SQLite.
    damage: Vec<String>,
}

impl Losses {
    fn is_violated(&self) -> bool {
        self.findings.ledger.violations() > 0 || !self.damage.is_empty()
    }
}

/// What clients wrote to an empty disk, and the services, which have ended.
struct Run<'a> {
    trial: &'a Trial<'a>,
    folder: PathBuf,
    services: Services<'a>,
    records: Records,
    log: Vec<Op>,
    random: Random,
}

impl<'a> Run<'a> {
    /// Lets clients write for some time, and stops the services.
    fn record(trial: &'a Trial<'a>, folder: PathBuf, number: usize) -> Result<Self> {
        let seed = usize::try_from(trial.seed)?;
        let mut random = Random::of(seed * 1000 + number);
        let clock = Arc::new(AtomicUsize::new(0));
        let disk = Disk::mount(&folder, empty_disk(), clock.clone()).context("cannot mount the disk")?;
        let mut services = Services::start(trial, trial.stack_config("power", false)?)?;
        services.endpoints.clock = clock;
        let time = Duration::from_secs_f64(random.between(WRITE_TIME));
        let records = write_during(trial, &services.endpoints, (seed, number), |_| trial.pause(time));
        services.stop()?;
        let log = disk.unmount()?;
        Ok(Self { trial, folder, services, records: records?, log, random })
    }

    /// Chooses moments: right after an acknowledgement, beside a sync, during the stop of the services, or any, and the
    /// end.
    fn moments(&mut self, count: usize) -> Vec<usize> {
        let acknowledgements = self.records.acknowledgements();
        let syncs = self.log.iter().enumerate().filter(|(_, op)| matches!(op, Op::Sync { .. }));
        let syncs: Vec<_> = syncs.map(|(index, _)| index).collect();
        let stop = acknowledgements.iter().max().copied().unwrap_or_default();
        let random = &mut self.random;
        let choose = |_| match random.below(4) {
            0 if !acknowledgements.is_empty() => random.one(&acknowledgements),
            1 if !syncs.is_empty() => random.one(&syncs) + random.below(2),
            2 => stop + random.below(self.log.len() + 1 - stop),
            _ => random.below(self.log.len() + 1),
        };
        let mut moments: Vec<_> = (1..count).map(choose).collect();
        moments.sort_unstable();
        moments.push(self.log.len());
        moments
    }

    /// Loses power at these moments, which are sorted, and checks what is left. The first violation ends it.
    fn lose(&mut self, moments: &[usize], defect: Option<Defect>, losses: &mut Losses) -> Result<()> {
        let log = std::mem::take(&mut self.log);
        let (mut durable, mut begin) = (Durable::new(empty_disk(), defect), 0);
        let mut result = Ok(());
        for moment in moments {
            for op in &log[begin..*moment] {
                durable.apply(op);
            }
            begin = *moment;
            let tree = durable.lose(&mut self.random);
            result = self.check(tree, *moment, defect, losses);
            result = result.with_context(|| format!("after a loss at operation {moment} of {}", log.len()));
            if result.is_err() || losses.is_violated() {
                if defect.is_none() {
                    eprintln!("    not synced: {}", durable.unsynced());
                }
                break;
            }
        }
        self.log = log;
        result
    }

    /// Starts the services on a disk after a loss of power at a moment, and checks everything.
    fn check(
        &mut self,
        mut tree: Tree,
        moment: usize,
        defect: Option<Defect>,
        losses: &mut Losses,
    ) -> Result<()> {
        losses.count += 1;
        if self.random.percent(LOST_STARTS) {
            let ((), log) = self.start_on(tree.clone(), |_| Ok(()))?;
            let mut durable = Durable::new(tree, defect);
            for op in &log[..self.random.below(log.len() + 1)] {
                durable.apply(op);
            }
            tree = durable.lose(&mut self.random);
            losses.starts += 1;
            losses.count += 1;
        }
        let mut records = [self.records.at(moment)];
        let findings = &mut losses.findings;
        let (checked, _) =
            self.start_on(tree, |services| check(services, &mut records, &mut BTreeSet::new(), findings))?;
        losses.damage.extend(checked.damage);
        Ok(())
    }

    /// Starts the services on a disk, kills them after an action, and returns what they did there.
    fn start_on<T>(
        &mut self,
        tree: Tree,
        action: impl FnOnce(&Services<'_>) -> Result<T>,
    ) -> Result<(T, Vec<Op>)> {
        let disk = Disk::mount(&self.folder, tree, Arc::default()).context("cannot mount the disk")?;
        let ready = self.services.restart(&ALL).and_then(|()| self.services.wait_ready(&ALL));
        let result = ready.and_then(|()| action(&self.services));
        self.services.kill(&ALL)?;
        let log = disk.unmount()?;
        Ok((result?, log))
    }

    /// Fails unless the losses of this run show a defect.
    fn find_defect(&mut self, defect: Defect) -> Result<()> {
        eprintln!("    {}: violations are expected", defect.name());
        let moments = self.moments(DEFECT_LOSSES);
        let mut losses = Losses::default();
        let failed = self.lose(&moments, Some(defect), &mut losses);
        self.trial.check()?;
        let (count, ledger) = (losses.count, &losses.findings.ledger);
        let is_found = failed.is_err() || losses.is_violated();
        let result = match failed {
            Err(error) if !losses.is_violated() => {
                format!(
                    "at loss {count}: {}",
                    error.root_cause().to_string().lines().last().unwrap_or_default().trim()
                )
            }
            _ => format!(
                "at loss {count}: {} lost, {} partly stored, {} findings of SQLite",
                ledger.lost,
                ledger.corrupted,
                losses.damage.len()
            ),
        };
        self.trial.expect(is_found, format!("defect: {}", defect.name()), result, "found")
    }
}

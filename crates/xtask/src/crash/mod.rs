//! `crash`: services killed at random moments of their work; what they acknowledged has to be there, once and whole.
//!
//! In each round clients write without pause, and write down what they send and what they hear, while services are
//! killed (`kill -9`): one, two or all, at a moment drawn from a second or two, now and then again while they start. At
//! the end all are killed and started over what they left, and everything is compared: with what the services answer,
//! and behind their backs with their databases and the store of files. What is in doubt, since its answer was lost,
//! has to be there whole or not at all, and is sent again. The next round goes on over the same data, and every
//! comparison is with everything that was sent in all rounds.
//!
//! **What this cannot see.** A killed process loses what it had in memory, but the pages that it wrote are the kernel's
//! and survive: a forgotten fsync is not found by this, only by a power failure. What stands against that is
//! elsewhere: SQLite commits with `synchronous=FULL`, which syncs its log at each commit, PostgreSQL with its own
//! default; contents are synced, renamed and their folder synced before their record is written (`content/local.rs`);
//! and
//! `cargo xtask bench` measures both beside loops that sync, which no service that forgot to could be half as fast as.

mod books;
mod files;
mod findings;
mod goods;
mod line;
mod listings;
mod loads;
mod settle;
mod shares;
mod stage;
mod writers;

use std::collections::BTreeSet;
use std::sync::atomic::Ordering;
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use self::books::Books;
use self::findings::Findings;
use self::line::{LIVESTOCK, LOGISTICS, Line, SYSTEM};
use self::shares::{SHARE_TIMEOUT, ShareCounts};
use self::stage::Stage;
use self::writers::{Bell, CLIENTS, Writer};
use crate::build_release;
use crate::cli::TrialArgs;
use crate::random::Random;
use crate::stop::Stop;
use crate::trial::{self, Trial};

const ALL: [usize; 3] = [SYSTEM, LOGISTICS, LIVESTOCK];
/// Who is killed, drawn from these.
const VICTIMS: [&[usize]; 7] =
    [&[SYSTEM], &[LOGISTICS], &[LIVESTOCK], &[SYSTEM, LOGISTICS], &[LOGISTICS, LIVESTOCK], &ALL, &ALL];
/// The number of loads and listings that a round creates one by one if there is time: long and short form.
const CREATES: [usize; 2] = [300, 40];
/// The least number of acknowledged creates of the long form on each database (docs/reliability.md).
const MIN_CREATES: usize = 5_000;
/// What is written.
const KINDS: [&str; 6] =
    ["creates of loads", "creates of listings", "batches", "uploads", "proofs", "other writes"];
const TIME: Duration = Duration::from_secs(30);
/// A service that takes longer to be ready again needs a hand.
const READY_LIMIT: Duration = Duration::from_secs(15);

/// Kills what is built for release, and looks into what it left with the program of the bench's limits.
pub fn command(args: &TrialArgs, stop: &Stop) -> Result<()> {
    build_release::packages(&["limits"], stop)?;
    trial::run(args, stop, run)
}

/// Kills, starts again and counts, round after round.
pub fn run(trial: &Trial<'_>) -> Result<()> {
    for postgres in [false, true] {
        let mut stage = Stage::start(trial, postgres)?;
        let mut crash = Crash::default();
        let rounds = if trial.short { 2 } else { 20 };
        for round in 0..rounds {
            crash.round(&mut stage, round)?;
            if !crash.found.none() {
                break;
            }
        }
        crash.end(&mut stage)?;
        crash.report(&stage, if postgres { "PostgreSQL" } else { "SQLite" })?;
    }
    Ok(())
}

/// What is remembered over the rounds.
#[derive(Default)]
struct Crash {
    rounds: usize,
    books: Books,
    found: Findings,
    /// Contents that are known to be whole.
    whole: BTreeSet<String>,
    damage: Vec<String>,
    forgotten: usize,
    staged: usize,
    swept: usize,
    shares: ShareCounts,
}

impl Crash {
    fn round(&mut self, stage: &mut Stage<'_>, round: usize) -> Result<()> {
        let begun = Instant::now();
        let seed = usize::try_from(stage.trial.seed)? * 2 + usize::from(stage.postgres);
        let random = &mut Random::of(seed * 1000 + round);
        let (addresses, bell) = (stage.addresses.clone(), Bell::default());
        let books = scope(|scope| {
            let clients: Vec<_> = (0..)
                .zip(CLIENTS)
                .map(|(number, work)| {
                    let (addresses, bell) = (&addresses, &bell);
                    scope.spawn(move || Writer::new(addresses, seed, round, number).run(work, bell))
                })
                .collect();
            let killed = kill(stage, random, &bell);
            bell.enough.store(true, Ordering::Relaxed);
            let books: Result<Vec<_>> = clients
                .into_iter()
                .map(|client| client.join().map_err(|_| anyhow!("a client panicked"))?)
                .collect();
            killed.and(books)
        })?;
        for books in books {
            self.books.add(books);
        }
        self.staged = self.staged.max(files::age_staged(stage)?);
        stage.launch(&ALL)?;
        stage.wait_ready(&ALL)?;
        files::wait_tidy(stage, &mut self.found)?;
        let (written, verifying) = (begun.elapsed(), Instant::now());
        self.verify(stage, round)?;
        self.rounds += 1;
        eprintln!(
            "    round {}: {} kills, {written:.1?} and {:.1?} to verify",
            round + 1,
            stage.kills,
            verifying.elapsed()
        );
        Ok(())
    }

    /// Compares everything, and ends what is in doubt.
    fn verify(&mut self, stage: &Stage<'_>, round: usize) -> Result<()> {
        let check = || stage.trial.check();
        check()?;
        let (line, found) = (&mut Line::new(&stage.addresses), &mut self.found);
        self.damage.extend(stage.damage()?);
        let store = files::read(stage, &mut self.whole, found)?;
        files::compare(&store, &self.books, found);
        files::look(line, &self.books, |of| of == round, found)?;
        self.forgotten = self.forgotten.max(store.forgotten);
        check()?;
        let loads = loads::read(line)?;
        loads::compare(&loads, &self.books, found);
        loads::look(line, &self.books, &loads, round, found)?;
        check()?;
        let listings = listings::read(line)?;
        listings::compare(&listings, &self.books, found);
        listings::look(line, &self.books, &listings, round, found)?;
        let shares = shares::look(line, &self.books, (&loads, &listings), |of| of == round, found)?;
        self.shares.slowest = self.shares.slowest.max(shares.slowest);
        check()?;
        files::resolve(line, &mut self.books, &store, found, round)?;
        check()?;
        loads::resolve(line, &mut self.books, &loads, found, round)?;
        check()?;
        listings::resolve(line, &mut self.books, &listings, found, round)
    }

    /// Compares everything once more, when nothing is in doubt; what crashes left behind in the store is swept.
    fn end(&mut self, stage: &mut Stage<'_>) -> Result<()> {
        let found = &mut self.found;
        self.swept = files::sweep(stage, found)?;
        let store = files::read(stage, &mut BTreeSet::new(), found)?;
        let line = &Line::new(&stage.addresses);
        stage.trial.check()?;
        files::compare(&store, &self.books, found);
        files::look(line, &self.books, |_| true, found)?;
        stage.trial.check()?;
        let (loads, listings) = (loads::read(line)?, listings::read(line)?);
        loads::compare(&loads, &self.books, found);
        listings::compare(&listings, &self.books, found);
        let shares = shares::look(line, &self.books, (&loads, &listings), |_| true, found)?;
        self.shares = ShareCounts { slowest: self.shares.slowest, ..shares };
        self.damage.extend(stage.damage()?);
        Ok(())
    }

    fn report(&self, stage: &Stage<'_>, database: &str) -> Result<()> {
        let (trial, found) = (stage.trial, &self.found);
        let note = |what: &str, figure: String| trial.note(format!("{database}: {what}"), figure, "");
        note("rounds", self.rounds.to_string());
        note("processes killed", stage.kills.to_string());
        for kind in KINDS {
            let tally = found.tally(kind);
            let in_doubt = tally.there + tally.not_there;
            note(&format!("{kind} in doubt"), format!("{in_doubt}, of which {} were there", tally.there));
        }
        let rows: usize = self.books.batches.iter().map(|batch| batch.rows).sum();
        note("loads of batches", rows.to_string());
        note(
            "contents without a record, at most",
            format!("{}; {} at the end, swept", self.forgotten, self.swept),
        );
        note("uploads cut off and left behind in a round, at most; removed", self.staged.to_string());
        let ShareCounts { open, closed, slowest: share_time } = &self.shares;
        note(
            "files of loads and listings that another organisation may open, that it may not",
            format!("{open}, {closed}"),
        );
        let shared = format!("{:.1} s", share_time.as_secs_f64());
        let acknowledged = KINDS.map(|kind| found.tally(kind).acknowledged);
        let creates = acknowledged[0] + acknowledged[1];
        let least = if trial.short { 1 } else { MIN_CREATES };
        let expect = |right, what: &str, figure: String, allowed: &str| {
            trial.expect(right, format!("{database}: {what}"), figure, allowed)
        };
        let slowest = format!("{} ms", stage.slowest.as_millis());
        let ready = format!("{} s", READY_LIMIT.as_secs());
        let damage = if self.damage.is_empty() { "none".to_owned() } else { self.damage.join("; ") };
        let whole = [
            expect(stage.slowest < READY_LIMIT, "slowest restart, to ready", slowest, &ready),
            expect(
                *share_time < SHARE_TIMEOUT,
                "slowest look at shared files after a restart",
                shared,
                &format!("{} s", SHARE_TIMEOUT.as_secs()),
            ),
            expect(found.lost == 0, "acknowledged and lost", found.lost.to_string(), "0"),
            expect(found.doubled == 0, "doubled", found.doubled.to_string(), "0"),
            expect(found.half == 0, "half there", found.half.to_string(), "0"),
            expect(self.damage.is_empty(), "what integrity_check and foreign_key_check find", damage, "none"),
            expect(
                creates >= least,
                "creates acknowledged",
                creates.to_string(),
                &format!("{least} or more"),
            ),
        ];
        let done = KINDS.iter().zip(acknowledged).map(|(kind, done)| {
            expect(done > 0, &format!("{kind} acknowledged"), done.to_string(), "1 or more")
        });
        whole.into_iter().chain(done).collect()
    }
}

/// Kills services, some of them more than once, and at last all.
fn kill(stage: &mut Stage<'_>, random: &mut Random, bell: &Bell) -> Result<()> {
    let begun = Instant::now();
    let (kills, longest) = if stage.trial.short { (1, 1.0) } else { (1 + random.below(2), 1.5) };
    for _ in 0..kills {
        wait(stage, random.between((0.0, longest)))?;
        let mut victims = random.one(&VICTIMS);
        stage.kill(victims)?;
        stage.launch(victims)?;
        if random.percent(40) {
            // While it recovers.
            wait(stage, random.between((0.0, 0.3)))?;
            victims = &ALL;
            stage.kill(victims)?;
            stage.launch(victims)?;
        }
        stage.wait_ready(victims)?;
    }
    let creates = CREATES[usize::from(stage.trial.short)];
    while bell.made.load(Ordering::Relaxed) < creates && begun.elapsed() < TIME {
        wait(stage, 0.02)?;
    }
    wait(stage, random.between((0.0, longest)))?;
    stage.kill(&ALL)
}

fn wait(stage: &Stage<'_>, seconds: f64) -> Result<()> {
    stage.trial.pause(Duration::from_secs_f64(seconds))
}

//! One fault: broken under load, mended under load, and what came of it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::client::{Answer, Body, Client};
use crate::databases::Databases;
use crate::load::site::Site;
use crate::load::{Events, Load, Outcome, Work, new_run};
use crate::trial::Trial;

/// The longest time until the services work again, without a restart (docs/reliability.md).
const RECOVERY: Duration = Duration::from_secs(10);
/// Those who probe wait no longer themselves.
const PROBE: Duration = Duration::from_secs(2);
/// A fault shows in readyz by then: a pool that is busy is believed to be well for `database.wait_ms`.
const SHOWN: Duration = Duration::from_secs(8);

/// What is broken, and what may come of it.
pub struct Fault<'a> {
    /// For the table.
    pub what: &'a str,
    /// The services that see it.
    pub sites: Vec<&'a Site>,
    /// What is done meanwhile beside what the sites do; then these alone.
    pub works: Option<Vec<Work>>,
    /// The marks of these works.
    pub run: String,
    /// Where files are listed.
    pub databases: Option<&'a Databases>,
    /// The member of readyz that names what is broken: `database` makes it 503.
    pub shows: Option<&'static str>,
    /// How long it stays broken.
    pub hold: Duration,
    /// Nobody waits longer.
    pub slowest: Duration,
    /// Somebody must be refused: else nothing was broken.
    pub refuses: bool,
}

impl<'a> Fault<'a> {
    /// A fault that these see, with the usual load.
    pub fn new(what: &'a str, sites: Vec<&'a Site>) -> Self {
        let (hold, slowest) = (Duration::from_secs(3), Duration::from_secs(9));
        let run = new_run();
        Self { what, sites, works: None, run, databases: None, shows: None, hold, slowest, refuses: false }
    }

    /// Breaks something, holds it, mends it.
    pub fn endure(
        mut self,
        trial: &Trial<'_>,
        break_it: impl FnOnce() -> Result<()>,
        mend: impl FnOnce() -> Result<()>,
    ) -> Result<Events> {
        trial.check()?;
        let usual = || self.sites.iter().flat_map(|site| site.works(&self.run)).collect();
        let load = Load::start(self.works.take().unwrap_or_else(usual));
        load.wait_well(trial, Instant::now(), Duration::from_secs(20))
            .with_context(|| format!("before: {}", self.what))?;
        let before = self.members()?;
        let broken = Instant::now();
        break_it()?;
        self.wait_shown(trial, broken)?;
        trial.pause(self.hold.saturating_sub(broken.elapsed()))?;
        mend()?;
        let mended = Instant::now();
        let ready = self.wait_ready(trial, mended, &before)?;
        let well = load.wait_well(trial, mended, 3 * RECOVERY);
        let mut events = load.finish();
        let refused = events.refused();
        let counts = events.counts();
        let ((first, last), (slowest, work)) = (events.recovery(mended), events.slowest());
        let settled = events.settle()?;
        let wrong = [events.wrong(), self.lies(&events)?].concat();
        let probes = events.slowest_of(&["healthz", "readyz"]);
        let quick = slowest <= self.slowest + trial.grace() && probes <= PROBE + trial.grace();
        let right = wrong.is_empty() && quick && last <= RECOVERY && ready <= RECOVERY;
        let figure = format!(
            "{counts}; slowest {:.1} s ({work}); well after {:.1} to {:.1} s, ready after {:.1} s; lies {}{}",
            slowest.as_secs_f64(),
            first.as_secs_f64(),
            last.as_secs_f64(),
            ready.as_secs_f64(),
            wrong.len(),
            if settled > 0 { format!("; {settled} settled by their keys") } else { String::new() },
        );
        let most = self.slowest + trial.grace();
        let allowed = format!("slowest {:.0} s, well and ready after 10 s, lies 0", most.as_secs_f64());
        let expected = trial.expect(right, self.what, figure, allowed);
        expected
            .with_context(|| format!("the first that were wrong: {:#?}", &wrong[..wrong.len().min(5)]))?;
        well?;
        if self.refuses && refused == 0 {
            bail!("{}: nobody was refused, so nothing was broken", self.what);
        }
        for site in &self.sites {
            let metrics =
                Client::new(PROBE).send("GET", &site.service.url("/metrics"), None, &Body::Empty)?;
            let text = String::from_utf8_lossy(&metrics.bytes).into_owned();
            let stuck =
                text.lines().find(|line| line.starts_with("drover_database_calls_left ")).map(str::to_owned);
            if let Some(stuck) = stuck.filter(|line| !line.ends_with(" 0")) {
                trial.note(format!("{}, {}", self.what, site.service.name), stuck, "bounded by the pool");
            }
        }
        Ok(events)
    }

    /// The members of each readyz that are well before anything is broken.
    fn members(&self) -> Result<Vec<BTreeSet<String>>> {
        let client = Client::new(SHOWN);
        let each = self.sites.iter().map(|site| {
            let answer = readyz(site, &client)?;
            let (what, status, well) = (self.what, answer.status, well(&answer));
            let shown = self.shows.is_none_or(|member| well.contains(member));
            ensure!(status == 200 && shown, "before {what}: readyz says {status} {}", answer.json);
            Ok(well)
        });
        each.collect()
    }

    /// How long it takes until readyz says 200 everywhere, and that all is well that was before.
    fn wait_ready(
        &self,
        trial: &Trial<'_>,
        mended: Instant,
        before: &[BTreeSet<String>],
    ) -> Result<Duration> {
        let client = Client::new(SHOWN);
        for (site, before) in self.sites.iter().zip(before) {
            loop {
                let answer = readyz(site, &client);
                if answer
                    .as_ref()
                    .is_ok_and(|answer| answer.status == 200 && well(answer).is_superset(before))
                {
                    break;
                }
                if mended.elapsed() > 2 * RECOVERY {
                    let said = answer.map(|answer| format!("{} {}", answer.status, answer.json));
                    bail!("{}: mended, readyz of {} says {said:?}", self.what, site.service.name);
                }
                trial.pause(Duration::from_millis(20))?;
            }
        }
        Ok(mended.elapsed())
    }

    fn wait_shown(&self, trial: &Trial<'_>, broken: Instant) -> Result<()> {
        let Some(member) = self.shows else { return Ok(()) };
        let client = Client::new(SHOWN);
        for site in &self.sites {
            loop {
                let answer = readyz(site, &client)?;
                let status = if member == "database" { 503 } else { 200 };
                if answer.status == status && answer.json[member] != "ok" {
                    break;
                }
                if broken.elapsed() > SHOWN {
                    let name = site.service.name;
                    bail!("{}: readyz of {name} says {} {}", self.what, answer.status, answer.json);
                }
                trial.pause(Duration::from_millis(50))?;
            }
        }
        Ok(())
    }

    /// What was acknowledged and is not there, once; what was refused and is there.
    fn lies(&self, events: &Events) -> Result<Vec<String>> {
        let mut lies = Vec::new();
        for site in &self.sites {
            let name = site.service.name;
            let writes: Vec<_> = events.writes_to(&site.service.url("/")).collect();
            if name == "system" {
                for event in &writes {
                    if let (Outcome::Good(_, id), Some(mark)) = (&event.outcome, &event.mark)
                        && !site.has_file(id, mark.as_bytes())?
                    {
                        lies.push(format!("{name}: {mark} is another file"));
                    }
                }
            }
            if name == "system" && self.databases.is_none() {
                continue;
            }
            let marks = site.marks(&self.run, self.databases)?;
            for event in writes {
                let Some(mark) = &event.mark else { continue };
                let found = marks.get(mark).copied().unwrap_or_default();
                let right = match event.outcome {
                    Outcome::Good(..) => found == 1,
                    Outcome::Refused => found == 0,
                    Outcome::Doubt | Outcome::Wrong(_) => found <= 1,
                };
                if !right {
                    lies.push(format!("{name}: {mark} was {:?} and is there {found} times", event.outcome));
                }
            }
        }
        Ok(lies)
    }
}

fn readyz(site: &Site, client: &Client) -> Result<Answer> {
    client.send("GET", &site.service.url("/readyz"), None, &Body::Empty)
}

/// The members of an answer that say so.
fn well(answer: &Answer) -> BTreeSet<String> {
    let members = answer.json.as_object().into_iter().flatten();
    members.filter(|(_, word)| *word == "ok").map(|(name, _)| name.clone()).collect()
}

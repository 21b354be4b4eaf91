//! Replicas restarted one after the other, killed and frozen, while people work at the address of the proxy.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::Signal;

use super::stage::{Stage, drain};
use super::works::People;
use crate::load::site::Asker;
use crate::load::{Events, Load, Outcome, Work, new_run};
use crate::workspace::SERVICES;

/// All works are well by then.
const WELL: Duration = Duration::from_secs(30);
/// More than requests in flight take to finish.
const STOP: Duration = Duration::from_secs(20);
/// Whoever had sent a request to a replica that was killed is told by then, and nobody sends one there after.
const TOLD: Duration = Duration::from_secs(1);

/// All of that.
pub fn run(stage: &mut Stage<'_>) -> Result<()> {
    let people = People::new(stage)?;
    restarted(stage, &people)?;
    if stage.trial.short {
        killed(stage, &people, &SERVICES)?;
    } else {
        SERVICES.iter().try_for_each(|name| killed(stage, &people, &[name]))?;
    }
    frozen(stage, &people)
}

/// So long nginx leaves one alone that refused it (`fail_timeout` in deploy/nginx/upstreams.conf).
fn left_alone(short: bool) -> Duration {
    Duration::from_millis(if short { 1300 } else { 5300 })
}

/// Load that is well before anything happens.
fn begin(stage: &Stage<'_>, works: Vec<Work>) -> Result<Load> {
    let load = Load::start(works);
    load.wait_well(stage.trial, Instant::now(), WELL).context("before anything happens")?;
    Ok(load)
}

/// Shows the first of those that failed or lied.
fn show(what: &str, failed: &[String]) {
    for failed in failed.iter().take(5) {
        eprintln!("    {what}: {failed}");
    }
}

fn named(events: &Events) -> Vec<String> {
    let failed = events.failed();
    failed
        .iter()
        .map(|(event, work)| format!("{} {}: {:?}", work.name, event.number, event.outcome))
        .collect()
}

/// Told to stop, waited for, started, waited for: one after the other; in the short form one of each service at a time.
fn restarted(stage: &mut Stage<'_>, people: &People) -> Result<()> {
    let (trial, run) = (stage.trial, new_run());
    let ranges = SERVICES.map(|name| stage.range(name));
    let rounds: Vec<Vec<usize>> = if trial.short {
        (0..3).map(|round| ranges.iter().filter_map(|range| range.clone().nth(round)).collect()).collect()
    } else {
        (0..stage.replicas.len()).map(|which| vec![which]).collect()
    };
    let load = begin(stage, people.works(&run))?;
    let mut slowest = Duration::ZERO;
    for round in rounds {
        let told = Instant::now();
        for which in &round {
            stage.replicas[*which].signal(Signal::TERM);
        }
        for which in &round {
            stage.replicas[*which].wait_ended(drain(trial.short) + STOP)?;
        }
        let ended = told.elapsed();
        stage.again(&round)?;
        slowest = slowest.max(told.elapsed().saturating_sub(drain(trial.short)));
        trial.pause(left_alone(trial.short))?;
        eprintln!("    {round:?} ended after {ended:.1?}, ready after {:.1?}", told.elapsed());
    }
    load.wait_well(trial, Instant::now(), WELL)?;
    let events = load.finish();
    let (failed, lies) = (named(&events), people.lies(stage, &run, &events)?);
    show("failed", &failed);
    show("lie", &lies);
    let figure = format!(
        "{}; failed {}, lies {}; slowest answer {:.1} s, slowest restart {:.1} s beyond its drain",
        events.counts(),
        failed.len(),
        lies.len(),
        events.slowest().0.as_secs_f64(),
        slowest.as_secs_f64(),
    );
    let right = failed.is_empty() && lies.is_empty();
    let what = format!("rolling restart of all {} under load", stage.replicas.len());
    trial.expect(right, what, figure, "failed 0, lies 0")
}

/// `kill -9` of one of each of these.
fn killed(stage: &mut Stage<'_>, people: &People, names: &[&str]) -> Result<()> {
    let (trial, run) = (stage.trial, new_run());
    let works = people.works(&run);
    let clients = works.len();
    let load = begin(stage, works)?;
    let victims: Vec<_> = names.iter().map(|name| stage.range(name).start).collect();
    let before = Instant::now();
    victims.iter().try_for_each(|victim| stage.replicas[*victim].kill())?;
    let gone = Instant::now();
    trial.pause(2 * TOLD)?;
    stage.again(&victims)?;
    trial.pause(left_alone(trial.short))?;
    load.wait_well(trial, Instant::now(), WELL)?;
    let mut events = load.finish();
    let under_way = events.under_way(before, gone);
    let (failed, mut late) = (events.failed(), Vec::new());
    for (event, work) in &failed {
        // What is no POST was sent to another replica, unless its answer had begun.
        let may = (event.mark.is_some() && event.outcome == Outcome::Doubt) || work.breaks;
        let gone = gone + trial.grace();
        let then = event.began <= gone + TOLD / 4 && event.ended <= gone + TOLD;
        if !may || !then {
            late.push(format!(
                "{} {:?} after the kill: {:?}",
                work.name,
                event.began.checked_duration_since(gone),
                event.outcome
            ));
        }
    }
    let count = failed.len();
    let settled = events.settle()?;
    let lies = people.lies(stage, &run, &events)?;
    show("failed", &late);
    show("lie", &lies);
    let figure = format!(
        "{}; {under_way} under way, failed {count}, of which settled by their keys {settled}; failed otherwise {}, lies {}",
        events.counts(),
        late.len(),
        lies.len()
    );
    let right = late.is_empty() && lies.is_empty() && count <= clients;
    let allowed = format!("POSTs under way, {clients} at most; otherwise 0; lies 0");
    let whose: Vec<_> = names.iter().map(|name| format!("{name} of {}", stage.of(name).count())).collect();
    trial.expect(right, format!("one {} killed (-9) under load", whose.join(", one ")), figure, allowed)
}

/// One is frozen for a while: those who are sent to it wait, those who are sent to another do not.
fn frozen(stage: &Stage<'_>, people: &People) -> Result<()> {
    const DIRECT: [&str; 5] = [
        "direct create load",
        "direct read load",
        "direct search loads",
        "direct load with file",
        "direct export",
    ];
    let (trial, run) = (stage.trial, new_run());
    let replicas: Vec<_> = stage.of("logistics").collect();
    let asker = Asker::new(replicas[1].url(""), |org| stage.token(Some(org)));
    let direct = people.works_of("logistics", &asker, &format!("{run}D"));
    let direct = direct.into_iter().zip(DIRECT).map(|(work, name)| Work { name, ..work });
    let load = begin(stage, people.works(&run).into_iter().chain(direct).collect())?;
    replicas[0].signal(Signal::STOP);
    let time = Duration::from_secs(if trial.short { 2 } else { 5 });
    let frozen = trial.pause(time);
    replicas[0].signal(Signal::CONT);
    frozen?;
    load.wait_well(trial, Instant::now(), WELL)?;
    let events = load.finish();
    let (failed, lies) = (named(&events), people.lies(stage, &run, &events)?);
    show("failed", &failed);
    show("lie", &lies);
    let (slowest, others) = (events.slowest().0, events.slowest_of(&DIRECT));
    let figure = format!(
        "{}; failed {}, lies {}; slowest {:.1} s, at another replica {:.1} s",
        events.counts(),
        failed.len(),
        lies.len(),
        slowest.as_secs_f64(),
        others.as_secs_f64()
    );
    let most = time + TOLD + trial.grace();
    let right = failed.is_empty() && lies.is_empty() && slowest <= most && others <= TOLD + trial.grace();
    let what = format!("one logistics of {} frozen for {} s under load", replicas.len(), time.as_secs());
    let allowed = format!("0, 0; {} s, {} s", most.as_secs(), (TOLD + trial.grace()).as_secs());
    trial.expect(right, what, figure, allowed)
}

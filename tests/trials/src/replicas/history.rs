//! What the clients of loads learned from all responses, and whether it fits one order of their writes: no write is
//! lost, no revision has two winners, no read goes back, and the feed has every write once and in order.

use std::collections::{BTreeMap, BTreeSet};

/// A request for a load and what its client learned. Times are in microseconds since the beginning of the history.
#[derive(Debug, Clone)]
pub struct Exchange {
    /// The load.
    pub load: String,
    /// Time before the request was sent.
    pub started: u64,
    /// Time of the response.
    pub ended: u64,
    /// What it writes, `None` for a read.
    pub write: Option<Write>,
    /// The response.
    pub outcome: Outcome,
}

/// A write of a value that no other write has, except repeats under its idempotency key.
#[derive(Debug, Clone)]
pub struct Write {
    /// The value.
    pub value: String,
    /// The revision in `If-Match`.
    pub known: Option<i64>,
}

/// What a response says about a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    /// It succeeded and shows the load.
    Shown(Version),
    /// It is the first response to a repeated request, and thus shows the load as it was then.
    Replayed(Version),
    /// A write was refused and not stored. The response may tell the revision of the load.
    Refused(Option<i64>),
    /// There was no response, or it says that the outcome is unknown: a write is stored at most once.
    Unknown,
}

/// A revision of a load, and its value then.
#[derive(Debug, Clone, PartialEq)]
pub struct Version {
    /// The revision.
    pub revision: i64,
    /// The value.
    pub value: String,
}

/// An event that a reader of the feed received.
#[derive(Debug, Clone)]
pub struct Event {
    /// The place in the feed, if the reader learned it.
    pub position: Option<(u64, u64)>,
    /// The load.
    pub load: String,
    /// The revision and the value after the event.
    pub version: Version,
}

/// The requests of all clients, and the events of each reader of the feed.
#[derive(Debug, Clone, Default)]
pub struct History {
    /// The requests.
    pub exchanges: Vec<Exchange>,
    /// The events of each reader in the order in which it received them.
    pub readers: Vec<Vec<Event>>,
}

impl Outcome {
    /// The version that an acknowledged request made or read.
    fn version(&self) -> Option<&Version> {
        match self {
            Self::Shown(version) | Self::Replayed(version) => Some(version),
            Self::Refused(_) | Self::Unknown => None,
        }
    }

    /// The revision that the load had at some moment of the exchange.
    fn current_revision(&self) -> Option<i64> {
        match self {
            Self::Shown(version) => Some(version.revision),
            Self::Refused(revision) => *revision,
            Self::Replayed(_) | Self::Unknown => None,
        }
    }
}

impl History {
    /// Describes each contradiction.
    pub fn violations(&self) -> Vec<String> {
        let mut by_load = BTreeMap::<&str, Vec<&Exchange>>::new();
        for exchange in &self.exchanges {
            by_load.entry(&exchange.load).or_default().push(exchange);
        }
        let mut found = Vec::new();
        for (load, exchanges) in by_load {
            let events = self.readers.iter().flatten().filter(|event| event.load == load);
            let versions = check_versions(&exchanges, events.map(|event| &event.version));
            let of_load = [versions, check_conditions(&exchanges), check_order(&exchanges)].concat();
            found.extend(of_load.into_iter().map(|violation| format!("{load}: {violation}")));
        }
        for (number, events) in self.readers.iter().enumerate() {
            let of_reader = check_feed(events, &self.exchanges).into_iter();
            found.extend(of_reader.map(|violation| format!("reader {number}: {violation}")));
        }
        found
    }
}

/// Each revision has one value, each value one revision and a write that may have stored it, each acknowledged write
/// the value that it sent, and no revision is left out.
fn check_versions<'a>(exchanges: &[&'a Exchange], events: impl Iterator<Item = &'a Version>) -> Vec<String> {
    let mut found = Vec::new();
    let (mut possible, mut unknown) = (BTreeSet::new(), BTreeSet::new());
    for exchange in exchanges {
        let Some(write) = &exchange.write else { continue };
        match exchange.outcome.version() {
            Some(version) if version.value != write.value => {
                found.push(format!("the write of {} was acknowledged with {version:?}", write.value));
            }
            Some(_) => drop(possible.insert(&write.value)),
            None if exchange.outcome == Outcome::Unknown => drop(unknown.insert(&write.value)),
            None => {}
        }
    }
    unknown.retain(|value| !possible.contains(value));
    let (mut values, mut revisions) = (BTreeMap::new(), BTreeMap::new());
    for version in exchanges.iter().filter_map(|exchange| exchange.outcome.version()).chain(events) {
        let Version { revision, value } = version;
        if *values.entry(*revision).or_insert(value) != value {
            found.push(format!("revision {revision} has the values {} and {value}", values[revision]));
        }
        if *revisions.entry(value).or_insert(*revision) != *revision {
            found.push(format!("{value} was stored as revision {} and as {revision}", revisions[value]));
        }
        if !possible.contains(value) && !unknown.remove(value) {
            found.push(format!("revision {revision} has {value}, which no write can have stored"));
        }
        possible.insert(value);
    }
    let (first, last) = (values.keys().next().copied(), values.keys().next_back().copied());
    let missing = (first.unwrap_or(0)..last.unwrap_or(0)).filter(|n| !values.contains_key(n)).count();
    // Writes whose outcome nobody learned may have stored these revisions.
    if missing > unknown.len() {
        found.push(format!("{missing} revisions are missing, but {} outcomes are unknown", unknown.len()));
    }
    found
}

/// A conditional write follows the revision that it knew, and only one write follows a revision.
fn check_conditions(exchanges: &[&Exchange]) -> Vec<String> {
    let (mut found, mut winners) = (Vec::new(), BTreeMap::new());
    for exchange in exchanges {
        let Some(write) = &exchange.write else { continue };
        let Some((known, version)) = write.known.zip(exchange.outcome.version()) else { continue };
        let Version { revision, value } = version;
        if *revision != known + 1 {
            found.push(format!("lost update: {value} knew revision {known} and became revision {revision}"));
        }
        let winner = *winners.entry(known).or_insert(&write.value);
        if *winner != write.value {
            found.push(format!("two winners of revision {known}: {winner} and {}", write.value));
        }
    }
    found
}

/// Whoever asks after a response shows a revision gets this or a later one, and whoever writes then a later one.
fn check_order(exchanges: &[&Exchange]) -> Vec<String> {
    let (mut by_start, mut by_end) = (exchanges.to_vec(), exchanges.to_vec());
    by_start.sort_by_key(|exchange| exchange.started);
    by_end.sort_by_key(|exchange| exchange.ended);
    let (mut found, mut ended, mut newest) = (Vec::new(), by_end.into_iter().peekable(), 0);
    for exchange in by_start {
        while let Some(earlier) = ended.next_if(|earlier| earlier.ended < exchange.started) {
            newest = newest.max(earlier.outcome.current_revision().unwrap_or(0));
        }
        let is_write = exchange.write.is_some() && matches!(exchange.outcome, Outcome::Shown(_));
        let lowest = newest + i64::from(is_write);
        if let Some(revision) = exchange.outcome.current_revision().filter(|revision| *revision < lowest) {
            found.push(format!("going back: revision {revision} after {newest} in {exchange:?}"));
        }
    }
    found
}

/// Positions rise, the revisions of each load rise, and every acknowledged write has its event.
fn check_feed(events: &[Event], exchanges: &[Exchange]) -> Vec<String> {
    let (mut found, mut last_position, mut last) = (Vec::new(), None, BTreeMap::<&str, i64>::new());
    for Event { position, load, version } in events {
        if position.is_some() && *position <= last_position {
            found.push(format!("position {position:?} after {last_position:?}"));
        }
        last_position = last_position.max(*position);
        let revision = version.revision;
        if let Some(before) = last.insert(load, revision).filter(|before| *before >= revision) {
            found.push(format!("{load}: revision {revision} after {before}"));
        }
    }
    let received: BTreeSet<_> = events.iter().map(|event| (&event.load, event.version.revision)).collect();
    for Exchange { load, outcome, .. } in exchanges.iter().filter(|exchange| exchange.write.is_some()) {
        let missed = outcome.version().filter(|version| !received.contains(&(load, version.revision)));
        found.extend(missed.map(|version| format!("{load}: no event of {version:?}")));
    }
    found
}

#[cfg(test)]
mod tests {
    use testkit::market::random::Random;

    use super::*;

    const HISTORIES: usize = 300;
    const CLIENTS: usize = 5;
    const REQUESTS: usize = 60;
    const LOADS: [&str; 2] = ["a", "b"];

    fn version(revision: i64, value: &str) -> Version {
        Version { revision, value: value.into() }
    }

    fn write(value: &str, known: Option<i64>) -> Write {
        Write { value: value.into(), known }
    }

    fn exchange((started, ended): (u64, u64), write: Option<Write>, outcome: Outcome) -> Exchange {
        Exchange { load: "a".into(), started, ended, write, outcome }
    }

    /// A history of which every kind of violation is a small change.
    fn good() -> History {
        use Outcome::{Refused, Replayed, Shown, Unknown};
        let exchanges = vec![
            exchange((0, 1), Some(write("v1", None)), Shown(version(1, "v1"))),
            exchange((2, 6), Some(write("v2", Some(1))), Shown(version(2, "v2"))),
            exchange((3, 5), None, Shown(version(1, "v1"))),
            exchange((3, 7), Some(write("x2", Some(1))), Refused(Some(2))),
            exchange((8, 9), Some(write("v2", Some(1))), Replayed(version(2, "v2"))),
            exchange((10, 14), Some(write("v3", None)), Unknown),
            exchange((11, 16), Some(write("v4", None)), Shown(version(4, "v4"))),
            exchange((12, 13), None, Shown(version(2, "v2"))),
            exchange((17, 18), None, Shown(version(4, "v4"))),
        ];
        let event = |n: u64| {
            let revision = i64::try_from(n).unwrap_or_default();
            Event { position: Some((n, 0)), load: "a".into(), version: version(revision, &format!("v{n}")) }
        };
        History { exchanges, readers: vec![(1..=4).map(event).collect()] }
    }

    #[test]
    fn each_rule_finds_its_violation() {
        assert_eq!(good().violations(), [] as [&str; 0]);
        let shown = |revision, value| Outcome::Shown(version(revision, value));
        let find = |expected: &str, change: &dyn Fn(&mut History)| {
            let mut history = good();
            change(&mut history);
            let found = history.violations();
            assert!(found.iter().any(|violation| violation.contains(expected)), "{expected}: {found:?}");
        };
        find("lost update: v4 knew revision 2", &|h| h.exchanges[6].write = Some(write("v4", Some(2))));
        find("revision 2 has the values v2 and x2", &|h| h.exchanges[3].outcome = shown(2, "x2"));
        find("two winners of revision 1: v2 and x2", &|h| h.exchanges[3].outcome = shown(3, "x2"));
        find("going back: revision 2 after 4", &|h| h.exchanges[8].outcome = shown(2, "v2"));
        find("going back: revision 1 after 2", &|h| h.exchanges[7].outcome = Outcome::Refused(Some(1)));
        find("going back: revision 4 after 4", &|h| h.exchanges[8].write = Some(write("v4", None)));
        find("was acknowledged with", &|h| h.exchanges[1].outcome = shown(2, "v1"));
        find("v1 was stored as revision 1 and as 2", &|h| h.exchanges[1].outcome = shown(2, "v1"));
        find("which no write can have stored", &|h| h.exchanges[5].outcome = Outcome::Refused(None));
        find("1 revisions are missing", &|h| drop((h.exchanges.remove(5), h.readers.pop())));
        find("position Some((2, 0)) after Some((2, 0))", &|h| h.readers[0][2].position = Some((2, 0)));
        find("revision 2 after 3", &|h| h.readers[0].swap(1, 2));
        find("revision 4 after 4", &|h| h.readers[0].extend_from_within(3..));
        find("no event of", &|h| drop(h.readers[0].remove(3)));
    }

    /// Makes a history of clients that each send one request at a time to an atomic store.
    fn random_history(random: &mut Random) -> History {
        let (mut history, mut free) = (History::default(), [0; CLIENTS]);
        let (mut versions, mut events) = ([version(1, "a1"), version(1, "b1")], Vec::new());
        for (load, first) in LOADS.iter().zip(&versions) {
            let created = exchange((0, 0), Some(write(&first.value, None)), Outcome::Shown(first.clone()));
            history.exchanges.push(Exchange { load: (*load).into(), ..created });
            events.push(Event { position: None, load: (*load).into(), version: first.clone() });
        }
        // Each round is later than the one before; requests of other clients may overlap several rounds.
        for (number, effect) in (0..REQUESTS).zip((10..).step_by(10)) {
            let (client, load) = (random.below(CLIENTS), random.below(LOADS.len()));
            let started = (effect - random.below(30) as u64 % effect).max(free[client] + 1);
            if started > effect {
                continue;
            }
            let ended = effect + random.below(30) as u64;
            free[client] = ended;
            let current = &mut versions[load];
            let known = match random.below(4) {
                0 => None,
                1 => Some(current.revision - 1),
                _ => Some(current.revision),
            };
            let write = (random.percent(70)).then(|| Write { value: format!("{load}-{number}"), known });
            let is_stored = known.is_none_or(|known| known == current.revision) && random.percent(95);
            let mut outcome = Outcome::Refused(Some(current.revision));
            if let Some(write) = write.as_ref().filter(|_| is_stored) {
                *current = version(current.revision + 1, &write.value);
                let position = Some((effect, 0));
                events.push(Event { position, load: LOADS[load].into(), version: current.clone() });
            }
            if is_stored || write.is_none() {
                outcome = Outcome::Shown(current.clone());
            }
            if random.percent(10) {
                outcome = Outcome::Unknown;
            }
            history.exchanges.push(Exchange { load: LOADS[load].into(), started, ended, write, outcome });
        }
        history.readers = vec![events.clone(), events];
        history
    }

    /// Breaks a history in a random way. Returns false if it has nothing to break.
    fn break_randomly(history: &mut History, random: &mut Random) -> bool {
        let kind = random.below(6);
        let before = history.exchanges.clone();
        let pick = |random: &mut Random, fits: &dyn Fn(&Exchange) -> bool| {
            let fitting: Vec<_> = (0..before.len()).filter(|n| fits(&before[*n])).collect();
            (!fitting.is_empty()).then(|| random.one(&fitting))
        };
        let is_write = |e: &Exchange| e.write.is_some() && matches!(e.outcome, Outcome::Shown(_));
        let known = |e: &Exchange| e.write.as_ref().and_then(|write| write.known);
        let is_loser = |e: &Exchange| {
            let winner = |o: &Exchange| o.load == e.load && known(o) == known(e) && is_write(o);
            known(e).is_some() && matches!(e.outcome, Outcome::Refused(_)) && before.iter().any(winner)
        };
        match kind {
            // A lost update: a write that knew an older revision.
            0 => {
                let Some(n) = pick(random, &|e| is_write(e) && known(e).is_some()) else { return false };
                let older = history.exchanges[n].write.iter_mut().filter_map(|write| write.known.as_mut());
                older.for_each(|known| *known -= 1);
            }
            // Two winners: a refused write is acknowledged as well.
            1 => {
                let Some(n) = pick(random, &is_loser) else { return false };
                let value = before[n].write.as_ref().map(|write| write.value.clone()).unwrap_or_default();
                let revision = known(&before[n]).unwrap_or_default() + 1;
                history.exchanges[n].outcome = Outcome::Shown(Version { revision, value });
            }
            // A read that goes back: the load as it was created, after a response that showed a later revision.
            2 => {
                let is_late = |e: &Exchange| {
                    let earlier = |o: &&Exchange| o.load == e.load && o.ended < e.started;
                    let newest =
                        before.iter().filter(earlier).filter_map(|o| o.outcome.current_revision()).max();
                    e.write.is_none() && newest > Some(1)
                };
                let Some(n) = pick(random, &is_late) else { return false };
                let created = before.iter().find(|e| e.load == before[n].load);
                history.exchanges[n].outcome = created.unwrap_or(&before[n]).outcome.clone();
            }
            // A write that is lost from the feed, doubled in it, or out of order.
            3 => {
                let Some(n) = pick(random, &is_write) else { return false };
                let lost = (&before[n].load, before[n].outcome.version());
                history.readers[1].retain(|event| (&event.load, Some(&event.version)) != lost);
            }
            4 => {
                let n = random.below(history.readers[0].len());
                history.readers[0].extend_from_within(n..=n);
            }
            _ => {
                let last = history.readers[1].len() - 1;
                let has_positions = history.readers[1][last - 1].position.is_some();
                history.readers[1].swap(last - 1, last);
                return has_positions;
            }
        }
        true
    }

    #[test]
    fn histories_of_an_atomic_store_pass_and_broken_ones_fail() {
        let mut broken = 0;
        for seed in 0..HISTORIES {
            let random = &mut Random::of(seed);
            let mut history = random_history(random);
            assert_eq!(history.violations(), [] as [&str; 0], "seed {seed}: {history:#?}");
            if break_randomly(&mut history, random) {
                broken += 1;
                assert_ne!(history.violations(), [] as [&str; 0], "seed {seed}: {history:#?}");
            }
        }
        assert!(broken > HISTORIES / 2, "only {broken} were broken");
    }
}

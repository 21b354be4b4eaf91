//! Loads: are all there that were acknowledged, once and as they were sent, and no others?

use std::collections::HashMap;

use anyhow::{Context, Result};
use serde_json::Value;

use super::books::{Batch, Books, Load};
use super::findings::Findings;
use super::goods;
use super::line::{ADMIN, LOGISTICS, Line, ORGANISATIONS, OTHER, OWN, State};
use super::settle::{Known, settle};
use super::writers::ids;

/// A load as an export has it.
#[derive(Debug)]
pub struct Row {
    pub id: String,
    /// All but its id and its time of completion.
    line: String,
    completed: bool,
}

impl Row {
    /// Whether the load has this file, and the other organisation as a party.
    pub fn shares(&self, file: &str) -> bool {
        let cells: Vec<_> = self.line.split(',').collect();
        let [_, _, _, organiser, _, carrier, .., files] = cells[..] else { return false };
        [organiser, carrier].contains(&ORGANISATIONS[OTHER]) && files.split(';').any(|id| id == file)
    }
}

/// All loads that there are, by reference.
pub type Rows = HashMap<String, Vec<Row>>;

/// Reads all loads.
pub fn read(line: &Line<'_>) -> Result<Rows> {
    let mut rows = Rows::new();
    for row in line.rows(LOGISTICS, "/v1/loads?format=CSV", ADMIN)? {
        let (id, rest) = row.split_once(',').context("a row has no id")?;
        let (line, at) = rest.rsplit_once(',').context("a row has one cell")?;
        let reference = line.split(',').next().unwrap_or_default().to_owned();
        let row = Row { id: id.to_owned(), line: line.to_owned(), completed: !at.is_empty() };
        rows.entry(reference).or_default().push(row);
    }
    Ok(rows)
}

/// Compares what there is with everything that was ever sent.
pub fn compare(rows: &Rows, books: &Books, found: &mut Findings) {
    let mut known = 0;
    let mut of = |reference: &str| {
        let rows = rows.get(reference).map(Vec::as_slice).unwrap_or_default();
        known += rows.len();
        rows
    };
    for load in &books.loads {
        let (reference, rows) = (&load.goods.reference, of(&load.goods.reference));
        found.times(&load.made.state, rows.len(), &format!("load {reference}"));
        for row in rows {
            let right = goods::lines(load).contains(&row.line);
            let proven = row.line.contains(",completed,") == row.completed;
            found.whole(right && proven, || format!("load {reference} reads {}", row.line));
            if load.made.state.id().is_some_and(|id| id != row.id) {
                found.lost(&format!("load {reference} has another id"));
            }
        }
    }
    for batch in &books.batches {
        let mut there = 0;
        for (n, goods) in batch.goods().enumerate() {
            let rows = of(&goods.reference);
            there += usize::from(!rows.is_empty());
            let line = goods.line(false, None, &[]);
            let right = |row: &Row| row.line == line && batch.ids.get(n).is_none_or(|id| *id == row.id);
            found.whole(rows.iter().all(right), || format!("load {} of a batch is another", goods.reference));
            if rows.len() > 1 {
                found.doubled(&format!("load {} of a batch", goods.reference));
            }
        }
        let (name, all) = (&batch.name, batch.rows);
        found.times(&batch.done.state, usize::from(there > 0), &format!("batch {name}"));
        found.whole(there == 0 || there == all, || format!("batch {name}: {there} of {all} loads are there"));
    }
    let there: usize = rows.values().map(Vec::len).sum();
    if there > known {
        found.doubled(&format!("{} loads that nobody sent", there - known));
    }
}

/// Looks at this round's loads by the other ways there are: by ids, by text, by counts, by their notifications.
pub fn look(line: &Line<'_>, books: &Books, rows: &Rows, round: usize, found: &mut Findings) -> Result<()> {
    let all: usize = rows.values().map(Vec::len).sum();
    let counted = line.count(LOGISTICS, "/v1/loads?limit=1&count=true", ADMIN)?;
    found.whole(all == counted, || format!("{all} loads are listed and {counted} counted"));
    let done = || books.loads.iter().filter(|load| load.round == round && load.made.state.id().is_some());
    // Its carrier comes with an answer that does not show it.
    let is_shown = |load: &&Load| {
        let sure = load.proof.as_ref().is_none_or(|proof| proof.done.state != State::Doubt);
        sure && load.sent.is_empty() && load.shown.is_object()
    };
    let shown: Vec<_> = done().filter(is_shown).collect();
    for some in shown.chunks(100) {
        let ids: Vec<_> = some.iter().filter_map(|load| load.made.state.id()).collect();
        let answer = line.get(LOGISTICS, &format!("/v1/loads/by-ids?ids={}", ids.join(",")), OWN)?;
        let same = some.iter().map(|load| &load.shown).eq(answer.json.as_array().into_iter().flatten());
        found.whole(same, || format!("loads by their ids are not what was acknowledged: {ids:?}"));
    }
    for load in done().step_by(10) {
        let path = format!("/v1/loads?query={}", load.goods.reference);
        let answer = line.get(LOGISTICS, &path, OWN)?;
        let ids: Vec<_> = answer.json.as_array().into_iter().flatten().map(|load| &load["id"]).collect();
        found.whole(
            matches!(ids[..], [id] if Some(id.as_str().unwrap_or_default()) == load.made.state.id()),
            || format!("load {} is not found by its reference: {ids:?}", load.goods.reference),
        );
    }
    for batch in books.batches.iter().filter(|batch| batch.round == round && batch.done.state.id().is_some())
    {
        let path = format!("/v1/loads?limit=1&count=true&query={}-", batch.name);
        let counted = line.count(LOGISTICS, &path, OWN)?;
        found.whole(counted == batch.rows, || format!("batch {}: {counted} loads are found", batch.name));
    }
    for load in done().filter(|load| !load.sent.is_empty()) {
        let all = notifications(line, load)?;
        let mut known = 0;
        for sent in &load.sent {
            let of: Vec<_> = all.iter().filter(|one| one["recipientId"] == sent.recipient.as_str()).collect();
            known += of.len();
            found.times(&sent.done.state, of.len(), &format!("notification of {}", sent.recipient));
            if sent.to_carrier {
                // It becomes the carrier in the write that notifies it.
                let row = rows.get(&load.goods.reference).and_then(|rows| rows.first());
                let carries = row.is_some_and(|row| row.line == load.goods.line(true, None, &load.files));
                found.whole(carries == (of.len() == 1), || {
                    format!("load {} has a carrier or its notification", load.goods.reference)
                });
            }
            if let (Some(id), [one]) = (sent.done.state.id(), &of[..]) {
                found.whole(one["id"] == id, || format!("the notification of {} is another", sent.recipient));
            }
        }
        found.whole(all.len() == known, || format!("load {} has other notifications", load.goods.reference));
    }
    Ok(())
}

fn notifications(line: &Line<'_>, load: &Load) -> Result<Vec<Value>> {
    let path = format!("/v1/loads/{}/notifications", load.made.state.id().unwrap_or_default());
    let answer = line.get(LOGISTICS, &path, OWN)?;
    Ok(answer.json.as_array().cloned().unwrap_or_default())
}

/// Ends all doubt about loads; those that were acknowledged are sent once more too, some of them.
pub fn resolve(
    line: &mut Line<'_>,
    books: &mut Books,
    rows: &Rows,
    found: &mut Findings,
    round: usize,
) -> Result<()> {
    let of = |reference: &str| rows.get(reference)?.first();
    for load in books.loads.iter_mut().filter(|load| load.round == round) {
        let there = of(&load.goods.reference);
        let known = Known::by(there.map(|row| row.id.clone()));
        found.count("creates of loads", &load.made.state, known.there);
        let (doubted, repeated) = (load.made.state == State::Doubt, load.goods.reference.ends_with('7'));
        if let Some(answer) = settle(line, &load.request(), &load.made.state, &known, repeated, found)? {
            let first = &load.shown;
            let same = doubted || load.proof.is_some() || answer == *first;
            found.whole(same, || format!("load {}: a repeat is answered otherwise", load.goods.reference));
            load.shown = if doubted { answer } else { load.shown.take() };
        }
        known.put(&mut load.made, doubted.then_some(&load.shown));
        let Some(id) = load.made.state.id().map(str::to_owned) else { continue };
        if let Some(proof) = &mut load.proof {
            let known = Known::of(there.is_some_and(|row| row.completed));
            found.count("proofs", &proof.done.state, known.there);
            let doubted = proof.done.state == State::Doubt;
            if let Some(answer) =
                settle(line, &proof.request(&id), &proof.done.state, &known, repeated, found)?
            {
                load.shown = answer;
            } else if doubted {
                load.shown = line.insist(&proof.request(&id))?.json;
            }
            if doubted {
                proof.done.state = State::Done(id.clone());
            }
        }
        let all = if load.sent.is_empty() { Vec::new() } else { notifications(line, load)? };
        for sent in &mut load.sent {
            let one = all.iter().find(|one| one["recipientId"] == sent.recipient.as_str());
            let known = Known::by(one.and_then(|one| one["id"].as_str()).map(str::to_owned));
            found.count("other writes", &sent.done.state, known.there);
            let doubted = sent.done.state == State::Doubt;
            let answer = settle(line, &sent.request(&id), &sent.done.state, &known, repeated, found)?;
            known.put(&mut sent.done, answer.as_ref().filter(|_| doubted));
        }
    }
    for batch in books.batches.iter_mut().filter(|batch| batch.round == round) {
        resolve_batch(line, batch, rows, found)?;
    }
    Ok(())
}

fn resolve_batch(line: &mut Line<'_>, batch: &mut Batch, rows: &Rows, found: &mut Findings) -> Result<()> {
    let there: Vec<_> =
        batch.goods().filter_map(|goods| Some(rows.get(&goods.reference)?.first()?.id.clone())).collect();
    let known = Known::of(!there.is_empty());
    found.count("batches", &batch.done.state, known.there);
    if batch.done.state != State::Doubt {
        return Ok(());
    }
    if batch.done.key.is_some() {
        let answer = settle(line, &batch.request(), &State::Doubt, &known, true, found)?;
        batch.ids = ids(&answer.unwrap_or_default());
    } else {
        // Whoever is unsure simply sends it again: it is refused if it was stored.
        let answer = line.insist(&batch.request())?;
        let right = answer.status == if known.there { 409 } else { 200 };
        found.whole(right, || format!("batch {} sent again: {} {}", batch.name, answer.status, answer.json));
        batch.ids = if known.there { there.clone() } else { ids(&answer.json) };
    }
    let name = &batch.name;
    found.whole(!known.there || there == batch.ids, || format!("batch {name} has other ids"));
    batch.done.state = State::Done(String::new());
    Ok(())
}

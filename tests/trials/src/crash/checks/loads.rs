//! Loads: every acknowledged one is stored once and as it was sent, and no other is stored.

use std::collections::HashMap;

use anyhow::{Context, Result};

use crate::crash::client::Caller::{Admin, Owner};
use crate::crash::client::{Client, LOGISTICS, is_repeated, repeat, settle};
use crate::crash::findings::{Findings, WriteKind};
use crate::crash::fixture::PARTNER;
use crate::crash::records::{BatchRecord, LoadRecord, Records};
use crate::crash::writer::without_warnings;
use crate::ledger::{Ledger, WriteState};

/// One in so many loads is searched by its reference.
const SEARCH_STEP: usize = 10;
/// Loads that are read by their ids at once.
const IDS: usize = 100;

/// A row of an export.
#[derive(Debug)]
pub struct StoredLoad {
    pub id: String,
    /// All columns but the id and the time of completion.
    pub columns: String,
    is_completed: bool,
}

impl StoredLoad {
    /// Whether the load has this file and the partner is one of its parties.
    pub fn shares_with_partner(&self, file: &str) -> bool {
        let columns: Vec<_> = self.columns.split(',').collect();
        let [_, _, _, organiser, _, carrier, .., files] = columns[..] else { return false };
        [organiser, carrier].contains(&PARTNER.id) && files.split(';').any(|id| id == file)
    }
}

/// All stored loads by reference.
#[derive(Debug)]
pub struct StoredLoads(HashMap<String, Vec<StoredLoad>>);

impl StoredLoads {
    /// Exports all loads.
    pub fn read(client: &Client<'_>) -> Result<Self> {
        let mut loads = HashMap::<_, Vec<_>>::new();
        for row in client.csv_rows(LOGISTICS, "/v1/loads?format=CSV", Admin)? {
            let (id, columns) = row.split_once(',').context("a row has one column")?;
            let (columns, completed_at) = columns.rsplit_once(',').context("a row has two columns")?;
            let reference = columns.split(',').next().unwrap_or_default();
            loads.entry(reference.to_owned()).or_default().push(StoredLoad {
                id: id.to_owned(),
                columns: columns.to_owned(),
                is_completed: !completed_at.is_empty(),
            });
        }
        Ok(Self(loads))
    }

    /// The load with a reference.
    pub fn get(&self, reference: &str) -> Option<&StoredLoad> {
        self.all(reference).first()
    }

    fn all(&self, reference: &str) -> &[StoredLoad] {
        self.0.get(reference).map(Vec::as_slice).unwrap_or_default()
    }

    fn count(&self) -> usize {
        self.0.values().map(Vec::len).sum()
    }

    /// Compares the stored loads with the records of all rounds.
    pub fn compare(&self, rounds: &[Records], ledger: &mut Ledger) {
        let loads =
            rounds.iter().flat_map(|records| &records.loads).map(|load| self.compare_load(load, ledger));
        let mut expected: usize = loads.sum();
        for batch in rounds.iter().flat_map(|records| &records.batches) {
            expected += self.compare_batch(batch, ledger);
        }
        if self.count() > expected {
            ledger.duplicated(&format!("{} loads were never sent", self.count() - expected));
        }
    }

    /// Returns the number of stored loads with this reference.
    fn compare_load(&self, load: &LoadRecord, ledger: &mut Ledger) -> usize {
        let reference = &load.fixture.reference;
        let stored = self.all(reference);
        ledger.check_count(&load.create.state, stored.len(), &format!("load {reference}"));
        for StoredLoad { id, columns, is_completed } in stored {
            let is_right =
                load.possible_rows().contains(columns) && columns.contains(",completed,") == *is_completed;
            ledger.check_content(is_right, || format!("load {reference} is stored as {columns}"));
            if load.create.id().is_some_and(|acknowledged| acknowledged != id) {
                ledger.lost(&format!("load {reference} has another id"));
            }
        }
        stored.len()
    }

    /// Returns the number of stored loads of a batch.
    fn compare_batch(&self, batch: &BatchRecord, ledger: &mut Ledger) -> usize {
        let BatchRecord { name, rows, ids, write, .. } = batch;
        let (mut count, mut stored_rows) = (0, 0);
        for (row, load) in batch.loads().enumerate() {
            let (reference, stored) = (&load.reference, self.all(&load.reference));
            count += stored.len();
            stored_rows += usize::from(!stored.is_empty());
            let columns = load.export_row(false, None, &[]);
            let is_right = |stored: &StoredLoad| {
                stored.columns == columns && ids.get(row).is_none_or(|id| *id == stored.id)
            };
            ledger.check_content(stored.iter().all(is_right), || {
                format!("load {reference} of a batch has other content")
            });
            if stored.len() > 1 {
                ledger.duplicated(&format!("load {reference} of a batch is stored {} times", stored.len()));
            }
        }
        ledger.check_count(&write.state, usize::from(stored_rows > 0), &format!("batch {name}"));
        ledger.check_content(stored_rows == 0 || stored_rows == *rows, || {
            format!("batch {name}: {stored_rows} of {rows} loads are stored")
        });
        count
    }

    /// Reads the loads of a round by the other operations: by ids, by text, by counts.
    pub fn check_reads(&self, client: &Client<'_>, records: &Records, ledger: &mut Ledger) -> Result<()> {
        let (stored, counted) =
            (self.count(), client.count(LOGISTICS, "/v1/loads?limit=1&count=true", Admin)?);
        ledger.check_content(stored == counted, || format!("{stored} loads are exported, {counted} counted"));
        let acknowledged = || records.loads.iter().filter(|load| load.create.id().is_some());
        // The response to a send does not contain the load with its new carrier.
        let unchanged = acknowledged().filter(|load| {
            let is_proof_known = load.proof.as_ref().is_none_or(|proof| !proof.write.is_unknown());
            is_proof_known && load.sends.is_empty() && load.response.is_object()
        });
        for loads in unchanged.collect::<Vec<_>>().chunks(IDS) {
            let ids: Vec<_> = loads.iter().filter_map(|load| load.create.id()).collect();
            let path = format!("/v1/loads/by-ids?ids={}", ids.join(","));
            let read = client.array(LOGISTICS, &path, Owner)?;
            let is_same = loads.iter().map(|load| &load.response).eq(&read);
            ledger.check_content(is_same, || format!("loads by ids differ from their responses: {ids:?}"));
        }
        for load in acknowledged().step_by(SEARCH_STEP) {
            let reference = &load.fixture.reference;
            let found = client.array(LOGISTICS, &format!("/v1/loads?query={reference}"), Owner)?;
            let is_found = found.len() == 1 && found[0]["id"].as_str() == load.create.id();
            ledger.check_content(is_found, || format!("a search for load {reference} returns {found:?}"));
        }
        for batch in records.batches.iter().filter(|batch| batch.write.id().is_some()) {
            let path = format!("/v1/loads?limit=1&count=true&query={}-", batch.name);
            let counted = client.count(LOGISTICS, &path, Owner)?;
            ledger.check_content(counted == batch.rows, || {
                format!("batch {}: a search counts {counted} loads", batch.name)
            });
        }
        Ok(())
    }

    /// Settles the unknown outcomes of a round, and repeats some acknowledged writes.
    pub fn settle(&self, client: &Client<'_>, records: &mut Records, findings: &mut Findings) -> Result<()> {
        for load in &mut records.loads {
            let stored = self.get(&load.fixture.reference);
            self.settle_create(client, load, findings)?;
            let Some(id) = load.create.id().map(str::to_owned) else { continue };
            settle_proof(client, load, &id, stored.is_some_and(|load| load.is_completed), findings)?;
        }
        records.batches.iter_mut().try_for_each(|batch| self.settle_batch(client, batch, findings))
    }

    fn settle_create(
        &self,
        client: &Client<'_>,
        load: &mut LoadRecord,
        findings: &mut Findings,
    ) -> Result<()> {
        let reference = &load.fixture.reference;
        let stored = self.get(reference).map(|load| load.id.as_str());
        findings.count(WriteKind::Load, &load.create.state, stored.is_some());
        let (state, ledger) = (&load.create.state, &mut findings.ledger);
        let (settled, response) =
            settle(client, &load.request(), state, stored, is_repeated(reference), ledger)?;
        // The response of a load with a proof is that of the proof, and not known before it.
        let is_known = load.proof.is_none() && load.response.is_object();
        if let (WriteState::Acknowledged(_), Some(response), true) = (state, response, is_known) {
            let (repeated, first) = (without_warnings(response), &load.response);
            ledger.check_content(repeated == *first, || {
                format!("load {reference}: the response was {first}, that of a repeat is {repeated}")
            });
        }
        load.create.state = settled;
        Ok(())
    }

    fn settle_batch(
        &self,
        client: &Client<'_>,
        batch: &mut BatchRecord,
        findings: &mut Findings,
    ) -> Result<()> {
        let stored: Vec<_> =
            batch.loads().filter_map(|load| Some(self.get(&load.reference)?.id.clone())).collect();
        let is_stored = !stored.is_empty();
        findings.count(WriteKind::Batch, &batch.write.state, is_stored);
        if !batch.write.is_unknown() {
            return Ok(());
        }
        let (name, ledger) = (&batch.name, &mut findings.ledger);
        if batch.write.key.is_some() {
            let stored = is_stored.then_some("");
            let response = repeat(client, &batch.request(), &WriteState::Unknown, stored, true, ledger)?;
            batch.ids = BatchRecord::response_ids(&response.unwrap_or_default());
        } else {
            // Without a key, the import is refused if its loads are stored.
            let response = client.send_until_answered(&batch.request())?;
            let expected = if is_stored { 409 } else { 200 };
            ledger.check_content(response.status == expected, || {
                format!("batch {name}: a repeat returned {}: {}", response.status, response.json)
            });
            batch.ids = if is_stored { stored.clone() } else { BatchRecord::response_ids(&response.json) };
        }
        ledger.check_content(!is_stored || stored == batch.ids, || format!("batch {name} has other ids"));
        batch.write.state = WriteState::Acknowledged(String::new());
        Ok(())
    }
}

fn settle_proof(
    client: &Client<'_>,
    load: &mut LoadRecord,
    id: &str,
    is_completed: bool,
    findings: &mut Findings,
) -> Result<()> {
    let Some(proof) = &mut load.proof else { return Ok(()) };
    findings.count(WriteKind::Proof, &proof.write.state, is_completed);
    let (stored, is_repeated) = (is_completed.then_some(""), is_repeated(&load.fixture.reference));
    let (request, ledger) = (proof.request(id), &mut findings.ledger);
    let response = repeat(client, &request, &proof.write.state, stored, is_repeated, ledger)?;
    if proof.write.is_unknown() {
        if response.is_none() {
            client.send_until_answered(&request)?;
        }
        proof.write.state = WriteState::Acknowledged(id.to_owned());
    }
    Ok(())
}

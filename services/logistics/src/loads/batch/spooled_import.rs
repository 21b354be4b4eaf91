//! The valid rows of a batch in temporary files, and how they are stored.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::sync::mpsc::sync_channel;

use common::system::FoundFiles;
use common::wire::Warning;
use common::{Caller, Error, FairPermit, JsonResponse};
use database::{AnyConnection, Id, Json, Timestamp};

use super::faults::{Faults, MAX_ERRORS, Members, with_members};
use super::model::{BatchResult, Import, SameReference};
use super::options::{IfExists, MatchBy};
use super::plan::{Checked, MAX_LISTED, Plan};
use super::recognised::RecognisedFile;
use super::row::{GivenCells, RowIdentity};
use super::second_reading::RowCells;
use super::upload::disk_error;
use super::warnings::{SimilarRow, UnknownParties, find_similar, similar_warnings};
use crate::loads::model::Load;
use crate::loads::party::{Creator, PartyNames};
use crate::loads::reference::{ComparedReference, FoldedHash};
use crate::loads::store::{self, CreatedLoad, LoadRow, StoredBatch, create_many, find_by_reference};

/// The number of rows that the second thread prepares at a time: all of an import that is stored in one transaction on
/// SQLite. Up to three times as many are in memory.
const ROWS_PER_CHUNK: usize = 1_000;
const BUFFER_BYTES: usize = 64 << 10;

/// The valid rows of a batch.
pub(crate) struct SpooledImport {
    pub(super) import: Import,
    pub(super) caller: Caller,
    pub(super) dry_run: bool,
    /// Rows with entries are left out.
    pub(super) leaves_out: bool,
    /// What is wrong with the rows that are left out.
    pub(super) faults: Faults,
    pub(super) recognised: Vec<RecognisedFile>,
    /// The cells of rows with entries and of those with the reference of another load, if the response has them.
    pub(super) row_cells: Option<Vec<RowCells>>,
    /// The files of loads that get another carrier, by the load.
    pub(super) shared_files: HashMap<Id, FoundFiles>,
    /// The rows that are skipped and differ from their loads.
    pub(super) differing: Vec<usize>,
    same_reference: Vec<SameReference>,
    ids: Vec<Id>,
    /// What identifies the loads of the rows, in their order.
    pub(super) identities: Vec<RowIdentity>,
    warnings: Vec<Warning>,
    similar: Vec<SimilarRow>,
    /// The names of the organisations that rows name.
    pub(super) names: PartyNames,
    pub(super) unknown: UnknownParties,
    /// The documents of new loads, one per line. Empty for a row that lacks cells of a new load.
    documents: BufWriter<File>,
    /// The cells of rows that are compared with loads, one row per line.
    cells: Option<BufWriter<File>>,
    /// Held until the import is stored: imports of an organisation run one after the other.
    permit: Option<FairPermit>,
}

fn spool() -> Result<BufWriter<File>, Error> {
    Ok(BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile().map_err(disk_error)?))
}

/// Returns the lines of a temporary file.
fn lines(file: &File) -> Result<impl Iterator<Item = std::io::Result<String>> + Send + use<>, Error> {
    let mut file = file.try_clone().map_err(disk_error)?;
    file.rewind().map_err(disk_error)?;
    Ok(BufReader::with_capacity(BUFFER_BYTES, file).lines())
}

impl SpooledImport {
    /// Returns an import without rows. `keeps_cells`: its rows are compared with loads.
    ///
    /// # Errors
    /// 503 if the temporary folder is full or missing.
    pub(crate) fn new(
        import: Import,
        caller: Caller,
        dry_run: bool,
        keeps_cells: bool,
    ) -> Result<Self, Error> {
        Ok(Self {
            import,
            caller,
            dry_run,
            leaves_out: false,
            faults: Faults::new(MAX_ERRORS),
            recognised: Vec::new(),
            row_cells: None,
            shared_files: HashMap::new(),
            differing: Vec::new(),
            same_reference: Vec::new(),
            ids: Vec::new(),
            identities: Vec::new(),
            warnings: Vec::new(),
            similar: Vec::new(),
            names: PartyNames::default(),
            unknown: UnknownParties::default(),
            documents: spool()?,
            cells: if keeps_cells { Some(spool()?) } else { None },
            permit: None,
        })
    }

    /// Holds the permit until the import is stored.
    pub(crate) fn hold(&mut self, permit: FairPermit) {
        self.permit = Some(permit);
    }

    /// Returns the number of rows, or 0 for a dry run.
    pub(super) fn rows_to_store(&self) -> usize {
        if self.dry_run { 0 } else { self.ids.len() }
    }

    /// Adds a row: the load that it creates, if it has all cells of one, and the cells, if they are kept.
    ///
    /// # Errors
    /// 503 if the temporary folder is full.
    pub(crate) fn add(&mut self, load: Option<&Load>, cells: Option<&GivenCells>) -> Result<(), Error> {
        self.ids.push(load.map_or_else(Id::new, |load| load.id));
        let mut line = load.map(serde_json::to_vec).transpose()?.unwrap_or_default();
        line.push(b'\n');
        self.documents.write_all(&line).map_err(disk_error)?;
        if let (Some(file), Some(cells)) = (&mut self.cells, cells) {
            let mut line = serde_json::to_vec(cells)?;
            line.push(b'\n');
            file.write_all(&line).map_err(disk_error)?;
        }
        Ok(())
    }

    /// Writes what is buffered to the temporary files.
    ///
    /// # Errors
    /// 503 if the temporary folder is full.
    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.documents.flush().map_err(disk_error)?;
        self.cells.as_mut().map_or(Ok(()), BufWriter::flush).map_err(disk_error)
    }

    /// Returns the cells of the rows, or nothing if they are not kept.
    ///
    /// # Errors
    /// 503 if the temporary file cannot be read.
    pub(super) fn cells(&self) -> Result<impl Iterator<Item = Result<GivenCells, Error>> + use<>, Error> {
        let lines = self.cells.as_ref().map(|file| lines(file.get_ref())).transpose()?;
        let parse = |line: std::io::Result<String>| Ok(serde_json::from_str(&line.map_err(disk_error)?)?);
        Ok(lines.into_iter().flatten().map(parse))
    }

    /// Adds a warning to the response.
    pub(crate) fn warn(&mut self, warning: Option<Warning>) {
        self.warnings.extend(warning);
    }

    /// Sets what identifies the loads of the rows, in their order.
    pub(crate) fn set_identities(&mut self, identities: Vec<RowIdentity>) {
        self.identities = identities;
    }

    /// Finds rows whose references are only similar to others, for the warnings.
    pub(super) fn find_similar(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        self.similar = find_similar(c, &self.caller, &self.identities)?;
        Ok(())
    }

    /// Finds the new rows whose reference a load of another delivery date has.
    pub(super) fn find_same_reference(
        &mut self,
        c: &mut AnyConnection,
        checked: &Checked,
    ) -> Result<(), Error> {
        let new = self.identities.iter().zip(&checked.plans).zip(&checked.existing);
        // By the reference alone, a load of another date is the row's too.
        let compares_dates = self.import.match_by == MatchBy::ReferenceAndDate;
        let new = new
            .filter(|((_, plan), existing)| **plan == Plan::New && (existing.is_none() || !compares_dates));
        let new: Vec<&RowIdentity> = new.map(|((row, _), _)| row).collect();
        let keys = new.iter().map(|row| row.reference.similarity_key.as_str()).collect();
        let mut newest: HashMap<FoldedHash, CreatedLoad> = HashMap::new();
        for load in find_by_reference(c, self.caller.organisation_id_or_empty(), &keys)? {
            newest.insert(ComparedReference::new(load.reference.clone()).folded, load);
        }
        let same = |row: &&RowIdentity| {
            let load = newest.get(&row.reference.folded)?;
            let load = Some(load).filter(|load| row.delivery_at != Some(load.delivery_at))?;
            Some(SameReference { row: row.index, load_id: load.id, delivery_at: load.delivery_at })
        };
        self.same_reference = new.iter().filter_map(same).take(MAX_LISTED).collect();
        Ok(())
    }

    /// Returns the numbers of the new rows whose reference a load of another delivery date has.
    pub(super) fn rows_of_same_reference(&self) -> Vec<usize> {
        self.same_reference.iter().map(|same| same.row).collect()
    }

    /// Returns the error of the rows of the batch, if they forbid to store it.
    ///
    /// # Errors
    /// 400 and 403 for rows with entries, unless these are left out and other rows remain.
    pub(super) fn refuse_rows(&self, checked: &Checked) -> Result<(), Error> {
        let is_left = checked.plans.iter().any(|plan| *plan != Plan::LeftOut);
        if !(checked.faults.is_empty() || self.leaves_out && is_left) {
            return Err(with_members(checked.faults.clone().into_error(), &self.members()?));
        }
        Ok(())
    }

    /// Returns what the body of an error contains besides its usual members.
    pub(super) fn members(&self) -> Result<Members, Error> {
        let mut members = vec![("recognised", serde_json::to_value(&self.recognised)?)];
        if let Some(rows) = &self.row_cells {
            members.push(("rows", serde_json::to_value(rows)?));
        }
        Ok(members)
    }

    /// Returns the answer.
    ///
    /// # Errors
    /// 500 if it cannot be serialized.
    pub(super) fn answer(&self, checked: &Checked, is_new: &[bool]) -> Result<JsonResponse, Error> {
        let if_exists = self.import.if_exists;
        let updates = if_exists == IfExists::Update;
        let new_ids = self.ids.iter().zip(is_new).filter(|(_, is_new)| **is_new).map(|(id, _)| *id);
        let mut warnings = self.warnings.clone();
        warnings.extend(similar_warnings(&self.similar, &self.identities, is_new));
        warnings.extend(self.unknown.warnings(&self.names, &self.identities, &checked.plans));
        let result = BatchResult {
            count: checked.count(Plan::New),
            batch_id: (!self.dry_run && checked.stores_something()).then_some(self.import.id),
            skipped: (updates || if_exists == IfExists::Skip).then(|| checked.count(Plan::Skip)),
            updated: updates.then_some(checked.updated),
            unchanged: updates.then_some(checked.unchanged),
            left_out: self.leaves_out.then(|| checked.faults.failed_rows()),
            validation: self.leaves_out.then(|| checked.faults.left_out()),
            ids: if self.dry_run { Vec::new() } else { new_ids.collect() },
            warnings,
            recognised: self.recognised.clone(),
            rows: self.row_cells.clone(),
            changes: (updates && self.dry_run).then(|| checked.changes.clone()),
            differing: (if_exists == IfExists::Skip).then(|| self.differing.clone()),
            same_reference: self.dry_run.then(|| self.same_reference.clone()),
            ..BatchResult::default()
        };
        JsonResponse::json(&result.with_message(self.dry_run))
    }

    /// Keeps what the batch has stored.
    pub(super) fn keep(&self, c: &mut AnyConnection, checked: &Checked) -> Result<(), Error> {
        let number = |count| i64::try_from(count).unwrap_or(i64::MAX);
        let batch = StoredBatch {
            id: self.import.id,
            files: self.import.files.iter().map(|file| file.name.clone()).collect(),
            created_at: Timestamp::now(),
            user_id: self.caller.user_id.clone(),
            user_name: self.caller.user_name.clone(),
            count: number(checked.count(Plan::New)),
            updated: number(checked.updated),
        };
        store::keep_batch(c, &self.caller, &batch)
    }

    /// Returns the rows of the new loads.
    ///
    /// # Errors
    /// 503 if the temporary file cannot be read.
    pub(super) fn rows(
        &mut self,
        is_new: Vec<bool>,
    ) -> Result<impl Iterator<Item = Result<LoadRow, Error>> + Send + use<>, Error> {
        let creator = Creator::of(&self.caller);
        let lines = lines(self.documents.get_ref())?.zip(is_new);
        // An error of the file is not left out.
        let new = lines.filter(|(line, is_new)| line.is_err() || *is_new);
        Ok(new.map(move |(line, _)| parse_row(line, &creator)))
    }

    /// Inserts the new loads. A second thread prepares the next rows meanwhile, since on SQLite other writes wait for
    /// the transaction.
    pub(super) fn insert(&mut self, c: &mut AnyConnection, is_new: &[bool]) -> Result<(), Error> {
        let mut all = self.rows(is_new.to_vec())?;
        let (sender, receiver) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                loop {
                    let rows = all.by_ref().take(ROWS_PER_CHUNK).collect::<Result<Vec<_>, Error>>();
                    // The receiver is gone if a statement failed.
                    if rows.as_ref().is_ok_and(Vec::is_empty) || sender.send(rows).is_err() {
                        return;
                    }
                }
            });
            for rows in receiver {
                create_many(c, &rows?)?;
            }
            Ok(())
        })
    }
}

fn parse_row(line: std::io::Result<String>, creator: &Creator) -> Result<LoadRow, Error> {
    let document = line.map_err(disk_error)?;
    let load = serde_json::from_str(&document)?;
    Ok(LoadRow::with_document(&load, Json(document)).created_by(creator))
}

//! The valid loads of a batch in a temporary file, and how they are stored.

use std::collections::HashSet;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::sync::mpsc::sync_channel;

use common::validation::{Code, ValidationErrors};
use common::wire::Warning;
use common::{Caller, Error, FairPermit, JsonResponse, Reason};
use database::{AnyConnection, Id, Json};
use serde_json::json;

use super::existing::{find_existing, refuse_existing};
use super::model::{BatchResult, Import, MAX_ERRORS, rows_error};
use super::options::IfExists;
use super::row::RowIdentity;
use super::similar::{self, SimilarRow, find_similar};
use super::store::{record, refuse_repeat, serialize_lookups};
use super::upload::disk_error;
use crate::loads::model::Load;
use crate::loads::party::Creator;
use crate::loads::store::{LoadRow, create_many};
use crate::organisations::{NamedBy, find_blocked};

/// The number of rows that the second thread prepares at a time: all of an import that is stored in one transaction on
/// SQLite. Up to three times as many are in memory.
const ROWS_PER_CHUNK: usize = 1_000;
const BUFFER_BYTES: usize = 64 << 10;
/// Message for a batch that names organisations that have blocked its sender.
const BLOCKED: &str =
    "An organisation that rows name has blocked the one that names it as organiser or carrier.";

/// The valid loads of a batch.
pub(crate) struct SpooledImport {
    import: Import,
    caller: Caller,
    dry_run: bool,
    ids: Vec<Id>,
    /// What identifies the loads, in their order.
    identities: Vec<RowIdentity>,
    warnings: Vec<Warning>,
    similar: Vec<SimilarRow>,
    /// The documents, one per line.
    documents: BufWriter<File>,
    /// Held until the import is stored: imports of an organisation run one after the other.
    permit: Option<FairPermit>,
}

impl SpooledImport {
    /// Returns an import without loads.
    ///
    /// # Errors
    /// 503 if the temporary folder is full or missing.
    pub(crate) fn new(import: Import, caller: Caller, dry_run: bool) -> Result<Self, Error> {
        let documents = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile().map_err(disk_error)?);
        Ok(Self {
            import,
            caller,
            dry_run,
            ids: Vec::new(),
            identities: Vec::new(),
            warnings: Vec::new(),
            similar: Vec::new(),
            documents,
            permit: None,
        })
    }

    /// Holds the permit until the import is stored.
    pub(crate) fn with_permit(mut self, permit: FairPermit) -> Self {
        self.permit = Some(permit);
        self
    }

    /// Returns the number of loads, or 0 for a dry run.
    pub(super) fn rows_to_store(&self) -> usize {
        if self.dry_run { 0 } else { self.ids.len() }
    }

    /// Adds a load.
    ///
    /// # Errors
    /// 503 if the temporary folder is full.
    pub(crate) fn add(&mut self, load: &Load) -> Result<(), Error> {
        self.ids.push(load.id);
        let mut line = serde_json::to_vec(load)?;
        line.push(b'\n');
        self.documents.write_all(&line).map_err(disk_error)
    }

    /// Adds a warning to the response.
    pub(crate) fn warn(&mut self, warning: Option<Warning>) {
        self.warnings.extend(warning);
    }

    /// Sets what identifies the loads, in their order.
    pub(crate) fn set_identities(&mut self, identities: Vec<RowIdentity>) {
        self.identities = identities;
    }

    /// Finds rows whose references are only similar to others, for the warnings.
    pub(super) fn find_similar(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        self.similar = find_similar(c, &self.caller, &self.identities)?;
        Ok(())
    }

    /// Checks the import and, unless this is a dry run, stores its loads with `store`, which gets whether each is new.
    /// Can be called again if the transaction is retried.
    ///
    /// # Errors
    /// 400 for rows that exist already and are refused, 403 for new ones that name an organisation that has blocked the
    /// one in whose name they are sent, 409 if a content was imported before.
    pub(super) fn commit(
        &mut self,
        c: &mut AnyConnection,
        store: impl FnOnce(&mut Self, &mut AnyConnection, &[bool]) -> Result<(), Error>,
    ) -> Result<JsonResponse, Error> {
        let is_new = self.check(c)?;
        let new_ids = self.ids.iter().zip(&is_new).filter(|(_, is_new)| **is_new);
        let ids: Vec<Id> = new_ids.map(|(id, _)| *id).collect();
        let skipped =
            (self.import.if_exists == IfExists::Skip).then_some(self.ids.len().saturating_sub(ids.len()));
        let mut warnings = self.warnings.clone();
        warnings.extend(similar::warnings(&self.similar, &self.identities, &is_new));
        if self.dry_run {
            return JsonResponse::json(&BatchResult::dry_run(ids.len(), skipped, warnings));
        }
        if !ids.is_empty() {
            record(c, &self.import)?;
            store(self, c, &is_new)?;
        }
        JsonResponse::json(&BatchResult::created(ids, skipped, warnings))
    }

    /// Returns for each load whether it is new.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub(super) fn check(&self, c: &mut AnyConnection) -> Result<Vec<bool>, Error> {
        let is_new = self.find_new(c)?;
        let new_rows = self.identities.iter().zip(&is_new).filter(|(_, is_new)| **is_new);
        check_not_blocked(c, new_rows.map(|(row, _)| row))?;
        refuse_repeat(c, &self.import)?;
        Ok(is_new)
    }

    fn find_new(&self, c: &mut AnyConnection) -> Result<Vec<bool>, Error> {
        let if_exists = self.import.if_exists;
        if if_exists == IfExists::Create {
            return Ok(vec![true; self.ids.len()]);
        }
        if !self.dry_run {
            serialize_lookups(c, &self.import.organisation_id)?;
        }
        let existing = find_existing(c, &self.caller, &self.identities)?;
        if if_exists == IfExists::Refuse {
            let mut errors = ValidationErrors::default();
            let refused_rows = refuse_existing(&self.identities, &existing, MAX_ERRORS, &mut errors);
            if refused_rows > 0 {
                return Err(rows_error(errors, refused_rows));
            }
        }
        Ok(existing.iter().map(Option::is_none).collect())
    }

    /// Returns the rows of the new loads.
    ///
    /// # Errors
    /// 503 if the temporary file cannot be read.
    pub(super) fn rows(
        &mut self,
        is_new: Vec<bool>,
    ) -> Result<impl Iterator<Item = Result<LoadRow, Error>> + Send + use<>, Error> {
        self.documents.flush().map_err(disk_error)?;
        let (mut file, creator) =
            (self.documents.get_ref().try_clone().map_err(disk_error)?, Creator::of(&self.caller));
        file.rewind().map_err(disk_error)?;
        let lines = BufReader::with_capacity(BUFFER_BYTES, file).lines().zip(is_new);
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

/// Checks, with one query, that no organisation that these rows name has blocked the one that names it.
///
/// # Errors
/// 403 (docs/api/loads.md, "Block list") with an entry for each of these rows, up to [`MAX_ERRORS`].
fn check_not_blocked<'a>(
    c: &mut AnyConnection,
    rows: impl Iterator<Item = &'a RowIdentity> + Clone,
) -> Result<(), Error> {
    let namings = rows.filter_map(|row| Some((row, row.naming.as_ref()?)));
    let pairs: HashSet<&NamedBy> = namings.clone().map(|(_, naming)| &*naming.pair).collect();
    let blocked = find_blocked(c, &pairs.into_iter().collect::<Vec<_>>())?;
    let refused = || namings.clone().filter(|(_, naming)| blocked.contains(&*naming.pair));
    let mut errors = ValidationErrors::default();
    errors.extend(refused().take(MAX_ERRORS).map(|(row, naming)| {
        let message = "has blocked the organisation that names it";
        let mut error = row.error(naming.column, Code::Forbidden, message);
        error.data.insert("reason".to_owned(), json!(Reason::Blocked));
        error
    }));
    if errors.is_empty() {
        return Ok(());
    }
    let failed_rows = refused().count();
    let error = Error::ForbiddenFields(errors, BLOCKED).with("reason", json!(Reason::Blocked));
    Err(error.with("failedRows", failed_rows))
}

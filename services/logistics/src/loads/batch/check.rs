//! The one pass over all rows: what is wrong is collected, what is good is written down.

use actix_web::web::Data;
use common::multipart::Form;
use common::validation::{Code, FieldError, ValidationErrors};
use common::{Caller, Error};
use serde_json::json;

use super::header::Header;
use super::plan::{Import, StagedImport};
use super::queue::QUEUE_TIMEOUT;
use super::row::reword;
use super::table::{Budget, Row, TableError, TableReader};
use super::upload::{LoadBatchForm, Organiser, UploadedFile, parse};
use crate::Logistics;
use crate::loads::model::{Creator, NewLoad};

/// So many entries are told (contract, section 4, "Batch").
const MAX_ENTRIES: usize = 1000;
/// After a row of another organisation this many more rows are checked: a bad cell among them is reported instead.
const ROWS_AFTER_FOREIGN: usize = 1000;

/// Checks a batch on a thread of its own.
///
/// # Errors
/// 400 with every bad cell; then 403 if a row is for another organisation.
pub async fn check(
    app: Data<Logistics>,
    caller: Caller,
    form: Form<UploadedFile>,
) -> Result<StagedImport, Error> {
    let slot = app.batches.queue.acquire(caller.tenant(), QUEUE_TIMEOUT).await?;
    let checked = tokio::task::spawn_blocking(move || {
        // Held to the end, even when the client has gone.
        let _slot = slot;
        pass(&app, &caller, form)
    });
    checked.await.map_err(|e| Error::Internal(e.into()))?
}

const FOREIGN: Error = Error::Forbidden("Loads are created for one's own organisation only.");

struct BatchValidator<'a> {
    app: &'a Logistics,
    caller: &'a Caller,
    organiser: Organiser,
    /// Rows so far, of all files.
    rows: usize,
    errors: ValidationErrors,
    failed_rows: usize,
    /// The number of the first row that is for an organisation that is not the caller's.
    foreign: Option<usize>,
    /// Remaining budget of the batch.
    budget: Budget,
    nameless: bool,
    plan: StagedImport,
}

fn pass(app: &Logistics, caller: &Caller, form: Form<UploadedFile>) -> Result<StagedImport, Error> {
    let (mut fields, errors) = parse(&form, &app.batches);
    let organiser = fields.organiser(&errors);
    let LoadBatchForm { dry_run, repeat, .. } = fields;
    let imported = form.files.iter().map(|file| (&file.hash, file.name.as_deref()));
    let import = Import::new(caller.organisation_id(), imported, repeat);
    let mut pass = BatchValidator {
        app,
        caller,
        organiser,
        rows: 0,
        errors,
        failed_rows: 0,
        foreign: None,
        budget: Budget::new(app.batches.limits),
        nameless: false,
        plan: StagedImport::new(import, Creator::of(caller), dry_run)?,
    };
    let several = form.files.len() > 1;
    let duplicates = duplicates(&form.files);
    pass.errors.extend(duplicates);
    // An empty file has its entry by now.
    for received in form.files.into_iter().filter(|file| !file.is_empty()) {
        let name = received.name.unwrap_or_default();
        let name = several.then_some(&*name);
        match pass.file(received.file, name) {
            Ok(()) => {}
            Err(FileError::File(fault @ TableError::Refused { .. })) => {
                if let Error::Validation(errors) = fault.into_error(name) {
                    pass.errors.extend(errors);
                }
            }
            Err(FileError::File(fault)) => return Err(fault.into_error(name)),
            Err(FileError::All(error)) => return Err(error),
        }
    }
    pass.finish()
}

/// An entry for each file with the content of one before it.
fn duplicates(files: &[UploadedFile]) -> ValidationErrors {
    let mut entries = ValidationErrors::default();
    for (index, file) in files.iter().enumerate().filter(|(_, file)| !file.is_empty()) {
        if files[..index].iter().any(|earlier| earlier.hash == file.hash) {
            let message = "has the same content as a file before it: send each content once";
            let data = json!({ "file": file.name.as_deref().unwrap_or_default(), "index": index });
            let mut entry = ValidationErrors::default();
            entry.push_with("file", Code::Inconsistent, message, data);
            entries.extend(entry);
        }
    }
    entries
}

/// Why a file was not read to its end.
enum FileError {
    File(TableError),
    /// Nor will others be.
    All(Error),
}

impl From<TableError> for FileError {
    fn from(fault: TableError) -> Self {
        Self::File(fault)
    }
}

impl BatchValidator<'_> {
    fn file(&mut self, file: std::fs::File, name: Option<&str>) -> Result<(), FileError> {
        let limits = self.app.batches.limits;
        let mut table = TableReader::open(file, &mut self.budget)?;
        let first = table.next(&mut self.budget)?.unwrap_or(Row { line: 1, cells: Vec::new() });
        let mut found = ValidationErrors::default();
        let header = Header::read(&first.cells, self.organiser.id.is_some(), &mut found);
        self.take(found, |path| path, first.line, name);
        while let Some(row) = table.next(&mut self.budget)? {
            if self.rows == limits.rows {
                return Err(FileError::All(
                    TableError::too_many("rows in all", limits.rows).into_error(None),
                ));
            }
            if let Some(header) = &header {
                self.row(header, row, name).map_err(FileError::All)?;
            }
            self.rows += 1;
            if self.errors.is_empty()
                && self.foreign.is_some_and(|first| self.rows - first > ROWS_AFTER_FOREIGN)
            {
                return Err(FileError::All(FOREIGN));
            }
        }
        Ok(())
    }

    fn row(&mut self, header: &Header, row: Row, file: Option<&str>) -> Result<(), Error> {
        let mut found = ValidationErrors::default();
        let (object, stray) = header.object(row.cells, &mut found);
        let shape = &self.app.batches.row;
        let read = if self.errors.len() < MAX_ENTRIES {
            let (read, errors) = shape.check(object);
            reword(errors, &mut found);
            read
        } else {
            // No entry is added any more: the row counts as failed, but its faults are not described.
            let is_readable = found.is_empty() && !stray;
            let Some(read) = is_readable.then(|| shape.valid(object)).flatten() else {
                self.failed_rows += 1;
                return Ok(());
            };
            read
        };
        let catalogue = &self.app.commodities;
        let new = read.into_new(&self.organiser, self.caller, catalogue, &mut found, &mut self.nameless);
        if stray {
            found.push("", Code::Length, "has a cell outside of the columns that have a name");
        } else if let Some(new) = new {
            if !self.is_own(&new) {
                self.foreign.get_or_insert(self.rows);
            }
            // Once anything is wrong nothing will be stored.
            let is_good = self.errors.is_empty() && self.foreign.is_none();
            return if is_good { self.plan.add(new) } else { Ok(()) };
        }
        if found.is_empty() {
            return Err(Error::Internal(anyhow::anyhow!("a row is no load, and nothing is wrong with it")));
        }
        self.failed_rows += 1;
        let n = self.rows;
        let within =
            |path: String| if path.is_empty() { format!("rows[{n}]") } else { format!("rows[{n}].{path}") };
        self.take(found, within, row.line, file);
        Ok(())
    }

    /// As creating a load of one's own, by either form.
    fn is_own(&self, new: &NewLoad) -> bool {
        let parties = [&new.organiser, &new.carrier].into_iter().flatten();
        self.caller.admin || parties.filter_map(|p| p.id.as_deref()).any(|id| self.caller.acts_for(id))
    }

    /// Takes over entries, with where they were found.
    fn take(
        &mut self,
        found: ValidationErrors,
        path: impl Fn(String) -> String,
        line: u64,
        file: Option<&str>,
    ) {
        let left = MAX_ENTRIES.saturating_sub(self.errors.len());
        self.errors.extend(found.into_iter().take(left).map(|mut field_error: FieldError| {
            field_error.path = path(field_error.path);
            field_error.data.insert("line".into(), json!(line));
            field_error.data.extend(file.map(|file| ("file".into(), json!(file))));
            field_error
        }));
    }

    fn finish(mut self) -> Result<StagedImport, Error> {
        if self.nameless {
            self.errors.push("organisationName", Code::Required, "is required with organisationId");
        }
        if self.rows == 0 && self.errors.is_empty() {
            self.errors.push_with("file", Code::Length, "must have rows", json!({ "minimum": 1 }));
        }
        self.errors.check().map_err(|errors| Error::from(errors).with("failedRows", self.failed_rows))?;
        if self.foreign.is_some() {
            return Err(FOREIGN);
        }
        Ok(self.plan)
    }
}

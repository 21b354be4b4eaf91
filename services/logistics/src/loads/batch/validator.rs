//! Validates all rows of a batch in one pass: collects errors, spools valid loads, and warns of rows that a sheet
//! hides.

use std::collections::HashMap;
use std::sync::Arc;

use common::multipart::Form;
use common::validation::{Code, FieldError, ValidationErrors};
use common::wire::Warning;
use common::{Caller, Error};
use serde_json::{Map, json};
use tables::{Budget, TableError, TableReader, TableRow, TextEncoding, cell_name};

use super::Batches;
use super::existing::{Existing, refuse_existing};
use super::header::{HeaderRow, NamedCells};
use super::model::{Import, MAX_ERRORS, rows_error};
use super::options::{CellOptions, IfExists};
use super::row::{Namings, RowContext, RowIdentity, reword_errors};
use super::spooled_import::SpooledImport;
use super::upload::{LoadBatchForm, UploadedFile, parse_form, table_error};
use crate::commodities::Catalogue;
use crate::loads::form::FOREIGN_LOAD;
use crate::loads::model::Load;
use crate::loads::reference::ComparedReference;

/// The maximum number of rows that are validated after the first one for another organisation. An invalid cell in them
/// takes precedence over the 403.
const MAX_ROWS_AFTER_FOREIGN: usize = 1000;

struct BatchValidator<'a> {
    batches: &'a Batches,
    context: RowContext<'a>,
    /// The number of rows read so far, of all files.
    rows: usize,
    errors: ValidationErrors,
    failed_rows: usize,
    /// The index of the first row for another organisation than the caller's.
    first_foreign_row: Option<usize>,
    budget: Budget,
    import: SpooledImport,
    options: CellOptions,
    encoding: TextEncoding,
    if_exists: IfExists,
    /// What identifies the loads of valid rows.
    identities: Vec<RowIdentity>,
    namings: Namings,
}

/// The result of a validation.
pub(crate) enum ValidatedBatch {
    Valid(Box<SpooledImport>),
    Invalid(InvalidBatch),
}

/// The table that is being read.
#[derive(Default)]
struct Table {
    /// The name of the file if there are several.
    file: Option<Arc<str>>,
    /// The name of the sheet of a workbook.
    sheet: Option<String>,
    header: Option<HeaderRow>,
}

/// Why a file was not read to its end.
enum FileError {
    /// The file cannot be read as a table. After [`TableError::Refused`] the next files are still validated; any other
    /// error fails the batch.
    Table(TableError),
    /// The whole batch fails.
    Batch(Error),
}

impl From<TableError> for FileError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

/// Validates a batch. Blocks the thread.
///
/// # Errors
/// 403 if all rows are valid and one is for another organisation. 413 and 503.
pub(crate) fn validate(
    batches: &Batches,
    catalogue: &Catalogue,
    caller: &Caller,
    form: Form<UploadedFile>,
) -> Result<ValidatedBatch, Error> {
    let (mut fields, mut errors) = parse_form(&form, batches);
    let organiser = fields.take_organiser(&errors);
    let (options, if_exists) = (fields.cell_options(), fields.if_exists);
    let LoadBatchForm { dry_run, repeat, encoding, .. } = fields;
    let files = form.files.iter().map(|file| (&file.hash, file.name.as_deref()));
    let import = Import::new(caller.organisation_id_or_empty(), files, repeat, if_exists);
    errors.extend(duplicate_files(&form.files));
    let mut validator = BatchValidator {
        batches,
        context: RowContext {
            caller,
            catalogue,
            organiser,
            lacks_organiser_name: false,
            reports_errors: true,
            suggestions: HashMap::new(),
        },
        rows: 0,
        errors,
        failed_rows: 0,
        first_foreign_row: None,
        budget: Budget::new(batches.limits),
        import: SpooledImport::new(import, caller.clone(), dry_run)?,
        options,
        encoding,
        if_exists,
        identities: Vec::new(),
        namings: Namings::default(),
    };
    let has_several_files = form.files.len() > 1;
    // An empty file already has an error.
    for upload in form.files.into_iter().filter(|file| !file.is_empty()) {
        let name = upload.name.unwrap_or_default();
        let name = has_several_files.then(|| Arc::from(name));
        let result = validator.file(upload.file, name.as_ref());
        let name = name.as_deref();
        match result {
            Ok(()) => {}
            Err(FileError::Table(error @ TableError::Refused { .. })) => {
                if let Error::Validation(errors) = table_error(error, name) {
                    validator.errors.extend(errors);
                }
            }
            Err(FileError::Table(error)) => return Err(table_error(error, name)),
            Err(FileError::Batch(error)) => return Err(error),
        }
    }
    validator.finish()
}

/// Returns an error for each file with the same content as an earlier one.
fn duplicate_files(files: &[UploadedFile]) -> ValidationErrors {
    let mut errors = ValidationErrors::default();
    for (index, file) in files.iter().enumerate().filter(|(_, file)| !file.is_empty()) {
        if files[..index].iter().any(|earlier| earlier.hash == file.hash) {
            let message = "has the same content as an earlier file: send each content once";
            let data = json!({ "file": file.name.as_deref().unwrap_or_default(), "index": index });
            // `push_with` would drop a second error with the same path.
            let mut error = ValidationErrors::default();
            error.push_with("file", Code::Inconsistent, message, data);
            errors.extend(error);
        }
    }
    errors
}

impl BatchValidator<'_> {
    fn file(&mut self, file: std::fs::File, name: Option<&Arc<str>>) -> Result<(), FileError> {
        let max_rows = self.batches.limits.rows;
        let mut reader = TableReader::open(file, self.encoding, HeaderRow::rank, &mut self.budget)?;
        let mut table = Table { file: name.cloned(), sheet: reader.sheet().map(str::to_owned), header: None };
        let first = reader.next(&mut self.budget)?.unwrap_or(TableRow { line: 1, ..TableRow::default() });
        let mut errors = ValidationErrors::default();
        let header = HeaderRow::parse(&first.cells, self.context.organiser.id.is_some(), &mut errors);
        self.add_errors(errors, |path| path, first.line, &table);
        table.header = header;
        let mut hidden = HiddenRows::default();
        while let Some(row) = reader.next(&mut self.budget)? {
            if self.rows == max_rows {
                let error = TableError::too_many("rows in all", max_rows);
                return Err(FileError::Batch(table_error(error, None)));
            }
            if let Some(header) = &table.header {
                if header.is_sample(&row.cells) || header.is_filled_down(&row) {
                    self.budget.take_blank_row()?;
                    continue;
                }
                if row.is_hidden {
                    hidden.add(self.rows, row.line);
                }
                self.row(header, &table, row).map_err(FileError::Batch)?;
            }
            self.rows += 1;
            if self.errors.is_empty()
                && self.first_foreign_row.is_some_and(|first| self.rows - first > MAX_ROWS_AFTER_FOREIGN)
            {
                return Err(FileError::Batch(FOREIGN_LOAD));
            }
        }
        let warning = hidden.into_warning(table.sheet.as_deref(), table.file.as_deref());
        self.import.warn(warning);
        Ok(())
    }

    fn row(&mut self, header: &HeaderRow, table: &Table, row: TableRow) -> Result<(), Error> {
        let mut errors = ValidationErrors::default();
        let NamedCells { object, id, has_unnamed } = header.name_cells(row.cells, self.options, &mut errors);
        let schema = &self.batches.row;
        self.context.reports_errors = self.errors.len() < MAX_ERRORS;
        let parsed = if self.context.reports_errors {
            let (parsed, schema_errors) = schema.check(object);
            reword_errors(schema_errors, self.options, &mut errors);
            parsed
        } else {
            // The response has no room for more errors: an invalid row is only counted.
            let is_valid = errors.is_empty() && !has_unnamed;
            let Some(parsed) = is_valid.then(|| schema.valid(object)).flatten() else {
                self.failed_rows += 1;
                return Ok(());
            };
            parsed
        };
        let load = parsed.into_load(&mut self.context, &mut errors)?;
        if has_unnamed {
            errors.push("", Code::Length, "has a cell in a column without a name");
        } else if let Some(load) = load {
            if !self.is_own(&load) {
                self.first_foreign_row.get_or_insert(self.rows);
            }
            self.identities.push(RowIdentity {
                id,
                reference: ComparedReference::new(load.reference.clone()),
                delivery_at: load.delivery_date,
                index: self.rows,
                line: row.line,
                file: table.file.clone(),
                naming: self.namings.find(&load, self.context.caller),
            });
            // After an error nothing will be stored.
            let is_valid_so_far = self.errors.is_empty() && self.first_foreign_row.is_none();
            return if is_valid_so_far { self.import.add(&load) } else { Ok(()) };
        }
        self.failed_rows += 1;
        let index = self.rows;
        let row_path = |path: String| {
            if path.is_empty() { format!("rows[{index}]") } else { format!("rows[{index}].{path}") }
        };
        self.add_errors(errors, row_path, row.line, table);
        Ok(())
    }

    /// Returns true if the caller may create the load by one of the JSON forms.
    fn is_own(&self, load: &Load) -> bool {
        let caller = self.context.caller;
        let parties = [&load.organiser, &load.carrier].into_iter().flatten();
        caller.admin || parties.filter_map(|party| party.id.as_deref()).any(|id| caller.acts_for(id))
    }

    /// Adds errors up to [`MAX_ERRORS`], with the line and the names of file, sheet and cell.
    fn add_errors(
        &mut self,
        errors: ValidationErrors,
        path: impl Fn(String) -> String,
        line: u64,
        table: &Table,
    ) {
        let left = MAX_ERRORS.saturating_sub(self.errors.len());
        self.errors.extend(errors.into_iter().take(left).map(|mut error: FieldError| {
            let column = table.header.as_ref().and_then(|header| header.position(&error.path));
            error.path = path(error.path);
            error.data.insert("line".into(), json!(line));
            error.data.extend(table.file.as_deref().map(|file| ("file".into(), json!(file))));
            if let Some(sheet) = &table.sheet {
                error.data.insert("sheet".into(), json!(sheet));
                error.data.extend(column.map(|column| ("cell".into(), json!(cell_name(column, line)))));
            }
            error
        }));
    }

    fn finish(mut self) -> Result<ValidatedBatch, Error> {
        if self.context.lacks_organiser_name {
            self.errors.push("organisationName", Code::Required, "is required with organisationId");
        }
        if self.rows == 0 && self.errors.is_empty() {
            self.errors.push_with("file", Code::Length, "must have rows", json!({ "minimum": 1 }));
        }
        if !self.errors.is_empty() {
            let refusable = if self.if_exists == IfExists::Refuse { self.identities } else { Vec::new() };
            let invalid = InvalidBatch::new(self.errors, self.failed_rows, refusable);
            return Ok(ValidatedBatch::Invalid(invalid));
        }
        if self.first_foreign_row.is_some() {
            return Err(FOREIGN_LOAD);
        }
        self.import.set_identities(self.identities);
        Ok(ValidatedBatch::Valid(Box::new(self.import)))
    }
}

/// The number of rows that a warning lists.
const MAX_LISTED: usize = 1_000;

/// The hidden rows of a file.
#[derive(Debug, Default)]
pub(crate) struct HiddenRows {
    /// The index of each row, over all files, and its number in the sheet.
    listed: Vec<(usize, u64)>,
    count: usize,
}

impl HiddenRows {
    /// Adds a row with its index over all files and its number in the sheet.
    pub(crate) fn add(&mut self, index: usize, line: u64) {
        self.count += 1;
        if self.listed.len() < MAX_LISTED {
            self.listed.push((index, line));
        }
    }

    /// Returns the warning, if there are hidden rows.
    pub(crate) fn into_warning(self, sheet: Option<&str>, file: Option<&str>) -> Option<Warning> {
        let (rows, lines): (Vec<_>, Vec<_>) = self.listed.into_iter().unzip();
        let first = lines.first()?;
        let message = match self.count {
            1 => format!("row {first} of the sheet is hidden, and is imported like the others"),
            count => format!(
                "{count} rows of the sheet, from row {first} on, are hidden, and are imported like the others"
            ),
        };
        let mut data = Map::from_iter([
            ("count".to_owned(), json!(self.count)),
            ("rows".to_owned(), json!(rows)),
            ("lines".to_owned(), json!(lines)),
        ]);
        data.extend(sheet.map(|sheet| ("sheet".to_owned(), json!(sheet))));
        data.extend(file.map(|file| ("file".to_owned(), json!(file))));
        Some(Warning { path: "file".into(), code: "hidden_rows".into(), message, data })
    }
}

/// A batch that is not stored because of errors in its rows.
pub(crate) struct InvalidBatch {
    errors: ValidationErrors,
    failed_rows: usize,
    /// The valid rows that are errors too if their loads exist.
    refusable: Arc<[RowIdentity]>,
}

impl InvalidBatch {
    /// Returns a batch with these errors.
    pub(crate) fn new(errors: ValidationErrors, failed_rows: usize, refusable: Vec<RowIdentity>) -> Self {
        Self { errors, failed_rows, refusable: refusable.into() }
    }

    /// Returns the valid rows that are errors too if their loads exist.
    pub(crate) fn refusable(&self) -> Arc<[RowIdentity]> {
        self.refusable.clone()
    }

    /// Adds an error for each of these rows whose load exists.
    pub(crate) fn refuse(&mut self, existing: &[Option<Existing>]) {
        self.failed_rows += refuse_existing(&self.refusable, existing, MAX_ERRORS, &mut self.errors);
    }

    /// Returns the response.
    pub(crate) fn into_error(self) -> Error {
        rows_error(self.errors, self.failed_rows)
    }
}

//! Reads and validates all rows of a batch: collects what is wrong, spools valid loads, and warns of rows that a sheet
//! hides.

use std::collections::HashMap;
use std::fs::File;
use std::sync::Arc;

use common::multipart::Form;
use common::validation::{Code, FieldError, ValidationErrors};
use common::wire::{ExternalId, Warning};
use common::{Caller, Error};
use serde_json::{Map, json};
use tables::{Budget, TableError, TableRow, cell_name};

use super::Batches;
use super::detect::{Detected, detect};
use super::faults::{self, Faults, MAX_ERRORS, MAX_PROBLEMS};
use super::header::NamedCells;
use super::model::Import;
use super::options::{CellOptions, DateOrder, DecimalSeparator, IfExists, InvalidRows, MatchBy};
use super::read_batch::ReadBatch;
use super::recognised::{RecognisedFile, Samples};
use super::row::{Namings, ParsedRow, RowContext, RowIdentity, add_own_id, reword_errors};
use super::second_reading::{ReadFile, SecondReading};
use super::spooled_import::SpooledImport;
use super::table::{FileRow, Layout, Table};
use super::upload::{UploadedFile, parse_form, table_error};
use super::warnings::UnknownParties;
use crate::commodities::Catalogue;
use crate::loads::address_book::{AddressBook, BatchNames};
use crate::loads::model::Load;
use crate::loads::reference::ComparedReference;

struct BatchValidator<'a> {
    batches: &'a Batches,
    context: RowContext<'a>,
    layout: &'a Layout,
    /// What the form states, or `None` where each file decides.
    stated: (Option<DateOrder>, Option<DecimalSeparator>),
    if_exists: IfExists,
    match_by: MatchBy,
    leaves_out: bool,
    /// The number of rows read so far, of all files.
    rows: usize,
    /// A file was not read to its end.
    is_incomplete: bool,
    faults: Faults,
    budgets: Budgets,
    import: SpooledImport,
    recognised: Vec<RecognisedFile>,
    /// What identifies the loads of valid rows.
    identities: Vec<RowIdentity>,
    namings: Namings,
    unknown: UnknownParties,
}

/// The budgets of the readings of all files.
struct Budgets {
    rows: Budget,
    /// Of the reading that decides what the form leaves open.
    detection: Budget,
    /// Of counting the rows of other sheets.
    sheets: Budget,
}

/// A table that is being validated.
struct Source<'a> {
    table: Table<'a>,
    options: CellOptions,
    /// The name of the file if there are several.
    file: Option<Arc<str>>,
    /// The name of the sheet of a workbook.
    sheet: Option<String>,
}

/// Why a file was not read to its end.
enum FileError {
    /// The file cannot be read as a table. If the error is one of validation, the next files are still validated; any
    /// other error fails the batch.
    Table(TableError),
    /// The whole batch fails, and the next files are not read.
    Batch(Error),
}

impl From<TableError> for FileError {
    fn from(error: TableError) -> Self {
        Self::Table(error)
    }
}

/// Reads and validates a batch. Blocks the thread.
///
/// # Errors
/// 400 for a file that cannot be read, 413 and 503.
pub(crate) fn validate(
    batches: &Batches,
    catalogue: &Catalogue,
    (caller, book): (&Caller, &AddressBook),
    form: Form<UploadedFile>,
) -> Result<ReadBatch, Error> {
    let (mut fields, errors) = parse_form(&form, batches);
    let mut organiser = fields.take_organiser(&errors);
    let mut names = BatchNames::new(book, caller)?;
    add_own_id(&mut organiser.id, organiser.name.as_ref(), caller);
    if let (None, Some(name), false) = (&organiser.id, &organiser.name, errors.failed("organisationName")) {
        organiser.id = names.find(name)?.map(ExternalId);
    }
    if let Some(id) = &organiser.id {
        names.add(id)?;
    }
    let stated = (fields.date_order.given(), fields.decimal.given());
    let has_own = caller.organisation.is_some() && organiser.name.is_none();
    let layout = Layout {
        has_organiser: organiser.id.is_some() || has_own,
        headings: fields.headings,
        corrections: fields.corrections,
        sheet: fields.sheet,
        encoding: fields.encoding.given(),
    };
    let files = form.files.iter().map(|file| (&file.hash, file.name.as_deref()));
    let import = Import::new(
        caller.organisation_id_or_empty(),
        files,
        fields.repeat,
        (fields.if_exists, fields.match_by),
    );
    let mut faults = Faults::new(if fields.format.is_some() { MAX_PROBLEMS } else { MAX_ERRORS });
    faults.add_to_upload(errors);
    faults.add_to_upload(duplicate_files(&form.files));
    let keeps_cells = matches!(fields.if_exists, IfExists::Update | IfExists::Skip);
    let budget = || Budget::new(batches.limits);
    let mut validator = BatchValidator {
        batches,
        context: RowContext {
            batch_id: import.id,
            caller,
            names,
            catalogue,
            organiser,
            lacks_organiser_name: false,
            reports_errors: true,
            suggestions: HashMap::new(),
            keeps_cells,
        },
        layout: &layout,
        stated,
        if_exists: fields.if_exists,
        match_by: fields.match_by,
        leaves_out: fields.invalid_rows == InvalidRows::LeaveOut || fields.format.is_some(),
        rows: 0,
        is_incomplete: false,
        faults,
        budgets: Budgets { rows: budget(), detection: budget(), sheets: budget() },
        import: SpooledImport::new(import, caller.clone(), fields.dry_run, keeps_cells)?,
        recognised: Vec::new(),
        identities: Vec::new(),
        namings: Namings::default(),
        unknown: UnknownParties::default(),
    };
    let has_several_files = form.files.len() > 1;
    let mut read = Vec::new();
    // An empty file already has an error.
    for upload in form.files.into_iter().filter(|file| !file.is_empty()) {
        let name: Arc<str> = upload.name.unwrap_or_default().into();
        let shown = has_several_files.then(|| name.clone());
        let result = validator.file(&upload.file, &name, shown.as_ref());
        let options = result.as_ref().copied().unwrap_or_default();
        // Also a file of which only a part was read: its rows count.
        read.push(ReadFile { file: upload.file, name: shown.clone(), options });
        let (error, is_last) = match result {
            Ok(_) => continue,
            Err(FileError::Table(error)) => (table_error(error, shown.as_deref()), false),
            Err(FileError::Batch(error)) => (error, true),
        };
        let Error::Validation(errors) = error else {
            let error = error.with("recognised", serde_json::to_value(validator.recognised)?);
            return Err(if fields.include.is_some() { error.with("rows", json!([])) } else { error });
        };
        validator.is_incomplete = true;
        validator.faults.add_to_upload(errors);
        if is_last {
            break;
        }
    }
    validator.finish();
    let BatchValidator { faults, mut import, recognised, identities, unknown, context, .. } = validator;
    import.set_identities(identities);
    (import.names, import.unknown) = (context.names.names, unknown);
    import.leaves_out = fields.invalid_rows == InvalidRows::LeaveOut;
    Ok(ReadBatch {
        import,
        faults,
        recognised,
        reading: SecondReading { files: read, layout, limits: batches.limits },
        include: fields.include,
        format: fields.format,
    })
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

impl<'a> BatchValidator<'a> {
    /// Validates a file. Returns how its cells are read.
    fn file(&mut self, file: &File, name: &str, shown: Option<&Arc<str>>) -> Result<CellOptions, FileError> {
        let max_rows = self.batches.limits.rows;
        let detected = detect(file, self.layout, self.rows, self.stated, &mut self.budgets.detection)?;
        self.ask(detected, name);
        let table = Table::open(file, self.layout, false, &mut self.budgets.rows)?;
        let sheet = table.sheet().map(str::to_owned);
        let mut source = Source { options: detected.options(), file: shown.cloned(), sheet, table };
        let header_errors = std::mem::take(&mut source.table.header_errors);
        let line = source.table.header_line();
        self.faults.add_to_upload(header_errors.into_iter().map(|error| source.locate(error, line)));
        let mut samples = Samples::of(&source.table);
        let read = self.rows(&mut source, &mut samples, max_rows);
        let Source { mut table, options, .. } = source;
        let file = RecognisedFile::new(name, &mut table, samples, detected, &mut self.budgets.sheets)?;
        self.recognised.push(if read.is_ok() { file } else { file.without_count() });
        read?;
        Ok(options)
    }

    /// Adds an error for each option that the texts of a file leave open.
    fn ask(&mut self, detected: Detected, file: &str) {
        let asked = [
            (
                detected.asks_date_order,
                "dateOrder",
                ["dmy", "mdy"],
                "its dates could have the day or the month first",
            ),
            (
                detected.asks_decimal,
                "decimal",
                ["point", "comma"],
                "its commas could be decimal or separate thousands",
            ),
        ];
        for (_, option, allowed, reason) in asked.into_iter().filter(|(is_asked, ..)| *is_asked) {
            let data = [("allowed", json!(allowed)), ("file", json!(file))];
            let data = data.map(|(name, value)| (name.to_owned(), value)).into_iter().collect();
            let message = format!("is required, because the file does not tell: {reason}");
            let error = FieldError { path: option.to_owned(), message, code: Code::Required, data };
            self.faults.add_to_upload([error]);
        }
    }

    /// Validates the rows of a table.
    fn rows(
        &mut self,
        source: &mut Source<'a>,
        samples: &mut Samples,
        max_rows: usize,
    ) -> Result<(), FileError> {
        let mut hidden = HiddenRows::default();
        while let Some(row) = source.table.next(&mut self.rows, &mut self.budgets.rows)? {
            let FileRow::Data(index, mut row) = row else { continue };
            if index == max_rows {
                let error = TableError::too_many("rows in all", max_rows);
                return Err(FileError::Batch(table_error(error, None)));
            }
            samples.add(&row.cells);
            if !source.table.header.is_complete {
                continue;
            }
            source.table.correct(index, &mut row.cells);
            // Keeps its number.
            if source.table.header.is_blank(&row.cells) {
                continue;
            }
            if row.is_hidden {
                hidden.add(index, row.line);
            }
            self.row(source, index, row).map_err(FileError::Batch)?;
        }
        self.import.warn(hidden.into_warning(source.sheet.as_deref(), source.file.as_deref()));
        Ok(())
    }

    fn row(&mut self, source: &Source<'_>, index: usize, row: TableRow) -> Result<(), Error> {
        let mut errors = ValidationErrors::default();
        let cells = source.table.header.name_cells(row.cells, source.options, &mut errors);
        let NamedCells { object, id, has_unnamed } = cells;
        let schema = &self.batches.row;
        self.context.reports_errors = self.faults.has_room();
        // Without room for more entries, an invalid row is only counted. A row that edits a load may lack cells, which
        // only the full check tells.
        let may_lack_cells = self.if_exists == IfExists::Update;
        let (parsed, schema_errors) = if self.context.reports_errors || may_lack_cells {
            schema.check(object)
        } else {
            let is_valid = errors.is_empty() && !has_unnamed;
            let Some(parsed) = is_valid.then(|| schema.valid(object)).flatten() else {
                self.faults.add_to_row(index, []);
                return Ok(());
            };
            (parsed, ValidationErrors::default())
        };
        reword_errors(schema_errors, source.options, &mut errors);
        let parsed = parsed.parse(&mut self.context, &mut errors)?;
        if has_unnamed {
            errors.push("", Code::Length, "has a cell in a column without a name");
        }
        let (if_new, errors) = self.split(errors, &parsed, id.is_some());
        let locate = |errors: Vec<FieldError>| {
            let located = errors.into_iter().map(|error| {
                let error = source.locate(error, row.line);
                let path = if error.path.is_empty() { String::new() } else { format!(".{}", error.path) };
                FieldError { path: format!("rows[{index}]{path}"), ..error }
            });
            located.collect::<Vec<_>>()
        };
        if !errors.is_empty() {
            self.faults.add_to_row(index, locate(errors));
            return Ok(());
        }
        let mut if_new = locate(if_new);
        if parsed.load.as_ref().is_some_and(|load| !self.is_own(load)) {
            let (code, message) = faults::foreign();
            let error =
                FieldError { path: "organiserId".into(), message: message.into(), code, data: Map::new() };
            let error = locate(vec![error]);
            if self.if_exists != IfExists::Update {
                self.faults.add_to_row(index, error);
                return Ok(());
            }
            if_new.extend(error);
        }
        let ParsedRow { load, reference, delivery_at, cells, unknown } = parsed;
        let caller = self.context.caller;
        let identity = RowIdentity {
            id,
            reference: ComparedReference::new(reference),
            delivery_at,
            index,
            line: row.line,
            file: source.file.clone(),
            naming: load.as_ref().and_then(|load| self.namings.find(load, caller)),
            if_new,
        };
        // After an error nothing will be stored, but comparing the other rows may find more of them.
        let may_be_stored = self.faults.is_empty() || self.leaves_out;
        if may_be_stored || self.if_exists != IfExists::Skip {
            self.import.add(load.as_ref().filter(|_| may_be_stored), cells.as_ref())?;
            self.unknown.add(self.identities.len(), unknown);
            self.identities.push(identity);
        }
        Ok(())
    }

    /// Splits what is wrong with a row into what only a new load needs, and the rest. Only rows that may edit a load
    /// can lack cells: those that name it by its id, or by what loads are compared by.
    fn split(
        &self,
        errors: ValidationErrors,
        row: &ParsedRow,
        has_id: bool,
    ) -> (Vec<FieldError>, Vec<FieldError>) {
        let has_date = row.delivery_at.is_some() || self.match_by == MatchBy::Reference;
        let names_load = has_id || (!row.reference.is_empty() && has_date);
        if self.if_exists != IfExists::Update || !names_load {
            return (Vec::new(), errors.into_iter().collect());
        }
        errors.into_iter().partition(|error| error.code == Code::Required)
    }

    /// Returns true if the caller may create the load by one of the JSON forms.
    fn is_own(&self, load: &Load) -> bool {
        let caller = self.context.caller;
        let parties = [&load.organiser, &load.carrier].into_iter().flatten();
        caller.admin || parties.filter_map(|party| party.id.as_deref()).any(|id| caller.acts_for(id))
    }

    fn finish(&mut self) {
        let mut errors = ValidationErrors::default();
        if self.context.lacks_organiser_name {
            errors.push("organisationName", Code::Required, "is required with organisationId");
        }
        if !self.is_incomplete {
            self.layout.corrections.check_rows(self.rows, &mut errors);
        }
        let is_empty = self.identities.is_empty() && self.faults.is_empty() && errors.is_empty();
        if is_empty {
            errors.push_with("file", Code::Length, "must have rows", json!({ "minimum": 1 }));
        }
        self.faults.add_to_upload(errors);
    }
}

impl Source<'_> {
    /// Adds the line and the names of file, sheet and cell.
    fn locate(&self, mut error: FieldError, line: u64) -> FieldError {
        let column = self.table.header.file_position(&error.path);
        error.data.insert("line".into(), json!(line));
        error.data.extend(self.file.as_deref().map(|file| ("file".into(), json!(file))));
        if let Some(sheet) = &self.sheet {
            error.data.insert("sheet".into(), json!(sheet));
            error.data.extend(column.map(|column| ("cell".into(), json!(cell_name(column, line)))));
        }
        error
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

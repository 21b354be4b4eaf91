//! What a batch recognised in its files: sheets, headings, and how texts are read (docs/api/batches.md, "Recognised").

use serde::Serialize;
use tables::{Budget, Cell, SheetSummary, TableError, TextEncoding};
use utoipa::ToSchema;

use super::detect::Detected;
use super::options::{DateOrder, DecimalSeparator};
use super::table::Table;

/// The number of different texts of a column that a response shows.
const SAMPLES: usize = 3;
/// The number of their characters.
const SAMPLE_CHARS: usize = 100;

/// What was recognised in a file of a batch.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecognisedFile {
    /// The name of the file, or empty if the form has none.
    file: String,
    /// The worksheet that was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    sheet: Option<String>,
    /// The first 100 worksheets of a workbook.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    sheets: Vec<RecognisedSheet>,
    /// The line of the file, or the row of the sheet, with the headings.
    header_line: u64,
    headings: Vec<RecognisedHeading>,
    /// The encoding of CSV.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    encoding: Option<TextEncoding>,
    /// The character that separates the cells of CSV.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    delimiter: Option<char>,
    /// How dates that are texts are read. Absent if `auto` decided nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    date_order: Option<DateOrder>,
    /// How numbers that are texts are read. Absent if `auto` decided nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, nullable = false)]
    decimal: Option<DecimalSeparator>,
}

/// A worksheet.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RecognisedSheet {
    name: String,
    /// The number of rows with data below the headings. Absent if the sheet is damaged or too large.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    rows: Option<usize>,
    hidden: bool,
}

/// A heading of a table.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub(crate) struct RecognisedHeading {
    /// As it is written, at most 100 characters.
    heading: String,
    /// The name of its column. Absent if it is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    column: Option<&'static str>,
    /// The first three different texts of the file below the heading, at most 100 characters of each.
    samples: Vec<String>,
}

/// Collects the first texts of each column.
pub(crate) struct Samples {
    columns: Vec<Vec<String>>,
    /// The columns that lack texts.
    open: Vec<usize>,
}

impl Samples {
    /// Returns an empty collection for the headings of a table.
    pub(crate) fn of(table: &Table<'_>) -> Self {
        let headings: Vec<_> = table.header.columns().map(|(heading, _)| !heading.is_empty()).collect();
        let open = headings.iter().enumerate().filter(|(_, has_name)| **has_name).map(|(at, _)| at).collect();
        Self { columns: vec![Vec::new(); headings.len()], open }
    }

    /// Adds the texts of a row.
    pub(crate) fn add(&mut self, cells: &[Cell]) {
        let columns = &mut self.columns;
        self.open.retain(|at| {
            let (Some(cell), samples) = (cells.get(*at), &mut columns[*at]) else { return true };
            if !cell.is_blank() {
                let text = cell.to_text();
                let text = text.trim();
                let is_known = samples.last().is_some_and(|last| last == text);
                if !is_known && !text.is_empty() {
                    let sample: String = text.chars().take(SAMPLE_CHARS).collect();
                    if !samples.contains(&sample) {
                        samples.push(sample);
                    }
                }
            }
            samples.len() < SAMPLES
        });
    }
}

impl RecognisedFile {
    /// Returns what was recognised in a table that was read to its end, or as far as it can be read. The budget is for
    /// the other sheets of a workbook.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub(crate) fn new(
        file: &str,
        table: &mut Table<'_>,
        samples: Samples,
        detected: Detected,
        budget: &mut Budget,
    ) -> Result<Self, TableError> {
        let layout = table.layout();
        let sheets = table.reader().sheets(&|cells| layout.rank(cells), budget)?;
        let columns = table.header.columns().zip(samples.columns);
        let headings = columns
            .filter(|((heading, _), _)| !heading.is_empty())
            .map(|((heading, column), samples)| RecognisedHeading {
                heading: heading.to_owned(),
                column,
                samples,
            })
            .collect();
        let sheet =
            |SheetSummary { name, rows, is_hidden }| RecognisedSheet { name, rows, hidden: is_hidden };
        Ok(Self {
            file: file.to_owned(),
            sheet: table.sheet().map(str::to_owned),
            sheets: sheets.into_iter().map(sheet).collect(),
            header_line: table.header_line(),
            headings,
            encoding: table.reader().encoding(),
            delimiter: table.reader().delimiter(),
            date_order: detected.date_order,
            decimal: detected.decimal,
        })
    }

    /// Returns this without the number of rows of the sheet, which was not read to its end.
    pub(crate) fn without_count(mut self) -> Self {
        for sheet in self.sheets.iter_mut().filter(|sheet| self.sheet.as_deref() == Some(&*sheet.name)) {
            sheet.rows = None;
        }
        self
    }
}

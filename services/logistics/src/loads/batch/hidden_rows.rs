//! The warning for rows that a sheet hides, for example by a filter: they are imported like the others.

use common::wire::Warning;
use serde_json::{Map, json};

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

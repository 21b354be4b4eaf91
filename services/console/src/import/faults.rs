//! What is wrong with the rows of a sheet, cell by cell. Equal faults of equal texts are mended once for all rows.

use std::collections::{BTreeMap, HashMap};

use super::columns::COLUMNS;
use crate::api::batch::{BatchAnswer, Entry, RowCells};

/// The most rows that a page shows.
const MAX_ROWS: usize = 50;
/// Columns whose texts differ from row to row, so that nobody mends them alike.
const UNIQUE: [&str; 3] = ["id", "reference", "ticketNumber"];
/// Columns that a page shows if the file has them.
const USUAL: [&str; 5] = ["reference", "deliveryDateISO", "carrierName", "commodityName", "weight"];

/// A fault of a text in a column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The rows with this text and fault.
    pub(crate) rows: Vec<usize>,
    pub(crate) column: String,
    pub(crate) text: String,
    pub(crate) message: String,
    pub(crate) suggestions: Vec<String>,
    /// The column of the id, if a name is missing in the address book: it may be a new organisation.
    pub(crate) new_party: Option<&'static str>,
}

/// A row that shows faults for the first time.
#[derive(Debug)]
pub(crate) struct FaultyRow<'a> {
    pub(crate) cells: &'a RowCells,
    pub(crate) shown: Vec<Cell<'a>>,
    /// What is wrong with the row as a whole.
    pub(crate) messages: Vec<&'a str>,
}

/// A cell of a faulty row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Cell<'a> {
    Good(&'a str),
    /// What is wrong; the first of its rows has the field to mend it.
    Bad(&'a Group),
    /// Wrong as in an earlier row.
    Alike(&'a Group),
}

/// The faults of a sheet.
#[derive(Debug, Default)]
pub(crate) struct Overview {
    groups: Vec<Group>,
    /// The group of each faulty cell, by row and column.
    by_cell: HashMap<(usize, String), usize>,
    /// What is wrong with rows as a whole.
    of_rows: BTreeMap<usize, Vec<String>>,
    /// What is wrong with the upload.
    pub(crate) of_upload: Vec<Entry>,
    pub(crate) columns: Vec<String>,
}

impl Overview {
    /// Sorts the entries of an answer.
    pub(crate) fn of(answer: &BatchAnswer) -> Self {
        let cells: HashMap<usize, &RowCells> = answer.rows.iter().map(|row| (row.row, row)).collect();
        let mut overview = Self::default();
        let mut known: HashMap<(String, String, String, Option<usize>), usize> = HashMap::new();
        for entry in &answer.validation {
            let Some((row, column)) = place(&entry.path) else {
                overview.of_upload.push(entry.clone());
                continue;
            };
            let Some(cells) = cells.get(&row).filter(|_| !column.is_empty()) else {
                overview.of_rows.entry(row).or_default().push(entry.message.clone());
                continue;
            };
            let (column, new_party) = shown_column(column, entry, cells);
            let text = cells.cells.get(column).cloned().unwrap_or_default();
            let own_row = (UNIQUE.contains(&column) || text.is_empty()).then_some(row);
            let message = sentence(column, &text, entry);
            let key = (column.to_owned(), text.clone(), message.clone(), own_row);
            let index = *known.entry(key).or_insert_with(|| {
                overview.groups.push(Group {
                    rows: Vec::new(),
                    column: column.to_owned(),
                    text,
                    message,
                    suggestions: suggestions(entry),
                    new_party,
                });
                overview.groups.len() - 1
            });
            overview.groups[index].rows.push(row);
            overview.by_cell.entry((row, column.to_owned())).or_insert(index);
        }
        let is_present = |column: &str| {
            overview.groups.iter().any(|group| group.column == column)
                || USUAL.contains(&column) && answer.rows.iter().any(|row| row.cells.contains_key(column))
        };
        overview.columns =
            COLUMNS.iter().map(|(name, _)| (*name).to_owned()).filter(|name| is_present(name)).collect();
        overview
    }

    /// Returns the rows to show, in the order of the file: those that have a fault that no earlier one has.
    pub(crate) fn rows<'a>(&'a self, answer: &'a BatchAnswer) -> Vec<FaultyRow<'a>> {
        let rows = answer.rows.iter().filter_map(|cells| {
            let row = cells.row;
            let shown = self.columns.iter().map(|column| {
                let text = || cells.cells.get(column).map_or("", String::as_str);
                match self.by_cell.get(&(row, column.clone())).and_then(|index| self.groups.get(*index)) {
                    None => Cell::Good(text()),
                    Some(group) if group.rows.first() == Some(&row) => Cell::Bad(group),
                    Some(group) => Cell::Alike(group),
                }
            });
            let shown: Vec<_> = shown.collect();
            let messages: Vec<_> = self.of_rows.get(&row).into_iter().flatten().map(String::as_str).collect();
            let is_first = shown.iter().any(|cell| matches!(cell, Cell::Bad(_))) || !messages.is_empty();
            is_first.then_some(FaultyRow { cells, shown, messages })
        });
        rows.take(MAX_ROWS).collect()
    }
}

/// Returns the row and the column of an entry: `rows[13].weight`.
fn place(path: &str) -> Option<(usize, &str)> {
    let (row, rest) = path.strip_prefix("rows[")?.split_once(']')?;
    let column = rest.trim_start_matches('.').split(['[', '.']).next().unwrap_or_default();
    Some((row.parse().ok()?, column))
}

/// Returns the column in which people look for a fault: that of the name, if the row has no id.
fn shown_column<'a>(column: &'a str, entry: &Entry, cells: &RowCells) -> (&'a str, Option<&'static str>) {
    let names = [
        ("carrierId", "carrierName", Some("carrierId")),
        ("organiserId", "organiserName", Some("organiserId")),
        ("commodityId", "commodityName", None),
    ];
    match names.into_iter().find(|(id, ..)| *id == column && !cells.cells.contains_key(*id)) {
        Some((_, name, new_party)) if cells.cells.contains_key(name) || new_party.is_none() => {
            (name, new_party.filter(|_| entry.code == "required"))
        }
        _ => (column, None),
    }
}

/// Returns what is wrong with a cell, in the words of an office.
fn sentence(column: &str, text: &str, entry: &Entry) -> String {
    let own = match (column, entry.code.as_str()) {
        (_, "required") if text.is_empty() => "This cell is needed",
        ("commodityName" | "commodityId", "unknown_reference") => "No commodity has this name",
        ("carrierName" | "organiserName", "required") => "Not in your address book",
        ("deliveryDateISO", "format") => "Not a date, such as 31/12/2026",
        ("weight" | "weightNet", "type") => "Not a number, such as 29.4",
        _ => return entry.message.clone(),
    };
    own.to_owned()
}

fn suggestions(entry: &Entry) -> Vec<String> {
    let near = entry.data["suggestions"].as_array().or_else(|| entry.data["allowed"].as_array());
    near.into_iter().flatten().filter_map(|text| Some(text.as_str()?.to_owned())).take(3).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn equal_faults_of_equal_texts_are_one() {
        let answer = json!({
            "validation": [
                {"path": "rows[2].commodityName", "message": "is unknown", "code": "unknown_reference",
                    "data": {"suggestions": ["Feed Wheat"]}},
                {"path": "rows[4].commodityName", "message": "is unknown", "code": "unknown_reference", "data": {}},
                {"path": "rows[4].carrierId", "message": "is required", "code": "required", "data": {"suggestions": []}},
                {"path": "rows[6]", "message": "is odd", "code": "inconsistent", "data": {}},
                {"path": "Crop", "message": "is not a known column", "code": "enum", "data": {}},
            ],
            "rows": [
                {"row": 2, "line": 4, "cells": {"reference": "A", "commodityName": "Feed Weat"}},
                {"row": 4, "line": 6,
                    "cells": {"reference": "B", "commodityName": "Feed Weat", "carrierName": "Dales Blk"}},
                {"row": 6, "line": 8, "cells": {"reference": "C"}},
            ],
        });
        let answer: BatchAnswer = serde_json::from_value(answer).unwrap();
        let overview = Overview::of(&answer);
        assert_eq!(overview.columns, ["reference", "carrierName", "commodityName"]);
        assert_eq!(overview.of_upload.len(), 1);
        let rows = overview.rows(&answer);
        assert_eq!(rows.iter().map(|row| row.cells.line).collect::<Vec<_>>(), [4, 6, 8]);
        let Cell::Bad(weat) = &rows[0].shown[2] else { panic!("{rows:?}") };
        assert_eq!(
            (weat.rows.as_slice(), weat.suggestions.as_slice()),
            (&[2, 4][..], &["Feed Wheat".to_owned()][..])
        );
        assert!(matches!(&rows[1].shown[2], Cell::Alike(group) if group.rows == [2, 4]), "{rows:?}");
        let Cell::Bad(haulier) = &rows[1].shown[1] else { panic!("{rows:?}") };
        assert_eq!((haulier.text.as_str(), haulier.new_party), ("Dales Blk", Some("carrierId")));
        assert_eq!(rows[2].messages, ["is odd"]);
    }
}

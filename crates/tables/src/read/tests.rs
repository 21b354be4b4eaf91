//! Files with arbitrary and damaged content: no panic, and no limit is exceeded.

use std::io::Write;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use rust_xlsxwriter::{Format, Formula, Workbook};

use super::budget::{MAX_COLUMNS, MAX_TEXT_BYTES};
use super::*;
use std::io::Read;

const LIMITS: TableLimits = TableLimits { rows: 50, bytes: 1 << 20 };

fn file(content: &[u8]) -> File {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file
}

/// No row is a header row, so that the first rows are searched.
fn rank(_: &[Cell]) -> HeaderRank {
    HeaderRank::None
}

/// Reads a file to its end or its first error. Returns true if all rows are within the limits.
fn stays_within_limits(content: &[u8]) -> bool {
    let mut budget = Budget::new(LIMITS);
    let Ok(mut table) = TableReader::open(file(content), TextEncoding::Utf8, rank, &mut budget) else {
        return true;
    };
    let is_bounded =
        |cell: &Cell| !matches!(cell, Cell::Text(text) if text.len() > content.len().max(MAX_TEXT_BYTES));
    // More iterations than rows, since every row takes some bytes of the file.
    for _ in 0..=content.len() * 20 {
        match table.next(&mut budget) {
            Ok(Some(row)) if row.cells.len() <= MAX_COLUMNS && row.cells.iter().all(is_bounded) => {}
            Ok(Some(_)) => return false,
            Ok(None) | Err(_) => return true,
        }
    }
    false
}

fn workbook() -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    for (column, name) in (0..).zip(["reference", "deliveryDateISO", "commodityId", "tags"]) {
        sheet.write(0, column, name).unwrap();
    }
    sheet.write(1, 0, 1001).unwrap();
    sheet.write(1, 1, "2026-03-01").unwrap();
    sheet.write(2, 2, true).unwrap();
    sheet.write_formula(2, 3, Formula::new("=1+1").set_result("2")).unwrap();
    sheet.merge_range(3, 0, 4, 1, "merged", &Format::new()).unwrap();
    book.add_worksheet().write(0, 0, "another").unwrap();
    book.save_to_buffer().unwrap()
}

/// Unpacks the parts of a workbook, so that tests can change XML instead of compressed bytes.
fn parts(book: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = zip::ZipArchive::new(std::io::Cursor::new(book)).unwrap();
    let mut parts = Vec::new();
    for i in 0..archive.len() {
        let mut part = archive.by_index(i).unwrap();
        let (name, mut content) = (part.name().unwrap().into_owned(), Vec::new());
        part.read_to_end(&mut content).unwrap();
        parts.push((name, content));
    }
    parts
}

fn pack(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn reads_workbooks_with_the_largest_limits() {
    let mut budget = Budget::new(TableLimits { rows: usize::MAX, bytes: usize::MAX });
    let mut table = TableReader::open(file(&workbook()), TextEncoding::Utf8, rank, &mut budget).unwrap();
    assert!(table.next(&mut budget).unwrap().is_some());
}

/// Opens a workbook whose sheet has these rows, as XML.
fn open(rows: &str) -> Result<TableReader, TableError> {
    let mut parts = parts(&workbook());
    let (_, sheet) = parts.iter_mut().find(|(name, _)| name.ends_with("sheet1.xml")).unwrap();
    let namespace = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
    *sheet = format!("<worksheet xmlns='{namespace}'><sheetData>{rows}</sheetData></worksheet>").into_bytes();
    TableReader::open(file(&pack(&parts)), TextEncoding::Utf8, rank, &mut Budget::new(LIMITS))
}

#[test]
fn two_cells_at_one_place_are_refused() {
    let rows = |second: &str| format!("<row r='1'><c r='A1'><v>1</v></c>{second}</row>");
    assert!(open(&rows("<c r='B1'><v>2</v></c>")).is_ok() && open(&rows("<c r='A1' s='0'/>")).is_ok());
    assert!(matches!(open(&rows("<c r='A1'><v>2</v></c>")), Err(TableError::Unreadable(_, Some(1)))));
}

#[test]
fn reads_rows_after_the_largest_row_number() {
    let cell = "<c t='str'><v>a</v></c>";
    let mut table = open(&format!("<row r='{}'>{cell}</row><row>{cell}</row>", u64::MAX)).unwrap();
    let mut budget = Budget::new(LIMITS);
    let lines = [0; 2].map(|_| table.next(&mut budget).unwrap().unwrap().line);
    assert_eq!(lines, [u64::MAX; 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn reads_or_rejects_arbitrary_bytes(
        bytes in vec(any::<u8>(), 0..400), cells in "([\"',;\t\r\n=a-c\u{e9}]{0,9}){0,30}", zipped in any::<bool>(),
    ) {
        prop_assert!(stays_within_limits(cells.as_bytes()));
        let head: &[u8] = if zipped { b"PK\x03\x04" } else { b"\xef\xbb\xbf" };
        prop_assert!(stays_within_limits(&[head, &bytes].concat()));
    }

    #[test]
    fn reads_or_rejects_damaged_archives(
        changes in vec((any::<Index>(), any::<u8>()), 1..6), end in prop::option::of(any::<Index>()),
    ) {
        let mut book = workbook();
        for (at, byte) in &changes {
            let at = at.index(book.len());
            book[at] = *byte;
        }
        book.truncate(end.map_or(book.len(), |end| end.index(book.len())));
        prop_assert!(stays_within_limits(&book));
    }

    #[test]
    fn reads_or_rejects_damaged_parts(
        which in any::<Index>(),
        changes in vec((any::<Index>(), "[<>/&;\"=0-9A-Zrstv]{0,4}|-1|99999999999999999999"), 1..4),
    ) {
        let mut parts = parts(&workbook());
        let which = which.index(parts.len());
        let content = &mut parts[which].1;
        for (at, put) in &changes {
            let at = at.index(content.len());
            content.splice(at..(at + put.len()).min(content.len()), put.bytes());
        }
        prop_assert!(stays_within_limits(&pack(&parts)));
    }
}

#[test]
fn reads_the_undamaged_workbook() {
    let content = pack(&parts(&workbook()));
    let mut budget = Budget::new(LIMITS);
    let mut table = TableReader::open(file(&content), TextEncoding::Utf8, rank, &mut budget)
        .map_err(|_| "not a table")
        .unwrap();
    let mut rows = 0;
    while table.next(&mut budget).map_err(|_| "not a row").unwrap().is_some() {
        rows += 1;
    }
    assert_eq!(rows, 4);
}

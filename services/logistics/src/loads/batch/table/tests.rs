//! Whatever is in a file: no panic, and nothing that goes beyond the limits.

use std::io::{Seek, Write};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use rust_xlsxwriter::{Formula, Workbook};

use super::*;

const LIMITS: Limits = Limits { rows: 50, bytes: 1 << 20 };

/// Reads a file as a batch does, and checks each row.
fn is_sane(content: &[u8]) -> bool {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(content).unwrap();
    file.rewind().unwrap();
    let mut budget = Budget::new(LIMITS);
    let Ok(mut table) = TableReader::open(file, &mut budget) else { return true };
    let is_bounded =
        |cell: &Cell| !matches!(cell, Cell::Text(text) if text.len() > content.len().max(MAX_TEXT_BYTES));
    // Every row of these files takes some of their bytes.
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
    book.save_to_buffer().unwrap()
}

/// The parts of a workbook, unpacked, so that what is changed is read.
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

fn packed(parts: &[(String, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in parts {
        archive.start_file(name.as_str(), zip::write::SimpleFileOptions::default()).unwrap();
        archive.write_all(content).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

#[test]
fn a_workbook_is_read_with_the_largest_limits() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&workbook()).unwrap();
    let mut budget = Budget::new(Limits { rows: usize::MAX, bytes: usize::MAX });
    let mut table = TableReader::open(file, &mut budget).unwrap();
    assert!(table.next(&mut budget).unwrap().is_some());
}

#[test]
fn rows_after_the_largest_number_are_read() {
    let mut parts = parts(&workbook());
    let (_, sheet) = parts.iter_mut().find(|(name, _)| name.ends_with("sheet1.xml")).unwrap();
    let cell = "<c t='str'><v>a</v></c>";
    let rows = format!("<row r='{}'>{cell}</row><row>{cell}</row>", u64::MAX);
    *sheet = format!("<worksheet><sheetData>{rows}</sheetData></worksheet>").into_bytes();
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&packed(&parts)).unwrap();
    let mut budget = Budget::new(LIMITS);
    let mut table = TableReader::open(file, &mut budget).unwrap();
    let lines = [0; 2].map(|_| table.next(&mut budget).unwrap().unwrap().line);
    assert_eq!(lines, [u64::MAX; 2]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_bytes_are_a_table_or_refused(
        bytes in vec(any::<u8>(), 0..400), cells in "([\"',;\t\r\n=a-c\u{e9}]{0,9}){0,30}", zipped in any::<bool>(),
    ) {
        prop_assert!(is_sane(cells.as_bytes()));
        let head: &[u8] = if zipped { b"PK\x03\x04" } else { b"\xef\xbb\xbf" };
        prop_assert!(is_sane(&[head, &bytes].concat()));
    }

    #[test]
    fn a_damaged_archive_is_read_or_refused(
        changes in vec((any::<Index>(), any::<u8>()), 1..6), end in prop::option::of(any::<Index>()),
    ) {
        let mut book = workbook();
        for (at, byte) in &changes {
            let at = at.index(book.len());
            book[at] = *byte;
        }
        book.truncate(end.map_or(book.len(), |end| end.index(book.len())));
        prop_assert!(is_sane(&book));
    }

    #[test]
    fn damaged_parts_are_read_or_refused(
        which in any::<Index>(), changes in vec((any::<Index>(), "[<>/&;\"=0-9A-Zrstv]{0,4}|-1|99999999999999999999"), 1..4),
    ) {
        let mut parts = parts(&workbook());
        let which = which.index(parts.len());
        let content = &mut parts[which].1;
        for (at, put) in &changes {
            let at = at.index(content.len());
            content.splice(at..(at + put.len()).min(content.len()), put.bytes());
        }
        prop_assert!(is_sane(&packed(&parts)));
    }
}

#[test]
fn the_workbook_itself_is_read() {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&packed(&parts(&workbook()))).unwrap();
    let mut budget = Budget::new(LIMITS);
    let mut table = TableReader::open(file, &mut budget).map_err(|_| "no table").unwrap();
    let mut rows = 0;
    while table.next(&mut budget).map_err(|_| "no row").unwrap().is_some() {
        rows += 1;
    }
    assert_eq!(rows, 3);
}

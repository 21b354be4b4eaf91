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
    let Ok(mut table) = TableReader::open(file(content), TableOptions::default(), rank, &mut budget) else {
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
    let mut table = TableReader::open(file(&workbook()), TableOptions::default(), rank, &mut budget).unwrap();
    assert!(table.next(&mut budget).unwrap().is_some());
}

/// Opens a workbook whose sheet has these rows, as XML.
fn open(rows: &str) -> Result<TableReader, TableError> {
    open_parts(&[("sheet1.xml", &format!("<worksheet{MAIN}><sheetData>{rows}</sheetData></worksheet>"))])
}

const MAIN: &str = " xmlns='http://schemas.openxmlformats.org/spreadsheetml/2006/main'";

/// Opens a workbook some parts of which are replaced.
fn open_parts(replaced: &[(&str, &str)]) -> Result<TableReader, TableError> {
    let replaced = replaced.iter().map(|(name, content)| (*name, content.as_bytes().to_vec()));
    open_bytes(replaced.collect())
}

fn open_bytes(replaced: Vec<(&str, Vec<u8>)>) -> Result<TableReader, TableError> {
    let mut parts = parts(&workbook());
    for (end, content) in replaced {
        parts.iter_mut().find(|(name, _)| name.ends_with(end)).unwrap().1 = content;
    }
    TableReader::open(file(&pack(&parts)), TableOptions::default(), rank, &mut Budget::new(LIMITS))
}

/// Reads the rows of a sheet with this XML after its rows.
fn read_sheet(rows: &str, end: &str) -> Result<Vec<Vec<Cell>>, TableError> {
    let sheet = format!("<worksheet{MAIN}><sheetData>{rows}</sheetData>{end}</worksheet>");
    let (mut table, mut budget, mut read) =
        (open_parts(&[("sheet1.xml", &sheet)])?, Budget::new(LIMITS), vec![]);
    while let Some(row) = table.next(&mut budget)? {
        read.push(row.cells);
    }
    Ok(read)
}

#[test]
fn every_way_of_writing_merged_cells_is_read() {
    let row = |line| format!("<row r='{line}'><c r='A{line}'><v>1</v></c><c r='B{line}'><v>2</v></c></row>");
    let rows = [1, 2, 3].map(row).concat();
    let merged =
        |area: &str| read_sheet(&rows, &format!("<mergeCells><mergeCell ref='{area}'/></mergeCells>"));
    for area in ["B2:B3", "$B$2:$B$3", "B3:B2"] {
        let rows = merged(area).unwrap();
        assert!(matches!(&rows[1][1], Cell::Number(_)), "{area}");
        assert!(matches!(&rows[2][1], Cell::Covered(_)), "{area}");
    }
    let rows = merged("B:B").unwrap();
    assert!(rows[1..].iter().all(|row| matches!(row[..], [Cell::Number(_), Cell::Covered(_)])));
    assert!(matches!(merged("2:2").unwrap()[1][..2], [Cell::Number(_), Cell::Covered(_)]));
    assert!(matches!(merged("B2:B"), Err(TableError::Unreadable(..))));
}

#[test]
fn rows_at_one_place_are_refused() {
    let rows = |second: &str| format!("<row r='2'><c r='A2'><v>1</v></c></row>{second}");
    assert!(open(&rows("<row r='3'><c r='A3'><v>1</v></c></row><row r='3'/>")).is_ok());
    for second in ["<row r='2'><c r='A2'><v>2</v></c></row>", "<row r='1'><c r='A1'><v>2</v></c></row>"] {
        assert!(matches!(open(&rows(second)), Err(TableError::Unreadable(..))), "{second}");
    }
}

#[test]
fn formulas_of_what_is_calculated_later_have_no_result() {
    let read = |book_calc: &str, sheet_calc: &str| {
        let (_, book) = parts(&workbook()).into_iter().find(|(name, _)| name == "xl/workbook.xml").unwrap();
        let book = String::from_utf8(book).unwrap();
        let start = book.find("<calcPr").unwrap();
        let book = format!("{}<calcPr {book_calc}/></workbook>", &book[..start]);
        let rows = "<sheetData><row r='1'><c r='A1'><f>B1</f><v>0</v></c></row></sheetData>";
        let sheet = format!("<worksheet{MAIN}>{rows}<sheetCalcPr {sheet_calc}/></worksheet>");
        let mut table = open_parts(&[("xl/workbook.xml", &book), ("sheet1.xml", &sheet)]).unwrap();
        table.next(&mut Budget::new(LIMITS)).unwrap().unwrap().cells.remove(0)
    };
    for (book, sheet) in [
        ("fullCalcOnLoad='1'", ""),
        ("forceFullCalc='1'", ""),
        ("calcCompleted='0'", ""),
        ("", "fullCalcOnLoad='1'"),
    ] {
        assert!(matches!(read(book, sheet), Cell::Invalid(Fault::Type, ..)), "{book} {sheet}");
    }
    assert!(matches!(read("forceFullCalc='0' calcCompleted='1'", "fullCalcOnLoad='0'"), Cell::Number(_)));
}

#[test]
fn texts_and_dates_that_their_formats_change_are_refused() {
    let read = |code: &str, cell: &str| {
        let styles = format!(
            "<styleSheet{MAIN}><numFmts><numFmt numFmtId='164' formatCode='{code}'/></numFmts>\
             <cellXfs><xf numFmtId='0'/><xf numFmtId='164'/></cellXfs></styleSheet>"
        );
        let sheet = format!("<worksheet{MAIN}><sheetData><row r='1'>{cell}</row></sheetData></worksheet>");
        let mut table = open_parts(&[("styles.xml", &styles), ("sheet1.xml", &sheet)]).unwrap();
        table.next(&mut Budget::new(LIMITS)).unwrap().unwrap().cells.remove(0)
    };
    let (text, number) = ("<c s='1' t='inlineStr'><is><t>12</t></is></c>", "<c s='1'><v>46082</v></c>");
    for code in ["&quot;BG-&quot;@", ";;;", "0;0;0;&quot;n/a&quot;", "yyyy-mm-dd;;;"] {
        assert!(matches!(read(code, text), Cell::Invalid(Fault::Format, ..)), "{code}");
    }
    for code in ["", "@", "0", "yyyy-mm-dd;@"] {
        assert_eq!(read(code, text), Cell::Text("12".into()), "{code}");
    }
    for code in ["hh:mm", "[h]", "[>50000]yyyy-mm-dd;0"] {
        assert!(matches!(read(code, number), Cell::NoDate(..)), "{code}");
    }
    assert_eq!(read("yyyy-mm-dd;@", number), Cell::Date("2026-03-01".into()));
    assert!(matches!(read("", number), Cell::Number(number) if number.to_text() == Ok("46082".into())));
}

#[test]
fn parts_in_utf_16_are_named() {
    let sheet = format!("<worksheet{MAIN}><sheetData/></worksheet>");
    for mark in ["", "\u{feff}"] {
        let text = format!("{mark}{sheet}");
        for part in [
            text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>(),
            text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        ] {
            let error = open_bytes(vec![("sheet1.xml", part)]).err().unwrap();
            assert!(
                matches!(&error, TableError::Unreadable(message, _) if message.contains("UTF-16")),
                "{error:?}"
            );
        }
    }
}

#[test]
fn two_cells_at_one_place_are_refused() {
    let rows = |second: &str| format!("<row r='1'><c r='A1'><v>1</v></c>{second}</row>");
    assert!(open(&rows("<c r='B1'><v>2</v></c>")).is_ok() && open(&rows("<c r='A1' s='0'/>")).is_ok());
    assert!(matches!(open(&rows("<c r='A1'><v>2</v></c>")), Err(TableError::Unreadable(_, Some(1)))));
}

#[test]
fn rows_after_the_largest_row_number_are_refused() {
    let cell = "<c t='str'><v>a</v></c>";
    let error = open(&format!("<row r='{}'>{cell}</row><row>{cell}</row>", u64::MAX)).err();
    assert!(matches!(error, Some(TableError::Unreadable(_, Some(u64::MAX)))));
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

/// Opens the workbook of the tests with a second sheet, which is hidden.
fn open_sheet(name: Option<&str>, keeps_all: bool) -> Result<TableReader, TableError> {
    let mut book = Workbook::new();
    book.add_worksheet().set_name("Loads").unwrap().write(2, 0, "a").unwrap();
    let hidden = book.add_worksheet().set_name("Été").unwrap().set_hidden(true);
    for row in [1, 2, 5] {
        hidden.write(row, 1, row).unwrap();
    }
    let book = book.save_to_buffer().unwrap();
    let options = TableOptions { sheet: name, keeps_all, ..TableOptions::default() };
    TableReader::open(file(&book), options, rank, &mut Budget::new(LIMITS))
}

fn lines(table: &mut TableReader) -> Vec<u64> {
    std::iter::from_fn(|| table.next(&mut Budget::new(LIMITS)).unwrap()).map(|row| row.line).collect()
}

#[test]
fn a_sheet_is_named_in_any_case() {
    for (name, sheet, expected) in [(None, "Loads", vec![3]), (Some("ÉTÉ"), "Été", vec![2, 3, 6])] {
        let mut table = open_sheet(name, false).unwrap();
        assert_eq!(table.sheet(), Some(sheet));
        assert_eq!(lines(&mut table), expected);
        let sheets = table.sheets(&rank, &mut Budget::new(LIMITS)).unwrap();
        let summary = |name: &str, rows, is_hidden| SheetSummary { name: name.into(), rows, is_hidden };
        assert_eq!(sheets, [summary("Loads", Some(0), false), summary("Été", Some(2), true)]);
        let small = TableLimits { rows: 0, bytes: 10 };
        let sheets = table.sheets(&rank, &mut Budget::new(small)).unwrap();
        assert_eq!(sheets.iter().filter(|sheet| sheet.rows.is_none()).count(), 1);
    }
    let unknown = open_sheet(Some("Autumn"), false).err();
    assert!(matches!(unknown, Some(TableError::UnknownSheet(names)) if names == ["Loads", "Été"]));
}

#[test]
fn all_rows_can_be_kept() {
    let csv = b"Title\n\nreference,weight\n\nA,1\n";
    let read = |keeps_all| {
        let options = TableOptions { keeps_all, ..TableOptions::default() };
        let is_header = |cells: &[Cell]| {
            if cells.len() > 1 { HeaderRank::All } else { HeaderRank::None }
        };
        let mut table = TableReader::open(file(csv), options, is_header, &mut Budget::new(LIMITS)).unwrap();
        assert_eq!((table.header_line(), table.delimiter()), (3, Some(',')));
        lines(&mut table)
    };
    assert_eq!((read(false), read(true)), (vec![3, 5], vec![1, 2, 3, 4, 5]));
}

#[test]
fn reads_the_undamaged_workbook() {
    let content = pack(&parts(&workbook()));
    let mut budget = Budget::new(LIMITS);
    let mut table = TableReader::open(file(&content), TableOptions::default(), rank, &mut budget)
        .map_err(|_| "not a table")
        .unwrap();
    let mut rows = 0;
    while table.next(&mut budget).map_err(|_| "not a row").unwrap().is_some() {
        rows += 1;
    }
    assert_eq!(rows, 4);
}

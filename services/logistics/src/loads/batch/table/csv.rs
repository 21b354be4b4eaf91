//! Reads CSV (RFC 4180 and the variants of spreadsheet applications). Unlike the `csv` crate, counts the line where
//! each record begins, including blank lines and line breaks in quotes, and reports an unclosed quote, which would
//! otherwise swallow the following rows.

use std::fs::File;
use std::io::{BufRead, BufReader};

use common::validation::Code;
use encoding_rs::WINDOWS_1252;

use super::budget::{Budget, MAX_COLUMNS};
use super::cell::{Cell, TableRow};
use super::error::TableError;
use crate::loads::batch::options::TextEncoding;

/// The maximum length of a record. All columns together accept less.
const MAX_RECORD_BYTES: usize = 1 << 20;
const NOT_UTF_8: &str =
    "is not UTF-8: save it as CSV UTF-8, or send encoding=windows-1252 if the program wrote that";
const BOM: &[u8] = b"\xef\xbb\xbf";

/// A reader for the records of a CSV file.
pub(crate) struct CsvReader {
    input: BufReader<File>,
    delimiter: u8,
    encoding: TextEncoding,
    /// The number of the next line, from 1.
    line: u64,
    /// The last byte was `\r`. A `\n` then belongs to the same line break.
    after_cr: bool,
}

/// The position of the parser in a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ParserState {
    /// Before the first byte of a cell.
    CellStart,
    Unquoted,
    Quoted,
    /// After a quote in a quoted cell: the closing quote, or the first of an escaped pair.
    QuoteInQuoted,
}

impl CsvReader {
    /// Skips a byte order mark and detects the delimiter. A file with a byte order mark is UTF-8, whatever `encoding`
    /// is.
    pub(crate) fn new(file: File, mut encoding: TextEncoding) -> Result<Self, TableError> {
        let mut input = BufReader::with_capacity(64 << 10, file);
        if input.fill_buf()?.starts_with(BOM) {
            input.consume(BOM.len());
            encoding = TextEncoding::Utf8;
        }
        let delimiter = detect_delimiter(input.fill_buf()?);
        Ok(Self { input, delimiter, encoding, line: 1, after_cr: false })
    }

    /// Returns the next record, which may be blank.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Option<TableRow>, TableError> {
        let row = self.read_record()?;
        let cells = row.as_ref().map_or(&[][..], |row| &row.cells);
        budget.take_cells(cells.len())?;
        budget.take_text(cells.iter().map(Cell::text_bytes).sum())?;
        Ok(row)
    }

    fn read_record(&mut self) -> Result<Option<TableRow>, TableError> {
        let start = self.line;
        let (mut cells, mut cell, mut state, mut size) = (Vec::new(), Vec::new(), ParserState::CellStart, 0);
        while let Some(byte) = self.read_byte()? {
            let ends_crlf = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if ends_crlf && size == 0 {
                // Belongs to the line break after the previous record.
                continue;
            }
            size += 1;
            if size > MAX_RECORD_BYTES {
                return Err(unclosed_quote(start));
            }
            if (byte == b'\n' && !ends_crlf) || byte == b'\r' {
                self.line += 1;
            }
            state = match (state, byte) {
                (ParserState::CellStart, b'"') => ParserState::Quoted,
                (ParserState::Quoted, b'"') => ParserState::QuoteInQuoted,
                (ParserState::QuoteInQuoted, b'"') | (ParserState::Quoted, _) => {
                    cell.push(byte);
                    ParserState::Quoted
                }
                (_, b'\n' | b'\r') => return self.finish_record(cells, cell, start),
                (_, byte) if byte == self.delimiter => {
                    cells.push(self.parse_text(std::mem::take(&mut cell), start)?);
                    if cells.len() == MAX_COLUMNS {
                        return Err(TableError::too_many("columns", MAX_COLUMNS).with("line", start));
                    }
                    ParserState::CellStart
                }
                _ => {
                    cell.push(byte);
                    ParserState::Unquoted
                }
            };
        }
        match state {
            ParserState::Quoted => Err(unclosed_quote(start)),
            _ if size > 0 => self.finish_record(cells, cell, start),
            _ => Ok(None),
        }
    }

    fn read_byte(&mut self) -> Result<Option<u8>, TableError> {
        let byte = self.input.fill_buf()?.first().copied();
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }

    fn finish_record(
        &self,
        mut cells: Vec<Cell>,
        last: Vec<u8>,
        line: u64,
    ) -> Result<Option<TableRow>, TableError> {
        cells.push(self.parse_text(last, line)?);
        Ok(Some(TableRow { line, cells }))
    }

    fn parse_text(&self, bytes: Vec<u8>, line: u64) -> Result<Cell, TableError> {
        let text = match self.encoding {
            TextEncoding::Utf8 => String::from_utf8(bytes),
            TextEncoding::Windows1252 => Ok(WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned()),
        };
        text.map(Cell::Text).map_err(|_| TableError::unreadable(NOT_UTF_8, Some(line)))
    }
}

fn unclosed_quote(line: u64) -> TableError {
    let message = "has a row that does not end: a closing quote may be missing";
    TableError::refused(Code::Format, message).with("line", line)
}

/// Returns the most frequent delimiter outside quotes in the first line that is not empty, or the first of equals.
fn detect_delimiter(head: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let bytes = head.iter().copied().skip_while(|byte| matches!(byte, b'\n' | b'\r'));
    for byte in bytes.take_while(|byte| !matches!(byte, b'\n' | b'\r')) {
        quoted ^= byte == b'"';
        counts.iter_mut().filter(|(delimiter, _)| *delimiter == byte && !quoted).for_each(|(_, n)| *n += 1);
    }
    // `max_by_key` returns the last maximum.
    counts.iter().rev().max_by_key(|(_, n)| n).map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn read(content: &[u8]) -> Result<Vec<(u64, Vec<String>)>, TableError> {
        read_as(TextEncoding::Utf8, content)
    }

    fn read_as(encoding: TextEncoding, content: &[u8]) -> Result<Vec<(u64, Vec<String>)>, TableError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        let mut csv = CsvReader::new(file, encoding)?;
        let mut rows = Vec::new();
        while let Some(row) = csv.read_record()? {
            let text = |cell| if let Cell::Text(text) = cell { text } else { panic!() };
            rows.push((row.line, row.cells.into_iter().map(text).collect()));
        }
        Ok(rows)
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|&cell| cell.to_owned()).collect())
    }

    #[test]
    fn reads_records_with_their_lines() {
        for end in ["\n", "\r\n", "\r"] {
            let content =
                ["\u{feff}a;\"b\";c,d", "", "\"1\"\"2", ";3\";;\u{e9}", "4\"5;6;\" 7 \"x", ""].join(end);
            let rows = read(content.as_bytes()).unwrap();
            let quoted = format!("1\"2{end};3");
            let expected = [
                row(1, &["a", "b", "c,d"]),
                row(2, &[""]),
                row(3, &[&quoted, "", "\u{e9}"]),
                row(5, &["4\"5", "6", " 7 x"]),
            ];
            assert_eq!(rows, expected, "{end:?}");
        }
        assert_eq!(read(b"").unwrap(), []);
        assert_eq!(read(b"a,b").unwrap(), [row(1, &["a", "b"])]);
        assert_eq!(read(b"a\tb,c\t\n").unwrap(), [row(1, &["a", "b,c", ""])]);
        assert_eq!(
            read(b"a\n\n\nb\n").unwrap(),
            [row(1, &["a"]), row(2, &[""]), row(3, &[""]), row(4, &["b"])]
        );
    }

    #[test]
    fn a_byte_order_mark_takes_precedence_over_the_encoding() {
        let windows = |content: &[u8]| read_as(TextEncoding::Windows1252, content).unwrap();
        assert_eq!(windows(b"B\xf6rder;\x80 5\n"), [row(1, &["B\u{f6}rder", "\u{20ac} 5"])]);
        assert_eq!(windows("\u{feff}B\u{f6}rder\n".as_bytes()), [row(1, &["B\u{f6}rder"])]);
        let every_byte: Vec<u8> = (0x80..=0xff).collect();
        assert_eq!(windows(&every_byte)[0].1[0].chars().count(), 128);
    }

    #[test]
    fn rejects_invalid_csv_with_its_line() {
        let line = |content: &[u8]| match read(content).unwrap_err() {
            TableError::Unreadable(_, line) => line,
            TableError::Refused { data, .. } => data["line"].as_u64(),
            other => panic!("{other:?}"),
        };
        assert_eq!(line(b"a\nb\n\xff\n"), Some(3));
        assert_eq!(line(b"a\nb\n\"c\nd\n"), Some(3));
        assert_eq!(line(&[b"a\n\"".as_slice(), &b"x\n".repeat(MAX_RECORD_BYTES)].concat()), Some(2));
        assert_eq!(line(&[b"a\n".as_slice(), &b",".repeat(256)].concat()), Some(2));
        assert_eq!(read(&[b",".repeat(255), b"\n".to_vec()].concat()).unwrap()[0].1.len(), 256);
    }
}

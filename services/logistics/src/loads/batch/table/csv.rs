//! CSV (RFC 4180, and what spreadsheets make of it): it knows on which line a record begins, blank lines and line
//! breaks in quotes counted, and that a quote was left open, which would swallow the rows that follow.

use std::fs::File;
use std::io::{BufRead, BufReader};

use common::validation::Code;

use super::{Budget, Cell, MAX_COLUMNS, Row, TableError};

/// No record is longer: it is more than all columns may have together.
const MAX_RECORD_BYTES: usize = 1 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";

pub struct Csv {
    input: BufReader<File>,
    delimiter: u8,
    /// The line that comes next.
    line: u64,
    /// A `\n` that comes next is of the same line break.
    after_cr: bool,
}

/// Where the reader is within a record.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// Before the first byte of a cell.
    Begin,
    Plain,
    Quoted,
    /// After a quote within quotes: the end of it, or the first of two.
    Quote,
}

impl Csv {
    pub fn new(file: File) -> Result<Self, TableError> {
        let mut input = BufReader::with_capacity(64 << 10, file);
        if input.fill_buf()?.starts_with(BOM) {
            input.consume(BOM.len());
        }
        let delimiter = delimiter(input.fill_buf()?);
        Ok(Self { input, delimiter, line: 1, after_cr: false })
    }

    /// The next record, blank or not.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Option<Row>, TableError> {
        let row = self.record()?;
        let cells = row.as_ref().map_or(&[][..], |row| &row.cells);
        budget.take_cells(cells.len())?;
        budget.take_text(cells.iter().map(Cell::text_bytes).sum())?;
        Ok(row)
    }

    fn record(&mut self) -> Result<Option<Row>, TableError> {
        let begin = self.line;
        let (mut cells, mut cell, mut state, mut size) = (Vec::new(), Vec::new(), State::Begin, 0);
        let mut any = false;
        while let Some(byte) = self.byte()? {
            let half = byte == b'\n' && self.after_cr;
            self.after_cr = byte == b'\r';
            if half && !any {
                // Of the line break that ended the last record.
                continue;
            }
            any = true;
            size += 1;
            if size > MAX_RECORD_BYTES {
                return Err(open_quote(begin));
            }
            if (byte == b'\n' && !half) || byte == b'\r' {
                self.line += 1;
            }
            state = match (state, byte) {
                (State::Begin, b'"') => State::Quoted,
                (State::Quoted, b'"') => State::Quote,
                (State::Quote, b'"') | (State::Quoted, _) => {
                    cell.push(byte);
                    State::Quoted
                }
                (_, b'\n' | b'\r') => return finish(cells, cell, begin),
                (_, byte) if byte == self.delimiter => {
                    cells.push(text(std::mem::take(&mut cell), begin)?);
                    if cells.len() == MAX_COLUMNS {
                        return Err(TableError::too_many("columns", MAX_COLUMNS).with("line", begin));
                    }
                    State::Begin
                }
                _ => {
                    cell.push(byte);
                    State::Plain
                }
            };
        }
        match state {
            State::Quoted => Err(open_quote(begin)),
            _ if any => finish(cells, cell, begin),
            _ => Ok(None),
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, TableError> {
        let byte = self.input.fill_buf()?.first().copied();
        self.input.consume(usize::from(byte.is_some()));
        Ok(byte)
    }
}

fn finish(mut cells: Vec<Cell>, last: Vec<u8>, line: u64) -> Result<Option<Row>, TableError> {
    cells.push(text(last, line)?);
    Ok(Some(Row { line, cells }))
}

fn text(bytes: Vec<u8>, line: u64) -> Result<Cell, TableError> {
    let text = String::from_utf8(bytes);
    text.map(Cell::Text).map_err(|_| TableError::unreadable("is not UTF-8: save it as CSV UTF-8", Some(line)))
}

fn open_quote(line: u64) -> TableError {
    let message = "has a row that does not end: is a quote missing that should close a cell?";
    TableError::refused(Code::Format, message).with("line", line)
}

/// What the first line has most of, outside of quotes.
fn delimiter(head: &[u8]) -> u8 {
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0)];
    let bytes = head.iter().copied().skip_while(|byte| matches!(byte, b'\n' | b'\r'));
    for byte in bytes.take_while(|byte| !matches!(byte, b'\n' | b'\r')) {
        quoted ^= byte == b'"';
        counts.iter_mut().filter(|(delimiter, _)| *delimiter == byte && !quoted).for_each(|(_, n)| *n += 1);
    }
    // Of equals the first.
    counts.iter().rev().max_by_key(|(_, n)| n).map_or(b',', |(delimiter, _)| *delimiter)
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn read(content: &[u8]) -> Result<Vec<(u64, Vec<String>)>, TableError> {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        let mut csv = Csv::new(file)?;
        let mut rows = Vec::new();
        while let Some(row) = csv.record()? {
            let text = |cell| if let Cell::Text(text) = cell { text } else { panic!() };
            rows.push((row.line, row.cells.into_iter().map(text).collect()));
        }
        Ok(rows)
    }

    fn row(line: u64, cells: &[&str]) -> (u64, Vec<String>) {
        (line, cells.iter().map(|&cell| cell.to_owned()).collect())
    }

    #[test]
    fn records_and_their_lines() {
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
    fn what_is_no_csv() {
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

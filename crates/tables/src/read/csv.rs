//! Reads CSV (RFC 4180 and the variants of spreadsheet applications). Unlike the `csv` crate, counts the line where
//! each record begins, including blank lines and line breaks in quotes, and reports an unclosed quote, which would
//! otherwise swallow the following rows.

use std::cmp::Reverse;
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Take};

use crate::read::Fault;
use crate::text::escape_formula;
use encoding_rs::WINDOWS_1252;

use super::TextEncoding;
use super::budget::{Budget, MAX_COLUMNS};
use super::cell::{Cell, TableRow};
use super::error::TableError;

/// The maximum length of a record. All columns together accept less.
const MAX_RECORD_BYTES: usize = 1 << 20;
const NOT_UTF_8: &str =
    "is not UTF-8: save it as CSV UTF-8, or send encoding=windows-1252 if the program wrote that";
const BOM: &[u8] = b"\xef\xbb\xbf";
/// Ends a file of DOS programs.
const END_OF_FILE: u8 = 0x1a;
/// The number of bytes at the end of a file that may be such characters and line breaks.
const MAX_END_BYTES: i64 = 4096;
const BUFFER_BYTES: usize = 64 << 10;

/// A reader for the records of a CSV file.
pub(crate) struct CsvReader {
    input: BufReader<Take<File>>,
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
    /// In the spaces after a quoted cell.
    Closed,
}

impl CsvReader {
    /// Skips a byte order mark and the line `sep=;`, and detects the delimiter. A file with a byte order mark, or with
    /// a character of several bytes in UTF-8, is UTF-8, whatever `encoding` is. Without an `encoding`, so is every file
    /// whose bytes are valid.
    pub(crate) fn new(mut file: File, encoding: Option<TextEncoding>) -> Result<Self, TableError> {
        let length = length_without_end(&mut file).map_err(TableError::Disk)?;
        let mut encoding = match encoding {
            Some(TextEncoding::Utf8) => TextEncoding::Utf8,
            other => match (Content::of(&mut file, length).map_err(TableError::Disk)?, other) {
                (Content::Utf8, _) | (Content::Ascii, None) => TextEncoding::Utf8,
                _ => TextEncoding::Windows1252,
            },
        };
        file.rewind().map_err(TableError::Disk)?;
        let mut input = BufReader::with_capacity(BUFFER_BYTES, file.take(length));
        if input.fill_buf().map_err(TableError::Disk)?.starts_with(BOM) {
            input.consume(BOM.len());
            encoding = TextEncoding::Utf8;
        }
        let head = input.fill_buf().map_err(TableError::Disk)?;
        let hint = delimiter_hint(head);
        let delimiter = hint.map_or_else(|| detect_delimiter(head), |(delimiter, _)| delimiter);
        let mut csv = Self { input, delimiter, encoding, line: 1, after_cr: false };
        if let Some((_, length)) = hint {
            csv.input.consume(length);
            csv.read_record()?;
        }
        Ok(csv)
    }

    /// Returns the encoding of the file.
    pub(crate) fn encoding(&self) -> TextEncoding {
        self.encoding
    }

    /// Returns the character that separates the cells.
    pub(crate) fn delimiter(&self) -> char {
        self.delimiter.into()
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
                (ParserState::QuoteInQuoted | ParserState::Closed, b' ' | b'\t') => ParserState::Closed,
                (ParserState::QuoteInQuoted | ParserState::Closed, _) => {
                    let message = "has text after the closing quote of a cell: write a quote in a cell twice";
                    return Err(TableError::refused(Fault::Format, message).with("line", start));
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
        if self.input.buffer().is_empty() {
            self.input.fill_buf().map_err(TableError::Disk)?;
        }
        let byte = self.input.buffer().first().copied();
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
        Ok(Some(TableRow { line, cells, ..TableRow::default() }))
    }

    fn parse_text(&self, bytes: Vec<u8>, line: u64) -> Result<Cell, TableError> {
        let text = match self.encoding {
            TextEncoding::Utf8 => String::from_utf8(bytes),
            TextEncoding::Windows1252 => Ok(WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned()),
        };
        let text = text.map_err(|_| TableError::unreadable(NOT_UTF_8, Some(line)))?;
        if !text.as_bytes().starts_with(b"=") {
            return Ok(Cell::Text(text));
        }
        // Other programs write `="00123"` for a text. Exports write it with a `'`.
        let quoted = text.trim_end().strip_prefix("=\"").and_then(|text| text.strip_suffix('"'));
        let inner = quoted.filter(|inner| !inner.replace("\"\"", "").contains('"'));
        Ok(Cell::Text(match inner {
            Some(inner) => escape_formula(&inner.replace("\"\"", "\"")).into_owned(),
            None => text,
        }))
    }
}

/// Returns the length of a file without the end-of-file characters of DOS programs.
fn length_without_end(file: &mut File) -> std::io::Result<u64> {
    let length = file.seek(SeekFrom::End(0))?;
    let tail = length.min(MAX_END_BYTES.unsigned_abs());
    file.seek(SeekFrom::Start(length - tail))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    let content =
        bytes.iter().rposition(|byte| !matches!(*byte, END_OF_FILE | b'\n' | b'\r')).map_or(0, |at| at + 1);
    let end = bytes[content..].iter().position(|byte| *byte == END_OF_FILE);
    Ok(end.map_or(length, |end| length - (bytes.len() - content - end) as u64))
}

/// What the bytes of a file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Content {
    Ascii,
    /// UTF-8 with a character of several bytes. In other encodings of western Europe the same bytes are no text that
    /// anybody writes.
    Utf8,
    Other,
}

impl Content {
    fn of(file: &mut File, length: u64) -> std::io::Result<Self> {
        file.rewind()?;
        let (mut file, mut buffer, mut kept, mut found) =
            (file.take(length), vec![0; BUFFER_BYTES], 0, Self::Ascii);
        loop {
            let read = file.read(&mut buffer[kept..])?;
            let bytes = &buffer[..kept + read];
            if !bytes.is_ascii() {
                found = Self::Utf8;
            }
            if read == 0 {
                return Ok(if kept == 0 { found } else { Self::Other });
            }
            let end = bytes.len();
            let valid = match std::str::from_utf8(bytes) {
                Ok(_) => end,
                // A character that continues after the buffer.
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => return Ok(Self::Other),
            };
            kept = end - valid;
            buffer.copy_within(valid..end, 0);
        }
    }
}

/// Returns the delimiter that the first line `sep=;` states, and the length of the line without its end.
fn delimiter_hint(head: &[u8]) -> Option<(u8, usize)> {
    let quotes = usize::from(head.starts_with(b"\""));
    let rest = head.get(quotes..)?;
    let is_hint = rest.get(..4).is_some_and(|start| start.eq_ignore_ascii_case(b"sep="));
    let delimiter =
        rest.get(4).copied().filter(|byte| is_hint && byte.is_ascii() && !b"\"\r\n".contains(byte))?;
    let length = 5 + 2 * quotes;
    let is_closed = quotes == 0 || head.get(length - 1) == Some(&b'"');
    let ends = head.get(length).is_none_or(|byte| matches!(byte, b'\r' | b'\n'));
    (is_closed && ends).then_some((delimiter, length))
}

fn unclosed_quote(line: u64) -> TableError {
    let message = "has a row that does not end: a closing quote may be missing";
    TableError::refused(Fault::Format, message).with("line", line)
}

/// The most lines from which the delimiter is detected: titles may stand above the header row.
const DETECTION_LINES: usize = 20;

/// Detects the delimiter: the one whose number of occurrences outside quotes is the same in most of the first lines. Of
/// several, it is the one that occurs more often in a line, and then the first of comma, semicolon and tab.
fn detect_delimiter(head: &[u8]) -> u8 {
    const DELIMITERS: [u8; 3] = *b",;\t";
    let mut quoted = false;
    // The number of occurrences of each delimiter, by line.
    let mut lines = vec![[0_usize; DELIMITERS.len()]];
    for &byte in head {
        quoted ^= byte == b'"';
        let delimiter = DELIMITERS.iter().position(|delimiter| *delimiter == byte && !quoted);
        if let (Some(index), Some(line)) = (delimiter, lines.last_mut()) {
            line[index] += 1;
        } else if matches!(byte, b'\n' | b'\r') && !quoted {
            // Lines without a delimiter do not count.
            lines.retain(|counts| counts.iter().any(|count| *count > 0));
            if lines.len() == DETECTION_LINES {
                break;
            }
            lines.push(Default::default());
        }
    }
    let ways = (0..DELIMITERS.len()).flat_map(|index| lines.iter().map(move |line| (index, line[index])));
    let equal = |index: usize, count: usize| lines.iter().filter(|line| line[index] == count).count();
    let best = ways
        .filter(|(_, count)| *count > 0)
        .max_by_key(|&(index, count)| (equal(index, count), count, Reverse(index)));
    best.map_or(b',', |(index, _)| DELIMITERS[index])
}

#[cfg(test)]
mod tests {
    use std::io::{Seek, Write};

    use super::*;

    fn read(content: &[u8]) -> Result<Vec<(u64, Vec<String>)>, TableError> {
        read_as(Some(TextEncoding::Utf8), content)
    }

    fn read_as(
        encoding: Option<TextEncoding>,
        content: &[u8],
    ) -> Result<Vec<(u64, Vec<String>)>, TableError> {
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
                ["\u{feff}a;\"b\";c,d", "", "\"1\"\"2", ";3\";;\u{e9}", "4\"5;6;\" 7 \" ", ""].join(end);
            let rows = read(content.as_bytes()).unwrap();
            let quoted = format!("1\"2{end};3");
            let expected = [
                row(1, &["a", "b", "c,d"]),
                row(2, &[""]),
                row(3, &[&quoted, "", "\u{e9}"]),
                row(5, &["4\"5", "6", " 7 "]),
            ];
            assert_eq!(rows, expected, "{end:?}");
        }
        assert_eq!(read(b"").unwrap(), []);
        assert_eq!(read(b"a,b").unwrap(), [row(1, &["a", "b"])]);
        assert_eq!(read(b"a\tb,c\t\n").unwrap(), [row(1, &["a", "b,c", ""])]);
        let titled = read(b"My farm\nHarvest, 2026\na;b;c\n1;2,5;x,y\n").unwrap();
        assert_eq!(titled[2..], [row(3, &["a", "b", "c"]), row(4, &["1", "2,5", "x,y"])]);
        let tagged = read(b"a,b,c\n1,x;y;z,2\n3,x;y;z,4\n").unwrap();
        assert_eq!(tagged[1], row(2, &["1", "x;y;z", "2"]));
        assert_eq!(
            read(b"a\n\n\nb\n").unwrap(),
            [row(1, &["a"]), row(2, &[""]), row(3, &[""]), row(4, &["b"])]
        );
    }

    #[test]
    fn a_byte_order_mark_takes_precedence_over_the_encoding() {
        let windows = |content: &[u8]| read_as(Some(TextEncoding::Windows1252), content).unwrap();
        assert_eq!(windows(b"B\xf6rder;\x80 5\n"), [row(1, &["B\u{f6}rder", "\u{20ac} 5"])]);
        assert_eq!(windows("\u{feff}B\u{f6}rder\n".as_bytes()), [row(1, &["B\u{f6}rder"])]);
        let every_byte: Vec<u8> = (0x80..=0xff).collect();
        assert_eq!(windows(&every_byte)[0].1[0].chars().count(), 128);
    }

    #[test]
    fn the_encoding_is_detected() {
        let detected = |content: &[u8]| read_as(None, content).unwrap();
        assert_eq!(detected("B\u{f6}rder;\u{20ac}\n".as_bytes()), [row(1, &["B\u{f6}rder", "\u{20ac}"])]);
        assert_eq!(detected(b"B\xf6rder;\x80\n"), [row(1, &["B\u{f6}rder", "\u{20ac}"])]);
        assert_eq!(detected(b"plain;text\n"), [row(1, &["plain", "text"])]);
        // The byte order mark decides, so that other bytes are damage.
        assert!(read_as(None, b"\xef\xbb\xbfB\xf6rder\n").is_err());
        // A character at the end that was cut off.
        assert_eq!(detected(b"\xc3\xa9\xc3"), [row(1, &["\u{c3}\u{a9}\u{c3}"])]);
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
        for bad in ["a\n\"b\"c\"\n", "a\n\"b\"c,d", "a\n\"b\" \"\n", "a\nb,\"c\"=\n", "a\n\"b\"c"] {
            assert_eq!(line(bad.as_bytes()), Some(2), "{bad}");
        }
        assert_eq!(line(&[b"a\n\"".as_slice(), &b"x\n".repeat(MAX_RECORD_BYTES)].concat()), Some(2));
        assert_eq!(line(&[b"a\n".as_slice(), &b",".repeat(256)].concat()), Some(2));
        assert_eq!(read(&[b",".repeat(255), b"\n".to_vec()].concat()).unwrap()[0].1.len(), 256);
    }
}

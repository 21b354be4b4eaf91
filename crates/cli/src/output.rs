//! What the program prints: tables for people, JSON for programs, progress for whoever waits.

use std::io::{self, ErrorKind, IsTerminal, Write};
use std::time::{Duration, Instant};

use serde_json::Value;
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::error::{Failure, plain};

/// The width below which a column is left out rather than cut further, if it is not one of the first.
const LEAST_WIDTH: usize = 12;
/// The number of columns that are never left out.
const LEAST_COLUMNS: usize = 2;

/// A column of a table.
pub struct Column {
    heading: &'static str,
    /// A JSON pointer.
    pointer: &'static str,
    /// Whether the column keeps its width on a narrow terminal: half an id is of no use.
    is_whole: bool,
}

/// A column that is cut on a narrow terminal.
pub const fn column(heading: &'static str, pointer: &'static str) -> Column {
    Column { heading, pointer, is_whole: false }
}

/// A column that is never cut.
pub const fn whole(heading: &'static str, pointer: &'static str) -> Column {
    Column { heading, pointer, is_whole: true }
}

/// Where and how results are printed.
#[derive(Clone, Copy, Debug)]
pub struct Output {
    /// Whether results are printed as JSON.
    pub json: bool,
}

impl Output {
    /// Prints rows as a table, or as one JSON object a line.
    pub fn rows(self, rows: &[Value], columns: &[Column]) -> Result<(), Failure> {
        self.page(rows, columns, true)
    }

    /// Prints rows like [`rows`](Self::rows), with or without the headings.
    pub fn page(self, rows: &[Value], columns: &[Column], has_headings: bool) -> Result<(), Failure> {
        if self.json {
            return rows.iter().try_for_each(json);
        }
        // A pipe or a file gets whole cells.
        let width =
            terminal_size::terminal_size_of(io::stdout()).map_or(usize::MAX, |(width, _)| width.0.into());
        table(rows, columns, width).iter().skip(usize::from(!has_headings)).try_for_each(|text| line(text))
    }

    /// Prints one document: its members one a line, or as JSON.
    pub fn document(self, document: &Value) -> Result<(), Failure> {
        if self.json {
            return json(document);
        }
        let mut members = Vec::new();
        flatten("", document, &mut members);
        let width = members.iter().map(|(name, _)| name.width()).max().unwrap_or_default();
        members.iter().try_for_each(|(name, value)| line(&format!("{}  {value}", pad(name, width))))
    }

    /// Prints the result of an action: its sentence, or the document as JSON. Warnings go to stderr.
    pub fn action(self, result: &Value, sentence: &str) -> Result<(), Failure> {
        if self.json {
            return json(result);
        }
        for warning in result["warnings"].as_array().into_iter().flatten() {
            let text = |member: &str| clean(warning[member].as_str().unwrap_or_default());
            note(&format!("warning: {}: {}", text("path"), text("message")));
        }
        line(sentence)
    }
}

/// Prints lines for people on stdout.
pub fn line(text: &str) -> Result<(), Failure> {
    written(writeln!(io::stdout().lock(), "{}", clean_lines(text)))
}

/// Prints a JSON document on stdout.
pub fn json(document: &Value) -> Result<(), Failure> {
    let stdout = io::stdout();
    let text = json_text(document, stdout.is_terminal());
    written(writeln!(stdout.lock(), "{text}"))
}

/// Prints a JSON document on stderr. A closed stderr is ignored.
pub fn json_note(document: &Value) {
    let stderr = io::stderr();
    let text = json_text(document, stderr.is_terminal());
    let _ = writeln!(stderr.lock(), "{text}");
}

/// Returns a document as text. For a terminal, the characters that it would obey are escaped.
fn json_text(document: &Value, is_terminal: bool) -> String {
    let text = document.to_string();
    if !is_terminal {
        return text;
    }
    let escape = |c: char| format!("\\u{:04x}", u32::from(c));
    text.chars().map(|c| if c.is_control() || is_bidi(c) { escape(c) } else { c.into() }).collect()
}

/// Writes bytes on stdout.
pub fn bytes(content: &[u8]) -> Result<(), Failure> {
    written(io::stdout().lock().write_all(content))
}

/// Flushes stdout, so that nothing that was printed is lost when a cursor is stored.
pub fn flush() -> Result<(), Failure> {
    written(io::stdout().lock().flush())
}

fn written(result: io::Result<()>) -> Result<(), Failure> {
    result.map_err(|error| match error.kind() {
        ErrorKind::BrokenPipe => Failure::ClosedPipe,
        _ => Failure::Local(format!("Cannot write the output: {error}.")),
    })
}

/// Prints lines for people on stderr. A closed stderr is ignored.
pub fn note(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{}", clean_lines(text));
}

/// Shows on a terminal how far an upload or download is.
pub struct Progress {
    label: String,
    total: Option<u64>,
    done: u64,
    shown: Instant,
    is_shown: bool,
}

impl Progress {
    /// Begins to count bytes. `total` is absent if nobody knows it.
    pub fn new(label: &str, total: Option<u64>) -> Self {
        let is_shown = io::stderr().is_terminal();
        Self { label: clean(label), total, done: 0, shown: Instant::now(), is_shown }
    }

    /// Counts bytes, and shows their number five times a second.
    pub fn add(&mut self, bytes: usize) {
        self.done = self.done.saturating_add(bytes as u64);
        if self.is_shown && self.shown.elapsed() > Duration::from_millis(200) {
            self.shown = Instant::now();
            let of_total = self.total.map(|total| format!(" of {}", kib(total))).unwrap_or_default();
            let _ = write!(io::stderr().lock(), "\r\x1b[K{}: {}{of_total}", self.label, kib(self.done));
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.is_shown {
            let _ = write!(io::stderr().lock(), "\r\x1b[K");
        }
    }
}

fn kib(bytes: u64) -> String {
    format!("{} KiB", bytes.div_ceil(1024))
}

/// Replaces control characters, which a terminal would obey, and removes those that change the direction of text. Texts
/// may be those of other users.
pub fn clean(text: &str) -> String {
    text.chars().filter(|c| !is_bidi(*c)).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

fn clean_lines(text: &str) -> String {
    text.split('\n').map(clean).collect::<Vec<_>>().join("\n")
}

/// Whether a character changes the direction of text.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns the lines of a table that is at most `width` wide, if its whole columns allow it.
fn table(rows: &[Value], columns: &[Column], width: usize) -> Vec<String> {
    let cell =
        |row: &Value, column: &Column| clean(&row.pointer(column.pointer).map(short).unwrap_or_default());
    let headings = columns.iter().map(|column| column.heading.to_owned()).collect();
    let cells: Vec<Vec<String>> = std::iter::once(headings)
        .chain(rows.iter().map(|row| columns.iter().map(|column| cell(row, column)).collect()))
        .collect();
    let mut widths: Vec<usize> = (0..columns.len())
        .map(|i| cells.iter().map(|row| row[i].width()).max().unwrap_or_default())
        .collect();
    let gaps = |columns: usize| 2 * columns.saturating_sub(1);
    // The last columns are left out, rather than all cut to a few letters.
    let least = |i: usize| if columns[i].is_whole { widths[i] } else { widths[i].min(LEAST_WIDTH) };
    let fits = |count: &usize| (0..*count).map(least).sum::<usize>() + gaps(*count) <= width;
    let count = (LEAST_COLUMNS.min(columns.len())..=columns.len()).rev().find(fits).unwrap_or(LEAST_COLUMNS);
    widths.truncate(count);
    while widths.iter().sum::<usize>() + gaps(count) > width {
        let can_shrink = |i: &usize| !columns[*i].is_whole && widths[*i] > 4;
        let Some(widest) = (0..count).filter(can_shrink).max_by_key(|i| widths[*i]) else { break };
        widths[widest] -= 1;
    }
    let print = |row: &Vec<String>| {
        let padded = row.iter().zip(&widths).map(|(text, width)| pad(text, *width));
        padded.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    cells.iter().map(print).collect()
}

/// Returns a text that is exactly `width` wide on a terminal: filled with spaces, or cut.
fn pad(text: &str, width: usize) -> String {
    if text.width() <= width {
        return format!("{text}{}", " ".repeat(width - text.width()));
    }
    let mut cut = String::new();
    let mut used = 1; // the ellipsis
    for c in text.chars() {
        used += c.width().unwrap_or_default();
        if used > width {
            break;
        }
        cut.push(c);
    }
    let cut = format!("{cut}…");
    format!("{cut}{}", " ".repeat(width.saturating_sub(cut.width())))
}

/// Returns a value as a cell: midnight is a day, a list its values.
fn short(value: &Value) -> String {
    match value {
        Value::String(text) => text.strip_suffix("T00:00:00.000Z").unwrap_or(text).to_owned(),
        Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join(", "),
        other => plain(other),
    }
}

/// Adds the members of a document with their paths.
fn flatten(path: &str, value: &Value, members: &mut Vec<(String, String)>) {
    let join = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match value {
        Value::Object(object) => object.iter().for_each(|(name, value)| flatten(&join(name), value, members)),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            let indexed = items.iter().enumerate();
            indexed.for_each(|(i, item)| flatten(&format!("{path}[{i}]"), item, members));
        }
        other => members.push((clean(path), clean(&short(other)))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const COLUMNS: [Column; 2] = [whole("ID", "/id"), column("TITLE", "/title")];

    #[test]
    fn a_table_is_aligned_and_cut_to_the_terminal_except_its_ids() {
        let rows =
            [json!({"id": "0123456789", "title": "Twelve store steers"}), json!({"id": "1", "title": "Hay"})];
        assert_eq!(table(&rows, &COLUMNS, 80)[1], "0123456789  Twelve store steers");
        assert_eq!(
            table(&rows, &COLUMNS, 20),
            ["ID          TITLE", "0123456789  Twelve …", "1           Hay"]
        );
        assert_eq!(table(&rows, &COLUMNS, 3)[1], "0123456789  Twe…");
        let columns = [whole("ID", "/id"), column("TITLE", "/title"), column("AGAIN", "/title")];
        assert_eq!(table(&rows, &columns, 32)[1], "0123456789  Twelve store steers");
    }

    #[test]
    fn texts_of_users_cannot_control_the_terminal() {
        let rows = [json!({"id": "1", "title": "a\u{1b}[2Jb\nc\u{9b}"})];
        assert!(!table(&rows, &COLUMNS, 80).concat().contains(char::is_control));
        assert_eq!(clean_lines("a\u{1b}[2J\nb\r\u{9b}\u{202e}c"), "a [2J\nb  c");
        let hostile = json!("a\u{9b}b\u{202e}\n");
        assert_eq!(json_text(&hostile, true), r#""a\u009bb\u202e\n""#);
        assert_eq!(json_text(&hostile, false), hostile.to_string());
    }

    #[test]
    fn a_document_is_flattened_to_paths() {
        let mut members = Vec::new();
        flatten(
            "",
            &json!({"organiser": {"id": "a"}, "files": [{"id": "f"}], "tags": ["x", "y"]}),
            &mut members,
        );
        let members: Vec<_> = members.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(members, ["files[0].id=f", "organiser.id=a", "tags=x, y"]);
    }
}

//! Rows of a worksheet as XML.

use std::borrow::Cow;
use std::fmt::Write;

use database::Timestamp;

use super::parts::style;
use crate::response::csv::{SEPARATOR, escape_converted};
use crate::response::table_cell::TableCell;

/// The maximum length of a text in a cell, in UTF-16 code units. The rest is cut off.
const MAX_TEXT_UNITS: usize = 32_767;
const MILLIS_PER_DAY: i64 = 24 * 3_600_000;
/// The serial number of 1970-01-01 where 1 is 1900-01-01.
const UNIX_EPOCH_SERIAL: i64 = 25_569;
/// Earlier days have other serial numbers in some programs, because 1900 was no leap year.
const FIRST_SERIAL: i64 = 61;

/// A buffer of rows of a worksheet.
#[derive(Debug, Default)]
pub(crate) struct SheetRows {
    xml: String,
    /// The number of the last row, from 1.
    row: u32,
}

impl SheetRows {
    /// Returns an empty buffer for the rows after this many.
    pub(super) fn after(rows: u32) -> Self {
        Self { xml: String::new(), row: rows }
    }

    /// Returns the number of the last row.
    pub(super) fn last_row(&self) -> u32 {
        self.row
    }

    /// Returns the rows.
    pub(super) fn xml(&self) -> &str {
        &self.xml
    }

    /// Appends the header row.
    pub(super) fn header(&mut self, columns: &[&str]) {
        self.add_row(columns.iter().map(|name| TableCell::text(name)), style::HEADER);
    }

    /// Appends a row.
    pub(crate) fn row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>) {
        self.add_row(cells, style::TEXT);
    }

    fn add_row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>, text_style: u32) {
        self.row += 1;
        // Writing to a String never fails.
        let _ = write!(self.xml, "<row r=\"{}\">", self.row);
        for (column, cell) in (0..).zip(cells) {
            match cell {
                TableCell::Text(text) => self.text(column, &escape_converted(&text), text_style),
                TableCell::List(texts) => self.text(column, &join(&texts), text_style),
                TableCell::Number(digits) => match digits.parse::<f64>() {
                    Ok(number) if number.is_finite() => self.number(column, &digits, 0),
                    _ => self.text(column, &escape_converted(&digits), text_style),
                },
                TableCell::Instant(text) => match serial(&text) {
                    Some((serial, _)) => self.number(column, &serial, style::INSTANT),
                    None => self.text(column, &text, text_style),
                },
                TableCell::Day(text) => match serial(&text) {
                    Some((serial, true)) => self.number(column, &serial, style::DAY),
                    Some((serial, false)) => self.number(column, &serial, style::INSTANT),
                    None => self.text(column, &text, text_style),
                },
            }
        }
        self.xml.push_str("</row>");
    }

    /// Appends the start of a cell up to its style.
    fn start(&mut self, column: u32, style: u32) {
        self.xml.push_str("<c r=\"");
        push_column(&mut self.xml, column);
        let _ = write!(self.xml, "{}\"", self.row);
        if style > 0 {
            let _ = write!(self.xml, " s=\"{style}\"");
        }
    }

    fn number(&mut self, column: u32, digits: &str, style: u32) {
        self.start(column, style);
        self.xml.push_str("><v>");
        self.xml.push_str(digits);
        self.xml.push_str("</v></c>");
    }

    fn text(&mut self, column: u32, text: &str, style: u32) {
        if text.is_empty() {
            return;
        }
        self.start(column, style);
        let keeps_space = text.starts_with(char::is_whitespace)
            || text.ends_with(char::is_whitespace)
            || text.contains(['\n', '\r', '\t']);
        let start = if keeps_space { "<t xml:space=\"preserve\">" } else { "<t>" };
        self.xml.push_str(" t=\"inlineStr\"><is>");
        self.xml.push_str(start);
        push_escaped(&mut self.xml, text);
        self.xml.push_str("</t></is></c>");
    }
}

fn join(texts: &[Cow<'_, str>]) -> String {
    let mut list = String::new();
    for (i, text) in texts.iter().enumerate() {
        if i > 0 {
            list.push(SEPARATOR);
        }
        list.push_str(&escape_converted(text));
    }
    list
}

/// Appends the name of a column from 0: `A`, `Z`, `AA`.
fn push_column(xml: &mut String, column: u32) {
    let letter = |n: u32| char::from_u32(u32::from('A') + n % 26).unwrap_or('A');
    if let Some(first) = (column / 26).checked_sub(1) {
        xml.push(letter(first));
    }
    xml.push(letter(column));
}

/// Appends a text with XML entities. Characters that XML cannot have, and texts that look like their escapes, are
/// escaped as `_x000B_`.
fn push_escaped(xml: &mut String, text: &str) {
    let mut units = 0;
    for (at, c) in text.char_indices() {
        units += c.len_utf16();
        if units > MAX_TEXT_UNITS {
            return;
        }
        match c {
            '&' => xml.push_str("&amp;"),
            '<' => xml.push_str("&lt;"),
            '>' => xml.push_str("&gt;"),
            '\n' | '\t' => xml.push(c),
            '\0'..='\x1f' => {
                let _ = write!(xml, "_x{:04X}_", u32::from(c));
            }
            '\u{fffe}' | '\u{ffff}' => xml.push('\u{fffd}'),
            '_' if is_escape(&text.as_bytes()[at..]) => xml.push_str("_x005F_"),
            c => xml.push(c),
        }
    }
}

fn is_escape(bytes: &[u8]) -> bool {
    bytes.len() >= 7 && bytes[1] == b'x' && bytes[2..6].iter().all(u8::is_ascii_hexdigit) && bytes[6] == b'_'
}

/// Returns the serial number of an instant, and whether it is midnight. Returns `None` for instants that have none.
fn serial(instant: &str) -> Option<(String, bool)> {
    let millis = Timestamp::parse(instant)?.millis();
    let (days, rest) =
        (millis.div_euclid(MILLIS_PER_DAY) + UNIX_EPOCH_SERIAL, millis.rem_euclid(MILLIS_PER_DAY));
    if days < FIRST_SERIAL {
        return None;
    }
    if rest == 0 {
        return Some((days.to_string(), true));
    }
    #[expect(clippy::cast_precision_loss, reason = "days and milliseconds of a day are far below 2^53")]
    let serial = days as f64 + rest as f64 / MILLIS_PER_DAY as f64;
    Some((serial.to_string(), false))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn row(cells: impl IntoIterator<Item = TableCell<'static>>) -> String {
        let mut rows = SheetRows::after(1);
        rows.row(cells);
        rows.xml
    }

    fn text(value: &'static str) -> String {
        row([TableCell::text(value)])
    }

    #[test]
    fn writes_typed_cells() {
        let day = TableCell::Day("2026-03-01T00:00:00.000Z".into());
        let instant = |text: &'static str| TableCell::Instant(text.into());
        assert_eq!(
            row([day, instant("2026-03-01T12:00:00.000Z"), TableCell::number("-2.50"), instant("")]),
            "<row r=\"2\"><c r=\"A2\" s=\"3\"><v>46082</v></c><c r=\"B2\" s=\"4\"><v>46082.5</v></c>\
             <c r=\"C2\"><v>-2.50</v></c></row>"
        );
        // Neither a day that programs count differently nor an absurd number is a number.
        assert!(row([instant("1900-02-28T00:00:00.000Z")]).contains("<t>1900-02-28T00:00:00.000Z</t>"));
        assert!(row([TableCell::number("1e999")]).contains("<t>1e999</t>"));
        assert_eq!(row([]), "<row r=\"2\"></row>");
    }

    #[test]
    fn texts_are_texts_and_valid_xml() {
        assert!(text("=1+1").contains("t=\"inlineStr\"><is><t>=1+1</t>"), "no formula");
        assert!(text("'=1").contains("<t>''=1</t>"), "a batch removes the first");
        assert!(text("a<b&\"c\">").contains("<t>a&lt;b&amp;\"c\"&gt;</t>"));
        assert!(text(" a\nb").contains("<t xml:space=\"preserve\"> a\nb</t>"));
        assert!(text("a\u{b}\r_x000B_\u{ffff}_x").contains(">a_x000B__x000D__x005F_x000B_\u{fffd}_x<"));
        let tags = TableCell::list(&["=a", "''-b", "c"]);
        assert!(row([tags]).contains("<t>=a;'''-b;c</t>"));
        let long: &'static str = "\u{1f404}".repeat(20_000).leak();
        assert_eq!(text(long).matches('\u{1f404}').count(), MAX_TEXT_UNITS / 2);
    }

    #[test]
    fn names_columns() {
        let name = |column| {
            let mut name = String::new();
            push_column(&mut name, column);
            name
        };
        assert_eq!([name(0), name(25), name(26), name(51), name(52)], ["A", "Z", "AA", "AZ", "BA"]);
    }

    proptest! {
        #[test]
        fn serials_keep_milliseconds(millis in -2_203_891_200_000_i64..253_402_300_800_000) {
            let instant = Timestamp::from_millis(millis).unwrap();
            let (serial, is_midnight) = serial(&instant.to_string()).unwrap();
            let serial: f64 = serial.parse().unwrap();
            let back = ((serial - 25_569.0) * 86_400_000.0).round();
            prop_assert_eq!(back.to_string(), millis.to_string());
            prop_assert_eq!(is_midnight, millis.rem_euclid(MILLIS_PER_DAY) == 0);
        }
    }
}

//! Writes an XLSX workbook of one sheet (ECMA-376) while it is sent: the archive is a stream, texts are in their cells,
//! and nothing is held but the row being written (docs/api/lists.md, "XLSX").

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::mem::take;
use std::sync::Arc;

use chrono::DateTime;
use parking_lot::Mutex;
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use super::TableCell;
use crate::NumberFormat;
use crate::text::{SEPARATOR, escape_converted};

/// The media type of a workbook.
pub const XLSX_MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// The level of Deflate. Higher ones take several times as long and save little.
const COMPRESSION_LEVEL: i64 = 1;

/// A workbook that is being written. Its sheet may have up to 4 GiB of XML.
pub struct XlsxWriter {
    archive: ZipWriter<StreamWriter<Output>>,
    output: Output,
    options: SimpleFileOptions,
    /// The number of rows so far.
    rows: u32,
    /// The number formats of the cells so far.
    formats: Vec<NumberFormat>,
}

/// The bytes of the archive that were not taken yet.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl XlsxWriter {
    /// Starts a workbook with this header row.
    ///
    /// # Errors
    /// If the archive cannot be written.
    pub fn new(columns: &[&str]) -> io::Result<Self> {
        let mut workbook = Self::empty(SHEET_NAME)?;
        let mut header = workbook.next_rows();
        header.header(columns);
        workbook.write(header)?;
        Ok(workbook)
    }

    /// Starts a workbook whose sheet has this name, without rows.
    ///
    /// # Errors
    /// If the archive cannot be written.
    pub fn empty(sheet: &str) -> io::Result<Self> {
        let output = Output::default();
        let mut archive = ZipWriter::new_stream(output.clone());
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(COMPRESSION_LEVEL));
        for (name, content) in STATIC_PARTS {
            archive.start_file(name, options)?;
            archive.write_all(content.as_bytes())?;
        }
        archive.start_file("xl/workbook.xml", options)?;
        archive.write_all(workbook(sheet).as_bytes())?;
        archive.start_file(SHEET_PART, options)?;
        archive.write_all(SHEET_START.as_bytes())?;
        Ok(Self { archive, output, options, rows: 0, formats: Vec::new() })
    }

    /// Returns a buffer for the next rows.
    pub fn next_rows(&self) -> SheetRows {
        SheetRows { formats: self.formats.clone(), ..SheetRows::after(self.rows) }
    }

    /// Writes rows.
    ///
    /// # Errors
    /// If the sheet becomes too large.
    pub fn write(&mut self, rows: SheetRows) -> io::Result<()> {
        self.rows = rows.last_row();
        self.archive.write_all(rows.xml().as_bytes())?;
        self.formats = rows.formats;
        Ok(())
    }

    /// Removes and returns the bytes that were written.
    pub fn take_bytes(&mut self) -> Vec<u8> {
        take(&mut self.output.0.lock())
    }

    /// Ends the workbook and returns its last bytes.
    ///
    /// # Errors
    /// If the archive cannot be written.
    pub fn finish(mut self) -> io::Result<Vec<u8>> {
        self.archive.write_all(SHEET_END.as_bytes())?;
        self.archive.start_file(STYLES_PART, self.options)?;
        self.archive.write_all(styles(&self.formats).as_bytes())?;
        self.archive.finish()?;
        Ok(take(&mut self.output.0.lock()))
    }
}

/// The path of the sheet in the archive.
const SHEET_PART: &str = "xl/worksheets/sheet1.xml";

/// The styles of cells, by their index in [`STATIC_PARTS`].
mod style {
    /// The header row.
    pub(super) const HEADER: u32 = 1;
    /// A text. Stays one when it is edited.
    pub(super) const TEXT: u32 = 2;
    /// A day.
    pub(super) const DAY: u32 = 3;
    /// An instant. The format shows its offset, by which batches recognize it.
    pub(super) const INSTANT: u32 = 4;
}

macro_rules! xml {
    ($($text:literal)*) => {
        concat!("<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n", $($text),*)
    };
}

/// The parts before the sheet, with their paths.
const STATIC_PARTS: [(&str, &str); 3] = [
    (
        "[Content_Types].xml",
        xml!(
            r#"<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">"#
            r#"<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>"#
            r#"<Default Extension="xml" ContentType="application/xml"/>"#
            r#"<Override PartName="/xl/workbook.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>"#
            r#"<Override PartName="/xl/styles.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/>"#
            r#"<Override PartName="/xl/worksheets/sheet1.xml" "#
            r#"ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>"#
            r#"</Types>"#
        ),
    ),
    (
        "_rels/.rels",
        xml!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">"#
            r#"<Relationship Id="rId1" Target="xl/workbook.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"/>"#
            r#"</Relationships>"#
        ),
    ),
    (
        "xl/_rels/workbook.xml.rels",
        xml!(
            r#"<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">"#
            r#"<Relationship Id="rId1" Target="worksheets/sheet1.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/>"#
            r#"<Relationship Id="rId2" Target="styles.xml" "#
            r#"Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/styles"/>"#
            r#"</Relationships>"#
        ),
    ),
];

/// The name of the sheet of an export.
pub const SHEET_NAME: &str = "Export";

/// Returns the part that names the sheet.
fn workbook(sheet: &str) -> String {
    const START: &str = xml!(
        r#"<workbook xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main" "#
        r#"xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name=""#
    );
    let mut part = START.to_owned();
    push_escaped(&mut part, sheet);
    part.push_str(r#"" sheetId="1" r:id="rId1"/></sheets></workbook>"#);
    part
}

/// The path of the styles in the archive.
const STYLES_PART: &str = "xl/styles.xml";
/// The styles of [`style`].
const STYLES: &str = xml!(
    r#"<styleSheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main">"#
    r#"<numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/>"#
    r#"<numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss&quot;Z&quot;"/></numFmts>"#
    r#"<fonts count="2"><font><sz val="11"/><name val="Calibri"/><family val="2"/></font>"#
    r#"<font><b/><sz val="11"/><name val="Calibri"/><family val="2"/></font></fonts>"#
    r#"<fills count="2"><fill><patternFill patternType="none"/></fill>"#
    r#"<fill><patternFill patternType="gray125"/></fill></fills>"#
    r#"<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>"#
    r#"<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>"#
    r#"<cellXfs count="5"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/>"#
    r#"<xf numFmtId="49" fontId="1" fillId="0" borderId="0" xfId="0" applyNumberFormat="1" applyFont="1"/>"#
    r#"<xf numFmtId="49" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>"#
    r#"<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/>"#
    r#"<xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>"#
    r#"<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>"#
);
/// The number of styles that [`STYLES`] has.
const FIXED_STYLES: u32 = 5;
/// The first id of a number format that [`STYLES`] does not have.
const FIRST_FORMAT: usize = 166;
/// The most number formats. Spreadsheet applications read some 200. Further cells show their numbers without format.
const MAX_FORMATS: usize = 150;

/// Returns the styles with these number formats added.
fn styles(formats: &[NumberFormat]) -> String {
    let (mut codes, mut cells) = (String::new(), String::new());
    for (id, format) in (FIRST_FORMAT..).zip(formats) {
        let _ = write!(codes, "<numFmt numFmtId=\"{id}\" formatCode=\"");
        push_escaped(&mut codes, format.code());
        codes.push_str("\"/>");
        let _ = write!(
            cells,
            "<xf numFmtId=\"{id}\" fontId=\"0\" fillId=\"0\" borderId=\"0\" xfId=\"0\" applyNumberFormat=\"1\"/>"
        );
    }
    let count = formats.len();
    STYLES
        .replacen("<numFmts count=\"2\">", &format!("<numFmts count=\"{}\">", count + 2), 1)
        .replacen("</numFmts>", &format!("{codes}</numFmts>"), 1)
        .replacen("<cellXfs count=\"5\">", &format!("<cellXfs count=\"{}\">", count + 5), 1)
        .replacen("</cellXfs>", &format!("{cells}</cellXfs>"), 1)
}

/// The sheet before its first row: the header row stays visible.
const SHEET_START: &str = xml!(
    r#"<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetViews>"#
    r#"<sheetView tabSelected="1" workbookViewId="0">"#
    r#"<pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/>"#
    r#"<selection pane="bottomLeft" activeCell="A2" sqref="A2"/></sheetView></sheetViews>"#
    r#"<sheetFormatPr defaultRowHeight="15"/><cols><col min="1" max="40" width="20" customWidth="1"/></cols><sheetData>"#
);

/// The sheet after its last row.
const SHEET_END: &str = "</sheetData></worksheet>";

/// The maximum length of a text in a cell, in UTF-16 code units. The rest is cut off.
const MAX_TEXT_UNITS: usize = 32_767;
const MILLIS_PER_DAY: i64 = 24 * 3_600_000;
/// The serial number of 1970-01-01 where 1 is 1900-01-01.
const UNIX_EPOCH_SERIAL: i64 = 25_569;
/// Earlier days have other serial numbers in some programs, because 1900 was no leap year.
const FIRST_SERIAL: i64 = 61;

/// A buffer of rows of a worksheet.
#[derive(Debug, Default)]
pub struct SheetRows {
    xml: String,
    /// The number of the last row, from 1.
    row: u32,
    /// The number formats of the cells of the sheet.
    formats: Vec<NumberFormat>,
}

impl SheetRows {
    /// Returns an empty buffer for the rows after this many.
    fn after(rows: u32) -> Self {
        Self { row: rows, ..Self::default() }
    }

    /// Returns the number of the last row.
    fn last_row(&self) -> u32 {
        self.row
    }

    /// Returns the rows.
    fn xml(&self) -> &str {
        &self.xml
    }

    /// Makes this line the next row, unless there is a later one.
    pub(super) fn skip_to(&mut self, line: u32) {
        self.row = self.row.max(line.saturating_sub(1));
    }

    /// Appends the header row.
    fn header(&mut self, columns: &[&str]) {
        self.add_row(columns.iter().map(|name| TableCell::text(name)), style::HEADER);
    }

    /// Appends a row.
    pub fn row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>) {
        self.add_row(cells, style::TEXT);
    }

    fn add_row<'a>(&mut self, cells: impl IntoIterator<Item = TableCell<'a>>, text_style: u32) {
        self.row += 1;
        // Writing to a String never fails.
        let _ = write!(self.xml, "<row r=\"{}\">", self.row);
        for (column, cell) in (0..).zip(cells) {
            match cell {
                TableCell::Text(text) => self.text(column, &escape_converted(&text), text_style),
                TableCell::Raw(text) => self.text(column, &text, text_style),
                TableCell::List(texts) => self.text(column, &join(&texts), text_style),
                TableCell::Formatted(number, format, _) => {
                    let style = self.style_of(format);
                    self.number(column, &number.to_string(), style);
                }
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

    /// Returns the style of cells with this number format.
    fn style_of(&mut self, format: &NumberFormat) -> u32 {
        let known = self.formats.iter().position(|known| known == format);
        let index = known.or_else(|| {
            let index = self.formats.len();
            (index < MAX_FORMATS).then(|| self.formats.push(format.clone()))?;
            Some(index)
        });
        index.and_then(|index| u32::try_from(index).ok()).map_or(0, |index| FIXED_STYLES + index)
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
            '"' => xml.push_str("&quot;"),
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
    let millis = DateTime::parse_from_rfc3339(instant).ok()?.timestamp_millis();
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
    use std::io::{Cursor, Read};

    use proptest::prelude::*;

    use super::*;

    /// Returns the sheet of a workbook with these rows, and its size as an archive.
    fn write(chunks: usize, row: &[TableCell<'_>]) -> (String, usize) {
        let mut workbook = XlsxWriter::new(&["a", "b"]).unwrap();
        let mut bytes = workbook.take_bytes();
        for _ in 0..chunks {
            let mut rows = workbook.next_rows();
            rows.row(row.iter().cloned());
            workbook.write(rows).unwrap();
            bytes.extend(workbook.take_bytes());
        }
        bytes.extend(workbook.finish().unwrap());
        let size = bytes.len();
        let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
        let mut sheet = String::new();
        archive.by_name(SHEET_PART).unwrap().read_to_string(&mut sheet).unwrap();
        for (name, content) in STATIC_PARTS {
            let mut part = String::new();
            archive.by_name(name).unwrap().read_to_string(&mut part).unwrap();
            assert_eq!(part, content);
        }
        let mut part = String::new();
        archive.by_name(STYLES_PART).unwrap().read_to_string(&mut part).unwrap();
        assert_eq!(part, STYLES);
        (sheet, size)
    }

    #[test]
    fn writes_one_sheet_in_several_chunks() {
        let (sheet, size) = write(3, &[TableCell::number("1.5"), TableCell::text("x")]);
        assert!(sheet.starts_with(SHEET_START) && sheet.ends_with(SHEET_END), "{sheet}");
        let cells = "<row r=\"4\"><c r=\"A4\"><v>1.5</v></c><c r=\"B4\" s=\"2\" t=\"inlineStr\"><is><t>x</t></is></c></row>";
        assert!(sheet.contains(cells), "{sheet}");
        assert!(size < 3_000, "{size}");
    }

    #[test]
    fn holds_no_rows() {
        let mut workbook = XlsxWriter::new(&["a"]).unwrap();
        let mut most = 0;
        for n in 0..20_000 {
            let mut rows = workbook.next_rows();
            rows.row([TableCell::Text(format!("{n}-{}", n * 7919 % 1000).into())]);
            workbook.write(rows).unwrap();
            most = most.max(workbook.take_bytes().len());
        }
        assert!(most < 200_000, "{most}");
    }

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
        assert!(text("a<b&\"c\">").contains("<t>a&lt;b&amp;&quot;c&quot;&gt;</t>"));
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
            let instant = DateTime::from_timestamp_millis(millis).unwrap().to_rfc3339();
            let (serial, is_midnight) = serial(&instant).unwrap();
            let serial: f64 = serial.parse().unwrap();
            let back = ((serial - 25_569.0) * 86_400_000.0).round();
            prop_assert_eq!(back.to_string(), millis.to_string());
            prop_assert_eq!(is_midnight, millis.rem_euclid(MILLIS_PER_DAY) == 0);
        }
    }
}

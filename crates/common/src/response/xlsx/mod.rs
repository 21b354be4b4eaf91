//! Writes an XLSX workbook of one sheet (ECMA-376) while it is sent: the archive is a stream, texts are in their cells,
//! and nothing is held but the row being written (docs/api/lists.md, "XLSX").

mod parts;
mod sheet;

use std::io::{self, Write};
use std::mem::take;
use std::sync::Arc;

use parking_lot::Mutex;
pub(crate) use sheet::SheetRows;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{KnownFormat, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{PartialSchema, ToSchema};
use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use self::parts::{SHEET_END, SHEET_PART, SHEET_START, STATIC_PARTS};
use crate::Error;

/// The media type of a workbook.
pub(crate) const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";
/// The schema of a workbook in OpenAPI documents.
#[derive(Debug)]
pub struct Workbook;

impl PartialSchema for Workbook {
    fn schema() -> RefOr<Schema> {
        let binary = SchemaFormat::KnownFormat(KnownFormat::Binary);
        ObjectBuilder::new().schema_type(Type::String).format(Some(binary)).into()
    }
}
impl ToSchema for Workbook {}

/// The level of Deflate. Higher ones take several times as long and save little.
const COMPRESSION_LEVEL: i64 = 1;

/// A workbook that is being written. Its sheet may have up to 4 GiB of XML.
pub(crate) struct XlsxWriter {
    archive: ZipWriter<StreamWriter<Output>>,
    output: Output,
    /// The number of rows so far.
    rows: u32,
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
    pub(crate) fn new(columns: &[&str]) -> Result<Self, Error> {
        let output = Output::default();
        let mut archive = ZipWriter::new_stream(output.clone());
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Deflated)
            .compression_level(Some(COMPRESSION_LEVEL));
        for (name, content) in STATIC_PARTS {
            archive.start_file(name, options).map_err(internal)?;
            archive.write_all(content.as_bytes()).map_err(internal)?;
        }
        archive.start_file(SHEET_PART, options).map_err(internal)?;
        archive.write_all(SHEET_START.as_bytes()).map_err(internal)?;
        let mut workbook = Self { archive, output, rows: 0 };
        let mut header = workbook.next_rows();
        header.header(columns);
        workbook.write(&header)?;
        Ok(workbook)
    }

    /// Returns a buffer for the next rows.
    pub(crate) fn next_rows(&self) -> SheetRows {
        SheetRows::after(self.rows)
    }

    /// Writes rows.
    ///
    /// # Errors
    /// If the sheet becomes too large.
    pub(crate) fn write(&mut self, rows: &SheetRows) -> Result<(), Error> {
        self.rows = rows.last_row();
        self.archive.write_all(rows.xml().as_bytes()).map_err(internal)
    }

    /// Removes and returns the bytes that were written.
    pub(crate) fn take_bytes(&mut self) -> Vec<u8> {
        take(&mut self.output.0.lock())
    }

    /// Ends the workbook and returns its last bytes.
    ///
    /// # Errors
    /// If the archive cannot be written.
    pub(crate) fn finish(mut self) -> Result<Vec<u8>, Error> {
        self.archive.write_all(SHEET_END.as_bytes()).map_err(internal)?;
        self.archive.finish().map_err(internal)?;
        Ok(take(&mut self.output.0.lock()))
    }
}

fn internal(error: impl Into<anyhow::Error>) -> Error {
    Error::Internal(error.into())
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Read};

    use super::*;
    use crate::response::table_cell::TableCell;

    /// Returns the sheet of a workbook with these rows, and its size as an archive.
    fn write(chunks: usize, row: &[TableCell<'_>]) -> (String, usize) {
        let mut workbook = XlsxWriter::new(&["a", "b"]).unwrap();
        let mut bytes = workbook.take_bytes();
        for _ in 0..chunks {
            let mut rows = workbook.next_rows();
            rows.row(row.iter().cloned());
            workbook.write(&rows).unwrap();
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
            workbook.write(&rows).unwrap();
            most = most.max(workbook.take_bytes().len());
        }
        assert!(most < 200_000, "{most}");
    }
}

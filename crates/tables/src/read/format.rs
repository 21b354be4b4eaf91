//! What a file is, from its first bytes: CSV, a workbook, or something else that people take for one.

use std::fs::File;
use std::io::{Read, Seek};

use crate::read::Fault;
use memchr::memmem;

use super::error::TableError;

/// The number of bytes that are searched for marks of a format.
const SNIFFED_BYTES: u64 = 4096;
const BUFFER_BYTES: usize = 64 << 10;
const ZIP_MAGIC: &[u8] = b"PK\x03\x04";
/// Begins compound files: workbooks of the old binary format, and encrypted workbooks.
const COMPOUND_MAGIC: &[u8] = b"\xd0\xcf\x11\xe0";
const BOM: &[u8] = b"\xef\xbb\xbf";
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
/// Files that begin with these bytes.
const OTHERS: [(&[u8], &str); 15] = [
    (b"\x09\x00\x04\x00", OLD_WORKBOOK),
    (b"\x09\x02\x06\x00", OLD_WORKBOOK),
    (b"\x09\x04\x06\x00", OLD_WORKBOOK),
    (b"\x09\x08", OLD_WORKBOOK),
    (b"ID;PWXL", "a SYLK file: open it in a spreadsheet application and save it as XLSX or CSV"),
    (b"%PDF", "a PDF document: send the table from which it was made, as XLSX or CSV"),
    (b"{\\rtf", "an RTF document: copy the table into a spreadsheet application and save it as XLSX or CSV"),
    (b"PK\x05\x06", "an empty archive"),
    (b"\x1f\x8b", "a compressed file: unpack it"),
    (b"7z\xbc\xaf\x27\x1c", "a compressed archive: unpack it"),
    (b"Rar!", "a compressed archive: unpack it"),
    (b"\x89PNG", PICTURE),
    (b"\xff\xd8\xff", PICTURE),
    (b"GIF8", PICTURE),
    (b"MIME-Version:", "a web page: open it in a spreadsheet application and save it as XLSX or CSV"),
];
const OLD_WORKBOOK: &str = "a workbook of an old format (XLS): save it as XLSX or CSV";
const PICTURE: &str = "a picture: send the table itself, as XLSX or CSV";
/// The starts of HTML, in lower case.
const HTML: [&[u8]; 9] =
    [b"<!doctype html", b"<html", b"<head", b"<body", b"<meta", b"<table", b"<style", b"<div", b"<!--"];

/// A format that can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FileFormat {
    Csv,
    /// An archive, which may be an XLSX workbook.
    Archive,
}

impl FileFormat {
    /// Detects the format.
    ///
    /// # Errors
    /// If it is neither CSV nor an archive. The message names it and says what to do.
    pub(crate) fn detect(file: &mut File) -> Result<Self, TableError> {
        let mut head = Vec::new();
        file.rewind().map_err(TableError::Disk)?;
        (&*file).take(SNIFFED_BYTES).read_to_end(&mut head).map_err(TableError::Disk)?;
        if head.starts_with(ZIP_MAGIC) {
            return Ok(Self::Archive);
        }
        let other = OTHERS.iter().find(|(start, _)| head.starts_with(start)).map(|(_, name)| *name);
        let name = if head.starts_with(COMPOUND_MAGIC) {
            compound_file(file)?
        } else if let Some(name) = other.or_else(|| markup(&head)) {
            name
        } else if UTF_16_MARKS.iter().any(|mark| head.starts_with(mark)) {
            return Err(TableError::unreadable("is UTF-16: save it as CSV UTF-8", Some(1)));
        } else if head.contains(&0) {
            "something else"
        } else {
            return Ok(Self::Csv);
        };
        Err(refused(name))
    }
}

/// Returns the error for a file of another format.
pub(crate) fn refused(name: &str) -> TableError {
    TableError::refused(Fault::Format, format!("must be CSV or XLSX; this is {name}"))
}

/// Tells compound files apart by the names in their directory, which are UTF-16.
fn compound_file(file: &mut File) -> Result<&'static str, TableError> {
    let utf_16 = |name: &str| name.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
    Ok(if contains(file, &utf_16("EncryptedPackage"))? {
        "a workbook with a password: remove the password, or save it as CSV"
    } else if contains(file, &utf_16("WordDocument"))? {
        "a Word document: copy the table into a spreadsheet application and save it as XLSX or CSV"
    } else {
        OLD_WORKBOOK
    })
}

/// Names a file of HTML or XML.
fn markup(head: &[u8]) -> Option<&'static str> {
    let text = head.strip_prefix(BOM).unwrap_or(head).trim_ascii_start();
    let has = |mark: &str| memmem::find(head, mark.as_bytes()).is_some();
    let is_html = |text: &[u8]| {
        HTML.iter().any(|start| text.get(..start.len()).is_some_and(|head| head.eq_ignore_ascii_case(start)))
    };
    if is_html(text) || (text.starts_with(b"<?xml") && has("<html")) {
        Some(
            "an HTML page, whatever its name is: open it in a spreadsheet application and save it as XLSX or CSV",
        )
    } else if !text.starts_with(b"<?xml") && !text.starts_with(b"<office:") && !text.starts_with(b"<Workbook")
    {
        None
    } else if has("urn:schemas-microsoft-com:office:spreadsheet") {
        Some("an XML spreadsheet of 2003: save it as XLSX or CSV")
    } else if has("urn:oasis:names:tc:opendocument") {
        Some("an OpenDocument file: save it as XLSX or CSV")
    } else {
        Some("an XML document: save the table as XLSX or CSV")
    }
}

/// Returns true if a file contains these bytes anywhere. Reads it from its start.
pub(crate) fn contains(file: &mut File, bytes: &[u8]) -> Result<bool, TableError> {
    let finder = memmem::Finder::new(bytes);
    let (mut buffer, mut kept) = (vec![0; BUFFER_BYTES], 0);
    file.rewind().map_err(TableError::Disk)?;
    loop {
        let read = file.read(&mut buffer[kept..]).map_err(TableError::Disk)?;
        if read == 0 {
            return Ok(false);
        }
        let end = kept + read;
        if finder.find(&buffer[..end]).is_some() {
            return Ok(true);
        }
        // The bytes may begin at the end of what was read.
        kept = bytes.len().saturating_sub(1).min(end);
        buffer.copy_within(end - kept..end, 0);
    }
}

//! The ZIP archive of a workbook. Each part is unpacked into a temporary file up to its limit, and parsed only after
//! its checksum was verified.

use std::borrow::Cow;
use std::fs::File;
use std::io::{Read, Seek, Write};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::read::budget::Budget;
use crate::read::error::TableError;
use crate::read::format::refused;

const BUFFER_BYTES: usize = 16 << 10;
/// How XML in UTF-16 begins, with and without a byte order mark.
const UTF_16_STARTS: [&[u8]; 4] = [b"\xff\xfe", b"\xfe\xff", b"<\0", b"\0<"];

/// An open archive.
pub(crate) struct Archive(ZipArchive<File>);

impl Archive {
    /// Reads the directory of the archive.
    ///
    /// # Errors
    /// 400 if the archive is damaged, or a document that is no XLSX workbook. The message names it.
    pub(crate) fn open(file: File) -> Result<Self, TableError> {
        let archive = ZipArchive::new(file).map(Self).map_err(unreadable)?;
        archive.other_format().map_or(Ok(archive), |name| Err(refused(name)))
    }

    /// Returns what the archive is instead of an XLSX workbook, if its parts tell.
    fn other_format(&self) -> Option<&'static str> {
        let has = |test: fn(&str) -> bool| self.0.file_names().any(|name| name.is_ok_and(|name| test(&name)));
        if has(|name| name == "mimetype") {
            Some("an OpenDocument file (ODS): save it as XLSX or CSV")
        } else if has(|name| name.starts_with("Index/") || name == "Index.zip") {
            Some("a Numbers document: export it to Excel (XLSX) or CSV")
        } else if has(|name| name == "xl/workbook.bin") {
            Some("a binary workbook (XLSB): save it as XLSX or CSV")
        } else if has(|name| name.starts_with("word/")) {
            Some("a Word document: copy the table into a spreadsheet application and save it as XLSX or CSV")
        } else if has(|name| name.starts_with("ppt/")) {
            Some("a presentation: copy the table into a spreadsheet application and save it as XLSX or CSV")
        } else {
            None
        }
    }

    /// Unpacks the part with this name, compared without case and leading `/`. Returns `None` if there is none.
    ///
    /// # Errors
    /// [`TableError::TooLarge`] if the part has more than `limit` bytes, or more than remain in the budget.
    pub(crate) fn part(
        &mut self,
        name: &str,
        limit: usize,
        budget: &mut Budget,
    ) -> Result<Option<File>, TableError> {
        let max_bytes = limit.min(budget.unpacked_bytes());
        let Some((part, size)) = self.unpack(name, max_bytes.saturating_add(1))? else { return Ok(None) };
        if size > max_bytes {
            return Err(TableError::TooLarge(limit));
        }
        budget.take_unpacked(size);
        Ok(Some(part))
    }

    /// Unpacks the first bytes of a part, without its checksum being verified.
    ///
    /// # Errors
    /// As those of [`Archive::part`], but a longer part is cut off.
    pub(crate) fn start_of_part(
        &mut self,
        name: &str,
        bytes: usize,
        budget: &mut Budget,
    ) -> Result<Option<File>, TableError> {
        let Some((part, size)) = self.unpack(name, bytes.min(budget.unpacked_bytes()))? else {
            return Ok(None);
        };
        budget.take_unpacked(size);
        Ok(Some(part))
    }

    /// Unpacks up to `max_bytes` of a part into a temporary file. Returns it with its size.
    fn unpack(&mut self, name: &str, max_bytes: usize) -> Result<Option<(File, usize)>, TableError> {
        let name = name.trim_start_matches('/');
        let is_same = |known: Cow<'_, str>| known.replace('\\', "/").eq_ignore_ascii_case(name);
        let Some(index) = self.0.file_names().position(|known| known.is_ok_and(is_same)) else {
            return Ok(None);
        };
        let mut part = self.0.by_index(index).map_err(unreadable)?.take(max_bytes as u64);
        let mut unpacked = tempfile::tempfile().map_err(TableError::Disk)?;
        let (mut buffer, mut size, mut head) = (vec![0; BUFFER_BYTES], 0, Vec::new());
        loop {
            let read = part.read(&mut buffer).map_err(TableError::of_reading)?;
            if read == 0 {
                break;
            }
            unpacked.write_all(&buffer[..read]).map_err(TableError::Disk)?;
            size += read;
            head.extend_from_slice(&buffer[..read.min(2_usize.saturating_sub(head.len()))]);
        }
        if UTF_16_STARTS.contains(&&*head) {
            return Err(TableError::unreadable("has a part in UTF-16: save it again as XLSX", None));
        }
        unpacked.rewind().map_err(TableError::Disk)?;
        Ok(Some((unpacked, size)))
    }
}

fn unreadable(error: ZipError) -> TableError {
    match error {
        ZipError::Io(error) => TableError::of_reading(error),
        ZipError::CompressionMethodNotSupported(_) => {
            TableError::unreadable("is compressed by an unusual method: save it again as XLSX", None)
        }
        ZipError::UnsupportedArchive(ZipError::PASSWORD_REQUIRED) | ZipError::InvalidPassword => {
            TableError::unreadable("is an archive with a password: save it without one", None)
        }
        _ => TableError::unreadable("is a damaged, encrypted or truncated archive", None),
    }
}

#[cfg(test)]
mod tests {
    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::read::budget::TableLimits;

    #[test]
    fn reports_the_limit_of_the_part_when_the_budget_is_exceeded() {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        writer.start_file("part", SimpleFileOptions::default()).unwrap();
        writer.write_all(&[b'x'; 40]).unwrap();
        let mut archive = Archive::open(writer.finish().unwrap()).unwrap();
        let mut budget = Budget::new(TableLimits { rows: 10, bytes: 10 });
        let mut part = |limit| archive.part("part", limit, &mut budget);
        assert!(part(50).unwrap().is_some());
        assert!(matches!(part(50), Err(TableError::TooLarge(50))), "30 of 70 bytes remain");
        let start = archive.start_of_part("part", 50, &mut budget).unwrap().unwrap();
        assert_eq!(start.metadata().unwrap().len(), 30);
    }
}

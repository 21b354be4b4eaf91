//! The ZIP archive of a workbook. Each part is unpacked into a temporary file up to its limit, and parsed only after
//! its checksum was verified.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use crate::loads::batch::table::budget::Budget;
use crate::loads::batch::table::error::TableError;

/// An open archive.
pub(crate) struct Archive(ZipArchive<File>);

impl Archive {
    /// Reads the directory of the archive.
    pub(crate) fn open(file: File) -> Result<Self, TableError> {
        ZipArchive::new(file).map(Self).map_err(damaged)
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
        let max_bytes = limit.min(budget.unpacked_bytes()) as u64;
        let name = name.trim_start_matches('/');
        let is_same = |known: Cow<'_, str>| known.replace('\\', "/").eq_ignore_ascii_case(name);
        let Some(index) = self.0.file_names().position(|known| known.is_ok_and(is_same)) else {
            return Ok(None);
        };
        let mut part = self.0.by_index(index).map_err(damaged)?;
        let mut unpacked = tempfile::tempfile()?;
        let size = io::copy(&mut part.by_ref().take(max_bytes.saturating_add(1)), &mut unpacked)?;
        if size > max_bytes {
            return Err(TableError::TooLarge(limit));
        }
        budget.take_unpacked(usize::try_from(size).unwrap_or(usize::MAX));
        unpacked.rewind()?;
        Ok(Some(unpacked))
    }
}

fn damaged(error: ZipError) -> TableError {
    match error {
        ZipError::Io(error) => error.into(),
        _ => TableError::unreadable("is a damaged, encrypted or truncated archive", None),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::*;
    use crate::loads::batch::table::budget::TableLimits;

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
    }
}

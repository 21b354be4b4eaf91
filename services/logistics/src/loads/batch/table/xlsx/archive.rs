//! The ZIP archive that a workbook is: parts are unpacked into temporary files, each only as far as its limit, and read
//! from there once their checksum is known to be right.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read, Seek};

use zip::ZipArchive;
use zip::result::ZipError;

use super::super::{Budget, TableError};

pub struct Archive(ZipArchive<File>);

impl Archive {
    pub fn open(file: File) -> Result<Self, TableError> {
        ZipArchive::new(file).map(Self).map_err(damaged)
    }

    /// The part of this name, without regard to case, `/` at the beginning or not. More than `limit` bytes are an error,
    /// and more than are left of the budget.
    pub fn part(
        &mut self,
        name: &str,
        limit: usize,
        budget: &mut Budget,
    ) -> Result<Option<File>, TableError> {
        let left = limit.min(budget.unpacked_bytes);
        let name = name.trim_start_matches('/');
        let same = |known: Cow<'_, str>| known.replace('\\', "/").eq_ignore_ascii_case(name);
        let Some(index) = self.0.file_names().position(|known| known.is_ok_and(same)) else {
            return Ok(None);
        };
        let mut part = self.0.by_index(index).map_err(damaged)?;
        let mut unpacked = tempfile::tempfile()?;
        let size = io::copy(&mut part.by_ref().take((left as u64).saturating_add(1)), &mut unpacked)?;
        if size > left as u64 {
            return Err(TableError::TooLarge(limit));
        }
        budget.unpacked_bytes -= usize::try_from(size).unwrap_or(left);
        unpacked.rewind()?;
        Ok(Some(unpacked))
    }
}

fn damaged(error: ZipError) -> TableError {
    match error {
        ZipError::Io(error) => error.into(),
        _ => TableError::unreadable("is a damaged or encrypted archive, or cut off", None),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use zip::ZipWriter;
    use zip::write::SimpleFileOptions;

    use super::super::super::Limits;
    use super::*;

    #[test]
    fn a_part_that_exceeds_the_rest_of_the_budget_names_its_limit() {
        let mut writer = ZipWriter::new(tempfile::tempfile().unwrap());
        writer.start_file("part", SimpleFileOptions::default()).unwrap();
        writer.write_all(&[b'x'; 40]).unwrap();
        let mut archive = Archive::open(writer.finish().unwrap()).unwrap();
        let mut budget = Budget::new(Limits { rows: 10, bytes: 10 });
        let mut part = |limit| archive.part("part", limit, &mut budget);
        assert!(part(50).unwrap().is_some());
        assert!(matches!(part(50), Err(TableError::TooLarge(50))), "30 of 70 bytes are left");
    }
}

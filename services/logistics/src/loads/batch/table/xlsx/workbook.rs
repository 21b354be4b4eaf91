//! The workbook part and its relations: the first worksheet, the shared strings and the number styles.

use std::borrow::Cow;
use std::fs::File;

use common::validation::Code;
use quick_xml::events::Event;

use super::archive::Archive;
use super::cell::{CellType, NumberStyle, parse_iso_date, parse_numeric};
use super::number_styles::read_number_styles;
use super::xml::{TextCollector, XmlReader, attribute, attributes, decode_escapes};
use crate::loads::batch::table::budget::Budget;
use crate::loads::batch::table::cell::Cell;
use crate::loads::batch::table::error::TableError;

/// The maximum size of each part except worksheet and shared strings.
const MAX_PART_BYTES: usize = 8 << 20;
/// The maximum size of the shared strings, per byte of the file limit.
const STRINGS_FACTOR: usize = 2;
/// The maximum size of the worksheet, per byte of the file limit.
const SHEET_FACTOR: usize = 5;

/// The parts of a workbook that its cells refer to.
pub(crate) struct Workbook {
    strings: SharedStrings,
    /// What each style makes of numbers.
    styles: Vec<NumberStyle>,
    /// Dates count from 1904 instead of 1900.
    is_1904: bool,
}

/// The shared strings in one text, and where each ends. Avoids an allocation per string.
#[derive(Default)]
struct SharedStrings {
    text: String,
    ends: Vec<u32>,
}

/// A relation from one part to another.
struct Relation {
    id: Vec<u8>,
    /// The last component of the type, such as `worksheet` or `styles`.
    kind: Vec<u8>,
    part: String,
}

impl Workbook {
    /// Opens a workbook. Returns it with a reader for its first worksheet.
    pub(crate) fn open(file: File, budget: &mut Budget) -> Result<(Self, XmlReader), TableError> {
        let (mut archive, bytes) = (Archive::open(file)?, budget.limits().bytes);
        let mut xml = |name: &str, limit, budget: &mut Budget| {
            archive.part(name, limit, budget).map(|part| part.map(XmlReader::new))
        };
        let root = xml("_rels/.rels", MAX_PART_BYTES, budget)?.ok_or_else(not_a_workbook)?;
        let root = read_relations(root, "", budget)?;
        let root = root.into_iter().find(|relation| relation.kind == b"officeDocument");
        let name = root.ok_or_else(not_a_workbook)?.part;
        let book = xml(&name, MAX_PART_BYTES, budget)?.ok_or_else(not_a_workbook)?;
        let (sheet_id, is_1904) = read_book(book, budget)?;
        let (folder, file_name) = name.rsplit_once('/').unwrap_or(("", &name));
        let relations = xml(&format!("{folder}/_rels/{file_name}.rels"), MAX_PART_BYTES, budget)?;
        let relations = read_relations(relations.ok_or_else(not_a_workbook)?, folder, budget)?;
        let mut part = |kind: &[u8], id: Option<&[u8]>, limit, budget: &mut Budget| {
            let matches = |r: &&Relation| r.kind == kind && id.is_none_or(|id| r.id == id);
            relations.iter().find(matches).map_or(Ok(None), |relation| xml(&relation.part, limit, budget))
        };
        let strings = part(b"sharedStrings", None, bytes.saturating_mul(STRINGS_FACTOR), budget)?;
        let strings = strings.map(|xml| SharedStrings::read(xml, budget)).transpose()?.unwrap_or_default();
        let styles = part(b"styles", None, MAX_PART_BYTES, budget)?;
        let styles = styles.map(|xml| read_number_styles(xml, budget)).transpose()?.unwrap_or_default();
        let sheet = part(b"worksheet", Some(&sheet_id), bytes.saturating_mul(SHEET_FACTOR), budget)?;
        Ok((Self { strings, styles, is_1904 }, sheet.ok_or_else(not_a_workbook)?))
    }

    /// Converts the value of a cell. `style` is an index into the styles, by default 0.
    ///
    /// # Errors
    /// If the value is the index of a missing shared string.
    pub(crate) fn cell(
        &self,
        cell_type: CellType,
        style: Option<u64>,
        value: String,
    ) -> Result<Cell, TableError> {
        Ok(match cell_type {
            CellType::Shared if value.is_empty() => Cell::Text(value),
            CellType::Shared => {
                let string = value.trim().parse().ok().and_then(|index| self.strings.get(index));
                let missing = || TableError::unreadable("refers to a missing shared string", None);
                Cell::Text(string.ok_or_else(missing)?.to_owned())
            }
            CellType::Inline => Cell::Text(decode_escapes(value)),
            CellType::FormulaText => Cell::Text(value),
            CellType::Boolean => Cell::Text(match value.trim() {
                "1" | "true" => "TRUE".into(),
                "" => value,
                _ => "FALSE".into(),
            }),
            CellType::Error => Cell::Invalid(Code::Type, "is a spreadsheet error, such as #N/A or #REF!"),
            CellType::Date => parse_iso_date(value.trim()),
            CellType::Number => {
                let style = usize::try_from(style.unwrap_or_default()).unwrap_or(usize::MAX);
                let style = self.styles.get(style).copied().unwrap_or_default();
                parse_numeric(value, style, self.is_1904)
            }
        })
    }
}

impl SharedStrings {
    fn read(mut xml: XmlReader, budget: &mut Budget) -> Result<Self, TableError> {
        let (mut strings, mut text) = (Self::default(), TextCollector::new(b"t"));
        loop {
            match xml.next(budget)? {
                Event::End(e) if e.local_name().as_ref() == b"si" => {
                    strings.text.push_str(&decode_escapes(text.take()));
                    let end = u32::try_from(strings.text.len());
                    strings.ends.push(end.map_err(|_| TableError::TooLarge(u32::MAX as usize))?);
                }
                Event::Eof => return Ok(strings),
                event => text.add(&event)?,
            }
        }
    }

    fn get(&self, index: usize) -> Option<&str> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? as usize };
        self.text.get(start..*self.ends.get(index)? as usize)
    }
}

/// Returns the relation id of the first sheet, and whether dates count from 1904.
fn read_book(mut xml: XmlReader, budget: &mut Budget) -> Result<(Vec<u8>, bool), TableError> {
    let (mut sheet_id, mut is_1904) = (None, false);
    loop {
        match xml.next(budget)? {
            Event::Start(e) if e.local_name().as_ref() == b"sheet" && sheet_id.is_none() => {
                sheet_id = attribute(&e, b"id").map(Cow::into_owned);
            }
            Event::Start(e) if e.local_name().as_ref() == b"workbookPr" => {
                is_1904 = attribute(&e, b"date1904").is_some_and(|value| matches!(&*value, b"1" | b"true"));
            }
            Event::Eof => return sheet_id.map(|id| (id, is_1904)).ok_or_else(not_a_workbook),
            _ => {}
        }
    }
}

fn read_relations(
    mut xml: XmlReader,
    folder: &str,
    budget: &mut Budget,
) -> Result<Vec<Relation>, TableError> {
    let mut relations = Vec::new();
    loop {
        match xml.next(budget)? {
            Event::Start(e) if e.local_name().as_ref() == b"Relationship" => {
                let (mut id, mut kind, mut target) = (Vec::new(), Vec::new(), String::new());
                for (name, value) in attributes(&e) {
                    match name {
                        b"Id" => id = value.into_owned(),
                        b"Type" => {
                            value.rsplit(|b| *b == b'/').next().unwrap_or_default().clone_into(&mut kind);
                        }
                        b"Target" => target = String::from_utf8_lossy(&value).into_owned(),
                        _ => {}
                    }
                }
                relations.push(Relation { id, kind, part: resolve(folder, &target) });
            }
            Event::Eof => return Ok(relations),
            _ => {}
        }
    }
}

/// Resolves a target to a path from the root of the archive.
fn resolve(folder: &str, target: &str) -> String {
    let folder = if target.starts_with('/') { "" } else { folder };
    let mut path: Vec<_> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/').filter(|part| !part.is_empty() && *part != ".") {
        if part == ".." {
            path.pop();
        } else {
            path.push(part);
        }
    }
    path.join("/")
}

fn not_a_workbook() -> TableError {
    TableError::refused(Code::Format, "must be CSV or XLSX; this is an archive without a worksheet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resolves_targets_from_folder_or_root() {
        assert_eq!(resolve("xl", "worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(resolve("xl", "/xl/a.xml"), "xl/a.xml");
        assert_eq!(resolve("xl/b", "../../../a.xml"), "a.xml");
    }
}

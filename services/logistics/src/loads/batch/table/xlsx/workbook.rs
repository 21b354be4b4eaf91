//! What a workbook says about its sheets: which one is first, its strings, its dates.

use std::fs::File;

use common::validation::Code;
use quick_xml::events::Event;

use super::super::{Budget, Cell, TableError};
use super::archive::Archive;
use super::cell::{self, Kind};
use super::styles;
use super::xml::{Text, Xml, attributes};

/// The most bytes of each part but the sheet and the shared strings.
const MAX_PART_BYTES: usize = 8 << 20;

pub struct Workbook {
    strings: Strings,
    dates: Vec<bool>,
    is_1904: bool,
}

/// All strings in one text, and where each ends: many small ones cost no more than large ones.
#[derive(Default)]
struct Strings {
    text: String,
    ends: Vec<u32>,
}

/// What a part says of another.
struct Relation {
    id: Vec<u8>,
    /// The last component of its type: `worksheet`, `styles`.
    kind: Vec<u8>,
    part: String,
}

impl Workbook {
    /// The workbook, and where its first sheet is.
    pub fn open(file: File, budget: &mut Budget) -> Result<(Self, Xml), TableError> {
        let (mut archive, bytes) = (Archive::open(file)?, budget.limits.bytes);
        let mut xml = |name: &str, limit, budget: &mut Budget| {
            archive.part(name, limit, budget).map(|part| part.map(Xml::new))
        };
        let root = xml("_rels/.rels", MAX_PART_BYTES, budget)?.ok_or_else(no_workbook)?;
        let root = relations(root, "", budget)?;
        let root = root.into_iter().find(|relation| relation.kind == b"officeDocument");
        let name = root.ok_or_else(no_workbook)?.part;
        let book = xml(&name, MAX_PART_BYTES, budget)?.ok_or_else(no_workbook)?;
        let (first, is_1904) = sheet(book, budget)?;
        let (folder, own) = name.rsplit_once('/').unwrap_or(("", &name));
        let related = xml(&format!("{folder}/_rels/{own}.rels"), MAX_PART_BYTES, budget)?;
        let related = relations(related.ok_or_else(no_workbook)?, folder, budget)?;
        let mut part = |kind: &[u8], id: Option<&[u8]>, limit, budget: &mut Budget| {
            let is_it = |r: &&Relation| r.kind == kind && id.is_none_or(|id| r.id == id);
            related.iter().find(is_it).map_or(Ok(None), |relation| xml(&relation.part, limit, budget))
        };
        let strings = part(b"sharedStrings", None, bytes.saturating_mul(2), budget)?;
        let strings = strings.map(|xml| Strings::read(xml, budget)).transpose()?;
        let dates = part(b"styles", None, MAX_PART_BYTES, budget)?;
        let dates = dates.map(|xml| styles::dates(xml, budget)).transpose()?;
        let sheet =
            part(b"worksheet", Some(&first), bytes.saturating_mul(5), budget)?.ok_or_else(no_workbook)?;
        Ok((Self { strings: strings.unwrap_or_default(), dates: dates.unwrap_or_default(), is_1904 }, sheet))
    }

    /// What stands in a cell with this value.
    pub fn cell(&self, kind: Kind, style: Option<u64>, text: String) -> Result<Cell, TableError> {
        Ok(match kind {
            Kind::Shared if text.is_empty() => Cell::Text(text),
            Kind::Shared => {
                let string = text.trim().parse().ok().and_then(|index| self.strings.get(index));
                Cell::Text(
                    string
                        .ok_or_else(|| TableError::unreadable("names a string that it has not", None))?
                        .to_owned(),
                )
            }
            Kind::Inline | Kind::Text => Cell::Text(text),
            Kind::Boolean => Cell::Text(match text.trim() {
                "1" | "true" => "TRUE".into(),
                "" => text,
                _ => "FALSE".into(),
            }),
            Kind::Error => Cell::Refused(Code::Type, "is an error of the spreadsheet, such as #N/A or #REF!"),
            Kind::Date => cell::iso(text.trim()),
            Kind::Number => {
                let style = usize::try_from(style.unwrap_or_default()).unwrap_or(usize::MAX);
                cell::number(text, self.dates.get(style).copied().unwrap_or_default(), self.is_1904)
            }
        })
    }
}

impl Strings {
    fn read(mut xml: Xml, budget: &mut Budget) -> Result<Self, TableError> {
        let (mut strings, mut text) = (Self::default(), Text::new(b"t"));
        loop {
            match xml.next(budget)? {
                Event::End(e) if e.local_name().as_ref() == b"si" => {
                    strings.text.push_str(&text.take());
                    strings.ends.push(
                        u32::try_from(strings.text.len())
                            .map_err(|_| TableError::TooLarge(u32::MAX as usize))?,
                    );
                }
                Event::Eof => return Ok(strings),
                event => text.see(&event)?,
            }
        }
    }

    fn get(&self, index: usize) -> Option<&str> {
        let begin = if index == 0 { 0 } else { *self.ends.get(index - 1)? as usize };
        self.text.get(begin..*self.ends.get(index)? as usize)
    }
}

/// The relation of the first sheet, and whether dates count from 1904.
fn sheet(mut xml: Xml, budget: &mut Budget) -> Result<(Vec<u8>, bool), TableError> {
    let (mut first, mut is_1904) = (None, false);
    loop {
        match xml.next(budget)? {
            Event::Start(e) if e.local_name().as_ref() == b"sheet" && first.is_none() => {
                first = attributes(&e).find(|(name, _)| *name == b"id").map(|(_, id)| id.into_owned());
            }
            Event::Start(e) if e.local_name().as_ref() == b"workbookPr" => {
                let date1904 = attributes(&e).find(|(name, _)| *name == b"date1904");
                is_1904 = date1904.is_some_and(|(_, value)| matches!(&*value, b"1" | b"true"));
            }
            Event::Eof => return first.map(|first| (first, is_1904)).ok_or_else(no_workbook),
            _ => {}
        }
    }
}

fn relations(mut xml: Xml, folder: &str, budget: &mut Budget) -> Result<Vec<Relation>, TableError> {
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

/// A target as a path from the root of the archive.
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

fn no_workbook() -> TableError {
    TableError::refused(Code::Format, "must be CSV or XLSX; this is an archive, but no workbook with a sheet")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets() {
        assert_eq!(resolve("xl", "worksheets/sheet1.xml"), "xl/worksheets/sheet1.xml");
        assert_eq!(resolve("xl", "/xl/a.xml"), "xl/a.xml");
        assert_eq!(resolve("xl/b", "../../../a.xml"), "a.xml");
    }
}

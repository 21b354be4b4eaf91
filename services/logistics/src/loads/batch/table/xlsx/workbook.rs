//! What a workbook says about its sheets: which one is first, its strings, its dates.

use std::fs::File;

use common::problem::Code;
use quick_xml::events::Event;

use super::super::{Cell, Fault};
use super::archive::{Archive, Part};
use super::cell::{self, Kind};
use super::styles;
use super::xml::{Text, Xml, attributes};

/// The most bytes of each part but the sheet and the shared strings.
const PART_MAX: usize = 8 << 20;

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
    /// The workbook, and where its first sheet is; its strings may unpack to so many bytes.
    pub fn open(file: &File, strings_max: usize) -> Result<(Self, Part), Fault> {
        let archive = Archive::open(file)?;
        let xml = |part: Part, limit| Ok::<_, Fault>(Xml::new(part.unpack(file, limit)?));
        let related = |name: &str| -> Result<Vec<Relation>, Fault> {
            let (folder, own) = name.rsplit_once('/').unwrap_or(("", name));
            let part = archive.part(&format!("{folder}/_rels/{own}.rels")).ok_or_else(no_workbook)?;
            relations(xml(part, PART_MAX)?, folder)
        };
        let root = related("")?.into_iter().find(|relation| relation.kind == b"officeDocument");
        let name = root.ok_or_else(no_workbook)?.part;
        let main = archive.part(&name).ok_or_else(no_workbook)?;
        let (first, is_1904) = sheet(xml(main, PART_MAX)?)?;
        let related = related(&name)?;
        let sheet = related.iter().find(|relation| relation.id == first && relation.kind == b"worksheet");
        let sheet = sheet.and_then(|relation| archive.part(&relation.part)).ok_or_else(no_workbook)?;
        let part = |kind: &[u8]| {
            related
                .iter()
                .find(|relation| relation.kind == kind)
                .and_then(|relation| archive.part(&relation.part))
        };
        let mut workbook = Self { strings: Strings::default(), dates: Vec::new(), is_1904 };
        if let Some(part) = part(b"sharedStrings") {
            workbook.strings = Strings::read(xml(part, strings_max)?)?;
        }
        if let Some(part) = part(b"styles") {
            workbook.dates = styles::dates(xml(part, PART_MAX)?)?;
        }
        Ok((workbook, sheet))
    }

    /// What stands in a cell with this value.
    pub fn cell(&self, kind: Kind, style: Option<u64>, text: String) -> Result<Cell, Fault> {
        Ok(match kind {
            Kind::Shared if text.is_empty() => Cell::Text(text),
            Kind::Shared => {
                let string = text.trim().parse().ok().and_then(|index| self.strings.get(index));
                Cell::Text(
                    string
                        .ok_or_else(|| Fault::unreadable("names a string that it has not", None))?
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
    fn read(mut xml: Xml<&File>) -> Result<Self, Fault> {
        let (mut strings, mut text) = (Self::default(), Text::new(b"t"));
        loop {
            match xml.next()? {
                Event::End(e) if e.local_name().as_ref() == b"si" => {
                    strings.text.push_str(&text.take());
                    strings
                        .ends
                        .push(u32::try_from(strings.text.len()).map_err(|_| Fault::TooLarge(xml.limit))?);
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
fn sheet(mut xml: Xml<&File>) -> Result<(Vec<u8>, bool), Fault> {
    let (mut first, mut is_1904) = (None, false);
    loop {
        match xml.next()? {
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

fn relations(mut xml: Xml<&File>, folder: &str) -> Result<Vec<Relation>, Fault> {
    let mut relations = Vec::new();
    loop {
        match xml.next()? {
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

fn no_workbook() -> Fault {
    Fault::refused(Code::Format, "must be CSV or XLSX; this is an archive, but no workbook with a sheet")
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

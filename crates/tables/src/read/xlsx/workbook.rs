//! The workbook part and its relations: the worksheets, the shared strings and the number styles.

use std::collections::HashMap;

use crate::read::Fault;
use quick_xml::events::Event;

use super::archive::Archive;
use super::cell::{CellStyle, CellType, NO_DATE, NumberStyle, parse_iso_date, parse_numeric};
use super::number_styles::read_number_styles;
use super::xml::{Namespace, TextCollector, XmlReader, attribute, attributes, decode_escapes, is_true};
use crate::read::budget::Budget;
use crate::read::cell::{Cell, SPREADSHEET_ERROR};
use crate::read::error::TableError;
use crate::read::format::refused;

/// The maximum size of each part except worksheet and shared strings.
const MAX_PART_BYTES: usize = 8 << 20;
/// The maximum size of the shared strings, per byte of the file limit.
const STRINGS_FACTOR: usize = 2;
/// The maximum length of the name of a sheet. Spreadsheet applications allow 31 characters.
const MAX_NAME_CHARS: usize = 100;
/// The types of relations, without their last component.
const RELATIONS: [&[u8]; 2] = [
    b"http://schemas.openxmlformats.org/officeDocument/2006/relationships/",
    b"http://purl.oclc.org/ooxml/officeDocument/relationships/",
];

/// The parts of a workbook that its cells refer to.
pub(crate) struct Workbook {
    strings: SharedStrings,
    /// What each style makes of values.
    styles: Vec<CellStyle>,
    book: Book,
}

/// What the workbook part tells.
#[derive(Default)]
struct Book {
    /// The sheets: their names, the ids of their relations, and whether they are hidden.
    sheets: Vec<(String, Vec<u8>, bool)>,
    /// Dates count from 1904 instead of 1900.
    is_1904: bool,
    /// Formulas are calculated when the workbook is opened. The program that wrote it does not know their results.
    is_recalculated: bool,
}

/// A worksheet.
pub(crate) struct Sheet {
    pub name: String,
    pub is_hidden: bool,
    /// The name of its part.
    pub part: String,
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
    /// Opens a workbook. Returns it with its worksheets.
    ///
    /// # Errors
    /// If the archive is no workbook.
    pub(crate) fn open(archive: &mut Archive, budget: &mut Budget) -> Result<(Self, Vec<Sheet>), TableError> {
        let bytes = budget.limits().bytes;
        let mut xml = |name: &str, limit, budget: &mut Budget| {
            archive.part(name, limit, budget).map(|part| part.map(XmlReader::new))
        };
        let root = xml("_rels/.rels", MAX_PART_BYTES, budget)?.ok_or_else(not_a_workbook)?;
        let root = read_relations(root, "", budget)?;
        let root = root.into_iter().find(|relation| relation.kind == b"officeDocument");
        let name = root.ok_or_else(not_a_workbook)?.part;
        let book = xml(&name, MAX_PART_BYTES, budget)?.ok_or_else(not_a_workbook)?;
        let book = Book::read(book, budget)?;
        let (folder, file_name) = name.rsplit_once('/').unwrap_or(("", &name));
        let relations = xml(&format!("{folder}/_rels/{file_name}.rels"), MAX_PART_BYTES, budget)?;
        let relations = read_relations(relations.ok_or_else(not_a_workbook)?, folder, budget)?;
        let mut part = |kind: &[u8], limit, budget: &mut Budget| {
            let relation = relations.iter().find(|relation| relation.kind == kind);
            relation.map_or(Ok(None), |relation| xml(&relation.part, limit, budget))
        };
        let strings = part(b"sharedStrings", bytes.saturating_mul(STRINGS_FACTOR), budget)?;
        let strings = strings.map(|xml| SharedStrings::read(xml, budget)).transpose()?.unwrap_or_default();
        let styles = part(b"styles", MAX_PART_BYTES, budget)?;
        let styles = styles.map(|xml| read_number_styles(xml, budget)).transpose()?.unwrap_or_default();
        // Chart sheets and macro sheets have no rows.
        let worksheets = relations.iter().filter(|relation| relation.kind == b"worksheet");
        let worksheets: HashMap<_, _> = worksheets.map(|relation| (&relation.id, &relation.part)).collect();
        let sheet = |(name, id, is_hidden): &(String, Vec<u8>, bool)| {
            let part = (*worksheets.get(id)?).clone();
            Some(Sheet { name: name.clone(), is_hidden: *is_hidden, part })
        };
        let sheets: Vec<_> = book.sheets.iter().filter_map(sheet).collect();
        Ok((Self { strings, styles, book }, sheets))
    }

    /// Returns true if the stored results of formulas are not their results.
    pub(crate) fn is_recalculated(&self) -> bool {
        self.book.is_recalculated
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
        is_formula: bool,
    ) -> Result<Cell, TableError> {
        let style = usize::try_from(style.unwrap_or_default()).ok().and_then(|style| self.styles.get(style));
        let number_style = style.map_or(&NumberStyle::General, |style| &style.number);
        let cell = match cell_type {
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
            CellType::Error => Cell::Invalid(Fault::Type, SPREADSHEET_ERROR, value),
            CellType::Date if value.trim().is_empty() => Cell::Text(value),
            CellType::Date if matches!(number_style, NumberStyle::NoDate(_)) => {
                Cell::NoDate(NO_DATE, value, None)
            }
            CellType::Date => Cell::Date(parse_iso_date(value.trim())),
            CellType::Number => parse_numeric(value, number_style, self.book.is_1904, is_formula),
        };
        let is_text = matches!(cell_type, CellType::Shared | CellType::Inline | CellType::FormulaText);
        if is_text && !cell.is_blank() && style.is_some_and(|style| !style.shows_texts) {
            let message = "is a text whose number format shows another one: format the cell as text, then type what it shows";
            return Ok(Cell::Invalid(Fault::Format, message, cell.to_text().into_owned()));
        }
        Ok(cell)
    }
}

impl SharedStrings {
    fn read(mut xml: XmlReader, budget: &mut Budget) -> Result<Self, TableError> {
        let (mut strings, mut text) = (Self::default(), TextCollector::new(b"t"));
        loop {
            match xml.next(budget)? {
                (Namespace::Main, Event::End(e)) if e.local_name().as_ref() == b"si" => {
                    strings.text.push_str(&decode_escapes(text.take()));
                    let end = u32::try_from(strings.text.len());
                    strings.ends.push(end.map_err(|_| TableError::TooLarge(u32::MAX as usize))?);
                }
                (_, Event::Eof) => return Ok(strings),
                (namespace, event) => text.add(namespace, &event)?,
            }
        }
    }

    fn get(&self, index: usize) -> Option<&str> {
        let start = if index == 0 { 0 } else { *self.ends.get(index - 1)? as usize };
        self.text.get(start..*self.ends.get(index)? as usize)
    }
}

impl Book {
    fn read(mut xml: XmlReader, budget: &mut Budget) -> Result<Self, TableError> {
        let mut book = Self::default();
        loop {
            let (namespace, event, scope) = xml.next_in_scope(budget)?;
            match event {
                Event::Eof => return Ok(book),
                Event::Start(e) if namespace == Namespace::Main => match e.local_name().as_ref() {
                    b"sheet" => {
                        let (mut name, mut is_visible) = (String::new(), true);
                        for (attribute, value) in attributes(&e) {
                            match attribute {
                                b"name" => {
                                    name = String::from_utf8_lossy(&value)
                                        .chars()
                                        .take(MAX_NAME_CHARS)
                                        .collect();
                                }
                                b"state" => is_visible = &*value == b"visible",
                                _ => {}
                            }
                        }
                        let id = scope.relation_id(&e);
                        book.sheets.extend(id.map(|id| (name, id, !is_visible)));
                    }
                    b"workbookPr" => book.is_1904 = is_true(&e, b"date1904"),
                    b"calcPr" => {
                        let is_incomplete = attribute(&e, b"calcCompleted")
                            .is_some_and(|value| matches!(value.trim_ascii(), b"0" | b"false"));
                        let is_forced = is_true(&e, b"fullCalcOnLoad") || is_true(&e, b"forceFullCalc");
                        book.is_recalculated = is_incomplete || is_forced;
                    }
                    _ => {}
                },
                _ => {}
            }
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
            (Namespace::Package, Event::Start(e)) if e.local_name().as_ref() == b"Relationship" => {
                let (mut id, mut kind, mut target) = (Vec::new(), Vec::new(), String::new());
                for (name, value) in attributes(&e) {
                    match name {
                        b"Id" => id = value.into_owned(),
                        b"Type" => {
                            let known = RELATIONS.iter().find_map(|start| value.strip_prefix(*start));
                            known.unwrap_or_default().clone_into(&mut kind);
                        }
                        b"Target" => target = String::from_utf8_lossy(&value).into_owned(),
                        _ => {}
                    }
                }
                relations.push(Relation { id, kind, part: resolve(folder, &target) });
            }
            (_, Event::Eof) => return Ok(relations),
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
    refused("an archive without a worksheet: unpack it, and send the table in it")
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

//! Reads XML event by event, with the namespaces of its elements, and limits for the size of an event and the depth of
//! elements.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read, Seek};

use crate::read::Fault;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};
use quick_xml::name::{Prefix, QName};

use crate::read::budget::{Budget, MAX_TEXT_BYTES};
use crate::read::error::TableError;

/// The maximum length of a tag or a text.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// The maximum depth of elements. Workbooks need less.
const MAX_DEPTH: usize = 64;
/// The maximum number of namespace declarations that are in force at a place. Excel writes about ten.
const MAX_DECLARATIONS: usize = 128;

/// The namespace of an element or of an attribute. Workbooks use either the transitional names or the strict ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Namespace {
    /// The parts of a workbook (ECMA-376, `SpreadsheetML`).
    Main,
    /// References to other parts.
    Relationship,
    /// The parts that list relations.
    Package,
    /// None, or another one.
    #[default]
    Other,
}

impl Namespace {
    fn parse(name: &[u8]) -> Self {
        match name {
            b"http://schemas.openxmlformats.org/spreadsheetml/2006/main"
            | b"http://purl.oclc.org/ooxml/spreadsheetml/main" => Self::Main,
            b"http://schemas.openxmlformats.org/officeDocument/2006/relationships"
            | b"http://purl.oclc.org/ooxml/officeDocument/relationships" => Self::Relationship,
            b"http://schemas.openxmlformats.org/package/2006/relationships" => Self::Package,
            _ => Self::Other,
        }
    }
}

/// The namespace declarations that are in force.
#[derive(Default)]
pub(crate) struct Scope {
    /// The innermost last.
    declarations: Vec<Declaration>,
    /// The namespace of names without a prefix.
    default: Namespace,
}

struct Declaration {
    /// The depth of the element that declares it.
    depth: usize,
    /// Empty for the default namespace of elements.
    prefix: Box<[u8]>,
    namespace: Namespace,
}

impl Scope {
    /// Adds the declarations of an element.
    fn enter(&mut self, e: &BytesStart<'_>, depth: usize) -> Result<(), TableError> {
        // Most elements declare nothing.
        let attributes = e.attributes_raw();
        if !attributes.contains(&b'x') || !attributes.windows(5).any(|bytes| bytes == b"xmlns") {
            return Ok(());
        }
        let mut attributes = e.attributes();
        attributes.with_checks(false);
        for attribute in attributes.flatten() {
            let prefix = match attribute.key.as_ref() {
                b"xmlns" => Some(&b""[..]),
                name => name.strip_prefix(b"xmlns:"),
            };
            if let Some(prefix) = prefix {
                if self.declarations.len() == MAX_DECLARATIONS {
                    let message = "must be a workbook; its XML declares too many namespaces";
                    return Err(TableError::refused(Fault::Format, message));
                }
                let namespace = Namespace::parse(&attribute.value);
                self.declarations.push(Declaration { depth, prefix: prefix.into(), namespace });
            }
        }
        self.default = self.find(b"");
        Ok(())
    }

    /// Removes the declarations of an element that ends.
    fn leave(&mut self, depth: usize) {
        if self.declarations.last().is_none_or(|last| last.depth < depth) {
            return;
        }
        self.declarations.retain(|declaration| declaration.depth < depth);
        self.default = self.find(b"");
    }

    fn find(&self, prefix: &[u8]) -> Namespace {
        let declaration = self.declarations.iter().rev().find(|declaration| *declaration.prefix == *prefix);
        declaration.map_or(Namespace::Other, |declaration| declaration.namespace)
    }

    fn namespace(&self, name: QName<'_>) -> Namespace {
        // Most names have no prefix.
        if name.as_ref().contains(&b':') {
            self.find(name.prefix().map_or(b"", Prefix::into_inner))
        } else {
            self.default
        }
    }

    /// Returns the relation to which an element refers by its attribute `r:id`.
    pub(crate) fn relation_id(&self, e: &BytesStart<'_>) -> Option<Vec<u8>> {
        let mut attributes = e.attributes();
        attributes.with_checks(false);
        let is_reference = |name: QName<'_>| {
            name.local_name().as_ref() == b"id"
                && name.prefix().is_some()
                && self.namespace(name) == Namespace::Relationship
        };
        attributes.flatten().find(|attribute| is_reference(attribute.key)).map(|a| a.value.into_owned())
    }
}

/// A reader for a part of the workbook.
pub(crate) struct XmlReader {
    reader: Reader<BufReader<BoundedFile>>,
    buffer: Vec<u8>,
    depth: usize,
    scope: Scope,
    /// The namespace declarations of the element that ended last are still in force.
    ended: bool,
}

/// Fails after [`MAX_EVENT_BYTES`] bytes without a new event.
struct BoundedFile {
    part: File,
    remaining: usize,
}

impl Read for BoundedFile {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.part.read(buffer)?;
        self.remaining = self.remaining.checked_sub(read).ok_or(ErrorKind::QuotaExceeded)?;
        Ok(read)
    }
}

impl XmlReader {
    /// Returns a reader for an unpacked part.
    pub(crate) fn new(part: File) -> Self {
        let part = BoundedFile { part, remaining: MAX_EVENT_BYTES };
        let mut reader = Reader::from_reader(BufReader::new(part));
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new(), depth: 0, scope: Scope::default(), ended: false }
    }

    /// Returns the part, to be read from its start again.
    ///
    /// # Errors
    /// 503 if the temporary folder fails.
    pub(crate) fn into_part(self) -> Result<File, TableError> {
        let mut part = self.reader.into_inner().into_inner().part;
        part.rewind().map_err(TableError::Disk)?;
        Ok(part)
    }

    /// Returns the next event with the namespace of its element. An empty element yields a start and an end.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<(Namespace, Event<'_>), TableError> {
        self.next_in_scope(budget).map(|(namespace, event, _)| (namespace, event))
    }

    /// Returns the next event as [`XmlReader::next`] does, with the namespace declarations that are in force there.
    pub(crate) fn next_in_scope(
        &mut self,
        budget: &mut Budget,
    ) -> Result<(Namespace, Event<'_>, &Scope), TableError> {
        budget.take_xml_event()?;
        self.buffer.clear();
        if std::mem::take(&mut self.ended) {
            self.scope.leave(self.depth + 1);
        }
        self.reader.get_mut().get_mut().remaining = MAX_EVENT_BYTES;
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) if error.kind() == ErrorKind::QuotaExceeded => {
                TableError::TooLarge(MAX_EVENT_BYTES)
            }
            // The part is a temporary file, and was unpacked completely.
            quick_xml::Error::Io(error) => TableError::Disk(std::io::Error::new(error.kind(), error)),
            _ => TableError::unreadable("has invalid XML or is truncated", None),
        })?;
        let namespace = match &event {
            Event::Start(e) => {
                self.depth += 1;
                self.scope.enter(e, self.depth)?;
                self.scope.namespace(e.name())
            }
            Event::End(e) => {
                self.depth = self.depth.saturating_sub(1);
                self.ended = true;
                self.scope.namespace(e.name())
            }
            _ => Namespace::Other,
        };
        if self.depth > MAX_DEPTH {
            return Err(TableError::refused(
                Fault::Format,
                "must be a workbook; its XML elements are nested too deeply",
            ));
        }
        Ok((namespace, event, &self.scope))
    }
}

/// Returns the attributes without a namespace, which are those of the elements of a workbook, with entities resolved.
/// Skips invalid attributes.
pub(crate) fn attributes<'a>(e: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a [u8], Cow<'a, [u8]>)> {
    // The checks for duplicates take quadratic time.
    let mut attributes = e.attributes();
    attributes.with_checks(false);
    attributes.flatten().filter_map(|attribute| {
        let name = attribute.key.into_inner();
        if name.contains(&b':') {
            return None;
        }
        if !attribute.value.contains(&b'&') {
            return Some((name, attribute.value));
        }
        let text = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?.into_owned();
        Some((name, Cow::Owned(text.into_bytes())))
    })
}

/// Returns the value of the first attribute with this name and without a namespace.
pub(crate) fn attribute<'a>(e: &'a BytesStart<'_>, name: &[u8]) -> Option<Cow<'a, [u8]>> {
    attributes(e).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Parses a truth value, which is false if it is absent.
pub(crate) fn is_true(e: &BytesStart<'_>, name: &[u8]) -> bool {
    attribute(e, name).is_some_and(|value| matches!(value.trim_ascii(), b"1" | b"true"))
}

/// Parses a decimal number.
pub(crate) fn parse_number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Collects the text of elements with one name, without phonetic hints. Cuts it off after [`MAX_TEXT_BYTES`].
pub(crate) struct TextCollector {
    text: String,
    /// There was such an element, which may be empty.
    found: bool,
    element: &'static [u8],
    in_element: bool,
    in_phonetic: bool,
}

impl TextCollector {
    /// Returns an empty collector for elements with this local name.
    pub(crate) fn new(element: &'static [u8]) -> Self {
        Self { text: String::new(), found: false, element, in_element: false, in_phonetic: false }
    }

    /// Adds the text of an event, if it is in such an element.
    ///
    /// # Errors
    /// If the text has an unknown entity or encoding.
    pub(crate) fn add(&mut self, namespace: Namespace, event: &Event<'_>) -> Result<(), TableError> {
        match event {
            Event::Start(e) if namespace == Namespace::Main => self.track(e.local_name().as_ref(), true),
            Event::End(e) if namespace == Namespace::Main => self.track(e.local_name().as_ref(), false),
            Event::Text(text) if self.in_element => self.push(&text.xml10_content().map_err(invalid_text)?),
            Event::CData(text) if self.in_element => self.push(&text.xml10_content().map_err(invalid_text)?),
            Event::GeneralRef(entity) if self.in_element => {
                let name = entity.decode().map_err(invalid_text)?;
                match entity.resolve_char_ref() {
                    Ok(Some(character)) => self.push(character.encode_utf8(&mut [0; 4])),
                    _ => self.push(resolve_predefined_entity(&name).ok_or_else(|| invalid_text(()))?),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Removes and returns the collected text.
    pub(crate) fn take(&mut self) -> String {
        std::mem::take(&mut self.text)
    }

    /// Returns true if there is no text.
    pub(crate) fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Returns true if there was such an element.
    pub(crate) fn found(&self) -> bool {
        self.found
    }

    fn track(&mut self, name: &[u8], is_start: bool) {
        if name == b"rPh" {
            self.in_phonetic = is_start;
        } else if name == self.element {
            self.in_element = is_start && !self.in_phonetic;
            self.found |= self.in_element;
        }
    }

    fn push(&mut self, text: &str) {
        let remaining = (MAX_TEXT_BYTES - self.text.len()).min(text.len());
        let end = (0..=remaining).rfind(|end| text.is_char_boundary(*end)).unwrap_or_default();
        self.text.push_str(&text[..end]);
    }
}

fn invalid_text<E>(_: E) -> TableError {
    TableError::unreadable("has invalid XML text", None)
}

/// Replaces the escapes of characters that XML cannot have, such as `_x000B_` (ECMA-376, 22.9.2.19).
pub(crate) fn decode_escapes(text: String) -> String {
    if !text.contains("_x") {
        return text;
    }
    let (mut decoded, mut rest) = (String::with_capacity(text.len()), text.as_str());
    while let Some(at) = rest.find("_x") {
        let escape = rest.get(at + 2..at + 7).and_then(|escape| escape.strip_suffix('_'));
        let is_hex = |digits: &&str| digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = escape.filter(is_hex).and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let (character, length) = match code.and_then(char::from_u32) {
            Some(character) => (character, 7),
            None => ('_', 1),
        };
        decoded.push_str(&rest[..at]);
        decoded.push(character);
        rest = &rest[at + length..];
    }
    decoded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_escapes() {
        for (given, decoded) in [
            ("plain", "plain"),
            ("a_x000B_b", "a\u{b}b"),
            ("_x005F_x000B_", "_x000B_"),
            ("__x0041_", "_A"),
            ("_x000", "_x000"),
            ("_xD800_", "_xD800_"),
            ("_x00\u{e9}_", "_x00\u{e9}_"),
        ] {
            assert_eq!(decode_escapes(given.to_owned()), decoded, "{given}");
        }
    }
}

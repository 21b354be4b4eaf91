//! Reads XML event by event, with limits for the size of an event and the depth of elements.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};

use common::validation::Code;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use crate::loads::batch::table::budget::{Budget, MAX_TEXT_BYTES};
use crate::loads::batch::table::error::TableError;

/// The maximum length of a tag or a text.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// The maximum depth of elements. Workbooks need less.
const MAX_DEPTH: usize = 64;

/// A reader for a part of the workbook.
pub(crate) struct XmlReader {
    reader: Reader<BufReader<BoundedFile>>,
    buffer: Vec<u8>,
    depth: usize,
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
        Self { reader, buffer: Vec::new(), depth: 0 }
    }

    /// Returns the next event. An empty element yields a start and an end.
    pub(crate) fn next(&mut self, budget: &mut Budget) -> Result<Event<'_>, TableError> {
        budget.take_xml_event()?;
        self.buffer.clear();
        self.reader.get_mut().get_mut().remaining = MAX_EVENT_BYTES;
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) => match error.kind() {
                ErrorKind::QuotaExceeded => TableError::TooLarge(MAX_EVENT_BYTES),
                kind => TableError::from(std::io::Error::new(kind, error)),
            },
            _ => TableError::unreadable("has invalid XML or is truncated", None),
        })?;
        match &event {
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth > MAX_DEPTH {
            return Err(TableError::refused(
                Code::Format,
                "must be a workbook; its XML elements are nested too deeply",
            ));
        }
        Ok(event)
    }
}

/// Returns the attributes by local name, with entities resolved. Skips invalid attributes.
pub(crate) fn attributes<'a>(e: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a [u8], Cow<'a, [u8]>)> {
    // The checks for duplicates take quadratic time.
    let mut attributes = e.attributes();
    attributes.with_checks(false);
    attributes.flatten().filter_map(|attribute| {
        let name = attribute.key.local_name().into_inner();
        if !attribute.value.contains(&b'&') {
            return Some((name, attribute.value));
        }
        let text = attribute.normalized_value(quick_xml::XmlVersion::Implicit1_0).ok()?.into_owned();
        Some((name, Cow::Owned(text.into_bytes())))
    })
}

/// Returns the value of the first attribute with this local name.
pub(crate) fn attribute<'a>(e: &'a BytesStart<'_>, name: &[u8]) -> Option<Cow<'a, [u8]>> {
    attributes(e).find(|(known, _)| *known == name).map(|(_, value)| value)
}

/// Parses a decimal number.
pub(crate) fn parse_number(digits: &[u8]) -> Option<u64> {
    std::str::from_utf8(digits).ok()?.parse().ok()
}

/// Collects the text of elements with one name, without phonetic hints. Cuts it off after [`MAX_TEXT_BYTES`].
pub(crate) struct TextCollector {
    text: String,
    element: &'static [u8],
    in_element: bool,
    in_phonetic: bool,
}

impl TextCollector {
    /// Returns an empty collector for elements with this local name.
    pub(crate) fn new(element: &'static [u8]) -> Self {
        Self { text: String::new(), element, in_element: false, in_phonetic: false }
    }

    /// Adds the text of an event, if it is in such an element.
    ///
    /// # Errors
    /// If the text has an unknown entity or encoding.
    pub(crate) fn add(&mut self, event: &Event<'_>) -> Result<(), TableError> {
        match event {
            Event::Start(e) => self.track(e.local_name().as_ref(), true),
            Event::End(e) => self.track(e.local_name().as_ref(), false),
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

    fn track(&mut self, name: &[u8], is_start: bool) {
        if name == b"rPh" {
            self.in_phonetic = is_start;
        } else if name == self.element {
            self.in_element = is_start && !self.in_phonetic;
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

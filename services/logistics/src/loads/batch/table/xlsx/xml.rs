//! XML, event by event, none of which may be large, nor deep.

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufReader, ErrorKind, Read};

use common::validation::Code;
use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesStart, Event};

use super::super::{Budget, MAX_TEXT_BYTES, TableError};

/// The most bytes of a tag or a text.
const MAX_EVENT_BYTES: usize = 1 << 20;
/// No workbook nests its elements deeper.
const MAX_DEPTH: usize = 64;

/// A part that is being read.
pub struct Xml {
    reader: Reader<BufReader<Bounded>>,
    buffer: Vec<u8>,
    depth: usize,
}

/// Gives out no more than an event may have before it is asked for the next.
struct Bounded {
    part: File,
    left: usize,
}

impl Read for Bounded {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.part.read(buffer)?;
        self.left = self.left.checked_sub(read).ok_or(ErrorKind::QuotaExceeded)?;
        Ok(read)
    }
}

impl Xml {
    pub fn new(part: File) -> Self {
        let mut reader = Reader::from_reader(BufReader::new(Bounded { part, left: MAX_EVENT_BYTES }));
        reader.config_mut().expand_empty_elements = true;
        Self { reader, buffer: Vec::new(), depth: 0 }
    }

    /// The next event; empty elements begin and end.
    pub fn next(&mut self, budget: &mut Budget) -> Result<Event<'_>, TableError> {
        budget.take_event()?;
        self.buffer.clear();
        self.reader.get_mut().get_mut().left = MAX_EVENT_BYTES;
        let event = self.reader.read_event_into(&mut self.buffer).map_err(|error| match error {
            quick_xml::Error::Io(error) => match error.kind() {
                ErrorKind::QuotaExceeded => TableError::TooLarge(MAX_EVENT_BYTES),
                kind => TableError::from(std::io::Error::new(kind, error)),
            },
            _ => TableError::unreadable("has parts that are no XML, or is cut off", None),
        })?;
        match &event {
            Event::Start(_) => self.depth += 1,
            Event::End(_) => self.depth = self.depth.saturating_sub(1),
            _ => {}
        }
        if self.depth > MAX_DEPTH {
            return Err(TableError::refused(
                Code::Format,
                "must be a workbook; its elements are nested too deep",
            ));
        }
        Ok(event)
    }
}

/// Attributes by their local names, with entities resolved; what cannot be read is left out.
pub fn attributes<'a>(e: &'a BytesStart<'_>) -> impl Iterator<Item = (&'a [u8], Cow<'a, [u8]>)> {
    // Without checks: they compare each with all others.
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

/// The text of certain elements within another, phonetic hints left out.
pub struct Text {
    seen: String,
    wanted: &'static [u8],
    within: bool,
    phonetic: bool,
}

impl Text {
    pub fn new(wanted: &'static [u8]) -> Self {
        Self { seen: String::new(), wanted, within: false, phonetic: false }
    }

    pub fn see(&mut self, event: &Event<'_>) -> Result<(), TableError> {
        match event {
            Event::Start(e) => self.enter(e.local_name().as_ref(), true),
            Event::End(e) => self.enter(e.local_name().as_ref(), false),
            Event::Text(text) if self.within => self.push(&text.xml10_content().map_err(unknown)?),
            Event::CData(text) if self.within => self.push(&text.xml10_content().map_err(unknown)?),
            Event::GeneralRef(entity) if self.within => {
                let name = entity.decode().map_err(unknown)?;
                match entity.resolve_char_ref() {
                    Ok(Some(character)) => self.push(character.encode_utf8(&mut [0; 4])),
                    _ => self.push(resolve_predefined_entity(&name).ok_or_else(|| unknown(()))?),
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// What was seen.
    pub fn take(&mut self) -> String {
        std::mem::take(&mut self.seen)
    }

    fn enter(&mut self, name: &[u8], begins: bool) {
        if name == b"rPh" {
            self.phonetic = begins;
        } else if name == self.wanted {
            self.within = begins && !self.phonetic;
        }
    }

    fn push(&mut self, text: &str) {
        let left = (MAX_TEXT_BYTES - self.seen.len()).min(text.len());
        let end = (0..=left).rfind(|end| text.is_char_boundary(*end)).unwrap_or_default();
        self.seen.push_str(&text[..end]);
    }
}

fn unknown<E>(_: E) -> TableError {
    TableError::unreadable("has texts that are no XML", None)
}

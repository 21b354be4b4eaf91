//! Which styles show a number as a date.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::super::{Budget, TableError};
use super::number;
use super::xml::{Xml, attributes};

/// For each style of cells, in their order.
pub fn dates(mut xml: Xml, budget: &mut Budget) -> Result<Vec<bool>, TableError> {
    let (mut own, mut dates, mut within) = (HashMap::new(), Vec::new(), false);
    loop {
        match xml.next(budget)? {
            Event::Start(e) => match e.local_name().as_ref() {
                b"numFmt" => {
                    let (mut id, mut is_date) = (None, false);
                    for (name, value) in attributes(&e) {
                        match name {
                            b"numFmtId" => id = number(&value),
                            b"formatCode" => is_date = is_date_format(&value),
                            _ => {}
                        }
                    }
                    own.extend(id.map(|id| (id, is_date)));
                }
                b"cellXfs" => within = true,
                b"xf" if within => {
                    let id =
                        attributes(&e).find(|(name, _)| *name == b"numFmtId").and_then(|(_, v)| number(&v));
                    dates.push(id.is_some_and(|id| own.get(&id).copied().unwrap_or_else(|| is_built_in(id))));
                }
                _ => {}
            },
            Event::End(e) if e.local_name().as_ref() == b"cellXfs" => within = false,
            Event::Eof => return Ok(dates),
            _ => {}
        }
    }
}

/// The formats of dates and times that every spreadsheet has (ECMA-376, 18.8.30), those of East Asia among them.
fn is_built_in(id: u64) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// True for a format code with a part of a date or time outside of quoted, escaped and bracketed text.
fn is_date_format(code: &[u8]) -> bool {
    let mut bytes = code.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                let _ = bytes.find(|byte| **byte == b'"');
            }
            b'[' => {
                // Elapsed time, as `[h]`; others are colours and languages.
                let elapsed = bytes.clone().next().is_some_and(|byte| b"hHmMsS".contains(byte));
                let length = bytes.clone().take_while(|byte| **byte != b']').count();
                if elapsed && length <= 2 {
                    return true;
                }
                let _ = bytes.find(|byte| **byte == b']');
            }
            b'\\' | b'_' | b'*' => {
                bytes.next();
            }
            // What follows is for other numbers.
            b';' => return false,
            byte if b"dDmMyYhHsS".contains(byte) => return true,
            _ => {}
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn date_formats() {
        for code in ["yyyy-mm-dd", "d/m/yy", "[$-409]mmmm\\ d", "h:mm AM/PM", "[h]:mm", "[Red]dd.mm"] {
            assert!(is_date_format(code.as_bytes()), "{code}");
        }
        for code in
            ["General", "0.00", "#,##0", "\"days\" 0", "0\\d", "[Red]0", "0_d", "@", "[Magenta]0.0", "0;d"]
        {
            assert!(!is_date_format(code.as_bytes()), "{code}");
        }
    }
}

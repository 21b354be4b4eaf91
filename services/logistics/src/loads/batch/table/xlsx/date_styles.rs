//! The cell styles that show a number as a date.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::xml::{XmlReader, attribute, attributes, parse_number};
use crate::loads::batch::table::budget::Budget;
use crate::loads::batch::table::error::TableError;

/// Reads the styles part. Returns for each cell style whether it shows a number as a date.
pub(crate) fn read_date_styles(mut xml: XmlReader, budget: &mut Budget) -> Result<Vec<bool>, TableError> {
    let (mut custom_formats, mut is_date_style, mut in_cell_styles) = (HashMap::new(), Vec::new(), false);
    loop {
        match xml.next(budget)? {
            Event::Start(e) => match e.local_name().as_ref() {
                b"numFmt" => {
                    let (mut id, mut is_date) = (None, false);
                    for (name, value) in attributes(&e) {
                        match name {
                            b"numFmtId" => id = parse_number(&value),
                            b"formatCode" => is_date = is_date_format(&value),
                            _ => {}
                        }
                    }
                    custom_formats.extend(id.map(|id| (id, is_date)));
                }
                b"cellXfs" => in_cell_styles = true,
                b"xf" if in_cell_styles => {
                    let id = attribute(&e, b"numFmtId").and_then(|value| parse_number(&value));
                    let is_date =
                        |id| custom_formats.get(&id).copied().unwrap_or_else(|| is_built_in_date_format(id));
                    is_date_style.push(id.is_some_and(is_date));
                }
                _ => {}
            },
            Event::End(e) if e.local_name().as_ref() == b"cellXfs" => in_cell_styles = false,
            Event::Eof => return Ok(is_date_style),
            _ => {}
        }
    }
}

/// Returns true for the built-in formats of dates and times (ECMA-376, 18.8.30), including those of East Asian locales.
fn is_built_in_date_format(id: u64) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// Returns true for a format code with a part of a date or time outside quoted, escaped and bracketed text.
fn is_date_format(code: &[u8]) -> bool {
    let mut bytes = code.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                let _ = bytes.find(|byte| **byte == b'"');
            }
            b'[' => {
                // Elapsed time such as `[h]`. Other brackets contain colours and locales.
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
            // The next section is for negative numbers.
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
    fn detects_date_formats() {
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

//! What the cell styles make of numbers: dates, or instants in UTC.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::cell::NumberStyle;
use super::xml::{XmlReader, attribute, attributes, parse_number};
use crate::loads::batch::table::budget::Budget;
use crate::loads::batch::table::error::TableError;

/// Reads the styles part. Returns for each cell style what it makes of a number.
pub(crate) fn read_number_styles(
    mut xml: XmlReader,
    budget: &mut Budget,
) -> Result<Vec<NumberStyle>, TableError> {
    let (mut custom_formats, mut styles, mut in_cell_styles) = (HashMap::new(), Vec::new(), false);
    loop {
        match xml.next(budget)? {
            Event::Start(e) => match e.local_name().as_ref() {
                b"numFmt" => {
                    let (mut id, mut style) = (None, NumberStyle::Number);
                    for (name, value) in attributes(&e) {
                        match name {
                            b"numFmtId" => id = parse_number(&value),
                            b"formatCode" => style = style_of_format(&value),
                            _ => {}
                        }
                    }
                    custom_formats.extend(id.map(|id| (id, style)));
                }
                b"cellXfs" => in_cell_styles = true,
                b"xf" if in_cell_styles => {
                    let id = attribute(&e, b"numFmtId").and_then(|value| parse_number(&value));
                    let built_in = |id| {
                        if is_built_in_date_format(id) { NumberStyle::Date } else { NumberStyle::Number }
                    };
                    let style = |id| custom_formats.get(&id).copied().unwrap_or_else(|| built_in(id));
                    styles.push(id.map(style).unwrap_or_default());
                }
                _ => {}
            },
            Event::End(e) if e.local_name().as_ref() == b"cellXfs" => in_cell_styles = false,
            Event::Eof => return Ok(styles),
            _ => {}
        }
    }
}

/// Returns true for the built-in formats of dates and times (ECMA-376, 18.8.30), including those of East Asian locales.
fn is_built_in_date_format(id: u64) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// Returns the style of a format code. Exports write instants with the literal `Z`.
fn style_of_format(code: &[u8]) -> NumberStyle {
    let literals: [&[u8]; 4] = [b"\"Z\"", b"\\Z", b"\" UTC\"", b"\"UTC\""];
    if !is_date_format(code) {
        NumberStyle::Number
    } else if literals.iter().any(|literal| code.ends_with(literal)) {
        NumberStyle::UtcDate
    } else {
        NumberStyle::Date
    }
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
    fn detects_formats_in_utc() {
        for code in ["yyyy\\-mm\\-dd\\ hh:mm:ss\"Z\"", "yyyy-mm-dd hh:mm\\Z", "d/m/yy h:mm\" UTC\""] {
            assert_eq!(style_of_format(code.as_bytes()), NumberStyle::UtcDate, "{code}");
        }
        for code in ["yyyy-mm-dd hh:mm", "\"Z\" d/m/yy", "hh:mm:ss"] {
            assert_eq!(style_of_format(code.as_bytes()), NumberStyle::Date, "{code}");
        }
        assert_eq!(style_of_format(b"0.0\"Z\""), NumberStyle::Number);
    }

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

//! What the cell styles make of numbers: dates, instants in UTC, or texts with other characters than the number.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::cell::NumberStyle;
use super::xml::{Namespace, XmlReader, attribute, attributes, parse_number};
use crate::read::budget::Budget;
use crate::read::error::TableError;
use crate::read::number_format::NumberFormat;

/// Reads the styles part. Returns for each cell style what it makes of a number.
pub(crate) fn read_number_styles(
    mut xml: XmlReader,
    budget: &mut Budget,
) -> Result<Vec<NumberStyle>, TableError> {
    let (mut custom_formats, mut styles) = (HashMap::new(), Vec::new());
    let (mut in_formats, mut in_cell_styles) = (false, false);
    let mut built_in_formats = HashMap::new();
    loop {
        let (namespace, event) = xml.next(budget)?;
        match event {
            Event::Eof => return Ok(styles),
            _ if namespace != Namespace::Main => {}
            Event::Start(e) => match e.local_name().as_ref() {
                b"numFmts" => in_formats = true,
                b"numFmt" if in_formats => {
                    let (mut id, mut style) = (None, NumberStyle::General);
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
                    let id = id.unwrap_or_default();
                    let custom = custom_formats.get(&id).cloned();
                    let built_in = || built_in_formats.entry(id).or_insert_with(|| style_of_id(id)).clone();
                    styles.push(custom.unwrap_or_else(built_in));
                }
                _ => {}
            },
            Event::End(e) => match e.local_name().as_ref() {
                b"numFmts" => in_formats = false,
                b"cellXfs" => in_cell_styles = false,
                _ => {}
            },
            _ => {}
        }
    }
}

/// Returns the style of a built-in format (ECMA-376, 18.8.30).
fn style_of_id(id: u64) -> NumberStyle {
    let code = match id {
        _ if is_built_in_date_format(id) => return NumberStyle::Date,
        1 => "0",
        2 => "0.00",
        3 => "#,##0",
        4 => "#,##0.00",
        5 | 6 => "$#,##0;-$#,##0",
        7 | 8 => "$#,##0.00;-$#,##0.00",
        9 => "0%",
        10 => "0.00%",
        11 => "0.00E+00",
        12 => "# ?/?",
        13 => "# ??/??",
        37 | 38 => "#,##0 ;(#,##0)",
        39 | 40 => "#,##0.00;(#,##0.00)",
        41 => "_-* #,##0_-;-* #,##0_-;_-* \"-\"_-;_-@_-",
        42 => "_-$* #,##0_-;-$* #,##0_-;_-$* \"-\"_-;_-@_-",
        43 => "_-* #,##0.00_-;-* #,##0.00_-;_-* \"-\"??_-;_-@_-",
        44 => "_-$* #,##0.00_-;-$* #,##0.00_-;_-$* \"-\"??_-;_-@_-",
        48 => "##0.0E+0",
        _ => return NumberStyle::General,
    };
    NumberStyle::Format(NumberFormat::new(code))
}

/// Returns true for the built-in formats of dates and times (ECMA-376, 18.8.30), including those of East Asian locales.
fn is_built_in_date_format(id: u64) -> bool {
    matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58)
}

/// Returns the style of a format code. Exports write instants with the literal `Z`.
fn style_of_format(code: &[u8]) -> NumberStyle {
    let literals: [&[u8]; 4] = [b"\"Z\"", b"\\Z", b"\" UTC\"", b"\"UTC\""];
    // Some programs write the German name of General.
    let is_general = [&b"General"[..], b"@", b"Standard"].iter().any(|name| code.eq_ignore_ascii_case(name));
    if is_general {
        NumberStyle::General
    } else if !is_date_format(code) {
        NumberStyle::Format(NumberFormat::new(&String::from_utf8_lossy(code)))
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
        let number = NumberStyle::Format(NumberFormat::new("0.0\"Z\""));
        assert_eq!(style_of_format(b"0.0\"Z\""), number);
        for general in [&b"General"[..], b"GENERAL", b"@", b"Standard"] {
            assert_eq!(style_of_format(general), NumberStyle::General);
        }
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

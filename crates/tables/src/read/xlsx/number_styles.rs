//! What the cell styles make of numbers: dates, instants in UTC, or texts with other characters than the number.

use std::collections::HashMap;

use quick_xml::events::Event;

use super::cell::{CellStyle, NumberStyle};
use super::xml::{Namespace, XmlReader, attribute, attributes, parse_number};
use crate::read::budget::Budget;
use crate::read::error::TableError;
use crate::read::number_format::NumberFormat;

/// Reads the styles part. Returns what each cell style makes of a value.
pub(crate) fn read_number_styles(
    mut xml: XmlReader,
    budget: &mut Budget,
) -> Result<Vec<CellStyle>, TableError> {
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
                    let (mut id, mut style) = (None, style_of_id(0));
                    for (name, value) in attributes(&e) {
                        match name {
                            b"numFmtId" => id = parse_number(&value),
                            b"formatCode" => {
                                let shows_texts =
                                    NumberFormat::new(&String::from_utf8_lossy(&value)).shows_texts();
                                style = CellStyle { number: style_of_format(&value), shows_texts };
                            }
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
fn style_of_id(id: u64) -> CellStyle {
    let code = match id {
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
        14 => "m/d/yyyy",
        15 => "d-mmm-yy",
        16 => "d-mmm",
        17 => "mmm-yy",
        18 => "h:mm AM/PM",
        19 => "h:mm:ss AM/PM",
        20 | 32 => "h:mm",
        21 | 33 => "h:mm:ss",
        22 => "m/d/yyyy h:mm",
        // Dates of East Asian locales.
        27..=31 | 34..=36 | 50..=58 => "yyyy-mm-dd",
        37 | 38 => "#,##0 ;(#,##0)",
        39 | 40 => "#,##0.00;(#,##0.00)",
        41 => "_-* #,##0_-;-* #,##0_-;_-* \"-\"_-;_-@_-",
        42 => "_-$* #,##0_-;-$* #,##0_-;_-$* \"-\"_-;_-@_-",
        43 => "_-* #,##0.00_-;-* #,##0.00_-;_-* \"-\"??_-;_-@_-",
        44 => "_-$* #,##0.00_-;-$* #,##0.00_-;_-$* \"-\"??_-;_-@_-",
        45 => "mm:ss",
        46 => "[h]:mm:ss",
        47 => "mm:ss.0",
        48 => "##0.0E+0",
        _ => "General",
    };
    CellStyle { number: style_of_format(code.as_bytes()), shows_texts: true }
}

/// Returns the style of a format code. Exports write instants with the literal `Z`.
fn style_of_format(code: &[u8]) -> NumberStyle {
    let literals: [&[u8]; 4] = [b"\"Z\"", b"\\Z", b"\" UTC\"", b"\"UTC\""];
    // Some programs write the German name of General.
    let is_general =
        [&b"General"[..], b"@", b"Standard", b""].iter().any(|name| code.eq_ignore_ascii_case(name));
    let format = NumberFormat::new(&String::from_utf8_lossy(code));
    match date_format(code) {
        _ if is_general => NumberStyle::General,
        DateFormat::None => NumberStyle::Format(format),
        DateFormat::NoDate => NumberStyle::NoDate(format),
        DateFormat::Date if literals.iter().any(|literal| code.ends_with(literal)) => {
            NumberStyle::UtcDate(format)
        }
        DateFormat::Date => NumberStyle::Date(format),
    }
}

/// What a format code shows of a date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum DateFormat {
    /// The code is no date format.
    None,
    /// A time or a duration only, a date with digits that are not its own, or a date only for some values.
    NoDate,
    Date,
}

/// Finds the parts of a date or time in a format code, outside quoted, escaped and bracketed text.
fn date_format(code: &[u8]) -> DateFormat {
    let (mut has_day, mut has_month_or_minute, mut has_time, mut is_other) = (false, false, false, false);
    let mut bytes = code.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => {
                let literal: Vec<u8> = bytes.by_ref().take_while(|byte| **byte != b'"').copied().collect();
                is_other |= literal.iter().any(u8::is_ascii_digit);
            }
            b'[' => {
                let content: Vec<u8> = bytes.by_ref().take_while(|byte| **byte != b']').copied().collect();
                // Elapsed time such as `[h]`, or a condition. Other brackets contain colours and locales.
                has_time |= content.len() <= 2 && content.iter().any(|byte| b"hHmMsS".contains(byte));
                is_other |= matches!(content.first(), Some(b'<' | b'>' | b'='));
            }
            b'\\' => is_other |= bytes.next().is_some_and(u8::is_ascii_digit),
            b'_' | b'*' => {
                bytes.next();
            }
            // The next section is for negative numbers.
            b';' => break,
            b'd' | b'D' | b'y' | b'Y' => has_day = true,
            b'm' | b'M' => has_month_or_minute = true,
            b'h' | b'H' | b's' | b'S' => has_time = true,
            _ => {}
        }
    }
    if !(has_day || has_month_or_minute || has_time) {
        DateFormat::None
    } else if is_other || !(has_day || has_month_or_minute && !has_time) {
        DateFormat::NoDate
    } else {
        DateFormat::Date
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn detects_formats_in_utc() {
        for code in ["yyyy\\-mm\\-dd\\ hh:mm:ss\"Z\"", "yyyy-mm-dd hh:mm\\Z", "d/m/yy h:mm\" UTC\""] {
            assert!(matches!(style_of_format(code.as_bytes()), NumberStyle::UtcDate(_)), "{code}");
        }
        for code in ["yyyy-mm-dd hh:mm", "\"Z\" d/m/yy"] {
            assert!(matches!(style_of_format(code.as_bytes()), NumberStyle::Date(_)), "{code}");
        }
        let number = NumberStyle::Format(NumberFormat::new("0.0\"Z\""));
        assert_eq!(style_of_format(b"0.0\"Z\""), number);
        for general in [&b"General"[..], b"GENERAL", b"@", b"Standard", b""] {
            assert_eq!(style_of_format(general), NumberStyle::General);
        }
    }

    #[test]
    fn knows_built_in_formats() {
        for id in (14..=17).chain([22]).chain(27..=31).chain(34..=36).chain(50..=58) {
            assert!(matches!(style_of_id(id).number, NumberStyle::Date(_)), "{id}");
        }
        for id in (18..=21).chain([32, 33]).chain(45..=47) {
            assert!(matches!(style_of_id(id).number, NumberStyle::NoDate(_)), "{id}");
        }
        for id in (1..=13).chain(37..=44).chain([48]) {
            assert!(matches!(style_of_id(id).number, NumberStyle::Format(_)), "{id}");
        }
        for id in [0, 23, 49, 59, 200] {
            assert_eq!(style_of_id(id).number, NumberStyle::General, "{id}");
        }
    }

    #[test]
    fn detects_date_formats() {
        for code in [
            "yyyy-mm-dd",
            "d/m/yy",
            "[$-409]mmmm\\ d",
            "d/m/yy h:mm AM/PM",
            "mmmm",
            "[Red]dd.mm",
            "yyyy-mm-dd;@",
        ] {
            assert_eq!(date_format(code.as_bytes()), DateFormat::Date, "{code}");
        }
        for code in
            ["hh:mm", "[h]", "[h]:mm", "mm:ss", "h:mm AM/PM", "[>50000]yyyy-mm-dd;0", "\"2027\"-mm-dd"]
        {
            assert_eq!(date_format(code.as_bytes()), DateFormat::NoDate, "{code}");
        }
        for code in
            ["General", "0.00", "#,##0", "\"days\" 0", "0\\d", "[Red]0", "0_d", "@", "[Magenta]0.0", "0;d"]
        {
            assert_eq!(date_format(code.as_bytes()), DateFormat::None, "{code}");
        }
    }
}

//! What number formats show (ECMA-376, 18.8.31): `000000` shows 1234 as `001234`, `"BG-"0000` shows 12 as `BG-0012`.

use std::fmt::Write;
use std::sync::Arc;

/// The maximum length of a format code in bytes. Spreadsheet applications write at most 255 characters.
const MAX_CODE_BYTES: usize = 500;
/// The number of significant digits that spreadsheets keep.
const SIGNIFICANT_DIGITS: usize = 15;
/// Numbers from here on have more digits than spreadsheets keep.
pub(crate) const TOO_MANY_DIGITS: f64 = 1e15;

/// The code of a number format, which is no date format and not `General`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberFormat(Arc<str>);

/// What a format shows for a number.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The whole text.
    pub(crate) text: String,
    /// Its digits, with sign, point and the literals that people read as a part of the number. Empty if there are none.
    digits: String,
}

/// A part of a section of a format code.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    /// `0`, `#` or `?`.
    Digit(u8),
    Point,
    Comma,
    Percent,
    /// `E+` or `E-`.
    Exponent,
    General,
    /// The text of a text cell.
    Text,
    Literal(&'a str),
}

/// What is shown for some of the numbers.
struct Section<'a> {
    condition: Option<Condition>,
    tokens: Vec<Token<'a>>,
}

struct Condition {
    operator: String,
    limit: f64,
}

impl NumberFormat {
    /// Returns the code.
    pub(crate) fn code(&self) -> &str {
        &self.0
    }

    /// Returns the format with this code.
    pub(crate) fn new(code: &str) -> Self {
        Self(code.into())
    }

    /// Returns true if a part of the format is elapsed time, such as `[h]`.
    pub(crate) fn is_elapsed_time(&self) -> bool {
        let code = self.0.to_ascii_lowercase();
        ["[h]", "[hh]", "[m]", "[mm]", "[s]", "[ss]"].iter().any(|part| code.contains(part))
    }

    /// Returns true if texts are shown as they are: by a section of `@` or `General` alone, or without a section for
    /// texts.
    pub(crate) fn shows_texts(&self) -> bool {
        let Some(code) = Some(&*self.0).filter(|code| code.len() <= MAX_CODE_BYTES) else { return false };
        let sections: Vec<_> = split_sections(code).collect();
        let Some(section) = sections.get(3).or(sections.last()) else { return true };
        let tokens = Section::parse(section).map(|section| section.tokens);
        let has_section =
            sections.len() > 3 || tokens.as_ref().is_some_and(|tokens| tokens.contains(&Token::Text));
        let is_plain = tokens.is_some_and(|tokens| {
            let is_text = |token: &&Token<'_>| matches!(token, Token::Text | Token::General);
            tokens.iter().filter(is_text).count() == 1
                && tokens.iter().all(|token| {
                    is_text(&token) || matches!(token, Token::Literal(_)) && !token.is_visible_literal()
                })
        });
        !has_section || is_plain
    }

    /// Returns what the format shows. Returns `None` if that is not known: for fractions, and for what only some
    /// applications understand.
    pub(crate) fn show(&self, value: f64) -> Option<Shown> {
        let code = Some(&*self.0).filter(|code| code.len() <= MAX_CODE_BYTES)?;
        let mut sections = split_sections(code).map(Section::parse).collect::<Option<Vec<_>>>()?;
        if sections.len() > 1 && sections.last().is_some_and(|last| last.tokens.contains(&Token::Text)) {
            sections.pop();
        }
        sections.truncate(3);
        let count = sections.len();
        let index = (0..count).find(|index| sections[*index].applies(*index, count, value))?;
        let section = &sections[index];
        let is_for_negative = match &section.condition {
            Some(condition) => condition.operator.starts_with('<') && condition.limit <= 0.0,
            None => index == 1,
        };
        section.show(value.abs(), value < 0.0 && !is_for_negative)
    }
}

impl Shown {
    /// Returns true if the digits are the number, rounded.
    pub(crate) fn is_number(&self, value: f64) -> bool {
        let decimals = self.digits.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        let (whole, fraction) = round(value.abs(), 0, decimals);
        let sign = if value < 0.0 { "-" } else { "" };
        let rounded = format!("{sign}{whole}.{fraction}").parse::<f64>();
        // Accounting formats show 0 as a dash.
        let shown = if self.digits == "-" { Ok(0.0) } else { self.digits.parse::<f64>() };
        // The same digits give the same number. Adding 0 takes the sign from 0.
        rounded
            .is_ok_and(|rounded| shown.is_ok_and(|shown| (rounded + 0.0).total_cmp(&(shown + 0.0)).is_eq()))
    }
}

/// Splits a code at each `;` that is neither quoted nor escaped nor in brackets.
fn split_sections(code: &str) -> impl Iterator<Item = &str> {
    let (mut quoted, mut escaped) = (None, false);
    code.split(move |c| match (quoted, c) {
        _ if std::mem::take(&mut escaped) => false,
        (Some(end), c) => {
            if c == end {
                quoted = None;
            }
            false
        }
        (None, '"') => {
            quoted = Some('"');
            false
        }
        (None, '[') => {
            quoted = Some(']');
            false
        }
        (None, '\\' | '_' | '*') => {
            escaped = true;
            false
        }
        (None, c) => c == ';',
    })
}

impl Token<'_> {
    fn is_visible_literal(&self) -> bool {
        matches!(self, Self::Literal(text) if !text.trim().is_empty())
    }
}

impl<'a> Section<'a> {
    fn parse(code: &'a str) -> Option<Self> {
        let (mut section, mut rest, mut has_slash) =
            (Self { condition: None, tokens: Vec::new() }, code, false);
        while let Some(first) = rest.chars().next() {
            let (token, length) = match first {
                '0' | '#' | '?' => (Some(Token::Digit(rest.as_bytes()[0])), 1),
                '.' => (Some(Token::Point), 1),
                ',' => (Some(Token::Comma), 1),
                '%' => (Some(Token::Percent), 1),
                '@' => (Some(Token::Text), 1),
                'E' | 'e' if rest[1..].starts_with(['+', '-']) => (Some(Token::Exponent), 2),
                'G' | 'g' if rest.get(..7).is_some_and(|word| word.eq_ignore_ascii_case("General")) => {
                    (Some(Token::General), 7)
                }
                '"' => {
                    let end = rest[1..].find('"').map_or(rest.len(), |end| end + 1);
                    (Some(Token::Literal(&rest[1..end])), (end + 1).min(rest.len()))
                }
                '[' => {
                    let end = rest.find(']')?;
                    section.bracket(&rest[1..end])?;
                    (None, end + 1)
                }
                '\\' | '_' | '*' => {
                    let next = rest[1..].chars().next().map_or(0, char::len_utf8);
                    // `_` leaves a space as wide as the character, `*` repeats it as far as there is room.
                    let literal = match first {
                        '\\' => Some(&rest[1..=next]),
                        '_' => Some(" "),
                        _ => None,
                    };
                    (literal.map(Token::Literal), 1 + next)
                }
                'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => return None,
                c => {
                    has_slash |= c == '/';
                    (Some(Token::Literal(&rest[..c.len_utf8()])), c.len_utf8())
                }
            };
            section.tokens.extend(token);
            rest = &rest[length..];
        }
        let is_fraction = has_slash && section.tokens.iter().any(|token| matches!(token, Token::Digit(_)));
        (!is_fraction).then_some(section)
    }

    /// Reads a colour, a condition or a currency. Returns `None` for what only some applications understand.
    fn bracket(&mut self, content: &'a str) -> Option<()> {
        if let Some(currency) = content.strip_prefix('$') {
            let symbol = currency.split('-').next().unwrap_or_default();
            self.tokens.push(Token::Literal(symbol));
            return Some(());
        }
        if content.starts_with(['<', '>', '=']) {
            let limit = content.trim_start_matches(['<', '>', '=']);
            let operator = content[..content.len() - limit.len()].to_owned();
            self.condition = Some(Condition { operator, limit: limit.trim().parse().ok()? });
        } else if content.starts_with("DBNum") || content.starts_with("NatNum") {
            return None;
        }
        Some(())
    }

    /// Returns true if the section is for this number. The sections before are not.
    fn applies(&self, index: usize, count: usize, value: f64) -> bool {
        match (&self.condition, index, count) {
            (Some(Condition { operator, limit }), ..) => match operator.as_str() {
                "<" => value < *limit,
                "<=" => value <= *limit,
                ">" => value > *limit,
                ">=" => value >= *limit,
                "<>" => value.total_cmp(limit).is_ne(),
                _ => value.total_cmp(limit).is_eq(),
            },
            (None, 0, 2) => value >= 0.0,
            (None, 0, 3) => value > 0.0,
            (None, 1, 3) => value < 0.0,
            (None, ..) => true,
        }
    }

    fn show(&self, value: f64, is_negative: bool) -> Option<Shown> {
        let mut shown = Shown::default();
        if is_negative && !self.tokens.is_empty() {
            shown.push('-');
        }
        let is_digit = |token: &Token<'_>| matches!(token, Token::Digit(_));
        let last_digit = self.tokens.iter().rposition(is_digit);
        if self.tokens.contains(&Token::Exponent) {
            if self.tokens.iter().any(Token::is_visible_literal) {
                return None;
            }
            let mantissa = self.tokens.iter().take_while(|token| **token != Token::Exponent);
            let decimals =
                mantissa.skip_while(|token| **token != Token::Point).filter(|t| is_digit(t)).count();
            let text = format!("{value:.decimals$e}");
            let (mantissa, exponent) = text.split_once('e')?;
            let exponent: i32 = exponent.parse().ok()?;
            shown.digits.push_str(&general(value));
            // Writing to a String never fails.
            let _ = write!(shown.text, "{mantissa}E{exponent:+03}");
            return Some(shown);
        }
        let point = self.tokens.iter().position(|token| *token == Token::Point).unwrap_or(self.tokens.len());
        let percents = self.tokens.iter().filter(|token| **token == Token::Percent).count();
        let (whole_digits, decimals) = self.tokens.split_at(point);
        let places = decimals.iter().filter(|token| is_digit(token)).count();
        let slots = whole_digits.iter().filter(|token| is_digit(token)).count();
        let is_comma = |index: &usize| self.tokens[*index] == Token::Comma;
        let commas = (0..self.tokens.len()).filter(is_comma);
        // A comma after the last digit divides by 1,000; one between digits separates thousands.
        let thousands = commas.filter(|index| last_digit.is_some_and(|last| *index > last)).count();
        let first_slot = whole_digits.iter().position(is_digit);
        let last_slot = whole_digits.iter().rposition(is_digit);
        let mut inner = first_slot.zip(last_slot).map_or(0..0, |(first, last)| first..last);
        let is_grouped = inner.any(|index| self.tokens[index] == Token::Comma);
        let shift = 2 * i32::try_from(percents).ok()? - 3 * i32::try_from(thousands).ok()?;
        let (whole, fraction) = round(value, shift, places);
        let whole = whole.trim_start_matches('0');
        let significant_places = fraction.trim_end_matches('0').len();
        let (mut slot, mut place) = (0, 0);
        for (index, token) in self.tokens.iter().enumerate() {
            match token {
                Token::Digit(kind) if index < point => {
                    // The first slot takes all digits for which there are no slots.
                    let right = slots - slot;
                    let (from, to) =
                        (if slot == 0 { 0 } else { whole.len().saturating_sub(right) }, whole.len() + 1);
                    let digits = &whole[from..to.saturating_sub(right).max(from)];
                    let padding = match kind {
                        b'0' => "0",
                        b'?' => " ",
                        _ => "",
                    };
                    let digits = if digits.is_empty() { padding } else { digits };
                    for (left, c) in (0..digits.len()).rev().zip(digits.chars()) {
                        let to_right = right - 1 + left;
                        shown.push(c);
                        if is_grouped && c != ' ' && to_right > 0 && to_right % 3 == 0 {
                            shown.text.push(',');
                        }
                    }
                    slot += 1;
                }
                Token::Digit(kind) => {
                    let is_rest_zero = place >= significant_places;
                    match kind {
                        b'0' => shown.push(char::from(fraction.as_bytes()[place])),
                        _ if !is_rest_zero => shown.push(char::from(fraction.as_bytes()[place])),
                        b'?' => shown.text.push(' '),
                        _ => {}
                    }
                    place += 1;
                }
                Token::Point => {
                    if slots == 0 {
                        whole.chars().for_each(|digit| shown.push(digit));
                    }
                    shown.push('.');
                }
                Token::General | Token::Text => {
                    general(value).chars().for_each(|c| shown.push(c));
                }
                Token::Percent => shown.text.push('%'),
                Token::Literal(text) => {
                    shown.text.push_str(text);
                    let is_before_number = matches!(
                        self.tokens.get(index + 1),
                        Some(Token::Digit(_) | Token::General | Token::Text)
                    );
                    for (at, c) in text.char_indices() {
                        let is_before_number = is_before_number && at + c.len_utf8() == text.len();
                        match c {
                            '0'..='9' | '%' => shown.digits.push(c),
                            '.' | ',' | '(' if is_before_number => shown.digits.push(c),
                            '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' => shown.digits.push('-'),
                            _ => {}
                        }
                    }
                }
                Token::Comma if last_digit.is_none() => shown.text.push(','),
                Token::Comma | Token::Exponent => {}
            }
        }
        Some(shown)
    }
}

impl Shown {
    fn push(&mut self, c: char) {
        self.text.push(c);
        if c != ' ' {
            self.digits.push(c);
        }
    }
}

/// Returns a number in its shortest form, as the format `General` shows it in a wide column.
pub(crate) fn general(value: f64) -> String {
    value.to_string()
}

/// Rounds a number to the digits that spreadsheets keep.
pub(crate) fn significant(value: f64) -> f64 {
    let decimals = SIGNIFICANT_DIGITS - 1;
    format!("{value:.decimals$e}").parse().unwrap_or(value)
}

/// Returns the digits before and after the point of a positive number times 10 to the power of `shift`. Half of the
/// last place is rounded up, as spreadsheets do.
fn round(value: f64, shift: i32, places: usize) -> (String, String) {
    let decimals = SIGNIFICANT_DIGITS - 1;
    let text = format!("{value:.decimals$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let exponent = exponent.parse::<i32>().unwrap_or_default() + shift;
    // Zeros in front, so that rounding up has room and the point is within the digits.
    let zeros = usize::try_from(-exponent).unwrap_or_default() + 1;
    let mut digits = vec![b'0'; zeros];
    digits.extend(mantissa.bytes().filter(u8::is_ascii_digit));
    let point = if exponent < 0 { 2 } else { 2 + usize::try_from(exponent).unwrap_or_default() };
    let end = point + places;
    let rounds_up = digits.get(end).is_some_and(|digit| *digit >= b'5');
    digits.resize(end, b'0');
    if rounds_up {
        for digit in digits.iter_mut().rev() {
            if *digit < b'9' {
                *digit += 1;
                break;
            }
            *digit = b'0';
        }
    }
    let text: String = digits.into_iter().map(char::from).collect();
    let (whole, fraction) = text.split_at(point);
    (whole.to_owned(), fraction.to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn show(code: &str, value: f64) -> Option<String> {
        NumberFormat::new(code).show(value).map(|shown| shown.text)
    }

    #[test]
    fn shows_numbers_as_spreadsheets_do() {
        for (code, value, text) in [
            ("00000", 472.0, "00472"),
            ("00000", 1_234_567.0, "1234567"),
            ("\"T-\"000", 7.0, "T-007"),
            ("\"T-\"000", -7.0, "-T-007"),
            ("000\\-00\\-0000", 123_456_789.0, "123-45-6789"),
            ("000-000", 1_234_567.0, "1234-567"),
            ("#,##0", 1_234_567.0, "1,234,567"),
            ("#,##0.00\\ \"tonnes\"", 1234.5, "1,234.50 tonnes"),
            ("0.0", 12.25, "12.3"),
            ("0.00", 2.675, "2.68"),
            ("0.0", 9.96, "10.0"),
            ("0.#", 5.0, "5."),
            ("0.0##", 5.25, "5.25"),
            (".00", 5.25, "5.25"),
            ("0%", 0.294, "29%"),
            ("0.0,", 29_400.0, "29.4"),
            ("????0", 12.0, "   12"),
            ("[<=999]\"S\"0;\"L\"0", 12.0, "S12"),
            ("[<=999]\"S\"0;\"L\"0", 1200.0, "L1200"),
            ("0;[Red](0);\"none\"", -5.0, "(5)"),
            ("0;[Red](0);\"none\"", 0.0, "none"),
            ("General;[Red]\\-General", -5.5, "-5.5"),
            ("\"No. \"General", 12.5, "No. 12.5"),
            ("[$\u{20ac}-407]0.00", 3.0, "\u{20ac}3.00"),
            ("_-0_-", 3.0, " 3 "),
            ("0;@", -3.0, "-3"),
            ("@", 12.0, "12"),
            (";;;", 12.0, ""),
            ("0.00E+00", 12_345.0, "1.23E+04"),
            ("0", 1e-7, "0"),
            ("000", 0.0, "000"),
        ] {
            assert_eq!(show(code, value).as_deref(), Some(text), "{code} {value}");
        }
        for unknown in ["# ?/?", "[DBNum1]0", "0;d", "[<=9]0;[<=11]0", "[>", "0;[>x]0"] {
            assert_eq!(show(unknown, 12.0), None, "{unknown}");
        }
        assert_eq!(show(&"0".repeat(MAX_CODE_BYTES + 1), 1.0), None);
    }

    #[test]
    fn tells_formats_that_show_another_number() {
        let is_number =
            |code: &str, value| NumberFormat::new(code).show(value).is_some_and(|s| s.is_number(value));
        for (code, value) in [
            ("0.0\"t\"", 29.44),
            ("#,##0.00", 1234.567),
            ("0.00E+00", 29.44),
            ("_-* #,##0.00_-;\\-* #,##0.00_-;_-* \"-\"??_-;_-@_-", 0.0),
            ("_-* #,##0.00_-;\\-* #,##0.00_-;_-* \"-\"??_-;_-@_-", 29.4),
            ("0;\\-0", 3.0),
            ("0", -0.2),
            ("0;\\-0", -3.0),
            ("# ##0", 1234.0),
            ("\"No. \"0\" t.\"", 5.0),
            ("0.0\" (net)\"", 29.4),
        ] {
            assert!(is_number(code, value), "{code} {value}");
        }
        for (code, value) in
            [("0%", 0.294), ("0.0,", 29_400.0), ("\"1\"0", 29.0), (";;;", 29.0), ("0;0", -3.0)]
        {
            assert!(!is_number(code, value), "{code} {value}");
        }
        for (code, value) in [
            ("0\".\"0", 15.0),
            ("0\\,0", 15.0),
            ("\".\"0", 5.0),
            ("-0", 5.0),
            ("\"- \"0", 5.0),
            ("\u{2212}0", 5.0),
            ("0-", 5.0),
            ("(0)", 5.0),
            ("0\"%\"", 5.0),
            ("-0.00E+00", 5.0),
            (";;;", 0.0),
            ("0;;", 0.0),
            ("#", 0.0),
            ("0;0;\"none\"", 0.0),
        ] {
            assert!(!is_number(code, value), "{code} {value}");
        }
    }

    #[test]
    fn tells_formats_that_show_another_text() {
        for code in [
            "0",
            "0;0",
            ";;",
            "@",
            "0;@",
            "yyyy\\-mm\\-dd;@",
            "_-* 0_-;_-* 0_-;_-* \"-\"_-;_-@_-",
            "0;0;0;General",
            "[$-809]@",
        ] {
            assert!(NumberFormat::new(code).shows_texts(), "{code}");
        }
        for code in ["\"BG-\"@", "@@", "0;@\" t\"", ";;;", "0;0;0;\"n/a\"", "0;0;0;"] {
            assert!(!NumberFormat::new(code).shows_texts(), "{code}");
        }
    }

    proptest! {
        #[test]
        fn shows_or_refuses_every_code(code in "[0#?.,%@E+\\-;_*\\\\\"\\[\\]<>=$/Gaeln 1-9\u{e9}]{0,14}", value in any::<f64>()) {
            prop_assume!(value.is_finite());
            if let Some(shown) = NumberFormat::new(&code).show(value) {
                shown.is_number(value);
            }
        }

        #[test]
        fn rounds_as_decimal_digits(number in 0..1_000_000_000_u64, places in 0..6_usize) {
            let value = significant(format!("{number}e-4").parse().unwrap());
            let (whole, fraction) = round(value, 0, places);
            let scale = 10_u64.pow(u32::try_from(places).unwrap());
            let expected = (number * scale + 5_000) / 10_000;
            prop_assert_eq!((whole + &fraction).parse::<u64>().unwrap(), expected);
        }
    }
}

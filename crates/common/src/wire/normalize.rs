//! Normalization of texts (docs/api/conventions.md, "Text").

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::postcode;

/// How a text is normalized before its length and characters are checked. The schema of each text states it as
/// `x-text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumString, strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
pub enum TextForm {
    /// Not normalized, and a blank text is not empty: the text refers to a stored one.
    Exact,
    /// Several lines: NFC.
    Lines,
    /// An id: trimmed, NFC.
    Id,
    /// One line: trimmed, NFC, without invisible characters.
    Line,
    /// One line in upper case.
    Upper,
    /// One line. Postcodes of the UK and Ireland get their usual spelling.
    Postcode,
}

impl TextForm {
    /// The name of the schema extension that states the form.
    pub(crate) const EXTENSION: &str = "x-text";

    /// Returns the value of the schema extension.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// Returns the text in this form. Normalizing twice changes nothing more.
    pub fn normalize(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Exact => text.into(),
            Self::Lines => nfc(text),
            Self::Id => normalize_id(text),
            Self::Line => normalize_line(text),
            Self::Upper => {
                let line = normalize_line(text);
                let upper = line.to_uppercase();
                if upper == *line { line } else { nfc(&upper).into_owned().into() }
            }
            Self::Postcode => {
                let line = normalize_line(text);
                // Control characters must be refused, not removed like spaces.
                if line.contains(char::is_control) { line } else { postcode::normalize(&line).into() }
            }
        }
    }
}

/// Trims an id, and converts it to Unicode NFC. The pattern of ids refuses invisible characters. Those that it cannot
/// name, because patterns of JSON Schema have no portable escape for them, become ones that it can.
fn normalize_id(text: &str) -> Cow<'_, str> {
    match nfc(text.trim()) {
        id if id.contains(is_tag) => id.replace(is_tag, "\u{200b}").into(),
        id => id,
    }
}

/// Trims a line, including line breaks and tabs, removes invisible characters, and converts it to Unicode NFC. Control
/// characters inside the line and those that change the direction of text remain, since they are refused later.
pub fn normalize_line(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return text.trim().into();
    }
    if text.chars().all(|c| c.is_whitespace() || is_removable(c) || selects_variation(c) || is_tag(c)) {
        return "".into();
    }
    if !text.contains(is_removable) {
        return nfc(text.trim());
    }
    let mut line = text.to_owned();
    loop {
        let next = nfc(without_removable(&line).trim()).into_owned();
        if next == line {
            return line.into();
        }
        // NFC can move marks away from a joiner, which then joins nothing.
        line = next;
    }
}

/// Removes invisible characters from a line, except joiners between two characters that they join. Separators of lines
/// and paragraphs become spaces.
fn without_removable(text: &str) -> String {
    let visible =
        text.replace(['\u{2028}', '\u{2029}'], " ").replace(|c| is_removable(c) && !is_joiner(c), "");
    let mut result = String::with_capacity(visible.len());
    let mut letters = visible.chars().peekable();
    while let Some(c) = letters.next() {
        let joins = |neighbour: Option<&char>| neighbour.is_some_and(|c| is_joinable(*c));
        if !is_joiner(c) || joins(result.chars().next_back().as_ref()) && joins(letters.peek()) {
            result.push(c);
        }
    }
    result
}

/// Returns true for ZERO WIDTH NON-JOINER and ZERO WIDTH JOINER.
fn is_joiner(c: char) -> bool {
    matches!(c, '\u{200c}' | '\u{200d}')
}

/// Returns true for characters that joiners stand between: letters and signs of Arabic, Indic and related scripts, and
/// emoji with their modifiers.
fn is_joinable(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{8ff}' | '\u{900}'..='\u{109f}' | '\u{1780}'..='\u{18af}' | '\u{1900}'..='\u{1cff}'
        | '\u{a800}'..='\u{abff}' | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{10a00}'..='\u{11fff}'
        | '\u{a9}' | '\u{ae}' | '\u{2190}'..='\u{21ff}' | '\u{2300}'..='\u{23ff}' | '\u{2600}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}' | '\u{2b00}'..='\u{2bff}' | '\u{fe0f}' | '\u{1f000}'..='\u{1faff}'
        | '\u{e0020}'..='\u{e007f}')
}

/// Trims a text, and replaces white space of any kind and length by one space: texts that look alike are equal then.
pub fn single_spaces(text: &str) -> Cow<'_, str> {
    let text = text.trim();
    let is_plain = |c: char| !c.is_whitespace() || c == ' ';
    if text.chars().all(is_plain) && !text.contains("  ") {
        return text.into();
    }
    text.split_whitespace().collect::<Vec<_>>().join(" ").into()
}

fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

/// Returns true if the text is valid in a name: it has no control characters or line breaks, and no characters that
/// change the direction of text.
pub fn is_plain_line(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || changes_direction(c))
}

/// Returns true if the text is valid in an id: it has no control characters and no invisible ones.
pub fn is_plain_id(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || is_invisible(c) || selects_variation(c) || is_tag(c))
}

/// Returns true for the embeddings, overrides and isolates of bidirectional text. They can make a text look like
/// another.
fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns true for the invisible characters that are removed from lines.
fn is_removable(c: char) -> bool {
    is_invisible(c) && !changes_direction(c)
}

/// Returns true for a text that shows nothing.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|c| c.is_whitespace() || is_removable(c))
}

/// Removes all invisible characters.
pub(crate) fn without_invisible(text: &str) -> String {
    text.replace(is_invisible, "")
}

/// Returns true for zero-width and bidirectional control characters, and line and paragraph separators. These are the
/// characters that Unicode defines as ignorable, except variation selectors and tags, which emoji and flags need.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
}

/// Returns true for the variation selectors of the Basic Multilingual Plane.
fn selects_variation(c: char) -> bool {
    matches!(c, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}')
}

/// Returns true for the block of tags, which flags have, and of the other variation selectors.
fn is_tag(c: char) -> bool {
    matches!(c, '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use strum::VariantArray;

    use super::*;

    /// Returns true if normalizing a normalized text changes nothing.
    fn is_stable(text: &str) -> bool {
        TextForm::VARIANTS.iter().filter(|form| **form != TextForm::Exact).all(|form| {
            let normalized = form.normalize(text);
            form.normalize(&normalized) == normalized && is_nfc_quick(normalized.chars()) != IsNormalized::No
        })
    }

    proptest! {
        #[test]
        fn normalizing_twice_changes_nothing_more(
            text in "\\PC{0,12}",
            marks in "[ \u{a0}\u{2003}]{0,2}[a-z\u{df}\u{149}\u{1f0}\u{390}\u{1fb3}\u{345}\u{301}\u{308}\u{323}\u{1100}\u{1161}\u{ac00} ]{0,8}[\t\n \u{2029}]{0,2}",
            invisible in "[ a\u{915}\u{94d}\u{1f33e}\u{200b}\u{200c}\u{200d}\u{feff}\u{301}\u{2028}\u{fe0f}]{0,9}",
        ) {
            for text in [text, marks, invisible] {
                prop_assert!(is_stable(&text), "{text:?}");
                let line = normalize_line(&text);
                prop_assert!(line.contains(char::is_control) || line.trim() == line, "{text:?}");
            }
        }
    }

    #[test]
    fn joiners_whose_neighbours_nfc_moves_are_removed() {
        assert!(is_stable("\u{301}\u{94d}\u{200c}\u{915}"));
        assert!(is_stable("\u{915}\u{200c}\u{94d}\u{200c}\u{20d2}"));
    }

    #[test]
    fn white_space_of_any_kind_is_one_space() {
        for (text, expected) in [
            (" a\u{a0}b ", "a b"),
            ("a \u{2009}\u{3000} b", "a b"),
            ("a  b", "a b"),
            ("a\tb\u{202f}", "a b"),
            ("a b", "a b"),
            ("\u{a0}", ""),
        ] {
            assert_eq!(single_spaces(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_character_is_stable() {
        // All other characters but some ideographs have one form only.
        for c in ('\0'..='\u{1ffff}').chain('\u{2f800}'..='\u{2fa1f}') {
            assert!(is_stable(&format!("{c}\u{301}")), "{c:?}");
        }
    }

    #[test]
    fn normalizes_each_form() {
        for (form, text, normalized) in [
            (TextForm::Exact, " e\u{301}\u{200b}\t ", " e\u{301}\u{200b}\t "),
            (TextForm::Line, " \u{a0}Caf\u{65}\u{301}\u{2003}", "Caf\u{e9}"),
            (TextForm::Line, "\ta\r\n", "a"),
            (TextForm::Line, "a\nb\u{7}", "a\nb\u{7}"),
            (TextForm::Line, " \u{200b} ", ""),
            (TextForm::Line, "Te\u{ad}xel\u{feff}", "Texel"),
            (TextForm::Line, "e\u{200b}\u{301}", "\u{e9}"),
            (TextForm::Line, "a\u{2028}b", "a b"),
            (TextForm::Line, "a\u{200d}b\u{200c}", "ab"),
            // A farmer, a flag of Wales, Hindi and Persian.
            (TextForm::Line, "\u{1f469}\u{200d}\u{1f33e}", "\u{1f469}\u{200d}\u{1f33e}"),
            (TextForm::Line, "\u{2764}\u{fe0f}\u{200d}\u{1f525}", "\u{2764}\u{fe0f}\u{200d}\u{1f525}"),
            (TextForm::Line, "\u{1f3f4}\u{e0067}\u{e007f}", "\u{1f3f4}\u{e0067}\u{e007f}"),
            (TextForm::Line, "\u{915}\u{94d}\u{200d}\u{937}", "\u{915}\u{94d}\u{200d}\u{937}"),
            (TextForm::Line, "\u{645}\u{6cc}\u{200c}\u{62e}", "\u{645}\u{6cc}\u{200c}\u{62e}"),
            (TextForm::Line, "\u{1f469}\u{200d} x", "\u{1f469} x"),
            (TextForm::Line, "a\u{202e}b", "a\u{202e}b"),
            (TextForm::Lines, "a\u{200b}b\tc", "a\u{200b}b\tc"),
            (TextForm::Line, "\u{fe0f} \u{e0067}\u{200b}", ""),
            (TextForm::Line, "\u{fe0f}\u{202e}", "\u{fe0f}\u{202e}"),
            (TextForm::Line, "1\u{fe0f}\u{20e3}", "1\u{fe0f}\u{20e3}"),
            (TextForm::Id, " a\u{200b}b ", "a\u{200b}b"),
            (TextForm::Id, "a\u{e0067}\u{e0101}b\u{fe0f}", "a\u{200b}\u{200b}b\u{fe0f}"),
            (TextForm::Lines, " e\u{301}\n", " \u{e9}\n"),
            (TextForm::Upper, " vx21 abc", "VX21 ABC"),
            (TextForm::Upper, "\u{df}", "SS"),
            (TextForm::Upper, "\u{390}", "\u{3aa}\u{301}"),
            (TextForm::Postcode, " hr4   9ar", "HR4 9AR"),
            (TextForm::Postcode, "hr4\n9ar", "hr4\n9ar"),
            (TextForm::Postcode, " e\u{301} ", "\u{e9}"),
        ] {
            assert_eq!(form.normalize(text), normalized, "{form:?} {text:?}");
        }
    }
}

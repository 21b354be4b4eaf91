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
    /// One line: trimmed, NFC.
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

/// Trims a line, including line breaks and tabs, and converts it to Unicode NFC. Control characters inside the line
/// remain, since they are refused later.
pub fn normalize_line(text: &str) -> Cow<'_, str> {
    nfc(text.trim())
}

fn nfc(text: &str) -> Cow<'_, str> {
    if text.is_ascii() || is_nfc_quick(text.chars()) == IsNormalized::Yes {
        text.into()
    } else {
        text.nfc().collect::<String>().into()
    }
}

/// Returns true if the text is valid in a name or an id: it has no control characters or line breaks, and no characters
/// that are invisible or change the direction of text.
pub fn is_plain_line(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || is_invisible(c))
}

/// Removes the invisible characters that [`is_plain_line`] refuses.
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
        ) {
            for text in [text, marks] {
                prop_assert!(is_stable(&text), "{text:?}");
                let line = normalize_line(&text);
                prop_assert!(line.contains(char::is_control) || line.trim() == line, "{text:?}");
            }
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
            (TextForm::Line, " \u{200b} ", "\u{200b}"),
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

//! The form in which texts are stored and compared: trimmed where they are one line, and in Unicode NFC.

use std::borrow::Cow;

use unicode_normalization::{IsNormalized, UnicodeNormalization, is_nfc_quick};

use super::postcode;

/// How a text is normalized before its length and characters are checked. The schema of each text states it as `x-text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextForm {
    /// As it is, and not empty when it is blank: it names a text that is stored.
    Exact,
    /// Several lines: NFC.
    Lines,
    /// One line: trimmed, NFC.
    Line,
    /// One line in upper case.
    Upper,
    /// One line; postcodes of the UK and Ireland in their usual spelling.
    Postcode,
}

impl TextForm {
    /// The schema extension with the form's name.
    pub(crate) const EXTENSION: &str = "x-text";

    const ALL: [Self; 5] = [Self::Exact, Self::Lines, Self::Line, Self::Upper, Self::Postcode];

    /// The value of the schema extension.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Lines => "lines",
            Self::Line => "line",
            Self::Upper => "upper",
            Self::Postcode => "postcode",
        }
    }

    /// The form with this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.name() == name)
    }

    /// The text in this form. Normalizing twice changes nothing more.
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
                // Control characters stay, so that they are refused and not dropped with the spaces.
                if line.contains(char::is_control) { line } else { postcode::normalise(&line).into() }
            }
        }
    }
}

/// One line as it is stored: without white space around it (line breaks and tabs too, as in a batch), in Unicode NFC.
/// Control characters inside it stay, since they are refused.
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

/// True if the text may stand in a name or an id: no control character, no line break, and no character that is
/// invisible or changes the direction of the text.
pub fn is_plain_line(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() || is_invisible(c))
}

/// The text without the characters that [`is_plain_line`] refuses in names.
pub(crate) fn without_invisible(text: &str) -> String {
    text.replace(is_invisible, "")
}

/// Zero-width and bidirectional control characters, line and paragraph separators: the characters that Unicode lets
/// programs ignore, but for the selectors of variants and tags, which emoji and flags are written with.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180e}'
        | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// True if normalizing what is normal changes nothing.
    fn is_stable(text: &str) -> bool {
        TextForm::ALL.into_iter().filter(|form| *form != TextForm::Exact).all(|form| {
            let normal = form.normalize(text);
            form.normalize(&normal) == normal && is_nfc_quick(normal.chars()) != IsNormalized::No
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
    fn every_character_has_one_form() {
        // Beyond are characters of one form only, but for some ideographs.
        for c in ('\0'..='\u{1ffff}').chain('\u{2f800}'..='\u{2fa1f}') {
            assert!(is_stable(&format!("{c}\u{301}")), "{c:?}");
        }
    }

    #[test]
    fn texts_and_their_forms() {
        for (form, text, normal) in [
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
            assert_eq!(form.normalize(text), normal, "{form:?} {text:?}");
        }
    }
}

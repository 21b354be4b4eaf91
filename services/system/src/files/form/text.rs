//! Normalizes and validates the text fields of the upload form.

use common::validation::{Code, ValidationErrors};
use common::wire::{NAME_MESSAGE, is_plain_line, normalize_line};
use serde_json::{Value, json};

const MAX_NAME_CHARS: usize = 200;

/// The code, message and data of a validation entry.
pub(super) type Invalid = (Code, String, Value);

/// Returns the value. On an error adds an entry for the field to `errors` and returns `None`.
pub(super) fn accept<T>(result: Result<T, Invalid>, path: &str, errors: &mut ValidationErrors) -> Option<T> {
    result.map_err(|(code, message, data)| errors.push_with(path, code, message, data)).ok()
}

/// Returns the entry for too few or too many of `unit`.
pub(super) fn length(minimum: usize, maximum: usize, unit: &str) -> Invalid {
    let message = format!("must have {minimum} to {maximum} {unit}");
    (Code::Length, message, json!({ "minimum": minimum, "maximum": maximum }))
}

/// Normalizes a name or an id, which is a single line of 1 to 200 characters.
pub(super) fn line(text: &str) -> Result<String, Invalid> {
    let line = normalize_line(text);
    if !is_plain_line(&line) {
        return Err((Code::Format, NAME_MESSAGE.into(), json!({})));
    }
    if line.is_empty() || line.chars().count() > MAX_NAME_CHARS {
        return Err(length(1, MAX_NAME_CHARS, "characters"));
    }
    Ok(line.into_owned())
}

/// Normalizes a file name. Keeps only the last component of a path.
pub(super) fn base_name(path: &str) -> Result<String, Invalid> {
    let name = path.rsplit(['/', '\\']).next().filter(|name| !matches!(name.trim(), "." | ".."));
    line(name.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_name_keeps_the_last_component() {
        let base_name = |path: &str| base_name(path).ok();
        assert_eq!(base_name("C:\\tickets\\ 7.pdf "), Some("7.pdf".into()));
        assert_eq!(base_name("../../etc/passwd"), Some("passwd".into()));
        assert_eq!(
            base_name("Wiegeschein \u{1f411} \"7\".pdf"),
            Some("Wiegeschein \u{1f411} \"7\".pdf".into())
        );
        for invalid in ["", " ", "a/", "..", "a\\.", "a\nb", "a\u{0}", "\u{85}"] {
            assert_eq!(base_name(invalid), None, "{invalid:?}");
        }
        for invisible in ["a\u{200b}", "\u{202e}gpj.exe", "\u{feff}a"] {
            assert_eq!(base_name(invisible), None, "{invisible:?}");
        }
        assert_eq!(base_name("e\u{301}.pdf "), Some("\u{e9}.pdf".into()));
        assert_eq!(base_name(&"e\u{301}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"\u{e9}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"x".repeat(201)), None);
    }
}

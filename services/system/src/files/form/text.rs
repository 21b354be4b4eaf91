//! Texts of a form, field by field: what is kept of them and why one is refused.

use common::validation::{Code, ValidationErrors};
use common::wire::{INVISIBLE_MESSAGE, is_plain_line, normalize_line};
use serde_json::{Value, json};

const MAX_NAME_CHARS: usize = 200;

/// What is wrong with a text, and what helps to mend it.
pub(super) type Refusal = (Code, String, Value);

/// What was kept; nothing, and an entry for the field, if it was refused.
pub(super) fn accept<T>(result: Result<T, Refusal>, path: &str, errors: &mut ValidationErrors) -> Option<T> {
    let refused = |(code, message, data)| errors.push_with(path, code, message, data);
    result.map_err(refused).ok()
}

/// Too few or too many.
pub(super) fn length(minimum: usize, maximum: usize, what: &str) -> Refusal {
    let message = format!("must have {minimum} to {maximum} {what}");
    (Code::Length, message, json!({ "minimum": minimum, "maximum": maximum }))
}

/// A name or an id: one line, normalized.
pub(super) fn line(text: &str) -> Result<String, Refusal> {
    let line = normalize_line(text);
    if !is_plain_line(&line) {
        return Err((Code::Format, INVISIBLE_MESSAGE.into(), json!({})));
    }
    if line.is_empty() || line.chars().count() > MAX_NAME_CHARS {
        return Err(length(1, MAX_NAME_CHARS, "characters"));
    }
    Ok(line.into_owned())
}

/// The name itself, where a client sent the path to it.
pub(super) fn base_name(path: &str) -> Result<String, Refusal> {
    line(
        path.rsplit(['/', '\\']).next().filter(|name| !matches!(name.trim(), "." | "..")).unwrap_or_default(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_last_components() {
        let kept = |path: &str| base_name(path).ok();
        assert_eq!(kept("C:\\tickets\\ 7.pdf "), Some("7.pdf".into()));
        assert_eq!(kept("../../etc/passwd"), Some("passwd".into()));
        assert_eq!(kept("Wiegeschein \u{1f411} \"7\".pdf"), Some("Wiegeschein \u{1f411} \"7\".pdf".into()));
        for refused in ["", " ", "a/", "..", "a\\.", "a\nb", "a\u{0}", "\u{85}"] {
            assert_eq!(kept(refused), None, "{refused:?}");
        }
        for invisible in ["a\u{200b}", "\u{202e}gpj.exe", "\u{feff}a"] {
            assert_eq!(kept(invisible), None, "{invisible:?}");
        }
        assert_eq!(kept("e\u{301}.pdf "), Some("\u{e9}.pdf".into()));
        assert_eq!(kept(&"e\u{301}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(kept(&"\u{e9}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(kept(&"x".repeat(201)), None);
    }
}

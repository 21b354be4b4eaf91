//! Normalizes and validates the text fields of the upload form.

use common::validation::{Code, ValidationErrors};
use common::wire::{ID_MESSAGE, NAME_MESSAGE, TextForm, is_plain_id, is_plain_line, normalize_line};
use serde_json::{Value, json};

const MAX_NAME_CHARS: usize = 200;

/// The code, message and data of a validation entry.
pub(in crate::files) type Invalid = (Code, String, Value);

/// Returns the value. On an error adds an entry for the field to `errors` and returns `None`.
pub(in crate::files) fn accept<T>(
    result: Result<T, Invalid>,
    path: &str,
    errors: &mut ValidationErrors,
) -> Option<T> {
    result.map_err(|(code, message, data)| errors.push_with(path, code, message, data)).ok()
}

/// Returns the entry for too few or too many of `unit`.
pub(in crate::files) fn length(minimum: usize, maximum: usize, unit: &str) -> Invalid {
    let message = format!("must have {minimum} to {maximum} {unit}");
    (Code::Length, message, json!({ "minimum": minimum, "maximum": maximum }))
}

/// Normalizes the id of an organisation, which has 1 to 200 characters.
pub(in crate::files) fn organisation_id(text: &str) -> Result<String, Invalid> {
    let id = TextForm::Id.normalize(text);
    if !is_plain_id(&id) {
        return Err((Code::Format, ID_MESSAGE.into(), json!({})));
    }
    of_permitted_length(&id)
}

fn of_permitted_length(text: &str) -> Result<String, Invalid> {
    let is_permitted = (1..=MAX_NAME_CHARS).contains(&text.chars().count());
    if is_permitted { Ok(text.to_owned()) } else { Err(length(1, MAX_NAME_CHARS, "characters")) }
}

/// Normalizes a file name. Keeps only the last component of a path.
pub(in crate::files) fn base_name(path: &str) -> Result<String, Invalid> {
    let name = path.rsplit(['/', '\\']).next().filter(|name| !matches!(name.trim(), "." | ".."));
    let name = normalize_line(name.unwrap_or_default());
    if !is_plain_line(&name) {
        return Err((Code::Format, NAME_MESSAGE.into(), json!({})));
    }
    of_permitted_length(&name)
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
        assert_eq!(base_name("\u{202e}gpj.exe"), None, "changes the direction");
        assert_eq!(base_name("\u{feff}a\u{200b}b"), Some("ab".into()));
        assert_eq!(base_name("e\u{301}.pdf "), Some("\u{e9}.pdf".into()));
        assert_eq!(base_name(&"e\u{301}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"\u{e9}".repeat(200)).map(|n| n.chars().count()), Some(200));
        assert_eq!(base_name(&"x".repeat(201)), None);
    }
}

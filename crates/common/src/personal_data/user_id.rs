//! The user id in a path.

use serde_json::json;

use crate::Error;
use crate::extract::check_path_text;
use crate::response::validation::{Code, ValidationErrors};

/// The most characters of a user id, as in tokens.
const MAX_CHARS: usize = 200;

/// Checks a user id. Ids are compared exactly as in tokens, and are not normalized.
///
/// # Errors
/// 400 for an id that is too long for a token, 404 for one with control characters.
pub(super) fn check(user_id: String) -> Result<String, Error> {
    let user_id = check_path_text(user_id)?;
    let mut errors = ValidationErrors::default();
    let chars = user_id.chars().count();
    if !(1..=MAX_CHARS).contains(&chars) {
        let data = json!({ "minimum": 1, "maximum": MAX_CHARS });
        errors.push_with("userId", Code::Length, format!("must have 1 to {MAX_CHARS} characters"), data);
    }
    errors.check()?;
    Ok(user_id)
}

//! The words of a free-text query (docs/api/lists.md, "Words").

use serde_json::json;

use crate::response::validation::{Code, ValidationErrors};
use crate::wire::QueryText;

/// The words of a query. A row must contain each of them, so each costs a comparison with every row.
const MAX_WORDS: usize = 16;

/// Returns the words of the parameter `query` in lower case. Adds an error if there are too many.
pub fn parse_words(query: Option<&QueryText>, errors: &mut ValidationErrors) -> Vec<String> {
    let query = query.map(|query| query.to_lowercase()).unwrap_or_default();
    let words: Vec<_> = query.split_whitespace().map(str::to_owned).collect();
    if words.len() > MAX_WORDS {
        let maximum = json!({ "maximum": MAX_WORDS });
        errors.push_with("query", Code::Length, format!("must have at most {MAX_WORDS} words"), maximum);
    }
    words
}

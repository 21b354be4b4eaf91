//! Expectations on an answer: each says what it found, or fails naming what it wanted.

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::show;
use crate::client::Answer;

/// The member at a JSON pointer is this value; numbers compare by value.
pub fn equal(answer: &Answer, pointer: &str, wanted: impl Into<Value>) -> Result<()> {
    let wanted = wanted.into();
    let found = member(answer, pointer)?;
    if !same(found, &wanted) {
        bail!("{} should be {wanted}, but is {found}", name(pointer));
    }
    show::passed(&format!("{} is {wanted}", name(pointer)));
    Ok(())
}

/// The array at a JSON pointer has an element whose `id` is this.
pub fn contains_id(answer: &Answer, pointer: &str, id: &str) -> Result<()> {
    let found = answer.json.pointer(pointer).and_then(Value::as_array);
    if !found.is_some_and(|items| items.iter().any(|item| item["id"] == id)) {
        bail!("{} should contain {id}", name(pointer));
    }
    show::passed(&format!("{} contains {id}", name(pointer)));
    Ok(())
}

/// The member at a JSON pointer looks like a UUID.
pub fn uuid(answer: &Answer, pointer: &str) -> Result<()> {
    let id = text(answer, pointer)?;
    let hyphens = [8, 13, 18, 23];
    let fits = |(index, c): (usize, char)| {
        if hyphens.contains(&index) { c == '-' } else { c.is_ascii_hexdigit() && !c.is_ascii_uppercase() }
    };
    if id.len() != 36 || !id.chars().enumerate().all(fits) {
        bail!("{} should be a lower-case UUID, but is {id}", name(pointer));
    }
    Ok(())
}

/// The text at a JSON pointer.
pub fn text<'a>(answer: &'a Answer, pointer: &str) -> Result<&'a str> {
    member(answer, pointer)?.as_str().with_context(|| format!("{} should be text", name(pointer)))
}

/// The error body of the contract with this code.
pub fn error(answer: &Answer, code: &str) -> Result<()> {
    equal(answer, "/status", "error")?;
    equal(answer, "/code", code)?;
    if text(answer, "/message")?.is_empty() || !text(answer, "/stack")?.is_empty() {
        bail!("an error has a message and an empty stack");
    }
    if text(answer, "/body/requestId")? != answer.header("x-request-id") {
        bail!("body.requestId should be what the header X-Request-Id says");
    }
    Ok(())
}

fn member<'a>(answer: &'a Answer, pointer: &str) -> Result<&'a Value> {
    answer.json.pointer(pointer).with_context(|| format!("{} is missing in the answer", name(pointer)))
}

fn same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b).is_eq(),
        _ => a == b,
    }
}

/// A JSON pointer as a person writes it: `/files/0/name` is `files[0].name`.
fn name(pointer: &str) -> String {
    let mut name = String::new();
    for part in pointer.split('/').skip(1) {
        let index = part.parse::<usize>().is_ok();
        let (before, after) = if index { ("[", "]") } else { (if name.is_empty() { "" } else { "." }, "") };
        name.extend([before, part, after]);
    }
    if name.is_empty() { "the answer".to_owned() } else { name }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn answer(json: Value) -> Answer {
        Answer { status: 200, reason: "OK", headers: ureq::http::HeaderMap::new(), bytes: Vec::new(), json }
    }

    #[test]
    fn pointers_read_like_paths() {
        assert_eq!(name("/files/0/name"), "files[0].name");
        assert_eq!(name("/0/id"), "[0].id");
        assert_eq!(name(""), "the answer");
    }

    #[test]
    fn numbers_compare_by_value() {
        let answer = answer(json!({"amount": 1450.0}));
        assert!(equal(&answer, "/amount", 1450).is_ok());
        let message = equal(&answer, "/amount", 1451).unwrap_err().to_string();
        assert_eq!(message, "amount should be 1451, but is 1450.0");
        assert!(equal(&answer, "/other", 1).unwrap_err().to_string().contains("missing"));
    }

    #[test]
    fn ids_are_lower_case_uuids() {
        assert!(uuid(&answer(json!({"id": "0192f0c1-7b1a-7c3e-8a55-0a1b2c3d4e5f"})), "/id").is_ok());
        for bad in ["0192F0C1-7b1a-7c3e-8a55-0a1b2c3d4e5f", "0192f0c17b1a7c3e8a550a1b2c3d4e5f", ""] {
            assert!(uuid(&answer(json!({"id": bad})), "/id").is_err(), "{bad}");
        }
    }
}

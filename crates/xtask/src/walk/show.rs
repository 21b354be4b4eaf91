//! How the walk looks on a terminal.

use serde_json::{Value, json};

use super::people::Person;
use crate::client::{Answer, Body};

/// What fits into so many columns stays on one line.
const WIDTH: usize = 96;
/// Longer answers are cut, the rest counted.
const LINES_MAX: usize = 60;

/// A step begins.
pub fn heading(number: usize, text: &str) {
    let title = format!("── {number}. {text} ");
    let rule = "─".repeat(100_usize.saturating_sub(title.chars().count()));
    println!("\n\n{title}{rule}");
}

/// A request: who, what, where; the token stays out.
pub fn request(who: Option<&Person>, method: &str, url: &str, body: &Body) {
    let caller = who.map_or_else(
        || "nobody (no token)".to_owned(),
        |person| format!("{} of {}", person.name, person.org_name),
    );
    println!("\n{caller}:\n{method} {url}");
    match body {
        Body::Empty => {}
        Body::Json(json) => println!("{}", indent(&pretty(json))),
        Body::Form(form) => {
            for (name, value) in &form.fields {
                println!("    {name}={value}");
            }
            println!("    file=@{} ({}, {} bytes)", form.file_name, form.media_type, form.content.len());
        }
    }
}

/// An answer: status, the headers worth seeing, the body.
pub fn answer(answer: &Answer) {
    println!("→ {} {}", answer.status, answer.reason);
    for name in ["location", "www-authenticate"] {
        if !answer.header(name).is_empty() {
            println!("    {name}: {}", answer.header(name));
        }
    }
    if answer.header("content-type").starts_with("text/") {
        println!("{}", indent(&head(&String::from_utf8_lossy(&answer.bytes))));
    } else if answer.json.is_null() && !answer.bytes.is_empty() {
        println!("    {}, {} bytes", answer.header("content-type"), answer.bytes.len());
    } else {
        println!("{}", indent(&pretty(&answer.json)));
    }
}

/// An expectation was met.
pub fn passed(text: &str) {
    println!("  ✓ {text}");
}

fn pretty(json: &Value) -> String {
    head(&layout(json, WIDTH))
}

/// As much of a text as anybody reads.
fn head(text: &str) -> String {
    let count = text.lines().count();
    if count <= LINES_MAX {
        return text.trim_end().replace('\r', "");
    }
    let head: Vec<&str> = text.lines().take(LINES_MAX).collect();
    format!("{}\n… ({} more lines)", head.join("\n"), count - LINES_MAX)
}

/// JSON that breaks lines only where it must.
fn layout(json: &Value, width: usize) -> String {
    let (open, members, close): (_, Vec<String>, _) = match json {
        Value::Array(items) => ("[", items.iter().map(|item| layout(item, width - 2)).collect(), "]"),
        Value::Object(members) => {
            let member = |(name, value)| format!("{}: {}", json!(name), layout(value, width - 2));
            ("{", members.iter().map(member).collect(), "}")
        }
        plain => return plain.to_string(),
    };
    let line = format!("{open}{}{close}", members.join(", "));
    if line.chars().count() <= width && !line.contains('\n') {
        return line;
    }
    format!("{open}\n  {}\n{close}", members.join(",\n").replace('\n', "\n  "))
}

fn indent(text: &str) -> String {
    format!("    {}", text.replace('\n', "\n    "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_json_stays_on_one_line() {
        assert_eq!(layout(&json!({"a": [1, 2], "b": {}}), WIDTH), r#"{"a": [1, 2], "b": {}}"#);
        assert_eq!(layout(&json!({"a": [1, 2], "b": "c"}), 14), "{\n  \"a\": [1, 2],\n  \"b\": \"c\"\n}");
    }

    #[test]
    fn long_answers_are_cut() {
        let text = pretty(&json!(vec!["x".repeat(WIDTH); 100]));
        assert!(text.ends_with("… (42 more lines)"), "{text}");
        assert_eq!(indent("[\n  1\n]"), "    [\n      1\n    ]");
    }
}

//! Why a command failed, and the exit code that says so.

use std::fmt;
use std::io::Read;

use serde_json::{Value, json};

/// Why a command failed.
#[derive(Debug)]
pub enum Failure {
    /// The service refused the request: exit code 1.
    Refused(Refusal),
    /// A file cannot be read or written, or a receiver or provider did not answer as expected: exit code 1.
    Local(String),
    /// The command does not say what is needed: exit code 2.
    Usage(String),
    /// The service cannot be reached, or says that it cannot answer now: exit code 3.
    Unreachable(String),
    /// There is no token, or it is not accepted: exit code 4.
    NotLoggedIn(String),
    /// The program that reads our output has ended. This is no error: exit code 0.
    ClosedPipe,
}

/// An error response of a service (docs/api/errors.md).
#[derive(Debug)]
pub struct Refusal {
    /// The HTTP status.
    pub status: u16,
    /// The body, or one made of the status if there is none.
    pub body: Value,
}

impl Refusal {
    /// Parses the body of an error response.
    pub fn new(status: u16, body: &[u8]) -> Self {
        let body = serde_json::from_slice(body).ok().filter(|body: &Value| body["message"].is_string());
        let missing =
            || json!({"status": "error", "message": format!("The response has the status {status}.")});
        Self { status, body: body.unwrap_or_else(missing) }
    }

    /// Returns the code for programs, or an empty text.
    pub fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }

    /// Whether the same request can succeed later (docs/api/errors.md, "When to retry").
    pub fn is_temporary(&self) -> bool {
        matches!(self.status, 429 | 502 | 503 | 504) || self.code() == "idempotency_in_progress"
    }

    /// Returns the invalid fields, one a line.
    fn fields(&self) -> impl Iterator<Item = String> {
        let entries = self.body["validation"].as_array().into_iter().flatten();
        entries.map(|entry| {
            let text = |member: &str| entry[member].as_str().unwrap_or_default();
            let path = if text("path").is_empty() { "(body)" } else { text("path") };
            format!("  {path}: {} ({})", text("message"), text("code")) + &hints(&entry["data"])
        })
    }
}

/// Returns what the `data` of a validation entry offers instead of the value.
pub fn hints(data: &Value) -> String {
    let list = |member: &str, before: &str| {
        let values: Vec<_> = data[member].as_array()?.iter().map(plain).collect();
        (!values.is_empty()).then(|| format!("; {before}: {}", values.join(", ")))
    };
    list("suggestions", "did you mean").or_else(|| list("allowed", "allowed")).unwrap_or_default()
}

/// Returns a JSON value as a person writes it: a text without quotes.
pub fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Failure {
    /// The exit code, as `drover --help` documents it.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::ClosedPipe => 0,
            Self::Refused(_) | Self::Local(_) => 1,
            Self::Usage(_) => 2,
            Self::Unreachable(_) => 3,
            Self::NotLoggedIn(_) => 4,
        }
    }

    /// The failure as a document for programs: the service's own, or one with a code of ours.
    pub fn document(&self) -> Value {
        let code = match self {
            Self::Refused(refusal) => return refusal.body.clone(),
            Self::Usage(_) => "usage",
            Self::Unreachable(_) => "unreachable",
            Self::NotLoggedIn(_) => "not_logged_in",
            Self::Local(_) | Self::ClosedPipe => "local",
        };
        json!({"status": "error", "code": code, "message": self.to_string()})
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Refused(refusal) => {
                f.write_str(refusal.body["message"].as_str().unwrap_or_default())?;
                if let Some(reason) = refusal.body["body"]["reason"].as_str() {
                    write!(f, " (reason: {reason})")?;
                }
                if let Some(id) = refusal.body["body"]["requestId"].as_str() {
                    write!(f, " (request {id})")?;
                }
                refusal.fields().try_for_each(|line| write!(f, "\n{line}"))
            }
            Self::Local(message)
            | Self::Usage(message)
            | Self::Unreachable(message)
            | Self::NotLoggedIn(message) => f.write_str(message),
            Self::ClosedPipe => f.write_str("The reader of the output has ended."),
        }
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        match refusal.status {
            401 => {
                let message = refusal.body["message"].as_str().unwrap_or_default();
                Self::NotLoggedIn(format!(
                    "{message} Log in with `drover login`, or set DROVER_TOKEN to a valid token."
                ))
            }
            _ if refusal.status >= 500 || refusal.is_temporary() => {
                Self::Unreachable(Self::Refused(refusal).to_string())
            }
            _ => Self::Refused(refusal),
        }
    }
}

/// Makes a failure of an error that concerns a file.
pub fn of_file(path: &std::path::Path, action: &str) -> impl FnOnce(std::io::Error) -> Failure {
    move |error| Failure::Local(format!("Cannot {action} {}: {error}.", path.display()))
}

/// Reads standard input to its end.
pub fn stdin() -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let read = std::io::stdin().read_to_end(&mut bytes);
    read.map(|_| bytes).map_err(|error| Failure::Local(format!("Cannot read standard input: {error}.")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_lists_its_fields_with_what_is_possible_instead() {
        let body = json!({"status": "error", "code": "validation_failed", "message": "Two fields are invalid.",
        "validation": [
            {"path": "commodityId", "code": "unknown_reference", "message": "is not in the catalogue", "data": {}},
            {"path": "rows[1].commodityName", "code": "unknown_reference", "message": "is unknown",
             "data": {"suggestions": ["Milling Wheat"]}},
        ]});
        let failure = Failure::from(Refusal::new(400, body.to_string().as_bytes()));
        assert_eq!(failure.exit_code(), 1);
        let text = failure.to_string();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[1], "  commodityId: is not in the catalogue (unknown_reference)");
        assert!(lines[2].ends_with("; did you mean: Milling Wheat"), "{text}");
        assert_eq!(failure.document()["code"], "validation_failed");
    }

    #[test]
    fn exit_codes_distinguish_what_a_script_can_do() {
        let code = |status| Failure::from(Refusal::new(status, b"<html>")).exit_code();
        assert_eq!([code(403), code(409), code(401), code(429), code(500), code(503)], [1, 1, 4, 3, 3, 3]);
        assert_eq!(Failure::ClosedPipe.exit_code(), 0);
    }
}

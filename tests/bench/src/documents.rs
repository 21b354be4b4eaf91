//! Documents of responses, for comparisons of the service with baselines.

use serde_json::Value;

/// Number of responses that are compared.
pub const COMPARED: usize = 40;

/// Returns the ids of documents.
pub fn ids(documents: &[Value]) -> Vec<&str> {
    documents.iter().map(|document| document["id"].as_str().unwrap_or("?")).collect()
}

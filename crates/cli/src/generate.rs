//! Documents that follow from the OpenAPI documents: `docs/api/llms.txt` and the Bruno collection in `clients/bruno`.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde_json::{Value, json};

use crate::error::{Failure, of_file, plain};
use crate::openapi::{Document, Operation, documents};
use crate::output;

/// Base URLs of `cargo xtask up`.
const ENVIRONMENT: &str = "vars {\n  system: http://127.0.0.1:8081\n  logistics: http://127.0.0.1:8082\n  livestock: http://127.0.0.1:8083\n}\nvars:secret [\n  token\n]\n";

/// Returns the generated files by their path from the root of the repository.
fn files() -> Result<BTreeMap<String, String>, Failure> {
    let documents = documents()?;
    let mut files = BTreeMap::from([("docs/api/llms.txt".to_owned(), llms(&documents))]);
    let root = json!({"version": "1", "name": "Drover", "type": "collection"});
    files.insert("clients/bruno/bruno.json".to_owned(), format!("{root:#}\n"));
    files.insert("clients/bruno/environments/local.bru".to_owned(), ENVIRONMENT.to_owned());
    let auth = "auth {\n  mode: bearer\n}\n\nauth:bearer {\n  token: {{token}}\n}\n";
    files.insert("clients/bruno/collection.bru".to_owned(), auth.to_owned());
    for document in &documents {
        for operation in document.operations() {
            let path = format!("clients/bruno/{}/{}.bru", document.service.name(), operation.id());
            files.insert(path, bruno(&operation));
        }
    }
    Ok(files)
}

/// Writes the generated files, and deletes requests of operations that are gone.
pub fn write(root: &Path) -> Result<(), Failure> {
    let files = files()?;
    let collection = root.join("clients/bruno");
    if collection.exists() {
        std::fs::remove_dir_all(&collection).map_err(of_file(&collection, "replace"))?;
    }
    for (name, text) in &files {
        let path = root.join(name);
        let folder = path.parent().unwrap_or(root);
        std::fs::create_dir_all(folder).map_err(of_file(folder, "create"))?;
        std::fs::write(&path, text).map_err(of_file(&path, "write"))?;
    }
    output::line(&format!("{} files written", files.len()))
}

/// Returns the overview of the API for language models (llmstxt.org).
fn llms(documents: &[Document]) -> String {
    let mut text = String::from(
        "# Drover\n\n> The API of an agricultural marketplace: three HTTP services with JSON, one token for all. Each \
         serves its OpenAPI 3.1 document at `/openapi.json` and this guide at `/docs/guide/`.\n\n## Guide\n\n",
    );
    let guide = [
        ("README.md", "overview"),
        ("conventions.md", "JSON, edits, revisions, dates, texts, limits"),
        ("errors.md", "codes, reasons, when to retry"),
        ("authentication.md", "tokens, service accounts, permissions"),
        ("idempotency.md", "repeat a POST safely"),
        ("lists.md", "paging, sorting, filters, CSV, XLSX"),
        ("loads.md", "loads"),
        ("batches.md", "imports and exports"),
        ("listings.md", "listings"),
        ("files.md", "files"),
        ("places.md", "places"),
        ("events.md", "the feed of events"),
        ("webhooks.md", "webhooks"),
        ("command-line.md", "the program `drover` and its MCP server"),
    ];
    for (page, about) in guide {
        let _ = writeln!(text, "- [{page}]({page}): {about}");
    }
    for document in documents {
        let _ = writeln!(text, "\n## Operations of {}\n", document.service.name());
        // The public operations equal those with a token.
        for operation in document.operations().filter(|operation| !operation.path.starts_with("/v1/public/"))
        {
            let _ = writeln!(text, "- `{} {}`: {}", operation.method, operation.path, operation.summary());
        }
    }
    text
}

/// Returns a request of the Bruno collection.
fn bruno(operation: &Operation<'_>) -> String {
    let method = operation.method.as_str().to_lowercase();
    let path = operation.path.replace('{', ":").replace('}', "");
    let (kind, body) = body(operation);
    let auth = if operation.path.starts_with("/v1/public/") { "none" } else { "inherit" };
    let service = operation.document.service.name();
    let mut text = format!(
        "meta {{\n  name: {}\n  type: http\n}}\n\n{method} {{\n  url: {{{{{service}}}}}{path}\n  body: {kind}\n  auth: {auth}\n}}\n",
        operation.summary()
    );
    for (block, place) in [("params:path", "path"), ("params:query", "query")] {
        let mut lines = String::new();
        for (name, definition) in operation.parameters().filter(|(_, definition)| definition["in"] == place) {
            // An optional parameter is listed, and switched off. A colon ends a name that is not quoted.
            let off = if definition["required"] == true { "" } else { "~" };
            let quote = if name.contains(':') { "\"" } else { "" };
            let example = match &definition["example"] {
                Value::Array(items) => items.iter().map(plain).collect::<Vec<_>>().join(","),
                example => plain(example),
            };
            let _ = writeln!(lines, "  {off}{quote}{name}{quote}: {example}");
        }
        if !lines.is_empty() {
            let _ = write!(text, "\n{block} {{\n{lines}}}\n");
        }
    }
    text + &body
}

/// Returns the kind of the body, and its block.
fn body(operation: &Operation<'_>) -> (&'static str, String) {
    let Some((media, body)) = operation.body() else { return ("none", String::new()) };
    let example = &body["example"];
    let fields = || {
        let fields = example.as_object().into_iter().flatten();
        fields.map(|(name, field)| match name.as_str() {
            "file" => "  file: @file()\n".to_owned(),
            _ => format!("  {name}: {}\n", plain(field)),
        })
    };
    match media {
        "multipart/form-data" => {
            ("multipartForm", format!("\nbody:multipart-form {{\n{}}}\n", fields().collect::<String>()))
        }
        "application/x-www-form-urlencoded" => {
            ("formUrlEncoded", format!("\nbody:form-urlencoded {{\n{}}}\n", fields().collect::<String>()))
        }
        _ => {
            let lines = format!("{example:#}").replace('\n', "\n  ");
            ("json", format!("\nbody:json {{\n  {lines}\n}}\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_files_are_checked_in() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let differs = |(name, text): &(String, String)| {
            std::fs::read_to_string(root.join(name)).ok().as_ref() != Some(text)
        };
        let stale: Vec<_> = files().unwrap().into_iter().filter(differs).map(|(name, _)| name).collect();
        assert!(
            stale.is_empty(),
            "run `cargo run -p cli -- generate .` and commit what it writes: {stale:?}"
        );
    }
}

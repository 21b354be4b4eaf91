//! Sends the request that the examples of each operation make, and records the responses, which become the examples of
//! responses in the documents (CONTRIBUTING.md, "Add an operation").

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::Value;
use testkit::processes::http::{Body, Form, HttpClient, Response};
use testkit::processes::service::ServiceProcess;
use url::form_urlencoded;

/// Operations that the examples can run once: then the file is archived, the saved search, the webhook and the service
/// account are deleted, the listing is reported and enquired about today, and the load is no longer sent to the driver.
pub const ONCE: [&str; 7] = [
    "archive_file",
    "delete_saved_search",
    "delete_service_account",
    "delete_webhook",
    "report_listing",
    "revoke_load_driver",
    "send_enquiry",
];

/// The operation that needs the signature of a link, which no example can have.
pub const SIGNED: &str = "download_file_public";

/// The operation that needs a client secret, which no example can have.
pub const TOKEN: &str = "create_token";

/// The operation whose response does not end.
pub const STREAM: &str = "stream_events";

/// Number of operations and of examples that were sent.
#[derive(Debug, Default)]
pub struct Sent {
    pub operations: usize,
    pub parameters: usize,
    pub bodies: usize,
    /// The responses with status 200, shortened: by operation and media type.
    pub responses: BTreeMap<String, BTreeMap<String, Value>>,
}

/// Members whose values are secrets of the services that the trial started.
const SECRETS: [&str; 3] = ["clientSecret", "secret", "access_token"];
/// Texts of responses are cut after these characters, CSV after these lines.
const MAX_CHARS: usize = 400;
const MAX_LINES: usize = 3;
/// Of longer objects, such as all countries, an example has the first two members.
const MAX_MEMBERS: usize = 60;

/// Sends the examples of all operations, in the order of the document. `is_repeat`: after an earlier run.
///
/// # Errors
/// Names the operation that did not succeed, or that has no example of something that it requires.
pub fn send_all(service: &ServiceProcess, token: &str, is_repeat: bool) -> Result<Sent> {
    let document = service.get("/openapi.json", token)?.json;
    let (http, mut sent) = (HttpClient::new(Duration::from_secs(30)), Sent::default());
    for (path, item) in document["paths"].as_object().context("the document has no paths")? {
        for (method, operation) in item.as_object().into_iter().flatten() {
            let id = operation["operationId"].as_str().unwrap_or_default();
            if id == TOKEN || id == STREAM {
                continue;
            }
            let bodies = operation["requestBody"]["content"].as_object().into_iter().flatten();
            let bodies: Vec<_> = bodies.map(|(media_type, body)| (media_type.as_str(), Some(body))).collect();
            for (media_type, body) in if bodies.is_empty() { vec![("", None)] } else { bodies } {
                let (url, parameters) = with_parameters(&service.url(path), operation)?;
                let body = body.map_or(Ok(Body::Empty), |body| example_body(media_type, &body["example"]));
                let body = body.with_context(|| format!("{id}: {media_type}"))?;
                sent.bodies += usize::from(!matches!(body, Body::Empty));
                sent.parameters += parameters;
                let response = send(&http, &method.to_uppercase(), &url, media_type, token, &body)?;
                let is_right = match response.status {
                    200 => true,
                    403 => id == SIGNED,
                    404 | 409 => is_repeat && ONCE.contains(&id),
                    _ => false,
                };
                ensure!(is_right, "{id}: {method} {url}: {} {}", response.status, response.json);
                let unknown = response.header("x-unknown-parameters");
                ensure!(unknown.is_empty(), "{id}: {url}: unknown parameters: {unknown}");
                sent.add(id, &response, service);
                let other = if response.json.is_null() { JSON } else { CSV };
                if operation["responses"]["200"]["content"][other].is_null() {
                    continue;
                }
                let other = match body {
                    Body::Empty => {
                        http.send_with("GET", &url, Some(token), &[("accept", other)], &Body::Empty)?
                    }
                    Body::Form(mut form) => {
                        form.fields.push(("format", "CSV".to_owned()));
                        http.send_with("POST", &url, Some(token), &[], &Body::Form(form))?
                    }
                    Body::Json(_) => continue,
                };
                ensure!(other.status == 200, "{id}: {url} in its other format: {}", other.status);
                sent.add(id, &other, service);
            }
            sent.operations += 1;
        }
    }
    Ok(sent)
}

const CSV: &str = "text/csv";
const JSON: &str = "application/json";

impl Sent {
    /// Keeps a successful response with a body, shortened, as an example of its media type.
    fn add(&mut self, operation: &str, response: &Response, service: &ServiceProcess) {
        let example = if !response.json.is_null() {
            (JSON, shortened("", &response.json, service))
        } else if response.header("content-type").starts_with(CSV) {
            let text = String::from_utf8_lossy(&response.bytes);
            (CSV, text.split_inclusive('\n').take(MAX_LINES).collect::<String>().into())
        } else {
            return;
        };
        if response.status == 200 {
            let responses = self.responses.entry(operation.to_owned()).or_default();
            responses.insert(example.0.to_owned(), example.1);
        }
    }
}

/// Returns a value as an example shows it: with an entry of each array, without secrets, and with the base URL of the
/// other examples.
fn shortened(name: &str, value: &Value, service: &ServiceProcess) -> Value {
    match value {
        Value::Array(entries) => {
            let count = if entries.iter().all(|entry| entry.is_object() || entry.is_array()) { 1 } else { 3 };
            entries.iter().take(count).map(|entry| shortened("", entry, service)).collect()
        }
        Value::Object(members) => {
            let count = if members.len() > MAX_MEMBERS { 2 } else { members.len() };
            let members = members.iter().take(count);
            members.map(|(name, value)| (name.clone(), shortened(name, value, service))).collect()
        }
        Value::String(_) if SECRETS.contains(&name) => "…".into(),
        Value::String(text) => {
            let text = text.replace(&service.url(""), &format!("https://drover.example/{}", service.name));
            text.chars().take(MAX_CHARS).collect::<String>().into()
        }
        other => other.clone(),
    }
}

fn send(
    http: &HttpClient,
    method: &str,
    url: &str,
    media_type: &str,
    token: &str,
    body: &Body,
) -> Result<Response> {
    // A JSON body has the type `application/json` unless the header says otherwise.
    let is_patch = media_type == "application/merge-patch+json";
    let headers = [("content-type", media_type)];
    http.send_with(method, url, Some(token), if is_patch { &headers } else { &[] }, body)
}

/// Returns the URL with the examples of path and query parameters, and their number.
fn with_parameters(pattern: &str, operation: &Value) -> Result<(String, usize)> {
    let (mut url, mut query, mut count) =
        (pattern.to_owned(), form_urlencoded::Serializer::new(String::new()), 0);
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let Some(example) = parameter.get("example") else {
            ensure!(parameter["required"] != true, "{pattern}: no example of {name}");
            continue;
        };
        count += 1;
        let values = example.as_array().map_or(std::slice::from_ref(example), Vec::as_slice);
        for value in values {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            match parameter["in"].as_str() {
                Some("path") => url = url.replace(&format!("{{{name}}}"), &value),
                Some("query") => drop(query.append_pair(name, &value)),
                place => ensure!(false, "{pattern}: the example of {name} is in {place:?}"),
            }
        }
    }
    let query = query.finish();
    Ok((if query.is_empty() { url } else { format!("{url}?{query}") }, count))
}

fn example_body(media_type: &str, example: &Value) -> Result<Body> {
    ensure!(!example.is_null(), "the body has no example");
    if !media_type.starts_with("multipart/") {
        return Ok(Body::Json(example.clone()));
    }
    let mut form = Form {
        fields: Vec::new(),
        file_name: "example.csv",
        media_type: "text/csv",
        content: Cow::default(),
    };
    for (name, value) in example.as_object().context("the example of a form is an object")? {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        if name == "file" {
            let content = value[0].as_str().context("the example of `file` is an array of texts")?;
            form.content = Cow::Owned(content.as_bytes().to_vec());
        } else {
            // The few names of a document live as long as the program.
            form.fields.push((String::leak(name.clone()), text));
        }
    }
    Ok(Body::Form(form))
}

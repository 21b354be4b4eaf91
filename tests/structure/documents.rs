//! Rules on the OpenAPI documents of the services.

use serde_json::{Value, json};

use crate::files::Files;

/// The page whose table says who may call which operation.
const PERMISSIONS: &str = "docs/api/authentication.md";

/// Returns the request bodies, required parameters, form fields and successful responses without an example.
///
/// Swagger UI fills in every field of a form that has no choices: without an example it sends `string`.
pub fn missing_examples(files: &Files) -> Vec<String> {
    let mut violations = Vec::new();
    for operation in operations(files) {
        let missing = |what: &str| format!("{}: {} has no example: {what}", operation.file, operation.id);
        let parameters = operation.value["parameters"].as_array().into_iter().flatten();
        let required = parameters.filter(|parameter| parameter["required"] == true);
        let without = required.filter(|parameter| parameter.get("example").is_none());
        violations.extend(without.map(|parameter| missing(text(&parameter["name"]))));
        let responses = operation.value["responses"].as_object().into_iter().flatten();
        for (status, response) in responses.filter(|(status, _)| status.starts_with('2')) {
            let has_example = |body: &Value| {
                let reference = text(&body["schema"]["$ref"]).trim_start_matches('#');
                let of_schema =
                    operation.document.pointer(reference).and_then(|schema| schema.get("example"));
                body.get("example").or(of_schema).is_some()
            };
            let content = response["content"].as_object().into_iter().flatten();
            let mut texts =
                content.filter(|(name, _)| ["application/json", "text/csv"].contains(&name.as_str()));
            if texts.clone().next().is_some() && !texts.any(|(_, body)| has_example(body)) {
                violations.push(missing(&format!("the response {status}")));
            }
        }
        for (media_type, body) in operation.value["requestBody"]["content"].as_object().into_iter().flatten()
        {
            let Some(example) = body.get("example") else {
                violations.push(missing(&format!("the body ({media_type})")));
                continue;
            };
            if media_type.starts_with("multipart/") {
                let reference = text(&body["schema"]["$ref"]).trim_start_matches('#');
                let schema = operation.document.pointer(reference).unwrap_or(&Value::Null);
                let fields = schema["properties"].as_object().into_iter().flatten();
                let is_filled_in = |field: &Value| field["type"] != "boolean" && field.get("enum").is_none();
                let without =
                    fields.filter(|(name, field)| is_filled_in(field) && example.get(name).is_none());
                violations.extend(without.map(|(name, _)| missing(&format!("the form field {name}"))));
            }
        }
    }
    violations
}

/// Returns the operations without an operation id, a summary or a described tag, and error responses without a body.
pub fn missing_descriptions(files: &Files) -> Vec<String> {
    let mut violations = Vec::new();
    for operation in operations(files) {
        let missing = |what: &str| format!("{}: {} has no {what}", operation.file, operation.id);
        for member in ["operationId", "summary"] {
            if text(&operation.value[member]).is_empty() {
                violations.push(missing(member));
            }
        }
        let tags = operation.document["tags"].as_array().into_iter().flatten();
        let described: Vec<&str> =
            tags.filter(|tag| tag["description"].is_string()).map(|tag| text(&tag["name"])).collect();
        let own = operation.value["tags"].as_array().cloned().unwrap_or_default();
        if own.is_empty() || own.iter().any(|tag| !described.contains(&text(tag))) {
            violations.push(missing("described tag: add it to the tags of the service"));
        }
        for (status, response) in operation.value["responses"].as_object().into_iter().flatten() {
            if status.as_str() >= "400" && response["content"]["application/json"]["schema"].is_null() {
                violations.push(missing(&format!("body of status {status}")));
            }
        }
    }
    violations
}

/// Returns the operations that the table of permissions does not name, or of which it says something else than the
/// document, and the requests of the table that are no operations.
pub fn wrong_permissions(files: &Files) -> Vec<String> {
    let rows = permissions(files.get(PERMISSIONS).map_or("", String::as_str));
    let operations = operations(files);
    let mut violations = Vec::new();
    for operation in &operations {
        let own: Vec<_> = rows.iter().filter(|row| row.requests.iter().any(|it| operation.is(it))).collect();
        let needs_token = operation.value["security"].as_array().is_some_and(|schemes| !schemes.is_empty());
        let is_for_admin = operation.value["x-roles"] == json!(["admin"]);
        let wrong = if own.is_empty() {
            "is missing: add who may call it"
        } else if own.iter().any(|row| row.needs_token != needs_token) {
            "has to be under \"Without a token\" if it needs none, and nowhere else"
        } else if is_for_admin && !own.iter().any(|row| row.allowed.contains("only `admin`")) {
            "is for `admin` only"
        } else {
            continue;
        };
        violations.push(format!("{PERMISSIONS}: {} of {} {wrong}", operation.id, operation.file));
    }
    let requests = rows.iter().flat_map(|row| &row.requests);
    let unknown = requests.filter(|request| !operations.iter().any(|operation| operation.is(request)));
    violations.extend(unknown.map(|request| format!("{PERMISSIONS}: no service has `{request}`")));
    violations
}

/// A row of the table of permissions.
struct Permission<'a> {
    requests: Vec<&'a str>,
    allowed: &'a str,
    needs_token: bool,
}

fn permissions(page: &str) -> Vec<Permission<'_>> {
    let mut rows = Vec::new();
    let mut needs_token = true;
    let table = page.lines().skip_while(|line| !line.starts_with("| Operation | Requests under `/v1` |"));
    for row in table.take_while(|line| line.starts_with('|')) {
        let [_, operation, requests, allowed, _] = row.split('|').map(str::trim).collect::<Vec<_>>()[..]
        else {
            continue;
        };
        if operation.starts_with("**") {
            needs_token = operation != "**Without a token**";
        } else {
            let in_backticks = requests.split('`').skip(1).step_by(2);
            let requests = in_backticks.filter(|text| text.contains(" /")).collect();
            rows.push(Permission { requests, allowed, needs_token });
        }
    }
    rows
}

/// An operation of a document.
struct Operation<'a> {
    file: &'a str,
    document: Value,
    id: String,
    value: Value,
}

impl Operation<'_> {
    /// Returns true if a request of the table of permissions, such as `GET /loads` or `* /webhooks/{id}…`, is this
    /// operation.
    fn is(&self, request: &str) -> bool {
        let Some((method, path)) = self.id.split_once(" /v1") else { return false };
        let Some((named_method, named_path)) = request.split_once(' ') else { return false };
        let is_path =
            named_path.strip_suffix('…').map_or(path == named_path, |start| path.starts_with(start));
        is_path && ["*", method].contains(&named_method)
    }
}

fn operations(files: &Files) -> Vec<Operation<'_>> {
    let mut operations = Vec::new();
    let is_document = |path: &str| path.starts_with("services/") && path.ends_with("/openapi.json");
    for (file, content) in files.iter().filter(|(path, _)| is_document(path)) {
        let document: Value = serde_json::from_str(content).expect("an OpenAPI document has to be JSON");
        for (path, item) in document["paths"].as_object().into_iter().flatten() {
            for (method, value) in item.as_object().into_iter().flatten() {
                let id = format!("{} {path}", method.to_uppercase());
                operations.push(Operation { file, document: document.clone(), id, value: value.clone() });
            }
        }
    }
    operations
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

//! Batches of loads.

mod blank_rows;
mod csv;
mod duplicates;
mod existing;
mod fairness;
mod invalid_uploads;
mod kept;
mod large;
mod mended;
mod office_cells;
mod office_files;
mod parties;
mod random_sheets;
mod raw_workbook;
mod similar;
mod spreadsheets;
mod template;
mod update;
mod xlsx;
mod xlsx_bombs;

use super::*;
use reqwest::multipart::{Form, Part};

/// A CSV file with two valid rows of the organisation `grain`.
pub const VALID_CSV: &str = "reference,deliveryDateISO,commodityName,organiserId,organiserName,weight\n\
    BG-1,2026-03-01,Feed Wheat,grain,Border Grain,29.4\n\
    BG-2,2026-03-02T10:30:00+01:00,feed wheat,grain,Border Grain,\n";

/// Returns a form with these files, named `1.csv`, `2.csv` and so on.
pub fn form(files: &[&[u8]]) -> Form {
    files.iter().zip(1..).fold(Form::new(), |form, (file, n)| {
        form.part("file", Part::bytes(file.to_vec()).file_name(format!("{n}.csv")))
    })
}

pub async fn send(app: &App, user: &User, form: Form) -> TestResponse {
    app.post("/v1/loads/batch").by(user).form(form).send().await
}

/// Sends a batch of one file as the organisation `grain`.
pub async fn send_file(app: &App, file: impl AsRef<[u8]>) -> TestResponse {
    send(app, &without_org_name("grain"), form(&[file.as_ref()])).await
}

/// Sends a batch of one file with these form fields as the organisation `grain`.
pub async fn send_with(app: &App, fields: &[(&'static str, &str)], file: impl AsRef<[u8]>) -> TestResponse {
    let form = form(&[file.as_ref()]);
    let form = fields.iter().fold(form, |form, (name, value)| form.text(*name, (*value).to_owned()));
    send(app, &without_org_name("grain"), form).await
}

/// Sends a batch of one file.
pub async fn send_file_as(app: &App, user: &User, file: &str) -> TestResponse {
    send(app, user, form(&[file.as_bytes()])).await
}

/// Returns the number of loads that the organisation `grain` sees.
pub async fn count_loads(app: &App) -> usize {
    let reply = app.get("/v1/loads?count=true&limit=1").by(&User::of("grain")).send().await;
    reply.header("x-total-count").parse().unwrap()
}

/// Returns the loads that a batch created, from its response.
pub async fn loads(app: &App, user: &User, response: &Value) -> Vec<Value> {
    let ids: Vec<_> = response["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let path = format!("/v1/loads/by-ids?ids={}", ids.join(","));
    app.get(&path).by(user).send().await.ok().as_array().unwrap().clone()
}

/// Returns `path code line file` of every validation entry of a 400 response, in order.
pub fn entries(reply: &TestResponse) -> Vec<String> {
    assert_eq!(reply.status, 400, "{}", reply.text());
    let body = reply.json();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entry = |e: &Value| {
        let mut words = vec![text(&e["path"]), text(&e["code"])];
        words.extend(["line", "file"].iter().filter_map(|name| e["data"].get(name).map(text)));
        words.join(" ")
    };
    body["validation"].as_array().unwrap().iter().map(entry).collect()
}

//! Batches of loads.

mod blank;
mod csv;
mod fairness;
mod large;
mod parties;
mod refusals;
mod repeat;
mod xlsx;
mod xlsx_bombs;

use reqwest::multipart::{Form, Part};
use testkit::TestResponse;

use super::*;

/// A header and two good rows of the organisation `grain`.
pub const GOOD: &str = "reference,deliveryDateISO,commodityName,organiserId,organiserName,weight\n\
    BG-1,2026-03-01,Feed Wheat,grain,Border Grain,29.4\n\
    BG-2,2026-03-02T10:30:00+01:00,feed wheat,grain,Border Grain,\n";

/// A form with these files, named `1.csv` and so on.
pub fn form(files: &[&[u8]]) -> Form {
    files.iter().zip(1..).fold(Form::new(), |form, (file, n)| {
        form.part("file", Part::bytes(file.to_vec()).file_name(format!("{n}.csv")))
    })
}

pub async fn send(app: &App, user: &User, form: Form) -> TestResponse {
    app.post("/v1/loads/batch").by(user).form(form).send().await
}

/// Sends one file for the organisation `grain`.
pub async fn send_file(app: &App, file: impl AsRef<[u8]>) -> TestResponse {
    send(app, &unnamed("grain"), form(&[file.as_ref()])).await
}

/// How many loads the organisation `grain` sees.
pub async fn stored(app: &App) -> usize {
    let reply = app.get("/v1/loads?count=true&limit=1").by(&User::of("grain")).send().await;
    reply.header("x-total-count").parse().unwrap()
}

/// The loads with these ids.
pub async fn loads(app: &App, user: &User, answer: &Value) -> Vec<Value> {
    let ids: Vec<_> = answer["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let path = format!("/v1/loads/by-ids?ids={}", ids.join(","));
    app.get(&path).by(user).send().await.ok().as_array().unwrap().clone()
}

/// `path code line file` of every entry of a 400, in their order.
pub fn entries(reply: &TestResponse) -> Vec<String> {
    assert_eq!(reply.status, 400, "{}", reply.text());
    let body = reply.json();
    let plain = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let entry = |e: &Value| {
        let mut words = vec![plain(&e["path"]), plain(&e["code"])];
        words.extend(["line", "file"].iter().filter_map(|name| e["data"].get(name).map(plain)));
        words.join(" ")
    };
    body["validation"].as_array().unwrap().iter().map(entry).collect()
}

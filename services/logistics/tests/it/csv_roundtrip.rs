//! Batches import the CSV and XLSX of searches and exports.

use reqwest::multipart::{Form, Part};

use super::*;

/// Returns a load without the members that a batch sets itself.
fn core(load: &Value) -> Value {
    let generated = [
        "id",
        "status",
        "files",
        "createdAtUTC",
        "completedAtUTC",
        "createdBy",
        "revision",
        "updatedAtUTC",
        "batchId",
    ];
    generated.iter().fold(load.clone(), |load, member| without(load, member))
}

fn by_reference(loads: &Value) -> Vec<Value> {
    let mut loads: Vec<_> = loads.as_array().unwrap().iter().map(core).collect();
    loads.sort_by_key(|load| load["reference"].to_string());
    loads
}

testkit::on_both! {
    async fn batches_import_the_files_of_searches_and_exports(backend) {
        for format in ["CSV", "XLSX"] {
            round_trip(&app(backend).await, format).await;
        }
    }
}

/// Exports loads in a format and imports them again.
async fn round_trip(app: &App, format: &str) {
    let grain = without_org_name("grain");
    let forms = [
        with(organiser_form(), "reference", json!("=1+1")),
        with(organiser_form(), "reference", json!("'=1_x000B_")),
        with(organiser_form(), "tags", json!(["'=a", "-b"])),
        with(organiser_form(), "organiserName", json!("-\"Grain\", Sons; & Co")),
        with(organiser_form(), "weightNet", json!(0.1254)),
        with(organiser_form(), "tags", json!(["+one", "two, three", "'four", "ä\u{1f404}"])),
        with(organiser_form(), "ticketNumber", json!("-12")),
        with(organiser_form(), "ticketNumber", json!("#N/A")),
        with(organiser_form(), "ticketNumber", json!("'8.26E+13")),
        with(organiser_form(), "ticketNumber", json!("1.5E+10")),
        with(organiser_form(), "ticketNumber", json!("12345678901234567890")),
        with(organiser_form(), "vehicleRegistration", json!("####")),
        with(organiser_form(), "tags", json!(["#REF!", "1E-5", "''##", "=\"7\""])),
        with(organiser_form(), "organiserName", json!("#DIV/0!")),
        with(with(organiser_form(), "pickupPostcode", json!("hr49ar")), "dropoffPostcode", json!("@home")),
        with(
            with(organiser_form(), "weight", json!(null)),
            "deliveryDateISO",
            json!("2026-03-01T10:30:00.001+01:00"),
        ),
    ];
    for (n, form) in forms.iter().enumerate() {
        let reference = format!("{} {n}", form["reference"].as_str().unwrap());
        let form = with(form.clone(), "reference", json!(reference));
        app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
    }
    let carried = create_load(app).await;
    let before = app.get("/v1/loads?limit=100").by(&grain).send().await.ok();
    let proof = json!({"weightNet": 28.6, "ticketNumber": "=T", "vehicleRegistration": "-VX", "files": null});
    app.post(&format!("/v1/loads/{carried}/proof-of-delivery")).by(&grain).json(&proof).send().await.ok();
    accept(app, &carried).await;

    let batch = async |file: Vec<u8>| {
        let form = Form::new().part("file", Part::bytes(file).file_name("loads"));
        app.post("/v1/loads/batch").by(&grain).form(form).send().await.ok()
    };
    let completed = app.get(&format!("/v1/loads/completed?format={format}")).by(&grain).send().await;
    assert_eq!(completed.status, 200, "{}", completed.text());
    let result = batch(completed.bytes).await;
    assert_eq!(result["count"], 1);
    let id = result["ids"][0].as_str().unwrap();
    let again = app.get(&format!("/v1/loads/{id}")).by(&grain).send().await.ok();
    let proven = app.get(&format!("/v1/loads/{carried}")).by(&grain).send().await.ok();
    assert_eq!(again["status"], "upcoming", "a batch creates new loads");
    assert_eq!(core(&again), core(&proven));

    let found = app.get(&format!("/v1/loads?format={format}&query=1")).by(&grain).send().await;
    assert_eq!(found.status, 200, "{}", found.text());
    let originals = app.get("/v1/loads?query=1&limit=100").by(&grain).send().await.ok();
    assert!(before.as_array().unwrap().len() >= 10);
    let result = batch(found.bytes).await;
    let ids: Vec<_> = result["ids"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    let path = format!("/v1/loads/by-ids?ids={}", ids.join(","));
    let copies = app.get(&path).by(&grain).send().await.ok();
    assert_eq!(by_reference(&copies), by_reference(&originals));
}

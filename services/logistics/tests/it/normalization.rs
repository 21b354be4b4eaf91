//! Normalization of texts in bodies, forms, batches and searches.

use reqwest::multipart::{Form, Part};

use super::*;
use crate::batch::{entries, form, send};

/// Returns a load of the organisation `férme` with texts that are not normalized.
fn unnormalized() -> Value {
    let form = with(carrier_form(), "organisationId", json!(" fe\u{301}rme "));
    let form = with(form, "organisationName", json!("\u{2003}La Fe\u{301}rme\u{a0}"));
    let form = with(form, "reference", json!("  BG-1\u{a0}"));
    let form = with(form, "ticketNumber", json!(" T-1 "));
    let form = with(form, "vehicleRegistration", json!(" stra\u{df}e 1"));
    with(form, "tags", json!([" a ", "cafe\u{301}"]))
}

const HEADER: &str = "reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName,\
    vehicleRegistration,ticketNumber,tags\n";

testkit::on_both! {
    async fn bodies_forms_and_batches_normalize_alike(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let load = app.post("/v1/loads/carrier").by(&haul).json(&unnormalized()).send().await.ok();
        assert_eq!(load["organiser"], json!({"id": "f\u{e9}rme", "name": "La F\u{e9}rme"}));
        let stored = ["reference", "ticketNumber", "vehicleRegistration"].map(|member| load[member].clone());
        assert_eq!(stored, ["BG-1", "T-1", "STRASSE 1"]);
        assert_eq!(load["tags"], json!(["a", "caf\u{e9}"]));

        let row = "\u{a0} BG-1 ,2026-03-01T10:30:00+01:00,1,,, haul ,Hereford Haulage, stra\u{df}e 1, T-1 , a ;cafe\u{301};\n";
        let form = Form::new()
            .text("organisationId", " fe\u{301}rme ")
            .text("organisationName", "\u{2003}La Fe\u{301}rme\u{a0}")
            .part("file", Part::bytes(format!("{HEADER}{row}").into_bytes()).file_name("loads.csv"));
        let result = send(&app, &haul, form).await.ok();
        let batch = app.get(&format!("/v1/loads/{}", result["ids"][0].as_str().unwrap())).by(&haul).send().await.ok();
        for member in ["organiser", "reference", "ticketNumber", "vehicleRegistration", "tags"] {
            assert_eq!(batch[member], load[member], "{member}");
        }

        // Ids in tokens are not normalized: ids that differ at the identity provider differ here.
        for (org, sees) in [("f\u{e9}rme", 2), ("fe\u{301}rme", 0), (" f\u{e9}rme ", 0)] {
            for query in ["f:organiserId=fe%CC%81rme", "f:organiserId=%20f%C3%A9rme", "query=FE%CC%81RME%20strasse"] {
                let loads = app.get(&format!("/v1/loads?{query}")).by(&User::of(org)).send().await.ok();
                assert_eq!(loads.as_array().unwrap().len(), sees, "{org:?} {query}: {loads}");
            }
        }
        let id = load["id"].as_str().unwrap();
        let padded = format!(" {id} ");
        let proof = json!({"loadId": padded, "weightNet": 28, "ticketNumber": " T-2\u{a0}", "vehicleRegistration": "\u{df}", "files": null});
        let proven = app.post("/v1/loads/proof-of-delivery").by(&haul).json(&proof).send().await.ok();
        assert_eq!((&proven["ticketNumber"], &proven["vehicleRegistration"]), (&json!("T-2"), &json!("SS")));
    }

    async fn lengths_apply_to_normalized_texts(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let post = async |form: &Value| app.post("/v1/loads/carrier").by(&haul).json(form).send().await;
        let plate = |text: &str| with(carrier_form(), "vehicleRegistration", json!(text));
        assert_eq!(post(&plate(&"\u{df}".repeat(20))).await.errors(), ["vehicleRegistration length"]);
        assert_eq!(post(&plate(&"\u{df}".repeat(10))).await.ok()["vehicleRegistration"], "S".repeat(20));
        assert_eq!(post(&plate(&format!("{:30}", "VX21 ABC"))).await.ok()["vehicleRegistration"], "VX21 ABC");
        let reference = with(carrier_form(), "reference", json!(format!("  {}  ", "e\u{301}".repeat(100))));
        assert_eq!(post(&reference).await.ok()["reference"], "\u{e9}".repeat(100));
        let row = |plate: &str| format!("{HEADER}A,2026-03-01,1,,,haul,Haulage,{plate},,\n");
        let long = send(&app, &haul, form(&[row(&"\u{df}".repeat(20)).as_bytes()])).await;
        assert_eq!(entries(&long), ["rows[0].vehicleRegistration length 2"]);
        let postcode = with(carrier_form(), "pickupPostcode", json!(format!("hr4{}9ar", " ".repeat(20))));
        assert_eq!(post(&postcode).await.ok()["pickupPostcode"], "HR4 9AR");
    }

    async fn rejects_changes_of_direction_and_invisible_characters_in_ids(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        for c in ['\u{200b}', '\u{202e}', '\u{2066}', '\u{feff}', '\u{ad}'] {
            let invalid = format!("a{c}b");
            let mut load = carrier_form();
            for member in ["organisationId", "organisationName", "reference", "ticketNumber", "vehicleRegistration", "pickupPostcode"] {
                load[member] = json!(invalid);
            }
            load["tags"] = json!([invalid]);
            let errors = app.post("/v1/loads/carrier").by(&haul).json(&load).send().await.errors();
            // Invisible characters are removed from names.
            let names = ['\u{202e}', '\u{2066}'].contains(&c);
            let expected = |id: &'static str, others: &[&'static str]| -> Vec<&str> {
                [id].into_iter().chain(others.iter().copied().filter(|_| names)).collect()
            };
            assert_eq!(errors, expected("organisationId format", &[
                "organisationName format", "pickupPostcode format", "reference format", "tags[0] format",
                "ticketNumber format", "vehicleRegistration format",
            ]), "{c:?}");
            let row = format!("{HEADER}{invalid},2026-03-01,1,{invalid},{invalid},haul,Haulage,{invalid},{invalid},{invalid}\n");
            let mut errors = entries(&send(&app, &haul, form(&[row.as_bytes()])).await);
            errors.sort();
            assert_eq!(errors, expected("rows[0].organiserId format 2", &[
                "rows[0].organiserName format 2", "rows[0].reference format 2", "rows[0].tags format 2",
                "rows[0].ticketNumber format 2", "rows[0].vehicleRegistration format 2",
            ]), "{c:?}");
        }
    }

    async fn errors_of_dates_name_the_expected_format(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let body = with(carrier_form(), "deliveryDateISO", json!("01/03/2026"));
        let body = app.post("/v1/loads/carrier").by(&haul).json(&body).send().await.json();
        let query = app.get("/v1/loads?startDateISO=yesterday").by(&haul).send().await.json();
        let row = format!("{HEADER}A,01/03/2026,1,,,haul,Haulage,,,\n");
        let batch = send(&app, &haul, form(&[row.as_bytes()])).await.json();
        for answer in [body, query, batch] {
            assert_eq!(
                answer["validation"][0]["message"],
                "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z"
            );
        }
    }

    async fn batches_import_exported_texts_unchanged(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let texts = ["'=x", "''-1", "=1+1", "-1", "'-1", "\u{ff1d}1", "'\u{ff20}a", "'quoted", "a,\"b\"", "+", "'"];
        for (n, text) in texts.iter().enumerate() {
            let load = with(carrier_form(), "reference", json!(text));
            let load = with(load, "organisationName", json!(format!("{text}{n}")));
            let load = with(load, "ticketNumber", json!(text));
            let load = with(load, "tags", json!([text, "b", text]));
            app.post("/v1/loads/carrier").by(&haul).json(&load).send().await.ok();
        }
        let lists = [vec!["-1"], vec!["-1", "=a"], vec!["'-1"], vec!["=a", "'=b", "\u{ff0b}c"], vec!["a", "-1"]];
        for list in &lists {
            let load = with(carrier_form(), "tags", json!(list));
            app.post("/v1/loads/carrier").by(&haul).json(&load).send().await.ok();
        }
        let member = |load: &Value| {
            let members = ["reference", "organiser", "ticketNumber", "tags", "carrier", "vehicleRegistration"];
            members.map(|name| load[name].to_string()).join(" ")
        };
        let sorted = |loads: &[Value]| {
            let mut loads: Vec<_> = loads.iter().map(member).collect();
            loads.sort();
            loads
        };
        let before = app.get("/v1/loads?limit=100").by(&haul).send().await.ok();
        let csv = app.get("/v1/loads?format=CSV").by(&haul).send().await;
        let result = send(&app, &haul, form(&[&csv.bytes])).await.ok();
        let loads = crate::batch::loads(&app, &haul, &result).await;
        assert_eq!(loads.len(), texts.len() + lists.len());
        assert_eq!(sorted(&loads), sorted(before.as_array().unwrap()));
        // A second export has the same rows, except for the ids.
        let rows = |text: String| {
            let mut rows: Vec<_> = text.lines().skip(1).map(|row| row[36..].to_owned()).collect();
            rows.sort();
            rows
        };
        let again = app.get("/v1/loads?format=CSV&limit=1000").by(&haul).send().await.text();
        let (mut twice, all) = (rows(csv.text()), rows(again));
        twice.extend(twice.clone());
        twice.sort();
        assert_eq!(all, twice);
        for row in csv.text().lines().skip(1) {
            assert!(!row.contains(",=") && !row.contains(";=") && !row.contains(",\u{ff1d}"), "{row}");
        }
    }
}

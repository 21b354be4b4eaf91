//! Searches with CSV responses.

use std::collections::HashMap;

use super::*;

const HEADER: &str = "id,reference,status,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,\
                      commodityName,weight,weightNet,weightUnit,vehicleRegistration,ticketNumber,pickupPostcode,\
                      dropoffPostcode,tags,files,completedAtUTC\r\n";

/// Parses the rows of a CSV response into maps by column.
pub fn rows(reply: &TestResponse) -> Vec<HashMap<String, String>> {
    assert_eq!(
        (reply.status, reply.header("content-type")),
        (200, "text/csv; charset=utf-8"),
        "{}",
        reply.text()
    );
    assert!(reply.text().starts_with(HEADER), "{}", reply.text());
    ::csv::Reader::from_reader(&reply.bytes[..]).into_deserialize().map(Result::unwrap).collect()
}

testkit::on_both! {
    async fn writes_every_column(backend) {
        let (app, system) = app_with_files(backend).await;
        let haul = without_org_name("haul");
        let (first, second) = (system.add("a.jpg", &haul), system.add("b.jpg", &haul));
        let form = json!({
            "carrierId": "haul", "carrierName": "=1+1", "organisationName": "Grain \"and\" Mill, Ltd",
            "commodityId": 1, "reference": "-5", "deliveryDateISO": "2026-03-01", "weight": 29.4, "weightNet": 28,
            "tags": ["b", "a"], "files": [{"id": first}, {"id": second}], "pickupPostcode": "hr49ar",
            "dropoffPostcode": "@home", "ticketNumber": "+1x", "vehicleRegistration": "vx21 abc",
        });
        let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
        let reply = app.get("/v1/loads?format=Csv").by(&haul).send().await;
        assert_eq!(reply.header("content-disposition"), "attachment; filename=\"loads.csv\"");
        let row = format!(
            "{},-5,upcoming,2026-03-01T00:00:00.000Z,,\"Grain \"\"and\"\" Mill, Ltd\",haul,'=1+1,1,Feed Wheat,\
             29.4,28,tonne,VX21 ABC,'+1x,HR4 9AR,'@home,\"b;a\",\"{first};{second}\",\r\n",
            load["id"].as_str().unwrap()
        );
        assert_eq!(reply.text(), format!("{HEADER}{row}"));
        assert_eq!(rows(&reply).len(), 1);
    }

    async fn exports_chosen_loads_and_columns(backend) {
        let app = app(backend).await;
        let haul = User::of("haul");
        let mut ids = Vec::new();
        for reference in ["A", "B", "C"] {
            let form = with(carrier_form(), "reference", json!(reference));
            let load = app.post("/v1/loads/carrier").by(&without_org_name("haul")).json(&form).send().await.ok();
            ids.push(load["id"].as_str().unwrap().to_owned());
        }
        let export = async |query: &str| {
            app.get(&format!("/v1/loads?{query}&sortBy=reference&sortDesc=true")).by(&haul).send().await
        };
        let chosen = format!("f:id={},{}", ids[0], ids[2]);
        let reply = export(&format!("format=CSV&columns=weight,reference&columns=status&{chosen}")).await;
        assert_eq!(reply.text(), "weight,reference,status\r\n,C,upcoming\r\n,A,upcoming\r\n");
        assert_eq!(rows(&export(&format!("format=CSV&{chosen}")).await).len(), 2, "all columns");
        assert_eq!(export(&format!("count=true&{chosen}")).await.header("x-total-count"), "2");
        let sums = app.get(&format!("/v1/loads/summary?{chosen}&f:status=completed")).by(&haul).send().await.ok();
        assert_eq!(sums["total"]["count"], 0, "the other filters hold too");
        assert_eq!(export("f:id=A").await.ok(), json!([]));
        assert_eq!(export("format=CSV&columns=reference,wieght").await.errors(), ["columns enum"]);
        let many = vec![&*ids[0]; 201].join(",");
        assert_eq!(export(&format!("f:id={many}")).await.errors(), ["f:id length"]);
        let of_others = app.get(&format!("/v1/loads?{chosen}")).by(&User::of("mill")).send().await.ok();
        assert_eq!(of_others, json!([]));
    }

    async fn omits_the_unit_of_loads_without_weight(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        let proof = json!({"weightNet": 0.5, "ticketNumber": "T", "vehicleRegistration": "V", "files": null,
            "capturedAtUTC": "2026-03-02T08:00:00Z"});
        let list = async || rows(&app.get("/v1/loads?format=CSV").by(&User::of("haul")).send().await).remove(0);
        let row = list().await;
        assert_eq!((&*row["weight"], &*row["weightUnit"], &*row["completedAtUTC"]), ("", "", ""));
        app.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(&User::of("haul")).json(&proof).send().await.ok();
        let row = list().await;
        assert_eq!((&*row["weight"], &*row["weightNet"], &*row["weightUnit"]), ("", "0.5", "tonne"));
        assert_eq!(row["completedAtUTC"], "2026-03-02T08:00:00.000Z");
    }

    /// Of organisations that organise, that carry and that do both, also where a range has only loads of one role.
    async fn exports_the_loads_of_all_roles(backend) {
        let app = app(backend).await;
        let loads = [("A", "grain", "haul"), ("B", "haul", "mill"), ("C", "haul", "haul"), ("D", "mill", "haul")];
        for (n, (reference, organiser, carrier)) in (1..).zip(loads) {
            let form = with(with(carrier_form(), "carrierId", json!(carrier)), "organisationId", json!(organiser));
            let form = with(with(form, "reference", json!(reference)), "deliveryDateISO", json!(format!("2026-03-0{n}")));
            app.post("/v1/loads/carrier").by(&User::of(carrier)).json(&form).send().await.ok();
        }
        for (org, from, to, expected) in [
            ("grain", 1, 4, "A"), ("grain", 2, 4, ""), ("haul", 1, 4, "ABCD"), ("haul", 1, 1, "A"),
            ("haul", 2, 2, "B"), ("haul", 3, 3, "C"), ("haul", 4, 4, "D"), ("haul", 2, 4, "BCD"),
            ("mill", 1, 4, "BD"), ("mill", 3, 4, "D"), ("mill", 1, 2, "B"), ("other", 1, 4, ""),
        ] {
            for sort in ["deliveryDateISO", "createdAt", "reference"] {
                let path = format!("/v1/loads?format=CSV&startDateISO=2026-03-0{from}&endDateISO=2026-03-0{to}");
                let path = format!("{path}&sortBy={sort}&sortDesc=false&count=true");
                let reply = app.get(&path).by(&User::of(org)).send().await;
                let mut references: Vec<_> = rows(&reply).into_iter().map(|row| row["reference"].clone()).collect();
                if sort == "createdAt" {
                    references.sort();
                }
                assert_eq!(references.concat(), expected, "{org} {path}");
                assert_eq!(reply.header("x-total-count"), expected.len().to_string(), "{org} {path}");
            }
        }
    }

    async fn negotiates_the_format(backend) {
        let app = app(backend).await;
        let get = async |accept: &str, query: &str| {
            let call = app.get(&format!("/v1/loads{query}")).by(&User::of("haul")).header("accept", accept);
            let reply = call.send().await;
            (reply.status, reply.header("content-type").split(';').next().unwrap().to_owned())
        };
        let (csv, json) = ((200, "text/csv".to_owned()), (200, "application/json".to_owned()));
        assert_eq!(get("text/csv", "").await, csv);
        assert_eq!(get("*/*", "").await, json);
        assert_eq!(get("text/csv, application/json", "").await, json);
        assert_eq!(get("text/csv, application/json;q=0.9", "").await, csv);
        assert_eq!(get("text/csv", "?format=json").await, json);
        assert_eq!(get("application/json", "?format=CSV").await, csv);
        assert_eq!(get("text/html", "?format=CSV").await.0, 406);
        let reply = app.get("/v1/loads?format=xml&limit=101").by(&User::of("haul")).send().await;
        let problem = reply.json()["validation"][0].clone();
        assert_eq!((&problem["path"], &problem["data"]), (&json!("format"), &json!({"allowed": ["JSON", "CSV", "XLSX"]})));
        assert_eq!(reply.errors(), ["format enum", "limit range"]);
    }

    async fn applies_limit_offset_and_cursor(backend) {
        let app = app(backend).await;
        for n in 0..5 {
            let form = with(organiser_form(), "reference", json!(format!("R{n}")));
            app.post("/v1/loads/organiser").by(&User::of("grain")).json(&form).send().await.ok();
        }
        let get = async |query: &str| app.get(&format!("/v1/loads?{query}")).by(&User::of("grain")).send().await;
        let list = async |query: &str| {
            let reply = get(&format!("format=CSV&sortBy=reference&{query}")).await;
            let rows = rows(&reply).into_iter().map(|row| row["reference"].clone());
            (rows.collect::<Vec<_>>().join(" "), reply.header("x-total-count").to_owned())
        };
        assert_eq!(list("").await, ("R0 R1 R2 R3 R4".into(), String::new()));
        assert_eq!(list("limit=1000000&offset=3&count=true").await, ("R3 R4".into(), "5".into()));
        assert_eq!(list("limit=2&offset=1").await.0, "R1 R2");
        assert_eq!(list("offset=9").await.0, "");
        let first = get("limit=2&sortBy=reference").await;
        let next = first.link("next").unwrap();
        let cursor = next.split_once("cursor=").unwrap().1;
        assert_eq!(list(&format!("cursor={cursor}")).await.0, "R2 R3 R4");
        assert_eq!(get("format=CSV&limit=1000001").await.errors(), ["limit range"]);
        assert_eq!(get("format=CSV&limit=0").await.errors(), ["limit range"]);
        let response = get("limit=101").await.json();
        assert_eq!(response["validation"][0]["data"], json!({"minimum": 1, "maximum": 100}));
        assert_eq!(rows(&app.get("/v1/loads?format=CSV").by(&User::individual("nobody")).send().await).len(), 0);
    }

    async fn answers_head_and_compresses(backend) {
        let app = app(backend).await;
        create_load(&app).await;
        let reply = app.call("HEAD", "/v1/loads?format=CSV").by(&User::of("haul")).send().await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv; charset=utf-8"));
        assert_eq!(reply.bytes.len(), 0);
        let call = app.get("/v1/loads?format=CSV").by(&User::of("haul")).header("accept-encoding", "gzip");
        let reply = call.send().await;
        assert_eq!((reply.status, reply.header("content-encoding")), (200, "gzip"));
        assert_eq!(reply.bytes[..2], [0x1f, 0x8b], "gzip's magic number");
    }

    async fn lists_loads_of_an_organiser_that_is_also_the_carrier_once(backend) {
        let app = app(backend).await;
        let header = "reference,deliveryDateISO,commodityName,organiserId,organiserName,carrierId,carrierName\n";
        // More rows than one block of the export.
        let row = |n| {
            let organiser = if n < 1_010 { "grain" } else { "mill" };
            format!("R-{n:04},2026-03-{:02},Feed Wheat,{organiser},Name,grain,Grain\n", 1 + n % 28)
        };
        let rows_sent = (0..1_020).map(row).collect::<String>();
        super::batch::send_file(&app, format!("{header}{rows_sent}")).await.ok();
        for order in ["createdAt", "deliveryDateISO", "reference"] {
            let path = format!("/v1/loads?format=CSV&sortBy={order}");
            let rows = rows(&app.get(&path).by(&User::of("grain")).send().await);
            let mut references: Vec<_> = rows.into_iter().map(|row| row["reference"].clone()).collect();
            references.sort();
            assert!(references.iter().eq(&(0..1_020).map(|n| format!("R-{n:04}")).collect::<Vec<_>>()), "{order}");
        }
    }

    async fn reports_errors_before_the_first_row(backend) {
        let app = app(backend).await;
        app.database.execute(&format!("DROP TABLE {}loads", if backend == Backend::Postgres { "logistics." } else { "" }));
        let reply = app.get("/v1/loads?format=CSV").by(&User::of("haul")).send().await;
        assert_eq!(reply.error(500), "internal");
    }
}

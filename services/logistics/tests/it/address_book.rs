//! The address book: organisations and drivers of loads, and who has called the service.

use super::*;

async fn organisations(app: &App, user: &User, query: &str) -> Vec<Value> {
    let path = format!("/v1/organisations?limit=100{query}");
    app.get(&path).by(user).send().await.ok().as_array().unwrap().clone()
}

async fn drivers(app: &App, user: &User, query: &str) -> Vec<Value> {
    let path = format!("/v1/drivers?limit=100{query}");
    app.get(&path).by(user).send().await.ok().as_array().unwrap().clone()
}

fn ids(rows: &[Value], member: &str) -> Vec<String> {
    rows.iter().map(|row| row[member].as_str().unwrap().to_owned()).collect()
}

/// Creates a load of `grain` with a carrier that it names.
async fn create(app: &App, carrier: &str, name: Option<&str>) -> Value {
    let grain = User::of("grain");
    let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
    let id = load["id"].as_str().unwrap();
    let patched = patch(app, &grain, id, &json!({"carrierId": carrier, "carrierName": name})).await.ok();
    assert_eq!(patched["carrier"]["id"], carrier);
    patched
}

fn warnings(response: &Value) -> Vec<(String, String)> {
    let text = |warning: &Value, member: &str| warning[member].as_str().unwrap().to_owned();
    let warnings = response["warnings"].as_array().into_iter().flatten();
    warnings.map(|warning| (text(warning, "path"), text(warning, "code"))).collect()
}

testkit::on_both! {
    async fn lists_the_organisations_of_loads(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        for (carrier, name) in [("haul", "Hereford Haulage"), ("haul", "Hereford Haulage"), ("fast", "F\u{e4}st & Sons"), ("zed", "Zed")] {
            create(&app, carrier, Some(name)).await;
        }
        let all = organisations(&app, &grain, "").await;
        assert_eq!(ids(&all, "id"), ["fast", "haul", "grain", "zed"], "in the order of the names: {all:#?}");
        assert_eq!((&all[0]["name"], &all[0]["loads"], &all[0]["isKnown"]), (&json!("F\u{e4}st & Sons"), &json!(1), &json!(false)));
        assert_eq!((&all[1]["name"], &all[1]["loads"], &all[1]["isKnown"]), (&json!("Hereford Haulage"), &json!(2), &json!(false)));
        assert_eq!((&all[2]["name"], &all[2]["loads"], &all[2]["isKnown"]), (&json!("Organisation grain"), &json!(4), &json!(true)));
        let newest = app.get("/v1/loads?f:carrierId=haul&sortBy=createdAt&sortDesc=true").by(&grain).send().await.ok();
        assert_eq!(all[1]["lastUsedUTC"], newest[0]["createdAtUTC"]);
        for (query, found) in [
            ("FAST", &["fast"][..]), ("sons+and", &["fast"]), ("here", &["haul"]), ("h+h", &["haul"]), ("e", &[]), ("zed+x", &[]),
            ("%E2%80%93+.", &["fast", "haul", "grain", "zed"]), ("organ", &["grain"]), ("50%25", &[]),
        ] {
            assert_eq!(ids(&organisations(&app, &grain, &format!("&query={query}")).await, "id"), found, "{query}");
        }
        let page = app.get("/v1/organisations?limit=2&offset=1&count=true").by(&grain).send().await;
        assert_eq!((page.header("x-total-count"), page.header("link").contains("offset=3>; rel=\"next\"")), ("4", true));
        assert_eq!(ids(page.ok().as_array().unwrap(), "id"), ["haul", "grain"]);

        // The other side sees its part, and is known from then on.
        let mut of_haul = organisations(&app, &haul, "").await;
        of_haul.sort_by_key(|row| row["id"].to_string());
        assert_eq!(ids(&of_haul, "id"), ["grain", "haul"]);
        assert_eq!((&of_haul[0]["loads"], &of_haul[1]["loads"]), (&json!(2), &json!(2)));
        let again = organisations(&app, &grain, "&query=haul").await;
        assert_eq!(again[0]["isKnown"], true);
        let stored = "known_callers WHERE id = 'haul' AND name = 'Organisation haul'";
        testkit::wait_until(async || app.database.count(stored) == 1).await;
        let renamed = organisations(&app, &grain, "&query=organisation+haul").await;
        assert_eq!((ids(&renamed, "id"), &renamed[0]["name"]), (vec!["haul".to_owned()], &json!("Organisation haul")));

        // A load that gets another carrier leaves the address book, unless there is another one.
        let load = create(&app, "zed", Some("Zed")).await;
        for load in [&load["id"], &app.get("/v1/loads?f:carrierId=zed").by(&grain).send().await.ok()[0]["id"]] {
            assert_eq!(ids(&organisations(&app, &grain, "&query=zed").await, "id"), ["zed"]);
            let id = load.as_str().unwrap();
            patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        }
        let left = app.get("/v1/loads?f:carrierId=zed").by(&grain).send().await.ok();
        for load in left.as_array().unwrap() {
            patch(&app, &grain, load["id"].as_str().unwrap(), &json!({"carrierId": "haul"})).await.ok();
        }
        assert_eq!(organisations(&app, &grain, "&query=zed").await, Vec::<Value>::new());
        assert_eq!(organisations(&app, &User::of("stranger"), "").await, Vec::<Value>::new());
        for path in ["/v1/organisations", "/v1/drivers"] {
            assert_eq!(app.get(path).by(&User::individual("dai")).send().await.error(403), "forbidden");
            assert_eq!(app.get(&format!("{path}?limit=101")).by(&grain).send().await.errors(), ["limit range"]);
            let long = (0..17).map(|n| format!("w{n}")).collect::<Vec<_>>().join("+");
            assert_eq!(app.get(&format!("{path}?query={long}")).by(&grain).send().await.errors(), ["query length"]);
        }
        let errors = app.get("/v1/organisations?f:blocked=true&query=x").by(&grain).send().await.errors();
        assert_eq!(errors, ["query inconsistent"]);
    }

    async fn lists_the_drivers_of_an_organisation(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let (one, other) = (create_load(&app).await, create_load(&app).await);
        let send = async |user: &User, id: &str, driver: &str| {
            let form = json!({"loadId": id, "driverId": driver});
            app.post("/v1/loads/send-to-driver").by(user).json(&form).send().await.ok()
        };
        let sent = send(&haul, &one, "dai").await;
        assert_eq!(warnings(&sent), [("driverId".to_owned(), "unknown_driver".to_owned())]);
        send(&haul, &other, "dai").await;
        send(&grain, &one, "eve").await;
        let listed = drivers(&app, &haul, "").await;
        assert_eq!(listed, [json!({"driverId": "dai", "loads": 2, "lastUsedUTC": listed[0]["lastUsedUTC"]})]);
        let dai = User::individual("dai").with("name", "Dai Evans");
        app.get(&format!("/v1/loads/{one}")).by(&dai).send().await.ok();
        assert_eq!(warnings(&send(&grain, &other, "dai").await), []);
        let stored = "known_callers WHERE id = 'dai' AND name = 'Dai Evans'";
        testkit::wait_until(async || app.database.count(stored) == 1).await;
        let found = drivers(&app, &haul, "&query=evans&count=true").await;
        assert_eq!((ids(&found, "driverId"), &found[0]["name"]), (vec!["dai".to_owned()], &json!("Dai Evans")));
        assert_eq!(ids(&drivers(&app, &grain, "").await, "driverId"), ["dai", "eve"]);
        assert_eq!(drivers(&app, &User::of("stranger"), "").await, Vec::<Value>::new());
    }

    async fn warns_of_unknown_organisations(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        let unknown = |path: &str| vec![(path.to_owned(), "unknown_organisation".to_owned())];
        let form = with(carrier_form(), "organisationId", json!("mill"));
        let create = async |form: &Value| app.post("/v1/loads/carrier").by(&haul).json(form).send().await.ok();
        let load = create(&form).await;
        assert_eq!(warnings(&load), unknown("organisationId"));
        let stored = app.get(&format!("/v1/loads/{}", load["id"].as_str().unwrap())).by(&haul).send().await.ok();
        assert_eq!(stored, without(load, "warnings"), "warnings are not stored");
        app.get("/v1/loads").by(&User::of("mill")).send().await.ok();
        let load = create(&form).await;
        assert_eq!((warnings(&load), &load["organiser"]["name"]), (vec![], &json!("Organisation mill")));

        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        assert_eq!(warnings(&load), [], "the own organisation is known");
        let id = load["id"].as_str().unwrap();
        assert_eq!(warnings(&patch(&app, &grain, id, &json!({"carrierId": "fast"})).await.ok()), unknown("carrierId"));
        assert_eq!(warnings(&patch(&app, &grain, id, &json!({"weight": 3})).await.ok()), []);
        let sent = json!({"loadId": id, "carrierId": "fast"});
        let sent = app.post("/v1/loads/send-to-carrier").by(&grain).json(&sent).header("idempotency-key", "k");
        let sent = sent.send().await.ok();
        assert_eq!(warnings(&sent), unknown("carrierId"));
        assert_eq!(warnings(&patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok()), []);
    }

    async fn the_names_in_tokens_win(backend) {
        let app = app(backend).await;
        let (grain, haul) = (User::of("grain"), User::of("haul"));
        app.get("/v1/loads").by(&haul).send().await.ok();
        let load = create(&app, "haul", Some("Hauliers")).await;
        assert_eq!(load["carrier"]["name"], "Organisation haul");
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let sent = json!({"loadId": load["id"], "carrierId": "haul", "carrierName": "Hauliers"});
        app.post("/v1/loads/send-to-carrier").by(&grain).json(&sent).send().await.ok();
        let path = format!("/v1/loads/{}", load["id"].as_str().unwrap());
        assert_eq!(app.get(&path).by(&grain).send().await.ok()["carrier"]["name"], "Organisation haul");
        let rows = b"reference,deliveryDateISO,commodityId,carrierId,carrierName,organiserId,organiserName\n\
            A,2026-03-01,1,haul,Hauliers,grain,G\n";
        let result = batch::send(&app, &grain, batch::form(&[rows])).await.ok();
        assert_eq!(batch::loads(&app, &grain, &result).await[0]["carrier"]["name"], "Organisation haul");
        // Another replica reads the name from the table.
        let stored = "known_callers WHERE id = 'haul' AND name = 'Organisation haul'";
        testkit::wait_until(async || app.database.count(stored) == 1).await;
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        let load = create(&app, "haul", Some("Hauliers")).await;
        assert_eq!((load["carrier"]["name"].as_str(), warnings(&load)), (Some("Organisation haul"), vec![]));
    }

    async fn names_may_be_left_out(backend) {
        let app = app(backend).await;
        let (grain, nameless) = (User::of("grain"), without_org_name("mill"));
        let form = without(organiser_form(), "organiserName");
        let post = async |user: &User, form: &Value| app.post("/v1/loads/organiser").by(user).json(form).send().await;
        assert_eq!(post(&grain, &form).await.ok()["organiser"]["name"], "Organisation grain");
        let of_mill = with(form, "organiserId", json!("mill"));
        let wrong = with(of_mill.clone(), "commodityId", json!(99_999));
        assert_eq!(post(&nameless, &of_mill).await.errors(), ["organiserName required"]);
        assert_eq!(post(&nameless, &wrong).await.errors(), ["commodityId unknown_reference", "organiserName required"]);
        post(&nameless, &with(of_mill.clone(), "organiserName", json!("The Mill"))).await.ok();
        organisations(&app, &nameless, "").await;
        assert_eq!(post(&nameless, &of_mill).await.ok()["organiser"]["name"], "The Mill", "from the address book");
        // Another party, whose name defaults to its id.
        create(&app, "fast", Some("Fast Ltd")).await;
        organisations(&app, &grain, "").await;
        let load = app.post("/v1/loads/organiser").by(&grain).json(&organiser_form()).send().await.ok();
        let patched = patch(&app, &grain, load["id"].as_str().unwrap(), &json!({"carrierId": "fast"})).await.ok();
        assert_eq!(patched["carrier"]["name"], "Fast Ltd");
    }

    async fn rows_of_batches_name_contacts(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        for (id, name) in [("fast", "Fast & Sons"), ("a", "Twins"), ("b", "Twins")] {
            create(&app, id, Some(name)).await;
        }
        let send = async |rows: &str| {
            let csv = format!("reference,deliveryDateISO,commodityId,carrierId,carrierName\n{rows}");
            batch::send(&app, &grain, batch::form(&[csv.as_bytes()]).text("organisationId", "grain")).await
        };
        let result = send("A,2026-03-01,1,,FAST and sons\nB,2026-03-01,1,fast,\n").await.ok();
        for load in batch::loads(&app, &grain, &result).await {
            assert_eq!((&load["carrier"]["id"], &load["carrier"]["name"]), (&json!("fast"), &json!(if load["reference"] == "A" { "FAST and sons" } else { "Fast & Sons" })));
        }
        assert_eq!(warnings(&result), [("rows[0].carrierId".to_owned(), "unknown_organisation".to_owned())]);
        assert_eq!((&result["warnings"][0]["data"]["rows"], &result["warnings"][0]["data"]["organisationId"]), (&json!([0, 1]), &json!("fast")));
        let refused = send("A,2026-03-02,1,,Fast & Son\nB,2026-03-02,1,,Twins\nC,2026-03-02,1,,Nobody at all\n").await;
        let entries = refused.json()["validation"].clone();
        let found: Vec<_> = entries.as_array().unwrap().iter().map(|entry| {
            (entry["path"].as_str().unwrap().to_owned(), entry["code"].as_str().unwrap().to_owned(), entry["data"]["suggestions"].clone())
        }).collect();
        let required = |row: usize, suggestions: Value| (format!("rows[{row}].carrierId"), "required".to_owned(), suggestions);
        assert_eq!(found[0], required(0, json!(["Fast & Sons"])));
        assert_eq!(found.iter().find(|entry| entry.0 == "rows[1].carrierId").unwrap(), &required(1, json!(["Twins"])));
        assert_eq!(found.iter().find(|entry| entry.0 == "rows[2].carrierId").unwrap(), &required(2, json!([])));
    }

    async fn a_batch_lists_100_unknown_organisations(backend) {
        let app = app(backend).await;
        let rows = (0..250).fold(String::new(), |rows, n| {
            let carrier = if n < 130 { "c-000".to_owned() } else { format!("c-{n:03}") };
            rows + &format!("R-{n},2026-03-01,1,grain,G,{carrier},C\n")
        });
        let csv = format!("reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n{rows}");
        let result = batch::send(&app, &User::of("grain"), batch::form(&[csv.as_bytes()])).await.ok();
        let listed = result["warnings"].as_array().unwrap();
        assert_eq!((listed.len(), listed[0]["data"]["rows"].as_array().unwrap().len()), (100, 100));
        assert_eq!(listed[1]["data"]["rows"], json!([130]));
    }

    async fn an_organisation_is_written_once_a_day(backend) {
        let app = app(backend).await;
        let written = |name: &str| format!("known_callers WHERE id = 'haul' AND kind = 'organisation' AND name = '{name}'");
        let call = async |name: &str| {
            app.get("/v1/loads").by(&User::of("haul").with("orgName", name)).send().await.ok();
        };
        call("First").await;
        testkit::wait_until(async || app.database.count(&written("First")) == 1).await;
        app.record_statements();
        for name in ["First", "Second", "First"] {
            call(name).await;
        }
        assert_eq!(app.database.count(&written("First")), 1);
        // On another day, and another replica.
        app.database.execute("UPDATE known_callers SET written_on = written_on - 1");
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        app.get("/v1/loads").by(&User::of("haul").with("orgName", "Second")).send().await.ok();
        testkit::wait_until(async || app.database.count(&written("Second")) == 1).await;
    }
}

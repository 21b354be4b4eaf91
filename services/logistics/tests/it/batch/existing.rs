//! Rows whose loads exist already: `ifExists`.

use super::*;

const HEADER: &str =
    "id,reference,deliveryDateISO,commodityId,organiserId,organiserName,carrierId,carrierName\n";

/// Returns a table with rows of the organisation `grain`: id, reference and delivery date.
pub fn table(rows: &[(&str, &str, &str)]) -> String {
    let row =
        |(id, reference, date): &(&str, &str, &str)| format!("{id},{reference},{date},1,grain,Grain,,\n");
    HEADER.to_owned() + &rows.iter().map(row).collect::<String>()
}

/// Sends a table with this value of `ifExists`.
pub async fn send_if(app: &App, user: &User, if_exists: &str, table: &str) -> TestResponse {
    send(app, user, form(&[table.as_bytes()]).text("ifExists", if_exists.to_owned())).await
}

/// Returns the numbers of created and skipped rows.
pub fn counts(reply: TestResponse) -> (Value, Value) {
    let answer = reply.ok();
    assert_eq!(json!(answer["ids"].as_array().unwrap().len()), answer["count"]);
    (answer["count"].clone(), answer["skipped"].clone())
}

/// Changes the column with the creator of all loads.
fn set_creator(app: &App, sql: &str) {
    app.database.execute(&format!("UPDATE loads SET created_by = {sql}"));
}

testkit::on_both! {
    async fn rows_that_exist_are_skipped(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let first = table(&[("", "A", "2026-03-01"), ("", "B", "2026-03-01T09:30:00Z")]);
        assert_eq!(counts(send_if(&app, &grain, "skip", &first).await), (json!(2), json!(0)));
        // The same content again: rows are compared, not files.
        let again = send_if(&app, &grain, "skip", &first).await;
        assert_eq!(again.json()["message"], "0 loads were created, 2 rows skipped.");
        assert_eq!(counts(again), (json!(0), json!(2)));
        let mixed = table(&[
            ("", "A", "2026-03-01T01:00:00+01:00"), ("", "A", "2026-03-02"), ("", "C", "2026-03-01"), ("", "a", "2026-03-02"),
        ]);
        let dry = form(&[mixed.as_bytes()]).text("ifExists", "Skip").text("dryRun", "true");
        let dry = send(&app, &grain, dry).await.ok();
        assert_eq!((&dry["count"], &dry["skipped"], &dry["ids"]), (&json!(2), &json!(2), &json!([])));
        let reply = send_if(&app, &grain, "skip", &mixed).await;
        assert_eq!(reply.json()["message"], "2 loads were created, 2 rows skipped.");
        let answer = reply.json();
        assert_eq!(counts(reply), (json!(2), json!(2)));
        let created = loads(&app, &grain, &answer).await;
        assert_eq!(created.iter().map(|load| &load["reference"]).collect::<Vec<_>>(), ["A", "C"]);
        assert_eq!(count_loads(&app).await, 4);
        // Without the option, each row is a load, and a repeated content is refused.
        assert_eq!(send_file(&app, &mixed).await.error(409), "conflict");
        let create = form(&[mixed.as_bytes()]).text("ifExists", "create").text("repeat", "true");
        let answer = send(&app, &grain, create).await.ok();
        assert_eq!((&answer["count"], answer.get("skipped")), (&json!(4), None));
    }

    async fn references_are_compared_folded(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let form = with(organiser_form(), "reference", json!("Straße-7  O'Neill"));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        for same in [
            "Straße-7 O'Neill", "STRASSE 7 O\u{2019}NEILL", "straße\u{2011}7 oneill", "Strasse\u{2013}7\u{a0} O`Neill",
            "Stra\u{1e9e}e\u{2212}7 o\u{2018}neill", "(strasse 7 o\u{2bc}neill)", "\u{ff33}trasse-7 O\u{b4}Ne\u{ed}ll.",
        ] {
            let rows = table(&[("", same, "2026-03-01")]);
            let reply = send_if(&app, &grain, "skip", &rows).await;
            assert_eq!(reply.json().get("warnings"), None, "{same}");
            assert_eq!(counts(reply), (json!(0), json!(1)), "{same}");
            let refused = send_if(&app, &grain, "refuse", &rows).await;
            assert_eq!(refused.json()["validation"][0]["data"]["loadId"], load["id"], "{same}");
            assert_eq!(entries(&refused), ["rows[0].reference inconsistent 2"], "{same}");
        }
        // Also within an upload. A value is stored as it was written.
        let rows = [("", "N-1", "2026-03-01"), ("", "n\u{2014}1", "2026-03-01"), ("", "n 1", "2026-03-02"), ("", "---", "2026-03-01")];
        let refused = send_if(&app, &grain, "refuse", &table(&rows)).await;
        assert_eq!(entries(&refused), ["rows[1].reference inconsistent 3"]);
        let reply = send_if(&app, &grain, "skip", &table(&rows)).await;
        let created = loads(&app, &grain, &reply.json()).await;
        assert_eq!(created.iter().map(|load| &load["reference"]).collect::<Vec<_>>(), ["N-1", "n 1", "---"]);
        // Folding makes some texts much longer.
        let long = "\u{fdfa}".repeat(100);
        let rows = table(&[("", &long, "2026-03-01"), ("", "...", "2026-03-01")]);
        assert_eq!(counts(send_if(&app, &grain, "skip", &rows).await), (json!(2), json!(0)));
        assert_eq!(counts(send_if(&app, &grain, "skip", &rows).await), (json!(0), json!(2)));
    }

    async fn rows_that_exist_are_refused_with_all_other_errors(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let answer = send_file(&app, table(&[("", "A", "2026-03-01")])).await.ok();
        let id = answer["ids"][0].as_str().unwrap();
        let rows = [("", "A", "2026-03-01"), (id, "B", "2026-03-01"), ("", "C", "2026-03-01"), ("", "C", "2026-03-01")];
        let reply = send_if(&app, &grain, "refuse", &table(&rows)).await;
        assert_eq!(reply.json()["validation"][0]["data"], json!({"line": 2, "loadId": id}));
        assert_eq!(reply.json()["body"]["failedRows"], 3);
        let expected = ["rows[0].reference inconsistent 2", "rows[1].id inconsistent 3", "rows[3].reference inconsistent 5"];
        assert_eq!(entries(&reply), expected);
        let dry = form(&[table(&rows).as_bytes()]).text("ifExists", "refuse").text("dryRun", "true");
        assert_eq!(entries(&send(&app, &grain, dry).await), expected);
        // Together with a row that is invalid, and with the name of the file.
        let invalid = table(&[rows[0], rows[1], ("", "", "2026-03-01")]);
        let two = form(&[invalid.as_bytes(), table(&rows[2..]).as_bytes()]).text("ifExists", "refuse");
        let reply = send(&app, &grain, two).await;
        assert_eq!(reply.json()["body"]["failedRows"], 4);
        assert_eq!(entries(&reply), [
            "rows[2].reference required 4 1.csv", "rows[0].reference inconsistent 2 1.csv", "rows[1].id inconsistent 3 1.csv",
            "rows[4].reference inconsistent 3 2.csv",
        ]);
        assert_eq!(count_loads(&app).await, 1);
        let new = table(&[("", "A", "2026-03-02")]);
        assert_eq!(send_if(&app, &grain, "refuse", &new).await.ok().get("skipped"), None);
        assert_eq!(entries(&send_if(&app, &grain, "refuse", &new).await), ["rows[0].reference inconsistent 2"]);
        assert_eq!(send_if(&app, &grain, "replace", &new).await.errors(), ["ifExists enum"]);
    }

    async fn only_the_loads_of_the_creator_count(backend) {
        let app = app(backend).await;
        let (grain, haul) = (without_org_name("grain"), without_org_name("haul"));
        // A load that another organisation created with the same reference and date.
        let row = "HH-1,2026-03-01T10:30:00+01:00,1,grain,Grain,haul,Haulage\n";
        let both = format!("{HEADER},{row}");
        let id = create_load(&app).await;
        assert_eq!(counts(send_if(&app, &grain, "skip", &both).await), (json!(1), json!(0)));
        assert_eq!(counts(send_if(&app, &haul, "skip", &both).await), (json!(0), json!(1)));
        // By id, every load that the caller may see exists.
        let named = |id: &str| format!("{HEADER}{id},NEW,2026-01-01,1,grain,Grain,,\n");
        assert_eq!(counts(send_if(&app, &grain, "skip", &named(&id.to_uppercase())).await), (json!(0), json!(1)));
        let other = form(&[named(&id).replace("grain,Grain", "other,Other").as_bytes()]).text("ifExists", "skip");
        assert_eq!(counts(send(&app, &without_org_name("other"), other).await), (json!(1), json!(0)));
        for unknown in ["no-uuid", "018f0000-0000-7000-8000-000000000001"] {
            let table = named(unknown).replace("NEW", unknown);
            assert_eq!(counts(send_if(&app, &grain, "skip", &table).await), (json!(1), json!(0)), "{unknown}");
        }
        // A cancelled load does not exist by reference, but by id.
        let answer = send_file(&app, table(&[("", "C", "2026-03-01")])).await.ok();
        let cancelled = answer["ids"][0].as_str().unwrap();
        assert_eq!(cancel(&app, &grain, cancelled).await.status, 200);
        let rows = table(&[(cancelled, "D", "2026-03-01"), ("", "C", "2026-03-01")]);
        assert_eq!(counts(send_if(&app, &grain, "skip", &rows).await), (json!(1), json!(1)));
    }

    async fn loads_for_others_and_of_older_versions_count(backend) {
        let app = app(backend).await;
        let (admin, grain, haul) = (User::admin(), without_org_name("grain"), without_org_name("haul"));
        // An administrator without organisation creates for others.
        let rows = table(&[("", "A", "2026-03-01")]);
        assert_eq!(counts(send_if(&app, &admin, "skip", &rows).await), (json!(1), json!(0)));
        assert_eq!(counts(send_if(&app, &admin, "skip", &rows).await), (json!(0), json!(1)));
        assert_eq!(counts(send_if(&app, &grain, "skip", &rows).await), (json!(1), json!(0)), "the creator is another one");
        // The carrier created a load and assigned it to another carrier.
        let carried = format!("{HEADER},K,2026-03-01,1,grain,Grain,haul,Haulage\n");
        let answer = send_if(&app, &haul, "skip", &carried).await.ok();
        let id = answer["ids"][0].as_str().unwrap();
        let patched = patch(&app, &haul, id, &json!({"carrierId": "next", "carrierName": "Next"})).await;
        assert_eq!(patched.status, 200, "{}", patched.text());
        assert_eq!(counts(send_if(&app, &haul, "skip", &carried).await), (json!(0), json!(1)));
        // Older versions stored no creator: the organiser, or else the carrier.
        set_creator(&app, "NULL");
        assert_eq!(counts(send_if(&app, &grain, "skip", &rows).await), (json!(0), json!(1)));
        assert_eq!(counts(send_if(&app, &haul, "skip", &carried).await), (json!(1), json!(0)));
        let own = format!("{HEADER},O,2026-03-01,1,,,haul,Haulage\n");
        assert_eq!(counts(send_if(&app, &haul, "skip", &own).await), (json!(1), json!(0)));
        set_creator(&app, "NULL");
        assert_eq!(counts(send_if(&app, &haul, "skip", &own).await), (json!(0), json!(1)));
    }

    async fn concurrent_imports_store_each_load_once(backend) {
        let app = app(backend).await;
        let replica = App::start_replica::<Logistics>(&app, Settings::default()).await;
        let row = |n: usize| format!(",R-{n},2026-03-01,1,grain,Grain,,\n");
        let table = |from: usize| HEADER.to_owned() + &(from..from + 400).map(row).collect::<String>();
        // SQLite databases belong to one process.
        let other = if backend == Backend::Sqlite { &app } else { &replica };
        let (user, tables) = (without_org_name("grain"), [table(0), table(200), table(400)]);
        let [first, second, third, fourth] = [(&app, 0), (other, 1), (other, 0), (&app, 2)]
            .map(|(app, n)| send_if(app, &user, "skip", &tables[n]));
        let replies = tokio::join!(first, second, third, fourth);
        let mut all = (0, 0);
        for reply in [replies.0, replies.1, replies.2, replies.3] {
            let (created, skipped) = counts(reply);
            all = (all.0 + created.as_u64().unwrap(), all.1 + skipped.as_u64().unwrap());
        }
        assert_eq!(all, (800, 800));
        assert_eq!(count_loads(&app).await, 800);
    }

    async fn exports_are_skipped_when_they_are_imported(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        send_file(&app, VALID_CSV).await.ok();
        create_load(&app).await;
        let csv = app.get("/v1/loads?format=CSV").by(&grain).send().await.text();
        assert_eq!(counts(send_if(&app, &grain, "skip", &csv).await), (json!(0), json!(3)));
        let reply = send_if(&app, &grain, "refuse", &csv).await;
        assert_eq!(entries(&reply), ["rows[0].id inconsistent 2", "rows[1].id inconsistent 3", "rows[2].id inconsistent 4"]);
        assert_eq!(count_loads(&app).await, 3);
    }
}

/// All statements of a large import read only the loads of the organisation and the dates.
#[test]
fn lookups_use_indexes() {
    testkit::block_on(async {
        let app = app(Backend::Sqlite).await;
        send_file(&app, VALID_CSV).await.ok();
        app.record_statements();
        let csv = app.get("/v1/loads?format=CSV").by(&User::of("grain")).send().await.text();
        let reply = send_if(&app, &User::of("grain"), "skip", &csv).await;
        assert_eq!(counts(reply), (json!(0), json!(2)));
        let statements = app.take_statements();
        let lookups = statements.iter().filter(|s| s.contains("->> 'reference'")).collect::<Vec<_>>();
        let similar = ["loads_similar (created_by=? AND similarity_key=?)"];
        let created = [
            "loads_organiser_delivery (organiser_id=? AND delivery_at=?)",
            "loads_carrier_delivery (carrier_id=? AND delivery_at=?)",
            "loads_created_for_others (created_by=? AND delivery_at=?)",
        ];
        // Rows are compared before the transaction, for the answer, and in it.
        let indexes = [&similar[..], &created, &created].concat();
        assert_eq!(lookups.len(), indexes.len(), "{statements:#?}");
        for (statement, index) in lookups.into_iter().zip(indexes) {
            let plan = app.query_plan(statement);
            assert!(plan.contains(index) && !plan.contains("SCAN loads"), "{statement}\n{plan}");
        }
        let by_id = statements.iter().find(|s| s.contains("`loads`.`id` IN (")).unwrap();
        let plan = app.query_plan(by_id);
        assert!(plan.contains("sqlite_autoindex_loads_1 (id=?)"), "{by_id}\n{plan}");
    });
}

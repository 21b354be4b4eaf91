//! The warning for new rows whose reference is only similar to another one, and loads whose references older versions
//! stored.

use super::existing::{counts, send_if, table};
use super::*;

/// Returns the warnings of a batch.
fn warnings(reply: &TestResponse) -> Vec<Value> {
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()["warnings"].as_array().cloned().unwrap_or_default()
}

/// Returns rows of 1 March 2026 with these references.
fn references(references: &[&str]) -> String {
    table(&references.iter().map(|reference| ("", *reference, "2026-03-01")).collect::<Vec<_>>())
}

testkit::on_both! {
    async fn new_references_that_are_only_similar_give_a_warning(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let answer = send_file(&app, references(&["PB-2026-0301", "SO/0012", "X1", "GONE-1"])).await.ok();
        let id = |n: usize| answer["ids"][n].as_str().unwrap();
        cancel(&app, &grain, id(3)).await.ok();
        send_if(&app, &without_org_name("haul"), "create", &references(&["OTHER-1"]).replace("grain", "haul")).await.ok();
        let rows = table(&[
            ("", "PB20260301", "2026-03-01"), ("", "so\u{2011}12", "2026-04-01"), ("", "pb\u{2013}2026\u{2013}0301", "2026-03-01"),
            ("", "PB 2026 0301", "2026-03-02"), ("", "NEW-5", "2026-03-01"), ("", "new5", "2026-03-01"), ("", "PB20260301", "2026-03-02"),
            ("", "GONE1", "2026-03-01"), ("", "OTHER1", "2026-03-01"), (id(2), "PB2026.0301", "2026-03-01"), ("", "X10", "2026-03-01"),
        ]);
        let expected = json!([
            {
                "path": "rows[0].reference", "code": "similar_reference",
                "message": "is similar to PB-2026-0301, the reference of a load of your organisation: is it the same?",
                "data": {"line": 2, "reference": "PB-2026-0301", "loadId": id(0), "rows": [0, 6]},
            },
            {
                "path": "rows[1].reference", "code": "similar_reference",
                "message": "is similar to SO/0012, the reference of a load of your organisation: is it the same?",
                "data": {"line": 3, "reference": "SO/0012", "loadId": id(1), "rows": [1]},
            },
            {
                "path": "rows[5].reference", "code": "similar_reference",
                "message": "is similar to NEW-5, the reference of an earlier row: is it the same?",
                "data": {"line": 7, "reference": "NEW-5", "row": 4, "rows": [5]},
            },
        ]);
        let dry = form(&[rows.as_bytes()]).text("ifExists", "skip").text("dryRun", "true");
        let dry = send(&app, &grain, dry).await;
        assert_eq!(json!(warnings(&dry)), expected);
        let stored = send_if(&app, &grain, "skip", &rows).await;
        assert_eq!(json!(warnings(&stored)), expected);
        assert_eq!(counts(stored), (json!(9), json!(2)));
        // All that were stored are known now.
        let again = form(&[rows.as_bytes()]).text("repeat", "true");
        let again = send(&app, &grain, again).await;
        let again = warnings(&again);
        assert_eq!((again.len(), &again[0]["path"]), (1, &json!("rows[9].reference")));
        // Without ifExists too, and with the name of the file.
        let two = form(&[references(&["Z"]).as_bytes(), references(&["x01"]).as_bytes()]);
        let reply = send(&app, &grain, two).await;
        assert_eq!(warnings(&reply)[0]["path"], "rows[1].reference");
        let data = &warnings(&reply)[0]["data"];
        assert_eq!((&data["line"], &data["file"], &data["reference"]), (&json!(2), &json!("2.csv"), &json!("X1")));
    }

    async fn a_response_has_at_most_a_hundred_of_these_warnings(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let all: Vec<String> = (0..150).map(|n| format!("L-{n}")).collect();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        send_file(&app, references(&all)).await.ok();
        let similar = references(&all).replace("L-", "L");
        let reply = send_if(&app, &grain, "refuse", &similar).await;
        let listed = warnings(&reply);
        assert_eq!(listed.len(), 100);
        assert_eq!(listed[99]["path"], "rows[99].reference");
        let many = table(&(0..150).map(|_| ("", "L_7", "2026-05-01")).collect::<Vec<_>>());
        let reply = send_if(&app, &grain, "create", &many).await;
        assert_eq!(warnings(&reply).len(), 1);
        assert_eq!(warnings(&reply)[0]["data"]["rows"].as_array().unwrap().len(), 100);
    }

    async fn loads_of_older_versions_are_compared_and_filled_in(backend) {
        let app = app(backend).await;
        let grain = without_org_name("grain");
        let answer = send_file(&app, references(&["A-1", "B-1"])).await.ok();
        // The previous release stores no key, and does not change it with the reference.
        app.database.execute("UPDATE loads SET similarity_key = NULL WHERE document ->> 'reference' = 'A-1'");
        let edited = if backend == Backend::Sqlite {
            "json_set(document, '$.reference', 'C-1')"
        } else {
            "(document::jsonb || jsonb_build_object('reference', 'C-1'))::json"
        };
        app.database.execute(&format!(
            "UPDATE loads SET reference_key = 'c-1', document = {edited} WHERE document ->> 'reference' = 'B-1'"
        ));
        let unknown = "loads WHERE similarity_key IS NULL";
        assert_eq!(app.database.count(unknown), 2);
        let rows = references(&["a\u{2011}1", "b 1", "c 1"]);
        let dry = form(&[rows.as_bytes()]).text("ifExists", "skip").text("dryRun", "true");
        let reply = send(&app, &grain, dry).await.ok();
        assert_eq!((&reply["count"], &reply["skipped"]), (&json!(1), &json!(2)));
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        assert_eq!(app.database.count(unknown), 0);
        let reply = send_if(&app, &grain, "refuse", &references(&["A1", "B1", "C1"])).await;
        let similar: Vec<_> = warnings(&reply).iter().map(|warning| warning["data"]["loadId"].clone()).collect();
        assert_eq!(similar, [answer["ids"][0].clone(), answer["ids"][1].clone()]);
        // A change of this release that keeps the key.
        let id = answer["ids"][0].as_str().unwrap();
        patch(&app, &grain, id, &json!({"reference": "a 1"})).await.ok();
        assert_eq!(counts(send_if(&app, &grain, "skip", &references(&["A-1"])).await), (json!(0), json!(1)));
        patch(&app, &grain, id, &json!({"reference": "D-1"})).await.ok();
        assert_eq!(app.database.count("loads WHERE similarity_key = 'd1'"), 1);
    }
}

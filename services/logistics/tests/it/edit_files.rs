//! Files of edited loads.

use super::*;

fn named(ids: &[&str]) -> Value {
    json!(ids.iter().map(|id| json!({"id": id})).collect::<Vec<_>>())
}

fn ids(load: &Value) -> Vec<&str> {
    load["files"].as_array().unwrap().iter().map(|file| file["id"].as_str().unwrap()).collect()
}

testkit::on_both! {
    async fn files_are_checked_shared_and_replaced(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (a, b) = (system.add("a.pdf", &grain), system.add("b.pdf", &grain));
        let form = with(organiser_form(), "files", named(&[&a]));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        assert_eq!(system.shares().await.last().unwrap(), &json!({"ids": [a], "shareWith": ["haul"]}));

        let before = system.shares().await.len();
        let load = patch(&app, &grain, id, &json!({"files": named(&[&a, &b])})).await.ok();
        assert_eq!(ids(&load), [&a, &b]);
        assert_eq!(load["files"][1]["name"], "b.pdf");
        let shares = system.shares().await.split_off(before);
        assert_eq!(shares, [json!({"ids": [b], "shareWith": ["grain", "haul"]})]);
        let changes = json!({"files": {"from": [{"id": a, "name": "a.pdf"}], "to": [{"id": a, "name": "a.pdf"}, {"id": b, "name": "b.pdf"}]}});
        assert_eq!(events(&app, id).await[2]["changes"], changes);

        let load = patch(&app, &grain, id, &json!({"files": named(&[&b])})).await.ok();
        assert_eq!(ids(&load), [&b], "a removed file is not listed");
        // The new carrier gets the files that stay, and both parties the new one.
        let (c, before) = (system.add("c.pdf", &grain), system.shares().await.len());
        patch(&app, &grain, id, &json!({"carrierId": "fast", "files": named(&[&b, &c])})).await.ok();
        let mut shares = system.shares().await.split_off(before);
        shares.sort_by_key(ToString::to_string);
        let mut expected = vec![json!({"ids": [b], "shareWith": ["fast"]}), json!({"ids": [c], "shareWith": ["grain", "fast"]})];
        expected.sort_by_key(ToString::to_string);
        assert_eq!(shares, expected);
    }

    async fn unknown_files_are_refused_first_and_shared_with_nobody(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (id, file) = (create_load(&app).await, system.add("a.pdf", &grain));
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let members = json!({"files": named(&[&file, unknown]), "weight": -1});
        assert_eq!(patch(&app, &grain, &id, &members).await.errors(), ["files[1].id unknown_reference", "weight range"]);
        let members = json!({"files": named(&[unknown])});
        for user in [&grain, &User::of("other")] {
            assert_eq!(patch(&app, user, &id, &members).await.errors(), ["files[0].id unknown_reference"]);
        }
        let refused = app.call("PATCH", &format!("/v1/loads/{id}")).by(&grain).header("if-match", "\"9\"");
        assert_eq!(refused.json(&json!({"files": named(&[&file])})).send().await.status, 412);
        assert_eq!((system.shares().await.len(), revision(&app, &id).await), (0, 1));
    }
}

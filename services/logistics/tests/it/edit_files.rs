//! Files of edited loads.

use testkit::{file_ids, named_files};

use super::*;

testkit::on_both! {
    async fn files_are_checked_shared_and_replaced(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (a, b) = (system.add("a.pdf", &grain), system.add("b.pdf", &grain));
        let form = with(organiser_form(), "files", named_files(&[&a]));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        patch(&app, &grain, id, &json!({"carrierId": "haul"})).await.ok();
        assert_eq!(system.shares().await.last().unwrap(), &json!({"ids": [a], "shareWith": ["haul"]}));

        let before = system.shares().await.len();
        let load = patch(&app, &grain, id, &json!({"files": named_files(&[&a, &b])})).await.ok();
        assert_eq!(file_ids(&load), [&a, &b]);
        assert_eq!(load["files"][1]["name"], "b.pdf");
        let shares = system.shares().await.split_off(before);
        assert_eq!(shares, [json!({"ids": [b], "shareWith": ["grain", "haul"]})]);
        let changes = json!({"files": {"from": [{"id": a, "name": "a.pdf"}], "to": [{"id": a, "name": "a.pdf"}, {"id": b, "name": "b.pdf"}]}});
        assert_eq!(events(&app, id).await[2]["changes"], changes);

        let load = patch(&app, &grain, id, &json!({"files": named_files(&[&b])})).await.ok();
        assert_eq!(file_ids(&load), [&b], "a removed file is not listed");
        // The new carrier gets the files that stay, and both parties the new one.
        let (c, before) = (system.add("c.pdf", &grain), system.shares().await.len());
        patch(&app, &grain, id, &json!({"carrierId": "fast", "files": named_files(&[&b, &c])})).await.ok();
        let mut shares = system.shares().await.split_off(before);
        shares.sort_by_key(ToString::to_string);
        let mut expected = vec![json!({"ids": [b], "shareWith": ["fast"]}), json!({"ids": [c], "shareWith": ["grain", "fast"]})];
        expected.sort_by_key(ToString::to_string);
        assert_eq!(shares, expected);
    }

    async fn searches_find_the_loads_that_have_a_file(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (a, b) = (system.add("a.pdf", &grain), system.add("b.pdf", &grain));
        let mut ids = Vec::new();
        for files in [vec![&a, &b], vec![&a], vec![]] {
            let form = with(organiser_form(), "files", named_files(&files));
            let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
            ids.push(load["id"].as_str().unwrap().to_owned());
        }
        let collection = json!({"files": named_files(&[&b])});
        app.post(&format!("/v1/loads/{}/collection", ids[2])).by(&grain).json(&collection).send().await.ok();
        let found = async |user: &User, query: &str| {
            let reply = app.get(&format!("/v1/loads?sortBy=createdAt&count=true&f:fileId={query}")).by(user).send().await;
            let total = reply.header("x-total-count").to_owned();
            let found = reply.ok().as_array().unwrap().iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
            assert_eq!(total, found.len().to_string(), "{query}");
            found
        };
        assert_eq!(found(&grain, &a).await, ids[..2]);
        assert_eq!(found(&grain, &b).await, [ids[0].clone(), ids[2].clone()]);
        assert_eq!(found(&User::admin(), &format!("{b}&f:status=collected")).await, ids[2..]);
        for nothing in ["no-id", &ids[0]] {
            assert_eq!(found(&grain, nothing).await, [""; 0]);
        }
        assert_eq!(found(&User::of("haul"), &a).await, [""; 0], "loads of others");
        patch(&app, &grain, &ids[0], &json!({"files": named_files(&[&b])})).await.ok();
        assert_eq!(found(&grain, &a).await, ids[1..2], "no load that had it before");
    }

    async fn a_new_carrier_gets_the_files_of_a_creator_that_is_no_party_any_more(backend) {
        let (app, system) = app_with_files(backend).await;
        let (grain, haul, admin) = (User::of("grain"), User::of("haul"), User::admin());
        let create = async || {
            let (own, contract) = (system.add("ticket.jpg", &haul), system.add("contract.pdf", &grain));
            let form = with(carrier_form(), "files", named_files(&[&own, &contract]));
            let load = app.post("/v1/loads/carrier").by(&haul).json(&form).send().await.ok();
            (load["id"].as_str().unwrap().to_owned(), own, contract)
        };
        for user in [&haul, &admin] {
            let (id, own, contract) = create().await;
            let before = system.shares().await.len();
            patch(&app, user, &id, &json!({"carrierId": "fast"})).await.ok();
            // An `admin` may share the files of both organisations.
            let ids = if user.claims["sub"] == admin.claims["sub"] { vec![&own, &contract] } else { vec![&own] };
            assert_eq!(system.shares().await[before..], [json!({"ids": ids, "shareWith": ["fast"]})]);
        }
        // Afterwards the organiser shares its own files.
        let (id, _, contract) = create().await;
        patch(&app, &haul, &id, &json!({"carrierId": "fast"})).await.ok();
        let before = system.shares().await.len();
        patch(&app, &grain, &id, &json!({"carrierId": "slower"})).await.ok();
        let expected = [json!({"ids": [contract], "shareWith": ["slower"]})];
        assert_eq!(system.shares().await[before..], expected);
    }

    async fn files_that_a_load_has_already_need_no_look_up(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (a, b, c) = (system.add("a.pdf", &grain), system.add("b.pdf", &grain), system.add("c.pdf", &grain));
        let form = with(organiser_form(), "files", named_files(&[&a, &b]));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        system.archive(&a);
        let calls = system.calls().await.len();
        let patched = patch(&app, &grain, id, &json!({"files": named_files(&[&a, &b]), "weight": 5})).await.ok();
        assert_eq!(patched["files"], load["files"]);
        let patched = patch(&app, &grain, id, &json!({"files": named_files(&[&b.to_uppercase(), &a])})).await.ok();
        assert_eq!(file_ids(&patched), [&b, &a], "another order");
        assert_eq!(patched["files"][1], load["files"][0]);
        assert_eq!(system.calls().await.len(), calls, "no look-up and no share");
        // A new file is looked up alone.
        let patched = patch(&app, &grain, id, &json!({"files": named_files(&[&a, &c])})).await.ok();
        assert_eq!(file_ids(&patched), [&a, &c]);
        let [found, shared] = &system.calls().await[calls..] else { panic!("a look-up and a share") };
        assert_eq!((&found["ids"], &shared["ids"]), (&json!([c]), &json!([c])));
        // Refusals do not name the archived file either.
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let members = json!({"files": named_files(&[&*a, unknown]), "weight": -1});
        assert_eq!(patch(&app, &grain, id, &members).await.errors(), ["files[1].id unknown_reference", "weight range"]);
        let stale = app.call("PATCH", &format!("/v1/loads/{id}")).by(&grain).header("if-match", "\"1\"");
        assert_eq!(stale.json(&json!({"files": named_files(&[&a])})).send().await.error(412), "precondition_failed");
        // Removed and named again, it is a new one.
        patch(&app, &grain, id, &json!({"files": named_files(&[&c])})).await.ok();
        let reply = patch(&app, &grain, id, &json!({"files": named_files(&[&c, &a])})).await;
        assert_eq!(reply.errors(), ["files[1].id unknown_reference"]);

        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let without_system = App::start_replica::<Logistics>(&app, settings).await;
        let patched = patch(&without_system, &grain, id, &json!({"files": named_files(&[&c]), "weight": 6})).await.ok();
        assert_eq!((file_ids(&patched), &patched["weight"]), (vec![c.as_str()], &tonnes(6.0)));
        let reply = patch(&without_system, &grain, id, &json!({"files": named_files(&[&c, &b])})).await;
        assert_eq!(reply.error(503), "dependency_unavailable");
    }

    async fn unknown_files_are_refused_first_and_shared_with_nobody(backend) {
        let (app, system) = app_with_files(backend).await;
        let grain = User::of("grain");
        let (id, file) = (create_load(&app).await, system.add("a.pdf", &grain));
        let unknown = "0190f5fe-0000-7000-8000-000000000000";
        let members = json!({"files": named_files(&[&*file, unknown]), "weight": -1});
        assert_eq!(patch(&app, &grain, &id, &members).await.errors(), ["files[1].id unknown_reference", "weight range"]);
        let members = json!({"files": named_files(&[unknown])});
        for user in [&grain, &User::of("other")] {
            assert_eq!(patch(&app, user, &id, &members).await.errors(), ["files[0].id unknown_reference"]);
        }
        let refused = app.call("PATCH", &format!("/v1/loads/{id}")).by(&grain).header("if-match", "\"9\"");
        assert_eq!(refused.json(&json!({"files": named_files(&[&file])})).send().await.status, 412);
        assert_eq!((system.shares().await.len(), revision(&app, &id).await), (0, 1));
    }
}

//! Files of edited listings.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, Backend, SystemStub, User, file_ids, named_files};

use crate::lifecycle::{events, patch, to};
use crate::sample::{create, full, with};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

async fn start_with(backend: Backend, system: &SystemStub) -> App {
    let settings = Settings { system_url: system.url(), ..Settings::default() };
    App::start::<Livestock>(backend, settings).await
}

testkit::on_both! {
    async fn new_files_of_an_active_listing_are_checked_and_shared(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let (a, b) = (system.add("a.jpg", &farm), system.add("b.jpg", &farm));
        let id = create(&app, &farm, &with(full(), "/files", named_files(&[&a]))).await;
        let calls = system.calls().await.len();
        let listing = patch(&app, &farm, &id, &json!({"files": named_files(&[&b, &a])})).await.ok();
        assert_eq!((file_ids(&listing), &listing["files"][0]["name"]), (vec![b.as_str(), &a], &json!("b.jpg")));
        assert_eq!(system.calls().await[calls..], [json!({"ids": [b]}), json!({"ids": [b], "shareWith": ["*"]})]);
        let file = |id: &str, name: &str| json!({"id": id, "name": name});
        let changes = json!({"files": {"from": [file(&a, "a.jpg")], "to": [file(&b, "b.jpg"), file(&a, "a.jpg")]}});
        assert_eq!(events(&app, &id).await[1]["changes"], changes);
        let listing = patch(&app, &farm, &id, &json!({"files": []})).await.ok();
        assert!(file_ids(&listing).is_empty());
        assert_eq!(system.calls().await.len(), calls + 2);
    }

    async fn new_files_of_a_draft_are_shared_when_it_is_published(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let (a, b) = (system.add("a.jpg", &farm), system.add("b.jpg", &farm));
        let id = create(&app, &farm, &with(with(full(), "/isDraft", json!(true)), "/files", named_files(&[&a]))).await;
        patch(&app, &farm, &id, &json!({"files": named_files(&[&b])})).await.ok();
        assert!(system.shares().await.is_empty());
        to(&app, &farm, &id, "active").send().await.ok();
        assert_eq!(system.shares().await, [json!({"ids": [b], "shareWith": ["*"]})]);
    }

    async fn unchanged_files_need_no_system(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let (a, b) = (system.add("a.jpg", &farm), system.add("b.jpg", &farm));
        let id = create(&app, &farm, &with(full(), "/files", named_files(&[&a]))).await;
        system.archive(&a);
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let alone = App::start_replica::<Livestock>(&app, settings).await;
        let listing = patch(&alone, &farm, &id, &json!({"files": named_files(&[&a.to_uppercase()]), "description": "x"})).await.ok();
        assert_eq!((file_ids(&listing), &listing["files"][0]["name"]), (vec![a.as_str()], &json!("a.jpg")));
        assert_eq!(patch(&alone, &farm, &id, &json!({"files": named_files(&[&a, &b])})).await.error(503), "dependency_unavailable");
        assert_eq!(events(&app, &id).await.len(), 2);
    }

    async fn unknown_files_are_refused_first_and_shared_with_nobody(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let (a, b) = (system.add("a.jpg", &farm), system.add("b.jpg", &farm));
        let id = create(&app, &farm, &with(full(), "/files", named_files(&[&a]))).await;
        let shares = system.shares().await.len();
        let members = json!({"files": named_files(&[&*b, UNKNOWN]), "tags": 5, "price": {"minPrice": null}});
        let errors = ["files[1].id unknown_reference", "price.minPrice required", "tags type"];
        assert_eq!(patch(&app, &farm, &id, &members).await.errors(), errors);
        for user in [&farm, &User::of("other")] {
            let members = json!({"files": named_files(&[&*a, UNKNOWN])});
            assert_eq!(patch(&app, user, &id, &members).await.errors(), ["files[1].id unknown_reference"]);
        }
        // Refused by its organisation, by the revision, and by the status.
        let path = format!("/v1/listings/{id}");
        let members = json!({"files": named_files(&[&b])});
        assert_eq!(patch(&app, &User::of("other"), &id, &members).await.error(403), "forbidden");
        let stale = app.call("PATCH", &path).by(&farm).header("if-match", "\"9\"").json(&members).send().await;
        assert_eq!(stale.error(412), "precondition_failed");
        to(&app, &farm, &id, "sold").send().await.ok();
        assert_eq!(patch(&app, &farm, &id, &members).await.error(409), "conflict");
        assert_eq!((system.shares().await.len(), events(&app, &id).await.len()), (shares, 2));
    }

    async fn publishing_shares_the_files_of_concurrent_edits(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        for _ in 0..20 {
            let (a, b) = (system.add("a.jpg", &farm), system.add("b.jpg", &farm));
            let id = create(&app, &farm, &with(with(full(), "/isDraft", json!(true)), "/files", named_files(&[&a]))).await;
            let members = json!({"files": named_files(&[&a, &b])});
            let (published, edited) = tokio::join!(to(&app, &farm, &id, "active").send(), patch(&app, &farm, &id, &members));
            assert_eq!(edited.status, 200);
            if published.status == 409 {
                to(&app, &farm, &id, "active").send().await.ok();
            }
            let shares = system.shares().await;
            for file in [a, b] {
                let is_shared = shares.iter().any(|call| call["ids"].as_array().unwrap().contains(&json!(file)));
                assert!(is_shared, "published with {}", published.status);
            }
        }
    }
}

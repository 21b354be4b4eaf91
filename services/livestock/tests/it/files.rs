//! Files of listings.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, Backend, SystemStub, User};

use crate::lifecycle::{statuses, to};
use crate::sample::{CATTLE, categories, create, create_and_read, full, full_of, search, start, with};

async fn start_with(backend: Backend, system: &SystemStub) -> App {
    let settings = Settings { system_url: system.url(), ..Settings::default() };
    App::start::<Livestock>(backend, settings).await
}

testkit::on_both! {
    async fn completes_file_references_and_shares_them_with_everybody(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let (front, side) = (system.add("front.jpg", &farm), system.add("side.jpg", &farm));
        let files = json!([{"id": side}, {"id": front, "name": "made up", "url": "http://example.org"}, {"id": side}]);
        let id = create(&app, &farm, &with(full(), "/files", files)).await;
        let read = app.get(&format!("/v1/listings/{id}")).by(&farm).send().await.ok();
        let expected = [(side.clone(), "side.jpg"), (front.clone(), "front.jpg")].map(|(id, name)| json!({
            "id": id, "name": name, "url": format!("{}/v1/files/{id}", system.url()), "userName": "Ruth",
            "createdAtUTC": "2026-03-01T09:30:00.000Z",
        }));
        assert_eq!(read["files"], json!(expected));
        assert_eq!(system.calls().await, [
            json!({"ids": [side, front]}), json!({"ids": [side, front], "shareWith": ["*"]}),
        ]);
    }

    async fn listings_of_every_category_can_have_files(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let photo = system.add("front.jpg", &farm);
        for (path, _, part, properties) in categories() {
            let listing = with(full_of(part, properties), "/files", json!([{"id": photo}]));
            let read = create_and_read(&app, &farm, path, &listing).await;
            assert_eq!(read["files"][0]["name"], "front.jpg", "{path}");
        }
        assert_eq!(system.shares().await, vec![json!({"ids": [photo], "shareWith": ["*"]}); 5]);
    }

    async fn does_not_share_the_files_of_a_draft(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let photo = system.add("front.jpg", &farm);
        let draft = with(with(full(), "/isDraft", json!(true)), "/files", json!([{"id": photo}]));
        create(&app, &farm, &draft).await;
        assert_eq!(system.calls().await, [json!({"ids": [photo]})]);
    }

    async fn publishing_shares_the_files_with_everybody(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let photo = system.add("front.jpg", &farm);
        let draft = with(with(full(), "/isDraft", json!(true)), "/files", json!([{"id": photo}]));
        let (first, second) = (create(&app, &farm, &draft).await, create(&app, &farm, &draft).await);
        let stored = system.calls().await.len();
        // A rejected publication and a cancelled draft share nothing.
        assert_eq!(to(&app, &User::of("other"), &first, "active").send().await.status, 403);
        to(&app, &farm, &second, "cancelled").send().await.ok();
        assert_eq!(to(&app, &farm, &second, "active").send().await.status, 409);
        assert_eq!(system.calls().await.len(), stored);
        // A repeat changes nothing and does not call system.
        for _ in 0..2 {
            to(&app, &farm, &first, "active").send().await.ok();
            let lookup_and_share = [json!({"ids": [photo]}), json!({"ids": [photo], "shareWith": ["*"]})];
            assert_eq!(system.calls().await[stored..], lookup_and_share);
        }
        assert_eq!(statuses(&app, &first).await, ["draft", "active"]);
    }

    async fn publishing_a_draft_with_files_needs_system(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let draft = with(full(), "/isDraft", json!(true));
        let id = create(&app, &farm, &with(draft.clone(), "/files", json!([{"id": system.add("front.jpg", &farm)}]))).await;
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let alone = App::start_replica::<Livestock>(&app, settings).await;
        let publish = |app: &App| to(app, &farm, &id, "active").header("idempotency-key", "k").send();
        assert_eq!(publish(&alone).await.error(503), "dependency_unavailable");
        assert_eq!(statuses(&app, &id).await, ["draft"]);
        publish(&app).await.ok();
        assert_eq!(statuses(&app, &id).await, ["draft", "active"]);
        // A repeat does not need system, because it changes nothing.
        to(&alone, &farm, &id, "active").send().await.ok();
        assert_eq!(statuses(&app, &id).await, ["draft", "active"]);
        // A draft without files does not need system.
        to(&alone, &farm, &create(&alone, &farm, &draft).await, "active").send().await.ok();
    }

    async fn listings_without_files_do_not_call_system(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        create(&app, &farm, &full()).await;
        let draft = with(with(full(), "/isDraft", json!(true)), "/files", json!([]));
        to(&app, &farm, &create(&app, &farm, &draft).await, "active").send().await.ok();
        assert!(system.calls().await.is_empty());
    }

    async fn rejects_unknown_files(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let files = json!([{"id": "gone"}, {"id": system.add("front.jpg", &farm)}, {"id": "no uuid"}, {"id": "gone"}]);
        let reply = app.post(CATTLE).by(&farm).json(&with(full(), "/files", files)).send().await;
        assert_eq!(reply.errors(), ["files[0].id", "files[2].id", "files[3].id"].map(|path| format!("{path} unknown_reference")));
        assert!(search(&app, &farm, "").await.is_empty());
    }

    async fn listings_with_files_need_system(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let listing = with(full(), "/files", json!([{"id": "018f0000-0000-7000-8000-000000000000"}]));
        let post = || app.post(CATTLE).by(&farm).header("idempotency-key", "k").json(&listing).send();
        let reply = post().await;
        assert!(!reply.header("retry-after").is_empty());
        assert_eq!(reply.error(503), "dependency_unavailable");
        assert!(search(&app, &farm, "").await.is_empty());
        // The key stays unused. Listings without files do not need system.
        assert_eq!(post().await.status, 503);
        create(&app, &farm, &full()).await;
    }
}

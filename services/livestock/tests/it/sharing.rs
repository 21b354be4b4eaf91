//! Which files of listings are shared with everybody, and when.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User, named_files};

use crate::lifecycle::{statuses, to};
use crate::sample::{CATTLE, categories, create, full, full_of, with};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

async fn start_with(backend: Backend, system: &SystemStub) -> App {
    let settings = Settings { system_url: system.url(), ..Settings::default() };
    App::start::<Livestock>(backend, settings).await
}

fn with_files(listing: Value, files: &[&String]) -> Value {
    with(listing, "/files", named_files(files))
}

async fn draft(app: &App, user: &User, files: &[&String]) -> String {
    create(app, user, &with_files(with(full(), "/isDraft", json!(true)), files)).await
}

testkit::on_both! {
    async fn publishing_that_loses_against_cancelling_shares_no_files(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let mut lost = 0;
        for _ in 0..40 {
            let photo = system.add("front.jpg", &farm);
            let id = draft(&app, &farm, &[&photo]).await;
            let publish = to(&app, &farm, &id, "active").send();
            let cancel = to(&app, &farm, &id, "cancelled").send();
            let (published, _) = tokio::join!(publish, cancel);
            let shared = system.shares().await.iter().filter(|call| call["ids"] == json!([photo])).count();
            assert_eq!(shared, usize::from(published.status == 200), "{}", published.status);
            lost += usize::from(published.status == 409);
        }
        assert!(lost > 0, "cancelling never won");
        assert_eq!(app.database.count("due_shares"), 0);
    }

    async fn a_draft_with_an_archived_file_cannot_be_published(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let files = [&system.add("front.jpg", &farm), &system.add("side.jpg", &farm)];
        let (first, second) = (draft(&app, &farm, &files).await, draft(&app, &farm, &files[..1]).await);
        system.archive(files[1]);
        assert_eq!(to(&app, &farm, &first, "active").send().await.errors(), ["files[1].id unknown_reference"]);
        assert_eq!(statuses(&app, &first).await, ["draft"]);
        assert!(system.shares().await.is_empty());
        to(&app, &farm, &second, "active").send().await.ok();
        // Publishing an active listing succeeds even if a file was archived since.
        system.archive(files[0]);
        to(&app, &farm, &second, "active").send().await.ok();
        assert_eq!(system.shares().await, [json!({"ids": [files[0]], "shareWith": ["*"]})]);
    }

    async fn an_admin_shares_only_files_of_the_organisation_of_the_listing(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let office = User::admin().with("org", "office");
        let files = [&farm, &User::of("third"), &User::admin(), &office].map(|user| system.add("f.jpg", user));
        for admin in [User::admin(), office] {
            let id = draft(&app, &farm, &files.each_ref()).await;
            let before = system.shares().await.len();
            to(&app, &admin, &id, "active").send().await.ok();
            assert_eq!(system.shares().await[before..], [json!({"ids": [files[0]], "shareWith": ["*"]})]);
        }
        // A member of the organisation does not share files of others either.
        create(&app, &farm, &with_files(full(), &[&files[1]])).await;
        assert_eq!(system.shares().await.len(), 2);
    }

    async fn retries_failed_shares(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let photo = system.add("front.jpg", &farm);
        let id = draft(&app, &farm, &[&photo]).await;
        system.set_share_status(Some(503));
        to(&app, &farm, &id, "active").send().await.ok();
        create(&app, &farm, &with_files(full(), &[&photo])).await;
        assert_eq!(statuses(&app, &id).await, ["draft", "active"]);
        assert_eq!(app.database.count("due_shares"), 2);
        system.set_share_status(None);
        testkit::wait_until(async || app.database.count("due_shares") == 0).await;
        let shares = system.shares().await;
        assert!(shares.len() >= 4 && shares.iter().all(|call| *call == shares[0]), "{shares:?}");
    }

    async fn reports_unknown_files_with_all_other_errors(backend) {
        let system = SystemStub::start().await;
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let known = system.add("front.jpg", &farm);
        for (path, _, part, properties) in categories() {
            let listing = with_files(full_of(part, properties), &[&known, &UNKNOWN.to_owned()]);
            let listing = with(with(listing, "/categoryIds", json!([999])), "/description", json!(5));
            let before = system.calls().await.len();
            let expected = ["categoryIds[0] unknown_reference", "description type", "files[1].id unknown_reference"];
            assert_eq!(app.post(path).by(&farm).json(&listing).send().await.errors(), expected, "{path}");
            assert_eq!(system.calls().await.len(), before + 1, "{path}: one call");
        }
        // A caller who may not create listings causes no call.
        let listing = with_files(full(), &[&known]);
        let calls = system.calls().await.len();
        assert_eq!(app.post(CATTLE).by(&User::individual("nobody")).json(&listing).send().await.error(403), "forbidden");
        assert_eq!(system.calls().await.len(), calls);
        assert!(system.shares().await.is_empty());
    }
}

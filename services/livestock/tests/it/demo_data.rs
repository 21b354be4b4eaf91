//! The listings that the examples of the document name (`server.demo_data`).

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, TestDatabase, User};

const ID: &str = "01955bf1-6c00-7a10-8000-00000000010";

async fn start(database: TestDatabase) -> App {
    let mut config = testkit::config::<Livestock>(&database, Settings::default());
    config.server.demo_data = true;
    App::start_with::<Livestock>(database, config).await
}

testkit::on_both! {
    async fn a_start_creates_the_missing_listings_only(backend) {
        let carys = User::of("penybont-farm");
        let app = start(TestDatabase::new::<Livestock>(backend).await).await;
        for (number, status, organisation) in [
            (1, "active", "penybont-farm"),
            (2, "active", "penybont-farm"),
            (3, "draft", "penybont-farm"),
            (4, "active", "cwm-isaf"),
        ] {
            let listing = app.get(&format!("/v1/listings/{ID}{number}")).by(&carys).send().await.ok();
            assert_eq!((&listing["status"], &listing["organisationId"]), (&json!(status), &json!(organisation)));
        }
        let reports = app.get("/v1/reports?f:status=open").by(&User::admin()).send().await.ok();
        assert_eq!((&reports[0]["id"], &reports[0]["listingId"]), (&json!("01955bf1-6c00-7a10-8000-000000000111"), &json!(format!("{ID}4"))));
        let saved = app.get("/v1/saved-searches").by(&User::of("penybont-farm").with("sub", "carys")).send().await.ok();
        assert_eq!(saved.as_array().unwrap().len(), 2);
        let close = format!("/v1/listings/{ID}2/close");
        app.post(&close).by(&carys).json(&json!({"status": "sold"})).send().await.ok();

        let app = start(app.stop().await).await;
        let listing = app.get(&format!("/v1/listings/{ID}2")).by(&carys).send().await.ok();
        assert_eq!(listing["status"], "sold", "an existing listing stays as it is");
    }
}

//! The loads that the examples of the document name (`server.demo_data`).

use testkit::TestDatabase;

use super::*;

const IDS: [&str; 5] = [
    "01955bf1-6c00-7a10-8000-000000000001",
    "01955bf1-6c00-7a10-8000-000000000002",
    "01955bf1-6c00-7a10-8000-000000000003",
    "01955bf1-6c00-7a10-8000-000000000004",
    "01955bf1-6c00-7a10-8000-000000000005",
];

async fn start(database: TestDatabase) -> App {
    let mut config = testkit::config::<Logistics>(&database, Settings::default());
    config.server.demo_data = true;
    App::start_with::<Logistics>(database, config).await
}

testkit::on_both! {
    async fn a_start_creates_the_missing_loads_only(backend) {
        let carys = User::of("penybont-farm");
        let app = start(TestDatabase::new::<Logistics>(backend).await).await;
        let path = format!("/v1/loads/by-ids?ids={}", IDS.join(","));
        let loads = app.get(&path).by(&carys).send().await.ok();
        assert_eq!(loads.as_array().unwrap().len(), IDS.len(), "{loads}");
        assert_eq!(loads[4]["status"], "completed");
        let cancel = format!("/v1/loads/{}/cancel", IDS[2]);
        app.post(&cancel).by(&carys).json(&json!({"reason": "Rain"})).send().await.ok();

        let app = start(app.stop().await).await;
        let again = app.get(&path).by(&carys).send().await.ok();
        assert_eq!(again[2]["status"], "cancelled", "an existing load stays as it is");
        assert_eq!(again[0], loads[0]);
        let drivers = app.get(&format!("/v1/loads/{}/drivers", IDS[0])).by(&carys).send().await.ok();
        assert_eq!(drivers[0]["driverId"], "driver-megan");
    }
}

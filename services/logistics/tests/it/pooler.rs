//! The service behind a pooler that gives each transaction another session.

use database::Pooler;
use testkit::{PgBouncer, TestDatabase, config};
use tokio::task::JoinSet;

use super::*;

#[test]
fn eight_clients_create_and_find_loads_with_two_sessions() {
    testkit::block_on(async {
        let database = TestDatabase::new::<Logistics>(Backend::Postgres).await;
        let pooler = PgBouncer::start(2);
        let mut config = config::<Logistics>(&database, Settings::default());
        config.database.url = pooler.url(&database).into();
        config.database.pooler = Pooler::Transaction;
        config.database.pool_size = 8;
        let app = App::start_with::<Logistics>(database, config).await;
        let references: Vec<_> = (0..40).map(|n| format!("R{n:02}")).collect();
        for references in references.chunks(8) {
            let (mut created, mut found) = (JoinSet::new(), JoinSet::new());
            for reference in references {
                let form = with(organiser_form(), "reference", json!(reference));
                let created_by = app.post("/v1/loads/organiser").by(&User::of("grain"));
                created.spawn(created_by.json(&form).send());
            }
            for load in created.join_all().await {
                let load = load.ok();
                let path = format!("/v1/loads?query={}&count=true", load["reference"].as_str().unwrap());
                let search = app.get(&path).by(&User::of("grain")).send();
                found.spawn(async move { (load["id"].clone(), search.await.ok()) });
            }
            for (id, loads) in found.join_all().await {
                assert_eq!((loads[0]["id"].clone(), loads[1].is_null()), (id, true), "{loads}");
            }
        }
        let all = app.get("/v1/loads?limit=100").by(&User::of("grain")).send().await.ok();
        assert_eq!(all.as_array().unwrap().len(), 40);
        app.wait_for_readiness("database", "ok").await;
    });
}

//! The list of categories, embedded and from a file.

use livestock::{Livestock, Settings};
use testkit::{App, Backend, User};

use crate::sample::{CATTLE, plain, start, with};
use serde_json::json;

testkit::on_both! {
    async fn any_caller_can_list_the_categories(backend) {
        let app = start(backend).await;
        assert_eq!(app.get("/v1/categories").send().await.error(401), "unauthenticated");
        let all = app.get("/v1/categories").by(&User::individual("u")).send().await.ok();
        let all = all.as_array().unwrap();
        assert_eq!(all[0], json!({"id": 1, "name": "sheep"}));
        assert_eq!(all[1], json!({"id": 2, "name": "cattle"}));
        assert!(all.contains(&json!({"id": 206, "name": "store cattle", "parentId": 2})));
        assert_eq!(all.len(), 38);
    }
}

#[test]
fn a_file_replaces_the_embedded_categories() {
    testkit::block_on(async {
        let file = std::env::temp_dir().join(format!("categories-{}.csv", std::process::id()));
        std::fs::write(
            &file,
            "id,parent_id,name\n1,,sheep\n2,,cattle\n3,,dog\n4,,feed\n5,,bedding\n77,2,yaks\n",
        )
        .unwrap();
        let settings = Settings { categories_file: Some(file.clone()), ..Settings::default() };
        let app = App::start::<Livestock>(Backend::Sqlite, settings).await;
        std::fs::remove_file(file).unwrap();
        let user = User::of("farm");
        let yaks = with(plain(&json!({})), "/categoryIds", json!([77]));
        app.post(CATTLE).by(&user).json(&yaks).send().await.ok();
        let store = with(plain(&json!({})), "/categoryIds", json!([206]));
        let reply = app.post(CATTLE).by(&user).json(&store).send().await;
        assert_eq!(reply.errors(), ["categoryIds[0] unknown_reference"]);
    });
}

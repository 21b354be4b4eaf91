//! The files that the examples of the document name (`server.demo_data`).

use system::{Settings, System};
use testkit::{App, TestDatabase, User};

const ID: &str = "01955bf1-6c00-7a10-8000-00000000020";

async fn start(database: TestDatabase, folder: &tempfile::TempDir) -> App {
    let settings =
        Settings { store_url: format!("file://{}", folder.path().display()), ..Settings::default() };
    let mut config = testkit::config::<System>(&database, settings);
    config.server.demo_data = true;
    App::start_with::<System>(database, config).await
}

testkit::on_both! {
    async fn a_start_creates_the_missing_files_only(backend) {
        let (carys, folder) = (User::of("penybont-farm"), tempfile::tempdir().unwrap());
        let app = start(TestDatabase::new::<System>(backend).await, &folder).await;
        for number in [1, 2] {
            let path = format!("/v1/files/{ID}{number}");
            let content = app.get(&path).by(&carys).send().await;
            assert_eq!((content.status, content.header("content-type")), (200, "text/plain"));
            assert_eq!(app.get(&path).by(&User::of("stranger")).send().await.status, 403);
        }
        app.call("DELETE", &format!("/v1/files/{ID}2")).by(&carys).send().await.ok();

        let app = start(app.stop().await, &folder).await;
        assert_eq!(app.get(&format!("/v1/files/{ID}1")).by(&carys).send().await.status, 200);
        let archived = app.get(&format!("/v1/files/{ID}2/info")).by(&carys).send().await.ok();
        assert_eq!(archived["status"], "archived", "an existing file stays as it is");
    }
}

//! The folder in which content lies.

use std::fs;

use testkit::User;

use super::{form, part, start};

testkit::on_both! {
    async fn readiness_names_it(backend) {
        let files = start(backend).await;
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "ok");
        fs::remove_dir_all(files.folder.path().join("store")).unwrap();
        assert_eq!(files.app.get("/readyz").send().await.ok()["store"], "degraded");
        let form = form("files", "misc", "x").part("file", part(b"x"));
        let reply = files.upload(&User::of("farm"), form).await;
        assert_eq!(reply.header("retry-after"), "2");
        assert_eq!(reply.error(503), "dependency_unavailable");
    }
}

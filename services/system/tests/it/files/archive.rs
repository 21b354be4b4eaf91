//! Archiving files.

use serde_json::json;
use testkit::User;

use super::{PNG, on_all, start};

on_all! {
    async fn archived_file_has_information_but_no_content(storage) {
        let files = start(storage).await;
        let (user, admin) = (User::of("farm"), User::admin());
        let id = files.make(&user, "image", PNG).await;
        let before = files.info(&user, &id).await.ok();
        assert_eq!(before["status"], "active");
        let reply = files.archive(&user, &id).await.ok();
        assert_eq!(reply, json!({"message": "The file is archived.", "status": "success"}));
        let mut archived = before;
        archived["status"] = json!("archived");
        assert_eq!(files.info(&user, &id).await.ok(), archived);
        assert_eq!(files.info(&User::of("stranger"), &id).await.ok(), archived);
        assert_eq!(files.get(&user, &id).await.error(404), "not_found");
        assert_eq!(files.get(&admin, &id).await.bytes, PNG);
        let closed = files.make(&user, "contract", PNG).await;
        assert_eq!(files.get(&User::of("stranger"), &closed).await.error(403), "forbidden");
        files.archive(&user, &closed).await.ok();
        assert_eq!(files.get(&User::of("stranger"), &closed).await.error(404), "not_found");
        assert_eq!(files.archive(&user, &id).await.error(409), "conflict");
        assert_eq!(files.archive(&admin, &id).await.error(409), "conflict");
        assert_eq!(files.stored().await.len(), 1, "equal content is stored once");
    }

    async fn only_owner_and_admin_may_archive(storage) {
        let files = start(storage).await;
        let uploader = User::of("farm").with("sub", "ann");
        for allowed in [&uploader, &User::of("farm"), &User::admin()] {
            let id = files.make(&uploader, "image", PNG).await;
            let elsewhere = User::of("other").with("sub", "ann");
            for refused in [User::of("stranger"), User::individual("bob"), User::individual("ann"), elsewhere] {
                assert_eq!(files.archive(&refused, &id).await.error(403), "forbidden");
            }
            assert_eq!(files.archive(allowed, &id).await.status, 200);
            // 403 takes precedence over 409.
            assert_eq!(files.archive(&User::of("stranger"), &id).await.error(403), "forbidden");
        }
    }

    async fn concurrent_calls_archive_once(storage) {
        let files = start(storage).await;
        let user = User::of("farm");
        let id = files.make(&user, "image", PNG).await;
        let (a, b) = tokio::join!(files.archive(&user, &id), files.archive(&user, &id));
        let mut statuses = [a.status, b.status];
        statuses.sort_unstable();
        assert_eq!(statuses, [200, 409]);
    }
}

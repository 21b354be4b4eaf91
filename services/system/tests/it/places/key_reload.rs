//! Key files are reloaded when the secrets are cleared, and not before.

use serde_json::json;
use system::AddressProvider::Loqate;
use system::Settings;
use testkit::User;

use super::{addresses_from, loqate, start_with};

#[test]
fn key_files_are_reloaded_when_secrets_are_cleared() {
    testkit::block_on(async {
        let stub = loqate::stub().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("key");
        std::fs::write(&file, "old-key\n").unwrap();
        let settings = Settings {
            address_key: None,
            address_key_file: Some(file.clone()),
            ..addresses_from(Loqate, &stub)
        };
        let app = start_with(settings).await;
        let sent_key = async || {
            app.by_id("", "GB|RM|B|9").await;
            let last = stub.received_requests().await.unwrap().pop().unwrap();
            last.url.query_pairs().find(|(name, _)| name == "Key").unwrap().1.into_owned()
        };
        let clear_secrets = async || {
            let reply = app.post("/v1/cache").by(&User::admin()).json(&json!({"secrets": true})).send().await;
            assert_eq!(reply.status, 200, "{}", reply.text());
        };
        assert_eq!(sent_key().await, "old-key");
        std::fs::write(&file, " new-key ").unwrap();
        assert_eq!(sent_key().await, "old-key");
        clear_secrets().await;
        assert_eq!(sent_key().await, "new-key");
        std::fs::remove_file(&file).unwrap();
        clear_secrets().await;
        assert_eq!(sent_key().await, "new-key", "an unreadable file keeps the old key");
    });
}

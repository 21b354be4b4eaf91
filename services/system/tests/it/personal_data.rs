//! The export and the erasure of everything that the service holds about a user.

use reqwest::multipart::Form;
use serde_json::json;
use testkit::{ErasedUser, User};

use crate::files::{self, PNG, form, id, on_all, part};

/// Returns the form of a contract.
fn contract() -> Form {
    form("files", "contract", "a name").part("file", part(b"A contract."))
}

on_all! {
    async fn erases_the_uploader_and_keeps_the_files(storage) {
        let service = files::start(storage).await;
        let (zeph, colleague) = (ErasedUser::of("grain"), User::of("grain"));
        let upload = service.app.post("/v1/files").by(&zeph).header("idempotency-key", "1").form(contract());
        let contract_id = id(&upload.send().await.ok());
        let photo = service.make(&zeph, "image", PNG).await;
        service.archive(&zeph, &photo).await.ok();
        let other = service.make(&colleague, "contract", b"Another contract.").await;
        let shared = json!({"ids": [contract_id], "shareWith": ["haul"], "shareId": "1"});
        service.resolve(&zeph, shared).await.ok();
        let (before, stored) = (service.info(&colleague, &other).await.ok(), service.stored().await);

        let ids = ["files.user_id", "idempotency_keys.caller", "idempotency_keys.answer"];
        ErasedUser::assert_mentioned(&service.app, &ids, &["files.user_name", "idempotency_keys.answer"]);
        let exported = ErasedUser::count(&service.app).await;
        assert_eq!((exported["files"], exported["idempotencyKeys"]), (2, 2));
        ErasedUser::erase_all(&service.app).await;

        let info = service.info(&colleague, &contract_id).await.ok();
        assert_eq!((&info["userName"], &info["name"]), (&json!("erased user"), &json!("a name")));
        assert!(info["userId"].as_str().unwrap().starts_with("erased-"), "{info}");
        let archived = service.info(&User::admin(), &photo).await.ok();
        assert_eq!((&archived["userId"], &archived["status"]), (&info["userId"], &json!("archived")));
        assert_eq!(service.get(&User::of("haul"), &contract_id).await.bytes, b"A contract.");
        assert_eq!(service.info(&colleague, &other).await.ok(), before);
        assert_eq!(service.stored().await, stored);
    }
}

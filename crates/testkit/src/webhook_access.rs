//! The access rules of webhooks, which are the same in all services.

use serde_json::json;

use crate::{AccessCase, AccessRule, App, User};

/// The paths of webhooks for [`webhook_access_rules`].
pub struct TestWebhooks {
    changed: String,
    deleted: Vec<String>,
    /// A delivery of `changed`.
    delivery: String,
}

/// Creates webhooks of an organisation that subscribe to an event. Their receivers do not exist.
pub async fn webhooks(app: &App, organisation: &str, event: &str) -> TestWebhooks {
    let user = User::of(organisation);
    let form = json!({"url": "https://127-0-0-1.invalid/", "events": [event]});
    let mut paths = Vec::new();
    for _ in 0..3 {
        let webhook = app.post("/v1/webhooks").by(&user).json(&form).send().await.ok();
        paths.push(format!("/v1/webhooks/{}", webhook["id"].as_str().unwrap()));
    }
    let changed = paths.remove(0);
    let test = app.post(&format!("{changed}/test")).by(&user).send().await.ok();
    TestWebhooks { changed, deleted: paths, delivery: test["id"].as_str().unwrap().to_owned() }
}

/// Returns the rows of the operations on webhooks.
pub fn webhook_access_rules(webhooks: &TestWebhooks, organisation: &str) -> Vec<(&'static str, AccessRule)> {
    let TestWebhooks { changed, deleted, delivery } = webhooks;
    let (own, admin) = (User::of(organisation), User::admin());
    let (stranger, alone) = (User::of("another"), User::individual("nobody"));
    let case = |path: String| AccessCase::new(path, &[&own, &admin]).denies(&stranger).denies(&alone);
    let change = |path: String| case(path).leaves_unchanged(changed);
    let id = changed.rsplit('/').next().unwrap();
    let delete = |(path, user): (&String, &User)| {
        AccessCase::new(path, &[user]).denies(&stranger).denies(&alone).leaves_unchanged(path).removes()
    };
    vec![
        ("create_webhook", AccessRule::Member),
        (
            "list_webhooks",
            AccessRule::Scoped(vec![
                AccessCase::new("/v1/webhooks", &[&own, &admin]).denies(&stranger).discloses(id),
            ]),
        ),
        ("find_webhook", AccessRule::Restricted(vec![case(changed.clone())])),
        (
            "update_webhook",
            AccessRule::Restricted(vec![change(changed.clone()).json(json!({"description": "edited"}))]),
        ),
        ("delete_webhook", AccessRule::Restricted(deleted.iter().zip([&own, &admin]).map(delete).collect())),
        ("test_webhook", AccessRule::Restricted(vec![case(format!("{changed}/test"))])),
        ("rotate_webhook_secret", AccessRule::Restricted(vec![change(format!("{changed}/rotate-secret"))])),
        ("list_webhook_deliveries", AccessRule::Restricted(vec![case(format!("{changed}/deliveries"))])),
        (
            "redeliver_webhook_delivery",
            AccessRule::Restricted(vec![case(format!("{changed}/deliveries/{delivery}/redeliver"))]),
        ),
    ]
}

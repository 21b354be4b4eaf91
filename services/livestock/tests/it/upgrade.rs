//! Listings that a replica of an older version writes while this one runs.

use std::time::Duration;

use serde_json::json;
use testkit::{App, Backend, User};

use crate::sample::{create, full, plain, search, start};

/// As migration 20261121000300 knew listings: no place, no spelling, no event.
fn insert_as_before(app: &App, backend: Backend, id: &str, status: &str) {
    let document = json!({
        "id": id, "userId": "u", "organisationId": "a", "organisationName": "A", "type": "selling", "status": status,
        "categoryIds": [2], "location": {"coordinates": {"lat": -33.0, "lon": 151.0}}, "price": {"type": "poa"},
        "files": [], "description": "", "tags": [], "createdAtUTC": "2026-03-01T09:30:00.000Z",
        "properties": {"type": "oxen", "breed": "Old Breed", "additionalInfo": []},
    });
    let (key, at, line) = match backend {
        Backend::Sqlite => {
            (format!("X'{}'", id.replace('-', "")), "1772357400000", "char(10) || 'oxen' || char(10)")
        }
        Backend::Postgres => (format!("'{id}'"), "'2026-03-01T09:30:00Z'", "E'\\noxen\\n'"),
    };
    let schema = if backend == Backend::Postgres { "livestock." } else { "" };
    app.database.execute(&format!(
        "INSERT INTO {schema}listings (id, organisation_id, kind, status, category, created_at, organisation_key, breed, \
         types, sexes, additional_info, document) \
         VALUES ({key}, 'a', 'selling', '{status}', 2, {at}, 'a', 'old breed', {line}, '', '', '{document}')"
    ));
}

testkit::on_both! {
    async fn are_soon_found_by_everything_that_is_new(backend) {
        let (app, a) = (start(backend).await, User::of("a"));
        create(&app, &a, &full()).await;
        create(&app, &a, &plain(&json!({"type": "oxen"}))).await;
        let id = "019ad000-0000-7000-8000-000000000001";
        insert_as_before(&app, backend, id, "active");
        // Published by this replica before it was mended, and counted before that too.
        let draft = "019ad000-0000-7000-8000-000000000002";
        insert_as_before(&app, backend, draft, "draft");
        app.post(&format!("/v1/listings/{draft}/publish")).by(&a).send().await.ok();
        app.get("/v1/listings?docs=false").by(&a).send().await.ok();
        let near = "latitude=-33&longitude=151&distanceKm=1&f:commodityType=oxen&f:commodityBreed=old%20breed";
        // What else writes meanwhile makes no difference.
        for _ in 0..60 {
            if search(&app, &a, near).await.len() == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert_eq!(search(&app, &a, near).await, [id, draft]);
        let facets = app.get(&format!("/v1/listings?docs=false&{near}")).by(&a).send().await.ok();
        assert_eq!(facets["filters"]["f:commodityBreed"], json!([{"value": "Old Breed", "count": 2}]));
        assert_eq!(facets["total"], 2);
        let events = app.get(&format!("/v1/listings/{id}/events")).by(&User::admin()).send().await.ok();
        assert_eq!(events[0]["to"], "active");
    }
}

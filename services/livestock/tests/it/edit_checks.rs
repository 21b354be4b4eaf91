//! Patches of listings that are refused, and the order of checks.

use serde_json::{Value, json};
use testkit::User;

use crate::lifecycle::{draft, events, patch, read, revision, to};
use crate::sample::{categories, create, create_and_read, full, full_of, start};

const UNKNOWN: &str = "0190f5fe-0000-7000-8000-000000000000";

testkit::on_both! {
    async fn the_result_must_satisfy_the_rules_for_creating(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        for (members, errors) in [
            (json!({"price": {"type": "fixed", "pricePerUnit": null}}), &["price.pricePerUnit required"][..]),
            (json!({"price": {"minPrice": {"amount": 2000}}}), &["price.minPrice.amount inconsistent"]),
            (json!({"price": {"minPrice": {"currency": "EUR"}}}), &["price.maxPrice.currency inconsistent"]),
            (json!({"price": {"maxPrice": {"amount": null}}}), &["price.maxPrice.amount required"]),
            (json!({"price": {"type": null}}), &["price.type required"]),
            (json!({"price": {"minPrice": {"amount": -1, "currency": "pounds"}}}), &["price.minPrice.amount range", "price.minPrice.currency enum"]),
            (json!({"properties": {"minAge": 19}}), &["properties.minAge inconsistent"]),
            (json!({"properties": {"quantity": 0, "breed": "a,b"}}), &["properties.breed format", "properties.quantity range"]),
            (json!({"properties": {"quantity": ""}}), &["properties.quantity type"]),
            (json!({"properties": {"type": ["store"]}}), &["properties.type type"]),
            (json!({"properties": {"additionalInfo": null, "sexes": "goats"}}), &["properties.sexes enum"]),
            (json!({"properties": null}), &["properties required"]),
            (json!({"properties": 5}), &["properties type"]),
            (json!({"location": {"coordinates": {"lat": null}}}), &["location.coordinates.lat required"]),
            (json!({"location": {"coordinates": {"lat": 91}, "address": {"postcode": "x".repeat(21)}}}), &["location.address.postcode length", "location.coordinates.lat range"]),
            (json!({"location": "here"}), &["location type"]),
            (json!({"categoryIds": [999]}), &["categoryIds[0] unknown_reference"]),
            (json!({"categoryIds": [2, 1, 999]}), &["categoryIds[1] unknown_reference", "categoryIds[2] unknown_reference"]),
            (json!({"description": null, "tags": null, "price": null, "categoryIds": null}), &["categoryIds required", "description required", "price required", "tags required"]),
            (json!({"description": 5, "tags": ["a;b"], "files": [{}]}), &["description type", "files[0].id required", "tags[0] format"]),
            (json!({"type": "lending"}), &["type enum"]),
            (json!({"type": null}), &["type required"]),
            (json!({"tags": "", "price": " ", "categoryIds": ""}), &["categoryIds type", "price type", "tags type"]),
        ] {
            assert_eq!(patch(&app, &farm, &id, &members).await.errors(), errors, "{members}");
        }
        assert_eq!((revision(&app, &id).await, events(&app, &id).await.len()), (1, 1));
        for (path, _, part, properties) in categories().into_iter().filter(|(_, main, ..)| *main != 2) {
            let dog = path.ends_with("dog");
            let listing = create_and_read(&app, &farm, path, &full_of(part, properties.clone())).await;
            let reply = patch(&app, &farm, listing["id"].as_str().unwrap(), &json!({
                "properties": {"sex": "bitch", "type": 5, "registration": {"dateOfBirth": "soon"}},
            })).await;
            if properties.is_none() {
                assert_eq!(reply.ok(), listing);
            } else if dog {
                assert_eq!(reply.errors(), ["properties.registration.dateOfBirth format", "properties.sex enum"]);
            } else {
                assert_eq!(reply.errors(), ["properties.type type"]);
            }
        }
    }

    async fn members_that_nobody_edits_come_first(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (active, secret, closed) = (create(&app, &farm, &full()).await, draft(&app, &farm).await, create(&app, &farm, &full()).await);
        to(&app, &farm, &closed, "sold").send().await.ok();
        let listing = read(&app, &farm, &active).await;
        for id in [&active, &secret, &closed, UNKNOWN, "nonsense"] {
            for user in [&farm, &User::of("other"), &User::admin(), &User::individual("nobody")] {
                for member in ["id", "userId", "organisationId", "organisationName", "status", "createdAtUTC", "publishedAtUTC", "revision", "updatedAtUTC"] {
                    for value in [&listing[member], &json!(null), &json!(5)] {
                        let reply = patch(&app, user, id, &json!({member: value, "description": "new"})).await;
                        assert_eq!(reply.errors(), [format!("{member} inconsistent")], "{id}");
                    }
                }
                let members = json!({"isDraft": false, "distanceKm": 1, "tags": [1], "description": null, "type": "x"});
                let expected = ["description required", "distanceKm inconsistent", "isDraft inconsistent", "tags[0] type", "type enum"];
                assert_eq!(patch(&app, user, id, &members).await.errors(), expected);
            }
        }
        assert_eq!(read(&app, &farm, &active).await, listing);
    }

    async fn checks_have_their_order(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let (active, secret, closed) = (create(&app, &farm, &full()).await, draft(&app, &farm).await, create(&app, &farm, &full()).await);
        to(&app, &farm, &closed, "found").send().await.ok();
        let stale = async |user: &User, id: &str, members: Value| {
            app.call("PATCH", &format!("/v1/listings/{id}")).by(user).header("if-match", "\"9\"").json(&members).send().await
        };
        // The result of a patch is checked for everybody who can read the listing.
        let inconsistent = json!({"price": {"type": "fixed", "pricePerUnit": null}});
        for id in [&active, &closed] {
            assert_eq!(stale(&other, id, inconsistent.clone()).await.errors(), ["price.pricePerUnit required"]);
        }
        for (user, id, status) in [
            (&other, &active, 403), (&other, &secret, 403), (&other, &closed, 403), (&farm, &closed, 409), (&farm, &active, 412), (&farm, &secret, 412),
        ] {
            assert_eq!(stale(user, id, json!({})).await.status, status);
        }
        for nothing in [UNKNOWN, "nonsense"] {
            assert_eq!(stale(&farm, nothing, json!({})).await.error(404), "not_found");
        }
        assert_eq!(stale(&farm, &active, json!({"type": "buying"})).await.error(409), "conflict");
        let path = format!("/v1/listings/{active}");
        let body = async |media_type: &str, text: &str| app.call("PATCH", &path).by(&farm).body(media_type, text.to_owned()).send().await;
        for no_object in ["[]", "[{}]", "null", "\"a\"", "1"] {
            assert_eq!(body("application/json", no_object).await.error(400), "validation_failed", "{no_object}");
        }
        assert_eq!(body("application/merge-patch+json", "{").await.error(400), "malformed_body");
        assert_eq!(body("text/plain", "{}").await.error(415), "unsupported_media_type");
        assert_eq!(app.call("PATCH", &path).json(&json!({})).send().await.error(401), "unauthenticated");
    }

    async fn type_and_main_category_of_a_published_listing_stay(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let (active, secret) = (create(&app, &farm, &full()).await, draft(&app, &farm).await);
        for members in [json!({"type": "buying"}), json!({"type": "selling"}), json!({"categoryIds": [1]}), json!({"categoryIds": [206, 103]})] {
            assert_eq!(patch(&app, &farm, &active, &members).await.error(409), "conflict", "{members}");
            assert_eq!(patch(&app, &User::admin(), &active, &members).await.error(409), "conflict", "{members}");
        }
        assert_eq!(patch(&app, &farm, &active, &json!({"categoryIds": [2]})).await.ok()["categoryIds"], json!([2]));
        // A draft has no published type, but one category.
        assert_eq!(patch(&app, &farm, &secret, &json!({"type": "buying"})).await.ok()["type"], "buying");
        assert_eq!(patch(&app, &farm, &secret, &json!({"categoryIds": [206, 103]})).await.errors(), ["categoryIds[1] unknown_reference"]);
        to(&app, &farm, &secret, "active").send().await.ok();
        assert_eq!(patch(&app, &farm, &secret, &json!({"type": "selling"})).await.error(409), "conflict");
    }

    async fn closed_listings_are_not_edited(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let cancelled_draft = draft(&app, &farm).await;
        to(&app, &farm, &cancelled_draft, "cancelled").send().await.ok();
        let mut ids = vec![cancelled_draft];
        for status in ["sold", "found", "cancelled"] {
            let id = create(&app, &farm, &full()).await;
            to(&app, &farm, &id, status).send().await.ok();
            ids.push(id);
        }
        for id in ids {
            let before = read(&app, &farm, &id).await;
            for members in [json!({}), json!({"description": "x"}), json!({"type": "buying"}), json!({"categoryIds": [1]})] {
                assert_eq!(patch(&app, &farm, &id, &members).await.error(409), "conflict");
                assert_eq!(patch(&app, &User::of("other"), &id, &members).await.error(403), "forbidden");
            }
            assert_eq!((read(&app, &farm, &id).await, revision(&app, &id).await), (before, 2));
        }
    }
}

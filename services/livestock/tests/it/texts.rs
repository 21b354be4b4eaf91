//! Normalization of texts: stored trimmed and in NFC, found in any form.

use serde_json::{Value, json};
use testkit::User;

use crate::sample::{CATTLE, create, create_and_read, full, search, start, with};

testkit::on_both! {
    async fn stores_normalized_texts_and_finds_them_in_any_form(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let untidy = with(full(), "/tags", json!([" store ", "cafe\u{301}", "=a"]));
        let untidy = with(untidy, "/description", json!("Cafe\u{301},\n quiet\u{200d} "));
        let untidy = with(untidy, "/properties/breed", json!(" Tarentaise de l'E\u{301}te\u{301}\u{a0}"));
        let untidy = with(untidy, "/properties/title", json!(" Store  heifers "));
        let untidy = with(untidy, "/location/address/city", json!("Llany\u{302}n "));
        let read = create_and_read(&app, &farm, CATTLE, &untidy).await;
        assert_eq!(read["tags"], json!(["store", "caf\u{e9}", "=a"]));
        assert_eq!(read["description"], "Caf\u{e9},\n quiet\u{200d} ", "descriptions keep their white space");
        assert_eq!(read["properties"]["breed"], "Tarentaise de l'\u{c9}t\u{e9}");
        assert_eq!(read["properties"]["title"], "Store  heifers");
        assert_eq!(read["location"]["address"]["city"], "Llan\u{177}n");
        for breed in ["Tarentaise%20de%20l'%C3%89t%C3%A9", "%20tarentaise%20de%20l'E%CC%81te%CC%81%20"] {
            assert_eq!(search(&app, &farm, &format!("f:commodityBreed={breed}")).await.len(), 1, "{breed}");
        }
        let csv = app.get("/v1/listings?format=CSV").by(&farm).send().await.text();
        assert!(csv.contains(",\"store;caf\u{e9};'=a\","), "{csv}");
        let accented = User::of("f\u{e9}rme");
        create(&app, &accented, &full()).await;
        assert_eq!(search(&app, &farm, "f:organisationId=fe%CC%81rme").await.len(), 1);
    }

    async fn rejects_names_that_change_the_direction_of_text(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for c in ['\u{202a}', '\u{202e}', '\u{2069}'] {
            let bad = json!(format!("a{c}b"));
            let paths = ["/properties/title", "/properties/breed", "/properties/breedSociety", "/location/address/city"];
            let listing = paths.iter().fold(full(), |listing: Value, path| with(listing, path, bad.clone()));
            let listing = with(listing, "/tags", json!([bad]));
            let found = app.post(CATTLE).by(&farm).json(&listing).send().await.errors();
            assert_eq!(found, [
                "location.address.city format", "properties.breed format", "properties.breedSociety format",
                "properties.title format", "tags[0] format",
            ], "{c:?}");
        }
    }

    async fn the_error_of_a_date_states_the_expected_formats(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let registration = json!({"properties": {"registration": {"dateOfBirth": "4 May 2021"}}});
        let reply = app.post("/v1/listings/working-dog").by(&farm).json(&registration).send().await.json();
        let entries = reply["validation"].as_array().unwrap().iter();
        let mut messages = entries.filter(|entry| entry["path"] == "properties.registration.dateOfBirth");
        assert_eq!(
            messages.next().unwrap()["message"],
            "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z"
        );
    }
}

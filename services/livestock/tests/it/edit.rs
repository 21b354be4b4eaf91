//! Editing listings by merge patches.

use livestock::{Livestock, Settings};
use serde_json::json;
use testkit::{App, User};

use crate::lifecycle::{draft, events, patch, read, revised, revision, to};
use crate::sample::{categories, create, create_and_read, full, full_of, plain, search, start, with};

/// Returns the counts of a facet as (value, count).
async fn facet(app: &App, user: &User, query: &str, name: &str) -> Vec<(String, u64)> {
    let facets = app.get(&format!("/v1/listings?docs=false&{query}")).by(user).send().await.ok();
    let counts = facets["filters"][name].as_array().unwrap().iter();
    counts
        .map(|count| (count["value"].as_str().unwrap().to_owned(), count["count"].as_u64().unwrap()))
        .collect()
}

async fn total(app: &App, query: &str) -> u64 {
    let facets =
        app.get(&format!("/v1/listings?docs=false&{query}")).by(&User::of("other")).send().await.ok();
    facets["total"].as_u64().unwrap()
}

testkit::on_both! {
    async fn a_patch_changes_the_members_that_it_names(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = draft(&app, &farm).await;
        let before = read(&app, &farm, &id).await;
        let members = json!({
            "type": "buying", "categoryIds": [], "location": {"threeWords": null, "address": {"city": " Hay ", "postcode": "hr35ab"}},
            "price": {"type": "fixed", "pricePerUnit": {"amount": 900.00004, "currency": "gbp"}, "minPrice": null, "maxPrice": null},
            "description": "New", "tags": ["a", "b"], "unknown": 1,
            "properties": {"breed": "hereford", "title": null, "health": {"tbStatus": "clear", "data": null}, "minAge": 10, "unknown": 5},
        });
        let path = format!("/v1/listings/{id}");
        let edited = app.call("PATCH", &path).by(&farm).body("application/merge-patch+json", members.to_string()).send().await.ok();
        let mut expected = revised(before.clone(), &edited);
        expected["type"] = json!("buying");
        expected["categoryIds"] = json!([2]);
        expected["location"].as_object_mut().unwrap().remove("threeWords");
        expected["location"]["address"]["city"] = json!("Hay");
        expected["location"]["address"]["postcode"] = json!("HR3 5AB");
        expected["price"] = json!({"type": "fixed", "pricePerUnit": {"amount": 900, "currency": "GBP"}});
        expected["description"] = json!("New");
        expected["tags"] = json!(["a", "b"]);
        let properties = expected["properties"].as_object_mut().unwrap();
        properties.remove("title");
        properties.insert("minAge".into(), json!(10));
        properties.insert("health".into(), json!({"tbStatus": "clear", "tbDetails": "March", "tbInterval": "unspecified"}));
        assert_eq!(edited, expected);
        assert_eq!(read(&app, &farm, &id).await, edited);
        let changes = events(&app, &id).await[1]["changes"].clone();
        let mut names: Vec<_> = changes.as_object().unwrap().keys().cloned().collect();
        names.sort();
        assert_eq!(names, ["categoryIds", "description", "location", "price", "properties", "tags", "type"]);
        for name in names {
            assert_eq!(changes[&name], json!({"from": before[&name], "to": edited[&name]}), "{name}");
        }

        let removed = patch(&app, &farm, &id, &json!({"location": null, "files": null, "tags": [], "description": " "})).await.ok();
        assert_eq!((removed.get("location"), &removed["files"], &removed["description"]), (None, &json!([]), &json!("")));
        assert_eq!(events(&app, &id).await[2]["changes"]["location"], json!({"from": edited["location"]}));
        let placed = patch(&app, &farm, &id, &json!({"location": {"coordinates": {"lat": 51.5, "lon": -3}}})).await.ok();
        assert_eq!(placed["location"], json!({"coordinates": {"lat": 51.5, "lon": -3}}));
        let moved = patch(&app, &farm, &id, &json!({"location": {"coordinates": {"lat": 52}}})).await.ok();
        assert_eq!(moved["location"], json!({"coordinates": {"lat": 52, "lon": -3}}));
        assert_eq!(revision(&app, &id).await, 5);
    }

    async fn listings_of_every_category_are_edited(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (path, main, part, properties) in categories() {
            let has_properties = properties.is_some();
            let before = create_and_read(&app, &farm, path, &full_of(part, properties)).await;
            let id = before["id"].as_str().unwrap();
            let members = json!({"description": "edited", "categoryIds": [main], "properties": {"title": "Edited"}});
            let edited = patch(&app, &farm, id, &members).await.ok();
            let expected = with(with(before.clone(), "/description", json!("edited")), "/categoryIds", json!([main]));
            let expected = if has_properties { with(expected, "/properties/title", json!("Edited")) } else { expected };
            assert_eq!(edited, revised(expected, &edited), "{path}");
            let whole = json!({"properties": before["properties"], "price": before["price"], "location": before["location"]});
            let restored = patch(&app, &farm, id, &whole).await.ok();
            assert_eq!((&restored["properties"], revision(&app, id).await), (&before["properties"], if has_properties { 3 } else { 2 }));
        }
    }

    async fn a_patch_that_changes_nothing_leaves_no_trace(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for is_draft in [false, true] {
            let id = create(&app, &farm, &with(full(), "/isDraft", json!(is_draft))).await;
            let before = read(&app, &farm, &id).await;
            let same = json!({
                "categoryIds": [206, 208], "location": {"coordinates": {"lat": 51.9469, "lon": -3.0}}, "price": full()["price"], "files": [],
                "description": full()["description"], "tags": full()["tags"], "properties": {"quantity": 12.0, "breed": "HEREFORD", "sex": "x"},
            });
            let no_location = json!({"location": {"address": {"line3": "x"}}, "properties": {"health": {}}, "files": null});
            for members in [json!({}), json!({"unknown": null}), no_location, same] {
                let reply = patch(&app, &farm, &id, &members).await;
                assert_eq!((reply.header("etag"), reply.json()), ("\"1\"", before.clone()), "{members}");
            }
            assert_eq!((revision(&app, &id).await, events(&app, &id).await.len()), (1, 1));
            assert_eq!(read(&app, &farm, &id).await, before);
        }
    }

    async fn searches_and_facets_show_an_edit_at_once(backend) {
        let app = start(backend).await;
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let replica = App::start_replica::<Livestock>(&app, settings).await;
        let (farm, other) = (User::of("farm"), User::of("other"));
        let id = create(&app, &farm, &full()).await;
        for n in 0..7 {
            create(&app, &User::of("rest"), &plain(&json!({"breed": "Texel", "quantity": n + 1}))).await;
        }
        for reader in [&app, &replica] {
            assert_eq!(facet(reader, &other, "", "f:commodityBreed").await, [("Texel".into(), 7), ("Hereford".into(), 1)]);
        }
        let members = json!({
            "location": {"coordinates": {"lat": -33.9, "lon": 151.2}}, "price": {"minPrice": {"amount": 5}, "pricePerUnit": null},
            "properties": {
                "breed": "Aberdeen Angus", "breedType": null, "breedSociety": "Some Society", "type": "bulling", "sexes": "bulls", "additionalInfo": ["organic"],
                "minAge": 100, "maxAge": 101, "quantity": 7000,
            },
        });
        let edited = patch(&app, &farm, &id, &members).await.ok();
        for reader in [&app, &replica] {
            for (query, there) in [
                ("f:commodityBreed=aberdeen%20angus", true), ("f:commodityBreed=hereford", false), ("f:commodityType=bulling", true),
                ("f:commodityType=store", false), ("f:commoditySexes=bulls", true), ("f:commoditySexes=heifers", false),
                ("f:commodityAdditionalInfo=organic", true), ("f:commodityAdditionalInfo=in-calf", false), ("minAge=100", true),
                ("maxAge=20&f:commodityBreed=aberdeen%20angus", false), ("f:commodityBreedSociety=some%20society", true),
                ("latitude=-33.9&longitude=151.2&distanceKm=1", true), ("latitude=51.9&longitude=-3&distanceKm=50", false),
            ] {
                let expected: &[&str] = if there { &[&id] } else { &[] };
                assert_eq!(search(reader, &other, query).await, expected, "{query}");
                assert_eq!(total(reader, query).await, expected.len() as u64, "{query}");
            }
            let cheapest = search(reader, &other, "sortBy=price").await;
            let most = search(reader, &other, "sortBy=quantity&sortDesc=true").await;
            assert_eq!((cheapest[0].as_str(), most[0].as_str()), (id.as_str(), id.as_str()));
            assert_eq!(facet(reader, &other, "", "f:commodityBreed").await, [("Texel".into(), 7), ("Aberdeen Angus".into(), 1)]);
            let csv = reader.get("/v1/listings?f:commoditySexes=bulls&format=CSV").by(&other).send().await.text();
            assert!(csv.contains("Aberdeen Angus") && csv.contains("-33.9"), "{csv}");
            let found = reader.get("/v1/listings?f:commoditySexes=bulls").by(&other).send().await.ok();
            assert_eq!(found, json!([edited]));
        }
    }

    async fn breeds_that_differ_in_their_spaces_are_one(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        for breed in ["Our Own Cross", "Our\u{a0}Own  Cross", "our own\u{2009}cross", "Aberdeen\u{a0}angus"] {
            create(&app, &farm, &plain(&json!({"breed": breed}))).await;
        }
        let facets = facet(&app, &other, "", "f:commodityBreed").await;
        assert_eq!(facets, [("Our Own Cross".to_owned(), 3), ("Aberdeen Angus".to_owned(), 1)]);
        for query in ["f:commodityBreed=our%20own%20cross", "f:commodityBreed=Our%C2%A0own%20%20Cross"] {
            assert_eq!(search(&app, &other, query).await.len(), 3, "{query}");
        }
    }

    async fn facets_spell_an_edited_draft_as_it_is_now(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &with(plain(&json!({"breed": "Rare Breed"})), "/isDraft", json!(true))).await;
        for spelling in ["Rare Breed", "RARE breed", "rare breed", "Rare BREED"] {
            patch(&app, &farm, &id, &json!({"properties": {"breed": spelling}})).await.ok();
            assert_eq!(facet(&app, &farm, "f:status=draft", "f:commodityBreed").await, [(spelling.to_owned(), 1)]);
        }
        to(&app, &farm, &id, "active").send().await.ok();
        assert_eq!(facet(&app, &User::of("other"), "", "f:commodityBreed").await, [("Rare BREED".to_owned(), 1)]);
        // The spelling of the first publication stays.
        patch(&app, &farm, &id, &json!({"properties": {"breed": "RARE BREED", "quantity": 2}})).await.ok();
        assert_eq!(facet(&app, &User::of("other"), "", "f:commodityBreed").await, [("Rare BREED".to_owned(), 1)]);
        patch(&app, &farm, &id, &json!({"properties": {"breed": "Brand New"}})).await.ok();
        assert_eq!(facet(&app, &User::of("other"), "", "f:commodityBreed").await, [("Brand New".to_owned(), 1)]);
    }

    async fn edits_survive_a_restart(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let ids = [create(&app, &farm, &full()).await, create(&app, &farm, &full()).await];
        let edited = patch(&app, &farm, &ids[1], &json!({"properties": {"breed": "Texel"}})).await.ok();
        let settings = Settings { system_url: "http://127.0.0.1:1".into(), ..Settings::default() };
        let app = App::start_on::<Livestock>(app.stop().await, settings).await;
        assert_eq!(facet(&app, &farm, "", "f:commodityBreed").await, [("Hereford".into(), 1), ("Texel".into(), 1)]);
        assert_eq!((read(&app, &farm, &ids[1]).await, revision(&app, &ids[1]).await), (edited, 2));
    }

    async fn an_edited_draft_stays_private(backend) {
        let (app, farm, other) = (start(backend).await, User::of("farm"), User::of("other"));
        let id = draft(&app, &farm).await;
        patch(&app, &farm, &id, &json!({"properties": {"breed": "Secret"}, "type": "buying"})).await.ok();
        assert_eq!(app.get(&format!("/v1/listings/{id}")).by(&other).send().await.status, 403);
        assert_eq!((search(&app, &other, "").await.len(), total(&app, "").await), (0, 0));
        assert_eq!(search(&app, &farm, "f:status=draft&f:commodityBreed=secret").await, [id.as_str()]);
        to(&app, &farm, &id, "active").send().await.ok();
        assert_eq!(search(&app, &other, "f:status=active-buying&f:commodityBreed=secret").await, [id.as_str()]);
    }
}

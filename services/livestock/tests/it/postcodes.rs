//! Coordinates of postcodes.

use std::time::{Duration, Instant};

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User, WebhookReceiver, wait_until};
use wiremock::ResponseTemplate;

use crate::lifecycle::{events, patch, read, revision, to};
use crate::sample::{CATTLE, categories, create, create_and_read, full_of, plain, search, start, with};

const NEAR: &str = "latitude=51.95&longitude=-3.39&distanceKm=1";

fn settings(system: &SystemStub) -> Settings {
    Settings { system_url: system.url(), webhook_allow_private: true, ..Settings::default() }
}

async fn start_with(backend: Backend, system: &SystemStub) -> App {
    App::start::<Livestock>(backend, settings(system)).await
}

/// Returns a listing whose location has this postcode and no coordinates.
fn at(postcode: &str) -> Value {
    with(plain(&json!({})), "/location", json!({"address": {"postcode": postcode, "countryISO": "GB"}}))
}

/// Returns the location of a listing with the coordinates of its postcode.
fn located(postcode: &str, lat: f64, lon: f64) -> Value {
    json!({
        "address": {"postcode": postcode, "countryISO": "GB"}, "coordinates": {"lat": lat, "lon": lon}, "coordinatesSource": "postcode",
    })
}

/// Waits until no look-up is due.
async fn wait_until_done(app: &App) {
    testkit::wait_until(async || app.database.count("due_locations") == 0).await;
}

testkit::on_both! {
    async fn a_location_without_coordinates_gets_those_of_its_postcode(backend) {
        let system = SystemStub::start().await;
        system.add_postcode("LD3 7HR", 51.95, -3.39);
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        for (path, _, part, properties) in categories() {
            let location = json!({"threeWords": "a.b.c", "address": {"postcode": "ld37hr"}, "coordinatesSource": "postcode"});
            let read = create_and_read(&app, &farm, path, &with(full_of(part, properties), "/location", location)).await;
            let expected = json!({
                "threeWords": "a.b.c", "address": {"postcode": "LD3 7HR"}, "coordinates": {"lat": 51.95, "lon": -3.39},
                "coordinatesSource": "postcode",
            });
            assert_eq!(read["location"], expected, "{path}");
        }
        assert_eq!(search(&app, &farm, NEAR).await.len(), 5);
        let facets = app.get(&format!("/v1/listings?docs=false&{NEAR}")).by(&farm).send().await.ok();
        assert_eq!(facets["total"], 5);
        let csv = app.get(&format!("/v1/listings?format=CSV&limit=1&{NEAR}")).by(&farm).send().await.text();
        assert!(csv.contains("LD3 7HR,51.95,-3.39"), "{csv}");
        assert_eq!(system.address_searches().await, ["LD3 7HR"; 5]);
        let draft = create(&app, &farm, &with(at("LD3 7HR"), "/isDraft", json!(true))).await;
        for status in ["active", "sold"] {
            to(&app, &farm, &draft, status).send().await.ok();
            assert_eq!(read(&app, &farm, &draft).await["location"], located("LD3 7HR", 51.95, -3.39));
        }
        assert_eq!((system.address_searches().await.len(), app.database.count("due_locations")), (6, 0));
    }

    async fn given_coordinates_and_missing_postcodes_are_not_looked_up(backend) {
        let system = SystemStub::start().await;
        system.add_postcode("LD3 7HR", 51.95, -3.39);
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        for location in [
            json!(null), json!({"address": {"city": "Brecon"}}), json!({"coordinates": {"lat": 1, "lon": 2}}), json!({"address": {"postcode": " "}}),
            json!({"address": {"postcode": "LD3 7HR"}, "coordinates": {"lat": 1, "lon": 2}}),
        ] {
            let id = create(&app, &farm, &with(plain(&json!({})), "/location", location.clone())).await;
            let stored = read(&app, &farm, &id).await;
            assert_eq!(stored.pointer("/location/coordinates"), location.pointer("/coordinates"));
            assert_eq!(stored.pointer("/location/coordinatesSource"), None);
        }
        assert!(system.address_searches().await.is_empty());
        // An unknown postcode is looked up once, and then its district.
        let id = create(&app, &farm, &at("ZZ1 1ZZ")).await;
        assert_eq!((system.address_searches().await.len(), app.database.count("due_locations")), (2, 0));
        assert_eq!(read(&app, &farm, &id).await["location"], at("ZZ1 1ZZ")["location"]);
        patch(&app, &farm, &id, &json!({"description": "x"})).await.ok();
        assert_eq!(system.address_searches().await.len(), 2);
        // A refused listing, and a repeat, look nothing up.
        assert_eq!(app.post(CATTLE).by(&farm).json(&with(at("LD3 7HR"), "/tags", json!(5))).send().await.status, 400);
        for _ in 0..2 {
            app.post(CATTLE).by(&farm).header("idempotency-key", "k").json(&at("LD3 7HR")).send().await.ok();
        }
        assert_eq!(system.address_searches().await, ["ZZ1 1ZZ", "ZZ1", "LD3 7HR"]);
    }

    async fn sectors_and_short_codes_are_known_and_others_are_warned_of(backend) {
        let system = SystemStub::start().await;
        for postcode in ["LD3", "D02", "JE2 3ZZ"] {
            system.add_postcode(postcode, 51.95, -3.39);
        }
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let post = async |postcode: &str, country: Value| {
            let address = json!({"address": {"postcode": postcode, "countryISO": country}});
            app.post(CATTLE).by(&farm).json(&with(plain(&json!({})), "/location", address)).send().await
        };
        for (postcode, country, is_known) in [
            ("LD3 7", "GB", true), ("LD3 7EG", "uk", true), ("D2", "IE", true), ("JE2 3ZZ", "GB", true), ("JE2 3ZZ", "je", true),
            ("ZZ1 1ZZ", "GB", false), ("LD3 FARM", "GB", false), ("LD3 7ZZ", "GB", true),
        ] {
            let created = post(postcode, json!(country)).await.ok();
            let codes: Vec<_> = created["warnings"].as_array().into_iter().flatten().map(|warning| warning["code"].clone()).collect();
            assert_eq!(codes, if is_known { vec![] } else { vec![json!("no_coordinates")] }, "{postcode} {country}");
            let stored = read(&app, &farm, created["id"].as_str().unwrap()).await;
            assert_eq!(stored.pointer("/location/coordinates").is_some(), is_known, "{postcode} {country}");
            let expected = if country == "uk" { "GB".to_owned() } else { country.to_uppercase() };
            assert_eq!(stored["location"]["address"]["countryISO"], expected);
            let path = created["id"].as_str().unwrap();
            let edited = patch(&app, &farm, path, &json!({"location": {"address": {"postcode": "ZZ9 9ZZ"}}})).await.ok();
            assert_eq!(edited["warnings"][0]["path"], "location.address.postcode");
        }
        for unknown in ["Narnia", "XX", "G B", "GBR"] {
            assert_eq!(post("LD3 7EG", json!(unknown)).await.errors(), ["location.address.countryISO enum"], "{unknown}");
        }
        // A listing of an earlier release with such a country can be edited.
        let id = create(&app, &farm, &plain(&json!({}))).await;
        assert_eq!(patch(&app, &farm, &id, &json!({"location": {"address": {"countryISO": "Narnia"}}})).await.errors(), ["location.address.countryISO enum"]);
    }

    async fn edits_keep_replace_and_remove_the_coordinates_of_a_postcode(backend) {
        let system = SystemStub::start().await;
        system.add_postcode("LD3 7HR", 51.95, -3.39);
        system.add_postcode("HR3 5AB", 52.07, -3.12);
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let id = create(&app, &farm, &at("LD3 7HR")).await;
        let edit = async |location: Value| {
            let edited = patch(&app, &farm, &id, &json!({"location": location})).await.ok();
            (edited["location"].clone(), system.address_searches().await.len())
        };
        let city = edit(json!({"address": {"city": "Brecon"}})).await;
        assert_eq!(city, (with(located("LD3 7HR", 51.95, -3.39), "/address/city", json!("Brecon")), 1));
        // Removing them has no effect while the postcode gives them.
        assert_eq!(edit(json!({"coordinates": null, "address": {"postcode": "ld37hr"}})).await, city);
        assert_eq!(revision(&app, &id).await, 2);
        assert_eq!(edit(json!({"address": {"city": null, "postcode": "hr35ab"}})).await, (located("HR3 5AB", 52.07, -3.12), 2));
        let given = json!({"address": {"postcode": "HR3 5AB", "countryISO": "GB"}, "coordinates": {"lat": 1.5, "lon": 2}});
        assert_eq!(edit(json!({"coordinates": {"lat": 1.5, "lon": 2}})).await, (given.clone(), 2));
        assert_eq!(edit(json!({"address": {"postcode": "LD3 7HR"}})).await.0["coordinates"], given["coordinates"]);
        assert_eq!(edit(json!({"coordinates": null})).await, (located("LD3 7HR", 51.95, -3.39), 3));
        assert_eq!(edit(json!({"address": {"postcode": null}})).await, (json!({"address": {"countryISO": "GB"}}), 3));
        let changes = events(&app, &id).await.pop().unwrap()["changes"].clone();
        assert_eq!(changes, json!({"location": {"from": located("LD3 7HR", 51.95, -3.39), "to": {"address": {"countryISO": "GB"}}}}));
        let reply = patch(&app, &farm, &id, &json!({"location": {"coordinatesSource": "postcode"}})).await;
        assert_eq!(reply.errors(), ["location.coordinatesSource inconsistent"]);
        assert_eq!(edit(json!(null)).await, (json!(null), 3));
    }

    async fn listings_are_stored_without_system_and_completed_later(backend) {
        let (system, hooks) = (SystemStub::start().await, WebhookReceiver::start(ResponseTemplate::new(200)).await);
        system.add_postcode("LD3 7HR", 51.95, -3.39);
        system.set_places_status(Some(503));
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        let replica = App::start_replica::<Livestock>(&app, settings(&system)).await;
        let form = json!({"url": hooks.url(), "events": ["listing.updated"]});
        app.post("/v1/webhooks").by(&farm).json(&form).send().await.ok();
        let (mut ids, unknown) = (Vec::new(), create(&app, &farm, &at("ZZ1 1ZZ")).await);
        for n in 0..20 {
            ids.push(create(&app, &farm, &with(at("LD3 7HR"), "/isDraft", json!(n % 5 == 0))).await);
        }
        let colleague = farm.clone().with("sub", "colleague");
        patch(&app, &colleague, &ids[1], &json!({"location": {"address": {"city": "Brecon"}}})).await.ok();
        // Coordinates that were given meanwhile stay, and a location that was removed stays removed.
        patch(&app, &farm, &ids[2], &json!({"location": {"coordinates": {"lat": 1, "lon": 2}}})).await.ok();
        patch(&app, &farm, &ids[3], &json!({"location": null})).await.ok();
        to(&app, &farm, &ids[4], "sold").send().await.ok();
        assert_eq!(app.database.count("due_locations"), 19);
        assert!(search(&app, &farm, NEAR).await.is_empty());
        system.set_places_status(None);
        wait_until_done(&app).await;

        assert_eq!(read(&app, &farm, &ids[2]).await["location"]["coordinates"], json!({"lat": 1, "lon": 2}));
        assert_eq!(read(&app, &farm, &ids[3]).await.get("location"), None);
        assert_eq!(read(&app, &farm, &unknown).await["location"], at("ZZ1 1ZZ")["location"]);
        // A closed listing stays as it was closed.
        assert_eq!(read(&app, &farm, &ids[4]).await["location"], at("LD3 7HR")["location"]);
        assert_eq!((events(&app, &ids[4]).await.len(), revision(&app, &ids[4]).await), (2, 2));
        for (n, id) in ids.iter().enumerate().filter(|(n, _)| ![2, 3, 4].contains(n)) {
            let (listing, history) = (read(&app, &farm, id).await, events(&app, id).await);
            assert_eq!(listing["location"]["coordinatesSource"], "postcode");
            let expected = if n == 1 { (3, 3) } else { (2, 2) };
            assert_eq!((history.len(), revision(&app, id).await), expected, "once");
            let event = history.last().unwrap();
            let user = if n == 1 { &colleague } else { &farm };
            assert_eq!((&event["type"], &event["userId"], &event["userName"]), (&json!("updated"), &user.claims["sub"], &user.claims["name"]));
            assert_eq!(event["changes"]["location"]["to"], listing["location"]);
        }
        for reader in [&app, &replica] {
            // Without the four drafts, the sold one, and the two that are elsewhere.
            assert_eq!(search(reader, &User::of("other"), NEAR).await.len(), 13);
            let facets = reader.get(&format!("/v1/listings?docs=false&{NEAR}")).by(&User::of("other")).send().await.ok();
            assert_eq!(facets["total"], 13);
        }
        // Three edits of active listings, and their completions; drafts and closed listings send nothing.
        let updates = 3 + 13;
        wait_until(async || hooks.requests().await.len() >= updates).await;
        assert_eq!(hooks.requests().await.len(), updates);
    }

    async fn listings_that_cannot_be_parsed_are_not_looked_up_for_ever(backend) {
        let system = SystemStub::start().await;
        system.add_postcode("LD3 7HR", 51.95, -3.39);
        system.set_places_status(Some(503));
        let (app, farm) = (start_with(backend, &system).await, User::of("farm"));
        for _ in 0..5 {
            create(&app, &farm, &at("LD3 7HR")).await;
        }
        app.database.execute("UPDATE listings SET document = '{\"id\": 5}'");
        let valid = create(&app, &farm, &at("LD3 7HR")).await;
        system.set_places_status(None);
        wait_until_done(&app).await;
        assert_eq!(read(&app, &farm, &valid).await["location"], located("LD3 7HR", 51.95, -3.39));
        assert_eq!(app.database.count("listings WHERE revision = 1"), 5, "they stay as they are");
    }

    async fn an_unreachable_system_delays_nobody_for_long(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let started = Instant::now();
        for _ in 0..5 {
            let id = create(&app, &farm, &at("LD3 7HR")).await;
            patch(&app, &farm, &id, &json!({"location": {"address": {"postcode": "HR3 5AB"}}})).await.ok();
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{:?}", started.elapsed());
        assert_eq!(app.database.count("due_locations"), 5);
    }
}

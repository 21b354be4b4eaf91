//! Listings as visitors without a token see them.

use std::collections::BTreeSet;

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User};

use crate::lifecycle::{draft, to};
use crate::sample::{CATTLE, create, full, ids, search, start, start_with, with};

async fn start_public(backend: Backend) -> App {
    start_with(backend, |settings| settings.public_listings = true).await
}

async fn read(app: &App, path: &str) -> Value {
    app.get(path).send().await.ok()
}

async fn page_text(app: &App) -> String {
    app.get("/v1/public/listings").send().await.text()
}

/// Creates an active listing at these coordinates.
async fn create_at(app: &App, lat: f64, lon: f64) -> String {
    let location = json!({"coordinates": {"lat": lat, "lon": lon}});
    create(app, &User::of("farm"), &with(full(), "/location", location)).await
}

testkit::on_both! {
    async fn visitors_see_active_listings_without_private_members(backend) {
        let (app, farm) = (start_public(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let own = app.get(&format!("/v1/listings/{id}")).by(&farm).send().await.ok();
        let reply = app.get(&format!("/v1/public/listings/{id}")).send().await;
        assert_eq!(reply.header("cache-control"), "public, max-age=60");
        assert_eq!(reply.header("access-control-allow-origin"), "*");
        assert_eq!(reply.header("etag"), "\"1\"");
        let known = app.get(&format!("/v1/public/listings/{id}")).header("if-none-match", "\"1\"").send().await;
        assert_eq!((known.status, known.header("cache-control")), (304, "public, max-age=60"));
        let mut expected = own.clone();
        for own in ["userId", "isWishlisted"] {
            expected.as_object_mut().unwrap().remove(own);
        }
        expected["location"] = json!({
            "address": {
                "city": "Brecon", "region": "Powys", "regionISO": "GB-POW", "postcode": "LD3",
                "countryName": "United Kingdom", "countryISO": "GB",
            },
            "coordinates": {"lat": 51.95, "lon": -3.0},
        });
        assert_eq!(reply.ok(), expected);
        let page = app.get("/v1/public/listings?count=true").send().await;
        assert_eq!(page.header("cache-control"), "public, max-age=60");
        assert_eq!(page.header("x-total-count"), "1");
        assert_eq!(page.ok(), json!([expected]));
        let csv = app.get("/v1/public/listings?format=CSV").send().await;
        assert_eq!(csv.header("cache-control"), "public, max-age=60");
        let text = csv.text();
        assert!(text.contains("51.95,-3") && !text.contains("51.9469") && !text.contains("user-of-farm"), "{text}");
        for hidden in ["7EG", "Lower House"] {
            assert!(!text.contains(hidden) && !page_text(&app).await.contains(hidden), "{hidden}");
        }
    }

    async fn visitors_search_by_outward_codes_only(backend) {
        let (app, farm) = (start_public(backend).await, User::of("farm"));
        let create_in = async |postcode: &str, country: Option<&str>| {
            let address = json!({"postcode": postcode, "countryISO": country});
            let address = if country.is_some() { address } else { json!({"postcode": postcode}) };
            create(&app, &farm, &with(full(), "/location/address", address)).await
        };
        let own = create_in("LD3 7EG", Some("uk")).await;
        create_in("JE2 3ZZ", Some("JE")).await;
        create_in("75008", Some("FR")).await;
        create_in("75008", None).await;
        let find = async |public: &str, query: &str| ids(&app.get(&format!("/v1/{public}listings?query={query}")).by(&farm).send().await.ok()).len();
        let count = async |public: &str, query: &str| app.get(&format!("/v1/{public}listings?docs=false&query={query}")).by(&farm).send().await.ok()["total"].clone();
        for (query, callers, visitors) in [
            ("ld3", 1, 1), ("LD37EG", 1, 0), ("7eg", 1, 0), ("ld3%207eg", 1, 0), ("je2", 1, 1), ("3zz", 1, 0), ("75008", 2, 0),
            ("7", 3, 0), ("l", 1, 1), ("eg", 1, 0), ("hereford", 4, 4), ("q", 4, 4), ("x", 0, 0),
        ] {
            assert_eq!((find("", query).await, find("public/", query).await), (callers, visitors), "{query}");
            assert_eq!((count("", query).await, count("public/", query).await), (json!(callers), json!(visitors)), "{query}");
        }
        let shown = read(&app, &format!("/v1/public/listings/{own}")).await;
        assert_eq!(shown["location"]["address"], json!({"postcode": "LD3", "countryISO": "GB"}));
        let page = page_text(&app).await;
        assert!(!page.contains("75008") && page.contains("JE2"), "{page}");
    }

    async fn other_listings_do_not_exist_for_visitors(backend) {
        let (app, farm) = (start_public(backend).await, User::of("farm"));
        let (secret, sold) = (draft(&app, &farm).await, create(&app, &farm, &full()).await);
        to(&app, &farm, &sold, "sold").send().await.ok();
        for id in [&secret, &sold, &"01955bf1-6c00-7a10-8000-00000000ffff".to_owned()] {
            app.get(&format!("/v1/public/listings/{id}")).by(&farm).send().await.error(404);
        }
        app.get("/v1/public/listings/1").send().await.error(404);
        assert_eq!(read(&app, "/v1/public/listings").await, json!([]));
        for status in ["draft", "sold", "found", "cancelled"] {
            let reply = app.get(&format!("/v1/public/listings?f:status={status}")).by(&farm).send().await;
            assert_eq!(reply.errors(), ["f:status enum"]);
        }
        let facets = read(&app, "/v1/public/listings?docs=false").await;
        assert_eq!((&facets["total"], &facets["filters"]["f:status"]), (&json!(0), &json!([])), "{facets}");
    }

    async fn visitors_have_no_wishlist(backend) {
        let (app, farm) = (start_public(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        let reply = app.get("/v1/public/listings?isWishlisted=true").by(&farm).send().await;
        assert_eq!(reply.header("x-unknown-parameters"), "isWishlisted");
        assert_eq!(ids(&reply.ok()), [id]);
    }

    /// Whoever asks for many distances learns nothing but the rounded coordinates.
    async fn distances_are_those_of_rounded_coordinates(backend) {
        let (app, farm) = (start_public(backend).await, User::of("farm"));
        // Both are shown at 52.00, -3.00. The exact ones lie 0.49 km south and north of it.
        let (south, north) = (create_at(&app, 51.9956, -3.0).await, create_at(&app, 52.0044, -3.0).await);
        let near = |km: f64, rest: &str| format!("latitude=51.99&longitude=-3&distanceKm={km}{rest}");
        for (km, count) in [(1.0, 0), (1.111, 0), (1.113, 2), (1.7, 2)] {
            let found = read(&app, &format!("/v1/public/listings?{}", near(km, ""))).await;
            assert_eq!(found.as_array().unwrap().len(), count, "{km}");
            let counted = read(&app, &format!("/v1/public/listings?docs=false&{}", near(km, ""))).await;
            assert_eq!(counted["total"], count, "{km}");
            let csv = app.get(&format!("/v1/public/listings?format=CSV&{}", near(km, ""))).send().await.text();
            assert_eq!(csv.matches(",selling,").count(), count, "{km}");
        }
        // With a token the exact ones count.
        assert_eq!(search(&app, &farm, &near(1.0, "")).await.as_slice(), std::slice::from_ref(&south));
        for desc in [false, true] {
            let path = format!("/v1/public/listings?{}&sortDesc={desc}", near(5.0, "&sortBy=distance"));
            let found = read(&app, &path).await;
            let distances: BTreeSet<_> = found.as_array().unwrap().iter().map(|l| l["distanceKm"].to_string()).collect();
            assert_eq!(distances, BTreeSet::from(["1.112".to_owned()]));
            // By id, because the distances are equal.
            let mut expected = [south.clone(), north.clone()];
            if desc {
                expected.reverse();
            }
            assert_eq!(ids(&found), expected, "{desc}");
        }
    }

    async fn switched_off_they_are_404(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let id = create(&app, &farm, &full()).await;
        for path in ["/v1/public/listings".to_owned(), format!("/v1/public/listings/{id}"), "/v1/public/listings?limit=x".to_owned()] {
            app.get(&path).send().await.error(404);
            app.get(&path).by(&User::admin()).send().await.error(404);
        }
    }

    async fn images_are_signed_links(backend) {
        let (system, farm) = (SystemStub::start().await, User::of("farm"));
        let settings = Settings { system_url: system.url(), public_listings: true, ..Settings::default() };
        let app = App::start::<Livestock>(backend, settings).await;
        let (image, gone, deed) = (system.add("bull.jpg", &farm), system.add("cow.jpg", &farm), system.add("deed.pdf", &farm));
        system.set_content_type(&deed, "application/pdf");
        let files = json!([{"id": image}, {"id": gone}, {"id": deed}]);
        let id = app.post(CATTLE).by(&farm).json(&with(full(), "/files", files)).send().await.ok()["id"].clone();
        system.archive(&gone);
        let path = format!("/v1/public/listings/{}", id.as_str().unwrap());
        let expected = json!([{"id": image, "name": "bull.jpg", "url": format!("https://system.example/{image}"), "urls": {
            "160": format!("https://system.example/{image}?width=160"), "320": format!("https://system.example/{image}?width=320"),
            "640": format!("https://system.example/{image}?width=640"), "1280": format!("https://system.example/{image}?width=1280"),
        }}]);
        for path in [&path, &path] {
            assert_eq!(read(&app, path).await["files"], expected);
        }
        assert_eq!(read(&app, "/v1/public/listings").await[0]["files"], expected);
        assert_eq!(system.image_link_calls().await, 1, "links are kept");
        // While system is away, listings are shown without the images that have no link yet.
        let other = system.add("calf.jpg", &farm);
        let files = json!([{"id": other}]);
        app.post(CATTLE).by(&farm).json(&with(full(), "/files", files)).send().await.ok();
        system.set_places_status(Some(503));
        let page = read(&app, "/v1/public/listings").await;
        assert_eq!((&page[0]["files"], &page[1]["files"]), (&json!([]), &expected));
        system.set_places_status(None);
        assert_eq!(read(&app, "/v1/public/listings").await[0]["files"][0]["id"], other);
    }
}

//! Boxes, maps, and the point that `near` names.

use livestock::{Livestock, Settings};
use serde_json::{Value, json};
use testkit::{App, Backend, SystemStub, User};

use crate::lifecycle::{draft, to};
use crate::sample::{create, full, ids, plain, search, start_with, with};
use crate::saved_searches::save;

async fn start(backend: Backend) -> App {
    start_with(backend, |settings| settings.public_listings = true).await
}

/// Creates a listing at a place.
async fn create_at(app: &App, user: &User, lat: f64, lon: f64) -> String {
    create(app, user, &with(full(), "/location", json!({"coordinates": {"lat": lat, "lon": lon}}))).await
}

/// Asserts that a search finds these listings: by page, count, CSV, facets and as points.
async fn assert_finds(app: &App, user: &User, query: &str, expected: &[&String]) {
    let found = app.get(&format!("/v1/listings?count=true&sortDesc=false&{query}")).by(user).send().await;
    assert_eq!(found.header("x-total-count"), expected.len().to_string(), "{query}");
    assert_eq!(ids(&found.ok()).iter().collect::<Vec<_>>(), expected, "{query}");
    let facets = app.get(&format!("/v1/listings?docs=false&{query}")).by(user).send().await.ok();
    assert_eq!(facets["total"], expected.len(), "{query}");
    let csv = app.get(&format!("/v1/listings?format=CSV&{query}")).by(user).send().await.text();
    assert!(expected.iter().all(|id| csv.contains(*id)), "{query} {csv}");
    let points = map(app, user, &format!("sortDesc=false&{query}")).await;
    assert_eq!(ids(&points["features"]).iter().collect::<Vec<_>>(), expected, "{query}");
    let clusters = map(app, user, &format!("clusterZoom=4&{query}")).await;
    let sum: u64 = clusters["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|f| f["properties"]["count"].as_u64().unwrap())
        .sum();
    assert_eq!(sum, expected.len() as u64, "{query}");
}

async fn map(app: &App, user: &User, query: &str) -> Value {
    let response = app.get(&format!("/v1/listings?format=GEOJSON&{query}")).by(user).send().await;
    assert_eq!((response.status, response.header("content-type")), (200, "application/geo+json"), "{query}");
    response.ok()
}

/// Returns the coordinates of the features.
fn places(map: &Value) -> Vec<Value> {
    map["features"]
        .as_array()
        .unwrap()
        .iter()
        .map(|feature| feature["geometry"]["coordinates"].clone())
        .collect()
}

testkit::on_both! {
    async fn boxes_contain_their_edges_and_cross_the_dateline(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let mut made = Vec::new();
        for (lat, lon) in [(51.9469, -3.3915), (52.05, -2.7), (57.1, -4.2), (-17.8, 179.9), (-17.7, -179.9), (89.9, 20.0)] {
            made.push(create_at(&app, &farm, lat, lon).await);
        }
        create(&app, &farm, &plain(&json!({}))).await;
        let at = |indexes: &[usize]| indexes.iter().map(|index| &made[*index]).collect::<Vec<_>>();
        for (query, indexes) in [
            ("bbox=-8,49,2,61", &[0, 1, 2][..]), ("bbox=-3.3915,51.9469,-2.7,52.05", &[0, 1]), ("bbox=-3.3914,51.9469,-2.7,52.05", &[1]),
            ("bbox=-3.3915,51.9470,-2.7,52.05", &[1]), ("bbox=-3.3915,51.9469,-2.7001,52.05", &[0]), ("bbox=-3.3915,51.9469,-2.7,52.0499", &[0]),
            ("bbox=-3.3915,51.9469,-3.3915,51.9469", &[0]), ("bbox=170,-20,-170,-10", &[3, 4]), ("bbox=-170,-20,170,-10", &[]),
            ("bbox=-180,-90,180,90", &[0, 1, 2, 3, 4, 5]), ("bbox=0,80,30,90", &[5]), ("bbox=-8&bbox=49&bbox=2&bbox=61", &[0, 1, 2]),
            ("bbox=-8,49,2,61&latitude=52&longitude=-3&distanceKm=50&sortBy=publishedAt", &[0, 1]),
            ("bbox=-3,49,2,61&latitude=52&longitude=-3&distanceKm=50", &[1]), ("bbox=-8,49,2,61&f:commodityBreed=texel", &[]),
            ("bbox=-8,49,2,61&f:commodityBreed=cross&query=quiet&sortBy=price", &[0, 1, 2]),
            ("bbox=170,-20,-170,-10&latitude=-17&longitude=179.9&distanceKm=200&sortBy=publishedAt", &[3, 4]),
            ("bbox=10,0,20,10&latitude=-17&longitude=179.9&distanceKm=200", &[]),
        ] {
            assert_finds(&app, &farm, query, &at(indexes)).await;
        }
        for (query, errors) in [
            ("bbox=1,2,3", &["bbox length"][..]), ("bbox=1,2,3,4,5", &["bbox length"]), ("bbox=-181,2,3,4", &["bbox range"]),
            ("bbox=1,2,3,91", &["bbox range"]), ("bbox=1,5,3,4", &["bbox inconsistent"]), ("bbox=a,2,3,4", &["bbox type"]),
            ("clusterZoom=3", &["clusterZoom inconsistent"]), ("clusterZoom=17&format=GEOJSON", &["clusterZoom range"]),
            ("clusterZoom=2&format=CSV&limit=0", &["clusterZoom inconsistent", "limit range"]), ("format=KML", &["format enum"]),
        ] {
            for path in ["/v1/listings", "/v1/public/listings"] {
                assert_eq!(app.get(&format!("{path}?{query}")).by(&farm).send().await.errors(), errors, "{path} {query}");
            }
        }
    }

    /// With more listings in a box than are looked up by id.
    async fn pages_of_a_box_with_many_listings_are_complete(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        create_at(&app, &farm, 51.0, -3.0).await;
        let outside = create_at(&app, &farm, 10.0, -3.0).await;
        let id = backend.numbered_id();
        let position = if backend == Backend::Sqlite { ("", "") } else { (", position", ", pg_current_xact_id()::text::bigint") };
        app.database.execute(&format!(
            "INSERT INTO listings (id, organisation_id, kind, status, category, created_at, organisation_key, types, sexes,
                additional_info, band, lon, x, y, z, public_x, public_y, public_z, document, derived, search_text)
             SELECT {id}, 'b', kind, status, category, created_at, organisation_key, '', '', '', band, lon, x, y, z, public_x,
                public_y, public_z, document, derived, search_text FROM listings, {} WHERE band = 510;
             INSERT INTO listing_events (listing_id, user_id, to_status, at{})
             SELECT id, 'u', status, created_at{} FROM listings WHERE organisation_id = 'b'",
            backend.numbers(1_200), position.0, position.1
        ));
        for bbox in ["bbox=-4,50,-2,52", "bbox=-180,20,180,90"] {
            let mut found = Vec::new();
            for page in app.pages(&farm, &format!("/v1/listings?limit=100&count=true&sortDesc=false&{bbox}")).await {
                assert_eq!(page.header("x-total-count"), "1201");
                found.extend(page.entries());
            }
            assert_eq!(found.len(), 1_201, "{bbox}");
            let clusters = map(&app, &farm, &format!("clusterZoom=0&{bbox}")).await;
            assert_eq!(clusters["features"].as_array().unwrap().len(), 1);
            assert_eq!(clusters["features"][0]["properties"], json!({"count": 1_201}));
        }
        assert_eq!(search(&app, &farm, "bbox=-4,9,-2,11").await, [outside]);
        let all = map(&app, &farm, "bbox=-4,50,-2,52").await;
        assert_eq!((all["features"].as_array().unwrap().len(), all.get("truncated")), (1_201, None));
    }

    async fn points_show_what_a_map_needs(backend) {
        let (app, farm) = (start(backend).await, User::of("farm").with("orgName", "Penybont"));
        let first = create_at(&app, &farm, 51.946_912, -3.391_534).await;
        let price = json!({"type": "fixed", "pricePerUnit": {"amount": 5, "currency": "GBP"}});
        let bare = with(with(plain(&json!({})), "/price", price), "/location", json!({"coordinates": {"lat": 52, "lon": -3}}));
        let second = create(&app, &farm, &bare).await;
        create(&app, &farm, &plain(&json!({}))).await;
        let hidden = draft(&app, &farm).await;
        let read = app.get(&format!("/v1/listings/{first}")).by(&farm).send().await.ok();
        let response = app.get("/v1/listings?format=geojson&sortDesc=false&count=true").by(&User::individual("u")).send().await;
        assert_eq!(response.header("x-total-count"), "2");
        let expected = json!({
            "type": "FeatureCollection", "withoutCoordinates": 1, "features": [
                {"type": "Feature", "id": first, "geometry": {"type": "Point", "coordinates": [-3.391_534, 51.946_912]}, "properties": {
                    "title": "Store heifers", "category": "cattle", "type": "selling", "price": read["price"],
                    "organisationName": "Penybont", "publishedAtUTC": read["publishedAtUTC"],
                }},
                {"type": "Feature", "id": second, "geometry": {"type": "Point", "coordinates": [-3.0, 52.0]}, "properties": {
                    "category": "cattle", "type": "selling", "organisationName": "Penybont",
                    "price": {"type": "fixed", "pricePerUnit": {"amount": 5, "currency": "GBP"}},
                    "publishedAtUTC": response.ok()["features"][1]["properties"]["publishedAtUTC"],
                }},
            ],
        });
        assert_eq!(map(&app, &farm, "sortDesc=false").await, expected);
        let accepted = app.get("/v1/listings?sortDesc=false").by(&farm).header("accept", "application/geo+json").send().await;
        assert_eq!((accepted.header("content-type"), accepted.header("vary").contains("Accept")), ("application/geo+json", true));
        assert_eq!(accepted.ok(), expected);
        let one = app.get("/v1/listings?format=GEOJSON&sortDesc=false&limit=1").by(&farm).send().await;
        let next = one.link("next").unwrap();
        let one = one.ok();
        assert_eq!((ids(&one["features"]), &one["truncated"], &one["withoutCoordinates"]), (vec![first.clone()], &json!(true), &json!(1)));
        assert_eq!(ids(&app.get(&next).by(&farm).send().await.ok()["features"]), [second.as_str()]);
        assert_eq!(map(&app, &farm, "bbox=-4,51,-3.1,53").await["withoutCoordinates"], 0);
        assert_eq!(ids(&map(&app, &farm, "f:status=draft").await["features"]), [hidden.as_str()]);
        assert_eq!(map(&app, &User::of("other"), "f:status=draft").await["features"], json!([]));
        // Visitors get rounded points.
        let public = app.get("/v1/public/listings?format=GEOJSON&sortDesc=false").send().await;
        assert_eq!((public.header("content-type"), public.header("cache-control")), ("application/geo+json", "public, max-age=60"));
        let public = public.ok();
        assert_eq!((places(&public), &public["withoutCoordinates"]), (vec![json!([-3.39, 51.95]), json!([-3.0, 52.0])], &json!(1)));
        to(&app, &farm, &first, "sold").send().await.ok();
        assert_eq!(places(&map(&app, &farm, "").await), [json!([-3.0, 52.0])]);
    }

    async fn clusters_count_the_listings_of_cells(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        for (lat, lon) in [(51.9401, -3.3901), (51.9411, -3.3911), (51.9421, -3.3921), (52.5, 1.0), (-33.0, 151.0)] {
            create_at(&app, &farm, lat, lon).await;
        }
        create(&app, &farm, &plain(&json!({}))).await;
        let counts = |map: &Value| map["features"].as_array().unwrap().iter().map(|f| f["properties"]["count"].as_u64().unwrap()).collect::<Vec<_>>();
        for (zoom, expected) in [(0, &[3, 1, 1][..]), (5, &[3, 1, 1]), (16, &[1, 1, 1, 1, 1])] {
            let clusters = map(&app, &farm, &format!("clusterZoom={zoom}")).await;
            assert_eq!(counts(&clusters), expected, "{zoom}");
            assert_eq!((&clusters["withoutCoordinates"], clusters.get("truncated")), (&json!(1), None));
            assert!(clusters["features"].as_array().unwrap().iter().all(|f| f.get("id").is_none() && f["type"] == "Feature"));
        }
        let clusters = map(&app, &farm, "clusterZoom=5&bbox=-4,51,2,53&limit=1").await;
        assert_eq!((counts(&clusters), &clusters["truncated"]), (vec![3], &json!(true)));
        assert_eq!(places(&clusters), [json!([-3.3911, 51.9411])]);
        let counted = app.get("/v1/listings?format=GEOJSON&clusterZoom=2&count=true&f:status=active-selling").by(&farm).send().await;
        assert_eq!(counted.header("x-total-count"), "5");
        // All three have the same rounded point.
        let public = app.get("/v1/public/listings?format=GEOJSON&clusterZoom=16").send().await.ok();
        assert_eq!(counts(&public), [3, 1, 1]);
        assert_eq!(places(&public)[0], json!([-3.39, 51.94]));
        let words = map(&app, &farm, "clusterZoom=0&query=quiet&f:commodityBreed=hereford&minAge=14").await;
        assert_eq!(counts(&words), [3, 1, 1]);
        assert_eq!(counts(&map(&app, &farm, "clusterZoom=0&isWishlisted=true").await), [0; 0]);
    }

    async fn public_boxes_go_by_rounded_points(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        // Shown at 52.00, -3.00.
        let id = create_at(&app, &farm, 51.9956, -3.0044).await;
        for (bbox, exact, shown) in [
            ("-3.1,51.99,-3.004,51.9999", 1, 0), ("-3.0,52.0,-2.9,52.1", 0, 1), ("-3.001,51.999,-2.9,52.1", 0, 1), ("-3.1,51,-2,53", 1, 1),
            ("-2.999,51,-2,53", 0, 0), ("-4,51,-3,53", 1, 1), ("-3,51,-3,52", 0, 1), ("10.001,-90,10.0,90", 1, 1),
            ("10.000000001,-90,10.0,90", 1, 1),
        ] {
            assert_eq!(search(&app, &farm, &format!("bbox={bbox}")).await.len(), exact, "{bbox}");
            for query in ["", "&clusterZoom=3&format=GEOJSON", "&format=GEOJSON", "&docs=false", "&format=CSV"] {
                let response = app.get(&format!("/v1/public/listings?bbox={bbox}{query}")).send().await;
                let count = match query {
                    "" => response.ok().as_array().unwrap().len(),
                    "&docs=false" => usize::try_from(response.ok()["total"].as_u64().unwrap()).unwrap(),
                    "&format=CSV" => response.text().matches(&id).count(),
                    _ => response.ok()["features"].as_array().unwrap().len(),
                };
                assert_eq!(count, shown, "{bbox} {query}");
            }
        }
    }

    async fn near_stands_for_the_coordinates_of_a_postcode(backend) {
        let system = SystemStub::start().await;
        for (text, lat, lon) in [("HR4 9AR", 52.06, -2.73), ("HR4", 52.08, -2.75), ("LD3 7", 51.95, -3.39), ("D02", 53.34, -6.25)] {
            system.add_postcode(text, lat, lon);
        }
        let settings = Settings { system_url: system.url(), public_listings: true, ..Settings::default() };
        let (app, farm) = (App::start::<Livestock>(backend, settings).await, User::of("farm"));
        let hereford = create_at(&app, &farm, 52.06, -2.73).await;
        let brecon = create_at(&app, &farm, 51.95, -3.39).await;
        for (near, order) in [("HR4%209AR", [&hereford, &brecon]), ("hr49ar", [&hereford, &brecon]), ("hr4", [&hereford, &brecon]), ("LD3%207", [&brecon, &hereford]), ("D2", [&brecon, &hereford])] {
            let found = app.get(&format!("/v1/listings?near={near}")).by(&farm).send().await.ok();
            assert_eq!(ids(&found).iter().collect::<Vec<_>>(), order, "{near}");
            assert!(found[0]["distanceKm"].is_number());
        }
        let found = app.get("/v1/public/listings?near=HR4%209AR&distanceKm=5").send().await.ok();
        assert_eq!(ids(&found), [hereford.as_str()]);
        assert_eq!(search(&app, &farm, "near=HR4&distanceKm=20&sortBy=price").await, [hereford.as_str()]);
        let facets = app.get("/v1/listings?docs=false&near=LD3%207&distanceKm=20").by(&farm).send().await.ok();
        assert_eq!(facets["total"], 1);
        let first = app.get("/v1/listings?near=HR4&limit=1").by(&farm).send().await;
        let next = first.link("next").unwrap();
        assert_eq!(ids(&app.get(&next).by(&farm).send().await.ok()), [brecon.as_str()]);
        for (query, errors) in [
            ("near=ZZ9%209ZZ", &["near unknown_reference"][..]), ("near=Hereford", &["near unknown_reference"]),
            ("near=somewhere%20over%20the%20rainbow%209", &["near unknown_reference"]), ("near=HR4&latitude=1", &["near inconsistent"]),
            ("near=HR4%20HELLO1", &["near unknown_reference"]), ("near=HR4%2012345", &["near unknown_reference"]),
            ("bbox=-8,,49,2,61", &["bbox length"]), ("bbox=-8,49,2,", &["bbox type"]),
            ("near=ZZ9&longitude=1&latitude=1", &["near inconsistent"]), ("near=ZZ9%209ZZ&minAge=x", &["minAge type", "near unknown_reference"]),
            ("near=a%00b", &["near format"]),
        ] {
            for path in ["/v1/listings", "/v1/public/listings"] {
                assert_eq!(app.get(&format!("{path}?{query}")).by(&farm).send().await.errors(), errors, "{query}");
            }
        }
        system.set_places_status(Some(503));
        app.get("/v1/listings?near=HR4%209AR").by(&farm).send().await.error(503);
        app.get("/v1/public/listings?near=HR4%209AR").send().await.error(503);
        assert_eq!(app.get("/v1/listings?near=HR4%209AR&minAge=x").by(&farm).send().await.errors(), ["minAge type"]);
        assert_eq!(app.get("/v1/listings?near=Hereford").by(&farm).send().await.errors(), ["near unknown_reference"]);
    }

    /// The point is looked up when a search is saved or its `near` is edited.
    async fn saved_searches_keep_the_text_of_near(backend) {
        let system = SystemStub::start().await;
        system.add_postcode("HR4 9AR", 52.06, -2.73);
        system.add_postcode("LD3", 51.95, -3.39);
        let settings = Settings { system_url: system.url(), ..Settings::default() };
        let (app, farm, ann) = (App::start::<Livestock>(backend, settings).await, User::of("farm"), User::individual("ann"));
        let path = save(&app, &ann, json!({"near": "hr4 9ar", "distanceKm": "20"}), true).await;
        let (hereford, brecon) = (create_at(&app, &farm, 52.06, -2.73).await, create_at(&app, &farm, 51.95, -3.39).await);
        let listings = async || ids(&app.get(&format!("{path}/listings")).by(&ann).send().await.ok());
        testkit::wait_until(async || app.get(&path).by(&ann).send().await.ok()["newMatches"] == 1).await;
        let patch = async |parameters: Value| {
            app.call("PATCH", &path).by(&ann).json(&json!({"parameters": parameters})).send().await
        };
        let searches = system.address_searches().await.len();
        assert_eq!(listings().await, [hereford.as_str()]);
        let edited = patch(json!({"distanceKm": "25"})).await.ok();
        assert_eq!(edited["parameters"], json!({"near": "hr4 9ar", "distanceKm": "25"}));
        assert_eq!((system.address_searches().await.len(), listings().await), (searches, vec![hereford.clone()]), "looked up once");
        assert_eq!(patch(json!({"near": "LD3"})).await.ok()["parameters"]["near"], "LD3");
        assert_eq!(listings().await, [brecon.as_str()]);
        for (parameters, error) in [
            (json!({"near": "ZZ9 9ZZ"}), "parameters.near unknown_reference"), (json!({"near": "Brecon"}), "parameters.near unknown_reference"),
            (json!({"latitude": "1", "longitude": "1"}), "parameters.near inconsistent"), (json!({"clusterZoom": "1"}), "parameters.clusterZoom inconsistent"),
        ] {
            assert_eq!(patch(parameters).await.errors(), [error]);
        }
        let post = async |parameters: Value, name: &str| {
            let form = json!({"name": name, "notify": true, "parameters": parameters});
            app.post("/v1/saved-searches").by(&ann).json(&form).send().await
        };
        assert_eq!(post(json!({"near": "ZZ9", "minAge": "x"}), "").await.errors(), ["name length", "parameters.minAge type", "parameters.near unknown_reference"]);
        assert_eq!(post(json!({"near": "ZZ9"}), "x").await.errors(), ["parameters.near unknown_reference"]);
        assert_eq!(post(json!({"near": "LD3", "latitude": "1", "longitude": "1"}), "x").await.errors(), ["parameters.near inconsistent"]);
        // Blank coordinates are removed.
        let at_point = save(&app, &ann, json!({"latitude": "52.06", "longitude": "-2.73"}), false).await;
        let patch_point = async |near: &str| {
            let patch = json!({"parameters": {"near": near, "latitude": "", "longitude": [" "]}});
            app.call("PATCH", &at_point).by(&ann).json(&patch).send().await
        };
        assert_eq!(patch_point("ZZ9").await.errors(), ["parameters.near unknown_reference"]);
        assert_eq!(patch_point("LD3").await.ok()["parameters"], json!({"near": "LD3"}));
        let nearest = app.get(&format!("{at_point}/listings?limit=1")).by(&ann).send().await.ok();
        assert_eq!(ids(&nearest), [brecon.as_str()]);
        system.set_places_status(Some(503));
        post(json!({"near": "LD3"}), "x").await.error(503);
        patch(json!({"near": "HR4 9AR"})).await.error(503);
        assert_eq!(listings().await, [brecon.as_str()]);
        let removed = patch(json!({"near": null, "distanceKm": null})).await.ok();
        assert_eq!((removed["parameters"].clone(), listings().await.len()), (json!({}), 2));
        let in_box = save(&app, &ann, json!({"bbox": "-4,51,-3,53", "f:breedType": ["CROSS"]}), true).await;
        create_at(&app, &farm, 51.9, -3.5).await;
        create_at(&app, &farm, 51.9, -2.5).await;
        testkit::wait_until(async || app.get(&path).by(&ann).send().await.ok()["newMatches"] == 2).await;
        assert_eq!(app.get(&in_box).by(&ann).send().await.ok()["newMatches"], 1);
    }
}

//! Pages of the newest and of the nearest listings among many in a small area.

use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::sample::{CATTLE, ids, plain, start, with};

const LISTINGS: u32 = 300;
const POINT: &str = "latitude=52&longitude=-2";

/// Creates listings around the corner of four cells: most of them within 30 km, and each tenth 60 to 100 km away.
async fn fill(app: &App) {
    let user = User::of("farm");
    let mut seed = 20_261_123_u32;
    let mut random = move |below: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from((seed >> 8) % below)
    };
    for number in 0..LISTINGS {
        let km = if number % 10 == 0 { 60.0 + random(40) } else { random(300) / 10.0 };
        let angle = random(360).to_radians();
        let coordinates =
            json!({"lat": 52.0 + km * angle.sin() / 111.2, "lon": -2.0 + km * angle.cos() / 68.5});
        let breed = if number % 3 == 0 { "Hereford" } else { "Welsh Black" };
        let listing = with(plain(&json!({"breed": breed})), "/location", json!({"coordinates": coordinates}));
        app.post(CATTLE).by(&user).json(&listing).send().await.ok();
    }
}

/// Returns all listings of a search, and how many statements each page but the last took.
async fn walk(app: &App, query: &str) -> (Vec<Value>, Vec<usize>) {
    let (mut path, mut all, mut statements) = (format!("/v1/listings?{query}"), Vec::new(), Vec::new());
    loop {
        app.take_statements();
        let reply = app.get(&path).by(&User::individual("u")).send().await;
        let searches = app
            .take_statements()
            .iter()
            .filter(|sql| sql.starts_with("SELECT") && sql.contains("sort_key"))
            .count();
        let next = reply.link("next");
        all.extend(reply.ok().as_array().unwrap().clone());
        let Some(next) = next else { return (all, statements) };
        path = next;
        statements.push(searches);
    }
}

testkit::on_both! {
    /// All pages together are the listings within the distance in the order of the search. On SQLite a full page is
    /// read by one statement, wherever the point is in its cell.
    async fn pages_within_a_distance_are_complete(backend) {
        let app = start(backend).await;
        fill(&app).await;
        app.record_statements();
        let everything = walk(&app, &format!("limit=100&sortBy=publishedAt&{POINT}")).await.0;
        assert_eq!(everything.len(), 300);
        let km = |listing: &Value| listing["distanceKm"].as_f64().unwrap();
        for (filter, breed) in [("", None), ("&f:commodityBreed=hereford", Some("Hereford"))] {
            let within: Vec<_> = everything
                .iter()
                .filter(|l| km(l) <= 40.0)
                .filter(|l| breed.is_none_or(|breed| l["properties"]["breed"] == breed))
                .collect();
            let oldest: Vec<_> = within.iter().map(|l| l["id"].as_str().unwrap()).collect();
            let mut nearest = within.clone();
nearest.sort_by(|a, b| km(a).total_cmp(&km(b)));
            for limit in [7, 20] {
                let search = format!("limit={limit}&{POINT}&distanceKm=40{filter}");
                let (found, statements) = walk(&app, &format!("{search}&sortBy=publishedAt&sortDesc=false")).await;
                assert_eq!(ids(&json!(found)), oldest, "{search}");
                if backend == Backend::Sqlite {
                    assert!(statements.iter().all(|count| *count == 1), "{search} {statements:?}");
                }
                let (mut found, _) = walk(&app, &format!("{search}&sortBy=publishedAt&sortDesc=true")).await;
                found.reverse();
                assert_eq!(ids(&json!(found)), oldest, "{search}");
                let (found, _) = walk(&app, &search).await;
                assert!(found.iter().map(km).eq(nearest.iter().map(|l| km(l))), "{search}");
            }
        }
    }

    /// A breed that is also the breed type of a listing, and an area with few of the listings around it.
    async fn pages_that_the_index_of_cells_lacks_are_complete(backend) {
        let app = start(backend).await;
        fill(&app).await;
        app.record_statements();
        let user = User::of("farm");
        let at = json!({"coordinates": {"lat": 52.01, "lon": -2.01}});
        let listing = with(plain(&json!({"breed": "Cross", "breedType": "Hereford"})), "/location", at);
        app.post(CATTLE).by(&user).json(&listing).send().await.ok();
        let newest = format!("limit=3&{POINT}&distanceKm=40&f:commodityBreed=hereford&sortBy=publishedAt&sortDesc=true");
        let found = walk(&app, &newest).await.0;
        assert_eq!(found[0]["properties"]["breed"], "Cross");
        let far = |km: u32| format!("limit=2&latitude=52&longitude=-2.9&distanceKm={km}&sortBy=publishedAt&sortDesc=true");
        let (few, more) = (walk(&app, &far(38)).await.0, walk(&app, &far(45)).await.0);
        let within: Vec<_> = more.iter().filter(|l| l["distanceKm"].as_f64().unwrap() <= 38.0).cloned().collect();
        assert!(!few.is_empty() && few.len() < more.len());
        assert_eq!(ids(&json!(few)), ids(&json!(within)));
    }
}

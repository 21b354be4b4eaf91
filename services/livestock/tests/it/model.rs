//! Random searches over random listings, against the plainest model of a search that there is.

use std::cmp::Ordering;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{App, Backend, User};

use crate::sample::{CATTLE, ids, link, plain, start, with};

const LISTINGS: usize = 200;
const SEARCHES: usize = 60;
const FARMS: [&str; 3] = ["a", "b", "c"];
const NAMES: [&str; 4] = ["Acorn", "acorn", "Birch", "élan"];
const TYPES: [&str; 3] = ["store", "Calves", "bulling_heifers"];
const BREEDS: [&str; 4] = ["Hereford", "hereford", "Angus", "Limousin"];
const SEXES: [&str; 4] = ["heifers", "steers", "heifers, steers", "bulls,cows"];
const INFO: [&str; 3] = ["organic", "in-calf", "pedigree"];

fn one<'a>(rng: &mut StdRng, of: &[&'a str]) -> &'a str {
    of.choose(rng).unwrap()
}

/// A listing as it is sent; about half of everything is left out.
fn listing(rng: &mut StdRng) -> Value {
    let mut properties = json!({});
    for (name, of) in [
        ("type", &TYPES[..]),
        ("breed", &BREEDS),
        ("breedType", &BREEDS),
        ("breedSociety", &BREEDS),
        ("sexes", &SEXES),
    ] {
        if rng.random_bool(0.5) {
            properties[name] = json!(one(rng, of));
        }
    }
    properties["additionalInfo"] = json!(INFO.iter().filter(|_| rng.random_bool(0.3)).collect::<Vec<_>>());
    let ages = [rng.random_range(0..40), rng.random_range(0..40)].map(|quarters| f64::from(quarters) / 4.0);
    if rng.random_bool(0.5) {
        properties["minAge"] = json!(ages[0].min(ages[1]));
    }
    if rng.random_bool(0.5) {
        properties["maxAge"] = json!(ages[0].max(ages[1]));
    }
    if rng.random_bool(0.6) {
        properties["quantity"] = json!(rng.random_range(1..12));
    }
    let money = |amount: i32| json!({"amount": f64::from(amount) / 10.0, "currency": "GBP"});
    let low = rng.random_range(0..30);
    let price = match rng.random_range(0..3) {
        0 => json!({"type": "fixed", "pricePerUnit": money(low)}),
        1 => json!({"type": "range", "minPrice": money(low), "maxPrice": money(low + 9)}),
        _ => json!({"type": "poa"}),
    };
    let listing = with(plain(&properties), "/price", price);
    let listing = with(listing, "/type", json!(one(rng, &["selling", "buying"])));
    with(listing, "/isDraft", json!(rng.random_bool(0.2)))
}

/// The filters of a search, each there with some chance.
fn filters(rng: &mut StdRng) -> Vec<(&'static str, String)> {
    let several = |rng: &mut StdRng| format!("{},{}", one(rng, &BREEDS), one(rng, &BREEDS).to_uppercase());
    let statuses = ["active-selling", "active-buying", "draft", "sold"];
    let mut filters = vec![
        ("f:status", one(rng, &statuses).to_owned()),
        ("f:commodityType", one(rng, &["cattle", "sheep", "store", "calves", "Bulling_Heifers"]).to_owned()),
        ("f:commodityBreed", several(rng)),
        ("f:commodityBreedSociety", several(rng)),
        ("f:commoditySexes", one(rng, &["heifers", "steers", "bulls", "ewes"]).to_owned()),
        ("f:commodityAdditionalInfo", one(rng, &INFO).to_owned()),
        ("minAge", format!("{}", f64::from(rng.random_range(0..20)) / 4.0)),
        ("maxAge", format!("{}", f64::from(rng.random_range(20..40)) / 4.0)),
        ("f:organisationId", one(rng, &FARMS).to_owned()),
    ];
    filters.retain(|_| rng.random_bool(0.22));
    filters
}

fn matches(listing: &Value, name: &str, value: &str) -> bool {
    let properties = &listing["properties"];
    let text = |of: &Value| of.as_str().unwrap_or_default().to_lowercase();
    let any = |of: &Value| value.split(',').any(|v| v.to_lowercase() == text(of));
    match (name, value) {
        ("f:status", "active-selling") => listing["type"] == "selling",
        ("f:status", "active-buying") => listing["type"] == "buying",
        ("f:status", _) => listing["status"] == *value,
        ("f:commodityType", "cattle") => true,
        ("f:commodityType", "sheep") => false,
        ("f:commodityType", _) => any(&properties["type"]),
        ("f:commodityBreed", _) => any(&properties["breed"]) || any(&properties["breedType"]),
        ("f:commodityBreedSociety", _) => any(&properties["breedSociety"]),
        ("f:commoditySexes", _) => text(&properties["sexes"]).split(',').any(|sex| sex.trim() == value),
        ("f:commodityAdditionalInfo", _) => {
            properties["additionalInfo"].as_array().unwrap().contains(&json!(value))
        }
        ("minAge", _) => properties["minAge"].as_f64().is_some_and(|age| age >= value.parse().unwrap()),
        ("maxAge", _) => properties["maxAge"].as_f64().is_some_and(|age| age <= value.parse().unwrap()),
        ("f:organisationId", _) => listing["organisationId"] == *value,
        other => panic!("{other:?}"),
    }
}

fn number(listing: &Value, sort: &str) -> Option<f64> {
    let of = |pointer: &str| listing.pointer(pointer).and_then(Value::as_f64);
    match sort {
        "price" => of("/price/pricePerUnit/amount").or(of("/price/minPrice/amount")),
        "age" => of("/properties/minAge").or(of("/properties/maxAge")),
        "quantity" => of("/properties/quantity"),
        other => panic!("{other}"),
    }
}

fn compare(a: &Value, b: &Value, sort: &str, desc: bool) -> Ordering {
    let turn = |order: Ordering| if desc { order.reverse() } else { order };
    let text = |l: &Value, name: &str| l[name].as_str().unwrap().to_lowercase();
    let order = match sort {
        "createdAt" => turn(text(a, "createdAtUTC").cmp(&text(b, "createdAtUTC"))),
        "organisationName" => turn(text(a, sort).cmp(&text(b, sort))),
        _ => match (number(a, sort), number(b, sort)) {
            (Some(a), Some(b)) => turn(a.total_cmp(&b)),
            (a, b) => b.is_some().cmp(&a.is_some()),
        },
    };
    order.then(turn(text(a, "id").cmp(&text(b, "id"))))
}

fn expected(all: &[Value], org: &str, filters: &[(&str, String)], sort: &str, desc: bool) -> Vec<String> {
    let drafts = filters.contains(&("f:status", "draft".to_owned()));
    let visible = |l: &&Value| if drafts { l["organisationId"] == org } else { true };
    let status = |l: &&Value| (l["status"] == "draft") == drafts;
    let mut found: Vec<_> = all
        .iter()
        .filter(visible)
        .filter(status)
        .filter(|l| filters.iter().all(|(name, value)| matches(l, name, value)))
        .cloned()
        .collect();
    found.sort_by(|a, b| compare(a, b, sort, desc));
    ids(&json!(found))
}

async fn fill(app: &App, rng: &mut StdRng) -> Vec<Value> {
    let mut all = Vec::new();
    for _ in 0..LISTINGS {
        let user = User::of(one(rng, &FARMS)).with("orgName", one(rng, &NAMES));
        let made = app.post(CATTLE).by(&user).json(&listing(rng)).send().await.ok();
        let path = format!("/v1/listings/{}", made["id"].as_str().unwrap());
        all.push(app.get(&path).by(&user).send().await.ok());
    }
    all
}

/// All pages, by cursor; and how many matches the first says there are.
async fn walk(app: &App, user: &User, path: &str) -> (Vec<String>, String) {
    let first = app.get(&format!("{path}&count=true")).by(user).send().await;
    let total = first.header("x-total-count").to_owned();
    let (mut seen, mut reply) = (Vec::new(), first);
    loop {
        let next = link(reply.header("link"), "next");
        seen.extend(ids(&reply.ok()));
        let Some(next) = next else { return (seen, total) };
        reply = app.get(&next).by(user).send().await;
    }
}

async fn compare_searches(backend: Backend) {
    let app = start(backend).await;
    let mut rng = StdRng::seed_from_u64(20_261_121);
    let all = fill(&app, &mut rng).await;
    let mut hits = 0;
    for _ in 0..SEARCHES {
        let org = one(&mut rng, &FARMS);
        let (user, filters) = (User::of(org), filters(&mut rng));
        let sort = one(&mut rng, &["createdAt", "price", "age", "quantity", "organisationName"]);
        let (desc, limit) = (rng.random_bool(0.5), rng.random_range(1..=30_usize));
        let mut path = format!("/v1/listings?sortBy={sort}&sortDesc={desc}&limit={limit}");
        path.extend(filters.iter().map(|(name, value)| format!("&{name}={value}")));
        let expected = expected(&all, org, &filters, sort, desc);
        hits += usize::from(!expected.is_empty());
        let (seen, total) = walk(&app, &user, &path).await;
        assert_eq!(seen, expected, "{path}");
        assert_eq!(total, expected.len().to_string(), "{path}");
        let offset = rng.random_range(0..=expected.len());
        let page = app.get(&format!("{path}&offset={offset}")).by(&user).send().await.ok();
        let end = (offset + limit).min(expected.len());
        assert_eq!(ids(&page), expected[offset..end], "{path}&offset={offset}");
    }
    assert!(hits > SEARCHES / 2, "most searches find something: {hits}");
}

testkit::on_both! {
    async fn a_search_finds_what_the_model_finds(backend) {
        compare_searches(backend).await;
    }
}

//! A hundred random searches of 5,000 loads agree with a plain in-memory model: by offset, by cursor, and as CSV.

use std::cmp::Ordering;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::search::next;
use super::*;

const LOADS: usize = 5_000;
const SEARCHES: usize = 100;
const SORTS: [&str; 9] = [
    "deliveryDateISO",
    "createdAt",
    "reference",
    "status",
    "organiser",
    "carrier",
    "commodity",
    "weight",
    "weightNet",
];

type Filters = Vec<(&'static str, String)>;

fn any(random: &mut StdRng, of: &[&str]) -> String {
    of[random.random_range(0..of.len())].to_owned()
}

/// The row of a load that has an organiser, and a carrier or not.
fn row(random: &mut StdRng, n: usize) -> String {
    let organiser = (any(random, &["grain", "mill", "haul"]), any(random, &["Zeta Farms", "alpha", "Ärger"]));
    let carrier = (any(random, &["haul", "fast"]), any(random, &["Haulage", "beta & Sons"]));
    let (carrier, name) = if random.random_bool(0.6) { carrier } else { Default::default() };
    let reference = any(random, &["a", "B-77", "c_%", "\"\"q\"\""]);
    let (commodity, day) = (random.random_range(1..=5), random.random_range(1..=9));
    let (weight, postcode) = (any(random, &["", "7", "2.5"]), any(random, &["HR4 9AR", "x 1"]));
    let tag = any(random, &["x", "Harvest", "a b"]);
    format!(
        "\"{reference}-{n}\",2026-03-0{day},{},{},{carrier},{name},{commodity},{weight},{postcode},{tag}\n",
        organiser.0, organiser.1
    )
}

/// A twentieth of all loads is proven delivered.
async fn prove(app: &App, admin: &User, random: &mut StdRng, ids: &[Value]) {
    for (n, id) in ids.iter().enumerate().filter(|(n, _)| n % 20 == 3) {
        let proof = json!({
            "weightNet": random.random_range(1..9), "ticketNumber": format!("T-{n}"), "vehicleRegistration": "VX21 ABC",
            "files": null, "capturedAtUTC": format!("2026-03-{:02}T08:00:00Z", random.random_range(10..=28)),
        });
        let path = format!("/v1/loads/{}/proof-of-delivery", id.as_str().unwrap());
        app.post(&path).by(admin).json(&proof).send().await.ok();
    }
}

/// So many loads, as the service shows them one by one.
async fn populate(app: &App, random: &mut StdRng) -> Vec<Value> {
    let header = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                  pickupPostcode,tags\n";
    let (admin, rows) = (User::admin(), (0..LOADS).map(|n| row(random, n)).collect::<String>());
    let form = super::batch::form(&[(header.to_owned() + &rows).as_bytes()]);
    let made = super::batch::send(app, &admin, form).await.ok();
    let ids = made["ids"].as_array().unwrap();
    prove(app, &admin, random, ids).await;
    let mut loads = Vec::new();
    for ids in ids.chunks(100) {
        loads.extend(super::batch::loads(app, &admin, &json!({ "ids": ids })).await);
    }
    assert_eq!(loads.len(), LOADS);
    loads
}

/// What a load is sorted by, as the contract says it: text without regard to case.
fn key(load: &Value, sort: &str) -> Option<Value> {
    let lower = |v: &Value| v.as_str().map(|t| json!(t.to_lowercase()));
    match sort {
        "createdAt" => lower(&load["createdAtUTC"]),
        "organiser" | "carrier" | "commodity" => lower(&load[sort]["name"]),
        "weight" | "weightNet" => load[sort]["weight"].as_f64().map(|w| json!(w)),
        plain => lower(&load[plain]),
    }
}

fn compare(a: &Value, b: &Value) -> Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.as_str().unwrap().cmp(b.as_str().unwrap()),
    }
}

fn has_word(load: &Value, word: &str) -> bool {
    let members = ["reference", "ticketNumber", "vehicleRegistration", "pickupPostcode", "dropoffPostcode"];
    let names = ["organiser", "carrier", "commodity"].map(|part| &load[part]["name"]);
    let mut texts = members.iter().map(|m| &load[*m]).chain(names).chain(load["tags"].as_array().unwrap());
    texts.any(|text| text.as_str().unwrap_or_default().to_lowercase().contains(word))
}

fn matches(load: &Value, filters: &Filters) -> bool {
    filters.iter().all(|(name, value)| match *name {
        "f:organiserId" => load["organiser"]["id"] == value.as_str(),
        "f:carrierId" => load["carrier"]["id"] == value.as_str(),
        "f:status" => load["status"] == value.as_str(),
        "startDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] >= **value,
        "endDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] <= **value,
        _ => value.to_lowercase().split(' ').all(|word| has_word(load, word)),
    })
}

/// The ids that a search must give, all of them.
fn expected(loads: &[Value], caller: &str, filters: &Filters, sort: &str, desc: bool) -> Vec<String> {
    let sees = |load: &&Value| {
        caller == "admin" || load["organiser"]["id"] == caller || load["carrier"]["id"] == caller
    };
    let found = loads.iter().filter(sees).filter(|load| matches(load, filters));
    let mut found: Vec<_> = found.map(|load| (key(load, sort), load["id"].as_str().unwrap())).collect();
    found.sort_by(|(x, a), (y, b)| {
        let missing_last = x.is_none().cmp(&y.is_none());
        let order = x.as_ref().zip(y.as_ref()).map_or(Ordering::Equal, |(x, y)| compare(x, y)).then(a.cmp(b));
        missing_last.then(if desc { order.reverse() } else { order })
    });
    found.into_iter().map(|(_, id)| id.to_owned()).collect()
}

fn filters(random: &mut StdRng) -> Filters {
    let queries =
        ["a", "wheat x", "c_%", "ÄRGER", "zeta haulage", "77-12", "hr4 9ar", "\"q\"-1", "t-3", "barley vx21"];
    let all = [
        ("f:organiserId", any(random, &["grain", "mill", "none"])),
        ("f:carrierId", any(random, &["haul", "fast"])),
        ("f:status", any(random, &["upcoming", "completed"])),
        ("startDateISO", format!("2026-03-{:02}", random.random_range(1..=9))),
        ("endDateISO", format!("2026-03-{:02}", random.random_range(9..=12))),
        ("query", any(random, &queries)),
    ];
    all.into_iter().filter(|_| random.random_bool(0.25)).collect()
}

fn ids(page: &Value) -> Vec<String> {
    page.as_array().unwrap().iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect()
}

/// A few pages by cursor, from an offset on.
async fn walk(app: &App, token: &str, path: &str) -> Vec<String> {
    let (mut found, mut path) = (Vec::new(), path.to_owned());
    for _ in 0..3 {
        let reply = app.get(&path).bearer(token).send().await;
        let link = reply.header("link").to_owned();
        found.extend(ids(&reply.ok()));
        let Some(url) = next(&link) else { break };
        url.strip_prefix(&app.url).unwrap().clone_into(&mut path);
    }
    found
}

fn part(all: &[String], offset: usize, limit: usize) -> Vec<String> {
    all.iter().skip(offset).take(limit).cloned().collect()
}

testkit::on_both! {
    async fn searches_agree_with_the_model(backend) {
        let app = app(backend).await;
        let mut random = StdRng::seed_from_u64(7);
        let loads = populate(&app, &mut random).await;
        for _ in 0..SEARCHES {
            let caller = any(&mut random, &["haul", "grain", "admin"]);
            let token = if caller == "admin" { User::admin() } else { User::of(&caller) }.token();
            let (filters, sort, desc) = (filters(&mut random), any(&mut random, &SORTS), random.random::<bool>());
            let all = expected(&loads, &caller, &filters, &sort, desc);
            let (limit, offset) = (random.random_range(1..=100), random.random_range(0..=all.len().min(300)));
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&filters).append_pair("sortBy", &sort).append_pair("sortDesc", &format!("{desc}"));
            let query = query.finish();

            let path = format!("/v1/loads?limit={limit}&offset={offset}&count=true&{query}");
            let reply = app.get(&path).bearer(&token).send().await;
            assert_eq!(reply.header("x-total-count"), all.len().to_string(), "{caller} {path}");
            assert_eq!(ids(&reply.ok()), part(&all, offset, limit), "{caller} {path}");
            assert_eq!(walk(&app, &token, &path).await, part(&all, offset, 3 * limit), "{caller} cursors {path}");

            let some = if random.random() { format!("limit={limit}&offset={offset}&") } else { String::new() };
            let path = format!("/v1/loads?format=csv&{some}{query}");
            let rows = super::csv::rows(&app.get(&path).bearer(&token).send().await);
            let found: Vec<_> = rows.iter().map(|row| row["id"].clone()).collect();
            let wanted = if some.is_empty() { all } else { part(&all, offset, limit) };
            assert_eq!(found, wanted, "{caller} {path}");
        }
    }
}

//! Compares 100 random searches of 5,000 loads with an in-memory model: by offset, by cursor, and as CSV.

use std::cmp::Ordering;

use common::wire::fold;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::search::next_url;
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

/// Returns a random element.
fn pick(random: &mut StdRng, values: &[&str]) -> String {
    values[random.random_range(0..values.len())].to_owned()
}

/// Returns a CSV row of a load with an organiser and, with a probability of 0.6, a carrier.
fn row(random: &mut StdRng, n: usize) -> String {
    let organiser =
        (pick(random, &["grain", "mill", "haul"]), pick(random, &["Zeta Farms", "alpha", "Ärger"]));
    let carrier = (pick(random, &["haul", "fast"]), pick(random, &["Haulage", "beta & Sons"]));
    let (carrier, name) = if random.random_bool(0.6) { carrier } else { Default::default() };
    let reference = pick(random, &["a", "B-77", "c_%", "\"\"q\"\""]);
    let (commodity, day) = (random.random_range(1..=5), random.random_range(1..=9));
    let (weight, postcode) = (pick(random, &["", "7", "2.5"]), pick(random, &["HR4 9AR", "x 1"]));
    let tag = pick(random, &["x", "Harvest", "a b"]);
    format!(
        "\"{reference}-{n}\",2026-03-0{day},{},{},{carrier},{name},{commodity},{weight},{postcode},{tag}\n",
        organiser.0, organiser.1
    )
}

/// Submits proofs of delivery for a twentieth of all loads.
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

/// Creates [`LOADS`] loads and returns them as the service returns them one by one.
async fn populate(app: &App, random: &mut StdRng) -> Vec<Value> {
    let header = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                  pickupPostcode,tags\n";
    let (admin, rows) = (User::admin(), (0..LOADS).map(|n| row(random, n)).collect::<String>());
    let form = super::batch::form(&[(header.to_owned() + &rows).as_bytes()]);
    let result = super::batch::send(app, &admin, form).await.ok();
    let ids = result["ids"].as_array().unwrap();
    prove(app, &admin, random, ids).await;
    let mut loads = Vec::new();
    for ids in ids.chunks(100) {
        loads.extend(super::batch::loads(app, &admin, &json!({ "ids": ids })).await);
    }
    assert_eq!(loads.len(), LOADS);
    loads
}

/// Returns the sort value of a load (docs/api/lists.md): of a text its folded form, then the text.
fn sort_value(load: &Value, sort: &str) -> Option<Value> {
    let folded = |v: &Value| v.as_str().map(|t| json!(format!("{}\0{t}", fold(t))));
    match sort {
        "createdAt" => folded(&load["createdAtUTC"]),
        "organiser" | "carrier" | "commodity" => folded(&load[sort]["name"]),
        "weight" | "weightNet" => load[sort]["weight"].as_f64().map(|w| json!(w)),
        member => folded(&load[member]),
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
    texts.any(|text| contains_word(&fold(text.as_str().unwrap_or_default()), word))
}

/// Returns whether a text has a word; one of a single letter only at the beginning of a word.
fn contains_word(text: &str, word: &str) -> bool {
    let is_letter = word.chars().count() == 1 && word.chars().all(char::is_alphanumeric);
    let begins = || text.split(|c: char| !c.is_alphanumeric()).any(|part| part.starts_with(word));
    if is_letter { begins() } else { text.contains(word) }
}

fn matches(load: &Value, filters: &Filters) -> bool {
    filters.iter().all(|(name, value)| match *name {
        "f:organiserId" => load["organiser"]["id"] == value.as_str(),
        "f:carrierId" => load["carrier"]["id"] == value.as_str(),
        "f:status" => load["status"] == value.as_str(),
        "f:commodityId" => value.split(',').any(|id| load["commodity"]["id"].as_i64() == id.parse().ok()),
        "startDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] >= **value,
        "endDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] <= **value,
        _ => fold(value).split(' ').all(|word| has_word(load, word)),
    })
}

/// Returns the ids of all loads that a search must return, in order.
fn expected(loads: &[Value], caller: &str, filters: &Filters, sort: &str, desc: bool) -> Vec<String> {
    let sees = |load: &&Value| {
        caller == "admin" || load["organiser"]["id"] == caller || load["carrier"]["id"] == caller
    };
    let matching = loads.iter().filter(sees).filter(|load| matches(load, filters));
    let mut matching: Vec<_> =
        matching.map(|load| (sort_value(load, sort), load["id"].as_str().unwrap())).collect();
    matching.sort_by(|(x, a), (y, b)| {
        let missing_last = x.is_none().cmp(&y.is_none());
        let order = x.as_ref().zip(y.as_ref()).map_or(Ordering::Equal, |(x, y)| compare(x, y)).then(a.cmp(b));
        missing_last.then(if desc { order.reverse() } else { order })
    });
    matching.into_iter().map(|(_, id)| id.to_owned()).collect()
}

fn filters(random: &mut StdRng) -> Filters {
    let queries =
        ["a", "wheat x", "c_%", "ÄRGER", "zeta haulage", "77-12", "hr4 9ar", "\"q\"-1", "t-3", "barley vx21"];
    let all = [
        ("f:organiserId", pick(random, &["grain", "mill", "none"])),
        ("f:carrierId", pick(random, &["haul", "fast"])),
        ("f:status", pick(random, &["upcoming", "completed"])),
        ("f:commodityId", pick(random, &["2", "1,3", "99,5,4,1", "99"])),
        ("startDateISO", format!("2026-03-{:02}", random.random_range(1..=9))),
        ("endDateISO", format!("2026-03-{:02}", random.random_range(9..=12))),
        ("query", pick(random, &queries)),
    ];
    all.into_iter().filter(|_| random.random_bool(0.25)).collect()
}

fn ids(page: &Value) -> Vec<String> {
    page.as_array().unwrap().iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the ids of three pages: the one at `path` and two that its links lead to.
async fn follow_links(app: &App, token: &str, path: &str) -> Vec<String> {
    let (mut loads, mut path) = (Vec::new(), path.to_owned());
    for _ in 0..3 {
        let reply = app.get(&path).bearer(token).send().await;
        let link = reply.header("link").to_owned();
        loads.extend(ids(&reply.ok()));
        let Some(url) = next_url(&link) else { break };
        url.strip_prefix(&app.url).unwrap().clone_into(&mut path);
    }
    loads
}

fn slice(all: &[String], offset: usize, limit: usize) -> Vec<String> {
    all.iter().skip(offset).take(limit).cloned().collect()
}

testkit::on_both! {
    async fn searches_agree_with_the_model(backend) {
        let app = app(backend).await;
        let mut random = StdRng::seed_from_u64(7);
        let loads = populate(&app, &mut random).await;
        for _ in 0..SEARCHES {
            let caller = pick(&mut random, &["haul", "grain", "admin"]);
            let token = if caller == "admin" { User::admin() } else { User::of(&caller) }.token();
            let (filters, sort, desc) = (filters(&mut random), pick(&mut random, &SORTS), random.random::<bool>());
            let all = expected(&loads, &caller, &filters, &sort, desc);
            let (limit, offset) = (random.random_range(1..=100), random.random_range(0..=all.len().min(300)));
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&filters).append_pair("sortBy", &sort).append_pair("sortDesc", &format!("{desc}"));
            let query = query.finish();

            let path = format!("/v1/loads?limit={limit}&offset={offset}&count=true&{query}");
            let reply = app.get(&path).bearer(&token).send().await;
            assert_eq!(reply.header("x-total-count"), all.len().to_string(), "{caller} {path}");
            assert_eq!(ids(&reply.ok()), slice(&all, offset, limit), "{caller} {path}");
            assert_eq!(follow_links(&app, &token, &path).await, slice(&all, offset, 3 * limit), "{caller} cursors {path}");

            let paging = if random.random() { format!("limit={limit}&offset={offset}&") } else { String::new() };
            let path = format!("/v1/loads?format=csv&{paging}{query}");
            let rows = super::search_csv::rows(&app.get(&path).bearer(&token).send().await);
            let actual: Vec<_> = rows.iter().map(|row| row["id"].clone()).collect();
            let expected = if paging.is_empty() { all } else { slice(&all, offset, limit) };
            assert_eq!(actual, expected, "{caller} {path}");
        }
    }
}

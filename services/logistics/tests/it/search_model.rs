//! Compares 160 random searches of 5,000 loads with an in-memory model: by offset, by cursor, and as CSV.

use std::cmp::Ordering;

use common::wire::fold;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

const LOADS: usize = 5_000;
const SEARCHES: usize = 160;
/// A member that the model adds to a load: whether its organiser has accepted it.
const ACCEPTED: &str = "isAccepted";
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

/// Returns a CSV row of a load with an organiser and, with a probability of 0.6, a carrier. The organisation `grain` is
/// the organiser of the loads that it creates, and `haul` the carrier of its own.
fn row(random: &mut StdRng, n: usize, creator: &str) -> String {
    let organiser =
        (pick(random, &["grain", "mill", "haul"]), pick(random, &["Zeta Farms", "alpha", "Ärger"]));
    let carrier = (pick(random, &["haul", "fast"]), pick(random, &["Haulage", "beta & Sons"]));
    let (carrier, name) = if random.random_bool(0.6) { carrier } else { Default::default() };
    let organiser = if creator == "grain" { (creator.to_owned(), organiser.1) } else { organiser };
    let (carrier, name) =
        if creator == "haul" { (creator.to_owned(), "Haulage".to_owned()) } else { (carrier, name) };
    let reference = pick(random, &["a", "B-77", "c_%", "\"\"q\"\""]);
    let (commodity, day) = (random.random_range(1..=5), random.random_range(1..=9));
    let year = if random.random_bool(0.2) { 2999 } else { 2026 };
    let (weight, postcode) = (pick(random, &["", "7", "2.5"]), pick(random, &["HR4 9AR", "x 1"]));
    let tag = pick(random, &["x", "Harvest", "a b", "x;a b"]);
    format!(
        "\"{reference}-{n}\",{year}-03-0{day},{},{},{carrier},{name},{commodity},{weight},{postcode},{tag}\n",
        organiser.0, organiser.1
    )
}

/// Completes a twentieth of all loads; collects, rejects, cancels and accepts a fortieth each. Returns the indexes of
/// those that were accepted.
async fn change(app: &App, random: &mut StdRng, loads: &[Value]) -> Vec<usize> {
    let (admin, mut accepted) = (User::admin(), Vec::new());
    for (n, load) in loads.iter().enumerate() {
        let (action, form) = match n % 40 {
            3 | 23 => {
                if n % 3 == 0 {
                    let path = format!("/v1/loads/{}/collection", load["id"].as_str().unwrap());
                    let form = json!({"weightNet": 5.01});
                    app.post(&path).by(&admin).json(&form).send().await.ok();
                }
                let captured_at = format!("2026-03-{:02}T08:00:00Z", random.random_range(10..=28));
                let proof = json!({
                    "weightNet": random.random_range(1..9), "ticketNumber": format!("T-{n}"), "files": null,
                    "vehicleRegistration": "VX21 ABC", "capturedAtUTC": captured_at,
                });
                ("proof-of-delivery", proof)
            }
            5 => ("collection", json!({})),
            6 => ("rejection", json!({"reason": "quality"})),
            7 => ("cancel", json!({})),
            8 => ("accept", json!({})),
            _ => continue,
        };
        let organiser = User::of(load["organiser"]["id"].as_str().unwrap());
        let user = if action == "accept" { &organiser } else { &admin };
        let path = format!("/v1/loads/{}/{action}", load["id"].as_str().unwrap());
        app.post(&path).by(user).json(&form).send().await.ok();
        accepted.extend((action == "accept").then_some(n));
    }
    accepted
}

/// Creates [`LOADS`] loads and returns them as the service returns them one by one.
async fn populate(app: &App, random: &mut StdRng) -> Vec<Value> {
    let header = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,weight,\
                  pickupPostcode,tags\n";
    let (admin, mut ids) = (User::admin(), Vec::new());
    for (creator, count) in [("admin", LOADS / 2), ("haul", LOADS / 4), ("grain", LOADS / 4)] {
        let rows = (0..count).map(|n| row(random, n, creator)).collect::<String>();
        let user = if creator == "admin" { admin.clone() } else { without_org_name(creator) };
        let form = super::batch::form(&[(header.to_owned() + &rows).as_bytes()]);
        let result = super::batch::send(app, &user, form).await.ok();
        ids.extend(result["ids"].as_array().unwrap().clone());
    }
    let read_all = async || {
        let mut loads = Vec::new();
        for ids in ids.chunks(100) {
            loads.extend(super::batch::loads(app, &admin, &json!({ "ids": ids })).await);
        }
        assert_eq!(loads.len(), LOADS);
        loads
    };
    let accepted = change(app, random, &read_all().await).await;
    let mut loads = read_all().await;
    for n in accepted {
        loads[n][ACCEPTED] = json!(true);
    }
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

fn matches(load: &Value, caller: &str, filters: &Filters) -> bool {
    let is = |statuses: &[&str]| statuses.iter().any(|status| load["status"] == *status);
    let shows_cancelled = filters.iter().any(|(name, _)| *name == "f:status");
    let due = &load["deliveryDateISO"].as_str().unwrap()[..10];
    let creator = &load["createdBy"]["organisationId"];
    (shows_cancelled || !is(&["cancelled"]))
        && filters.iter().all(|(name, value)| match *name {
            "f:organiserId" => load["organiser"]["id"] == value.as_str(),
            "f:carrierId" => load["carrier"]["id"] == value.as_str(),
            "f:status" => is(&value.split(',').collect::<Vec<_>>()),
            "f:id" => value.split(',').any(|id| load["id"] == id),
            "f:tag" => load["tags"].as_array().unwrap().contains(&json!(value)),
            "f:createdBy" => *creator == if value == "own" { caller } else { value },
            "overdue" => value == "false" || is(&["upcoming", "collected"]) && due < "2999",
            "awaitsAcceptance" => {
                let organiser = &load["organiser"]["id"];
                let is_of_others =
                    creator.is_string() && load["carrier"]["id"] == *creator && organiser != creator;
                let awaits = is_of_others && load.get(ACCEPTED).is_none() && !is(&["cancelled", "rejected"]);
                value == "false" || awaits && *organiser == caller
            }
            "weightDiffersByPercent" => {
                let collected = &load["collection"]["weightNet"]["weight"];
                let expected = collected.as_f64().or(load["weight"]["weight"].as_f64());
                let weights =
                    expected.zip(load["weightNet"]["weight"].as_f64()).filter(|_| is(&["completed"]));
                weights.is_some_and(|(expected, net)| {
                    (net - expected).abs() * 100.0 > expected * value.parse::<f64>().unwrap() + 1e-6
                })
            }
            "f:commodityId" => value.split(',').any(|id| load["commodity"]["id"].as_i64() == id.parse().ok()),
            "startDateISO" => *due >= **value,
            "endDateISO" => *due <= **value,
            _ => fold(value).split(' ').all(|word| has_word(load, word)),
        })
}

/// Returns the ids of all loads that a search must return, in order.
fn expected(loads: &[Value], caller: &str, filters: &Filters, sort: &str, desc: bool) -> Vec<String> {
    let sees = |load: &&Value| {
        caller == "admin" || load["organiser"]["id"] == caller || load["carrier"]["id"] == caller
    };
    let matching = loads.iter().filter(sees).filter(|load| matches(load, caller, filters));
    let mut matching: Vec<_> =
        matching.map(|load| (sort_value(load, sort), load["id"].as_str().unwrap())).collect();
    matching.sort_by(|(x, a), (y, b)| {
        let missing_last = x.is_none().cmp(&y.is_none());
        let order = x.as_ref().zip(y.as_ref()).map_or(Ordering::Equal, |(x, y)| compare(x, y)).then(a.cmp(b));
        missing_last.then(if desc { order.reverse() } else { order })
    });
    matching.into_iter().map(|(_, id)| id.to_owned()).collect()
}

fn filters(random: &mut StdRng, loads: &[Value]) -> Filters {
    let queries =
        ["a", "wheat x", "c_%", "ÄRGER", "zeta haulage", "77-12", "hr4 9ar", "\"q\"-1", "t-3", "barley vx21"];
    let id = |random: &mut StdRng| loads[random.random_range(0..LOADS)]["id"].as_str().unwrap().to_owned();
    let ids: Vec<_> = (0..random.random_range(1..=30)).map(|_| id(random)).collect();
    let all = [
        ("f:id", format!("{},no-id", ids.join(","))),
        ("f:organiserId", pick(random, &["grain", "mill", "none"])),
        ("f:carrierId", pick(random, &["haul", "fast"])),
        (
            "f:status",
            pick(random, &["upcoming", "completed", "upcoming,rejected", "completed,collected,cancelled"]),
        ),
        ("f:tag", pick(random, &["x", "a b", "Harvest", "harvest"])),
        ("f:createdBy", pick(random, &["own", "own", "haul", "grain"])),
        ("overdue", pick(random, &["true", "true", "false"])),
        ("awaitsAcceptance", pick(random, &["true", "true", "false"])),
        ("weightDiffersByPercent", pick(random, &["0", "2", "25", "1000"])),
        ("f:commodityId", pick(random, &["2", "1,3", "99,5,4,1", "99", "0,-1,2147483647"])),
        ("startDateISO", format!("2026-03-{:02}", random.random_range(1..=9))),
        ("endDateISO", format!("2026-03-{:02}", random.random_range(9..=12))),
        ("query", pick(random, &queries)),
    ];
    all.into_iter().filter(|_| random.random_bool(0.17)).collect()
}

/// Returns a query with these filters. Several values are repeated, or separated by commas.
fn query(random: &mut StdRng, filters: &Filters, sort: &str, desc: bool) -> String {
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    for (name, value) in filters {
        let values = || value.split(',');
        match random.random_range(0..4) {
            _ if !["f:id", "f:status", "f:commodityId"].contains(name) => query.append_pair(name, value),
            0 => query.extend_pairs(values().map(|value| (name, value))),
            1 => query.extend_pairs(values().map(|value| (format!("{name}[]"), value))),
            2 => query.append_pair(name, &value.replace(',', ", ")),
            _ => query.append_pair(name, value),
        };
    }
    query.append_pair("sortBy", sort).append_pair("sortDesc", &format!("{desc}")).finish()
}

fn ids(page: &Value) -> Vec<String> {
    page.as_array().unwrap().iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect()
}

/// Returns the ids of three pages: the one at `path` and two that its links lead to.
async fn follow_links(app: &App, token: &str, path: &str) -> Vec<String> {
    let (mut loads, mut path) = (Vec::new(), path.to_owned());
    for _ in 0..3 {
        let reply = app.get(&path).bearer(token).send().await;
        let next = reply.link("next");
        loads.extend(ids(&reply.ok()));
        let Some(next) = next else { break };
        path = next;
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
            let (filters, sort, desc) = (filters(&mut random, &loads), pick(&mut random, &SORTS), random.random::<bool>());
            let all = expected(&loads, &caller, &filters, &sort, desc);
            let (limit, offset) = (random.random_range(1..=100), random.random_range(0..=all.len().min(300)));
            let query = query(&mut random, &filters, &sort, desc);

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

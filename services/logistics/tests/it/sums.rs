//! Compares sums with the rows of the same search: random filters, groups and time zones, of loads that are due and
//! completed near both changes of the clock.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Datelike, Utc};
use chrono_tz::Tz;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

const LOADS: usize = 600;
const CASES: usize = 120;

type Filters = Vec<(&'static str, String)>;

fn pick<'a>(random: &mut StdRng, values: &[&'a str]) -> &'a str {
    values[random.random_range(0..values.len())]
}

/// Returns an instant of one of these days.
fn moment(random: &mut StdRng, days: &[&str]) -> String {
    let (hour, minute) = (random.random_range(0..24), random.random_range(0..60));
    format!("{}T{hour:02}:{minute:02}:{:02}Z", pick(random, days), random.random_range(0..60))
}

/// Returns an instant on the days around a change of the clock, or at the start of any day.
fn instant(random: &mut StdRng) -> String {
    if random.random_bool(0.3) {
        return format!("2026-{:02}-{:02}T00:00:00Z", random.random_range(1..13), random.random_range(1..29));
    }
    moment(random, &["2026-03-28", "2026-03-29", "2026-10-24", "2026-10-25", "2026-04-05"])
}

/// Creates loads, some of them completed or cancelled.
async fn populate(app: &App, random: &mut StdRng) {
    const HEADER: &str = "reference,deliveryDateISO,organiserId,organiserName,carrierId,carrierName,commodityId,\
                          weight,weightNet,tags\n";
    let mut table = vec![HEADER.to_owned()];
    for n in 0..LOADS {
        let (organiser, carrier) =
            (pick(random, &["grain", "mill", "haul"]), pick(random, &["haul", "fast", "grain", ""]));
        let mut weight = || match random.random_range(0..3) {
            0 => String::new(),
            1 => random.random_range(1..40).to_string(),
            _ => format!("{:.4}", f64::from(random.random_range(1..400_000)) / 10_000.0),
        };
        let weights = format!("{},{}", weight(), weight());
        let (at, commodity) = (instant(random), random.random_range(1..8));
        let tag = pick(random, &["x", "y"]);
        table.push(format!(
            "S-{n},{at},{organiser},Of {organiser},{carrier},{carrier},{commodity},{weights},{tag}\n"
        ));
    }
    let table = table.concat();
    let ids = batch::send(app, &User::admin(), batch::form(&[table.as_bytes()])).await.ok()["ids"].clone();
    for (n, id) in ids.as_array().unwrap().iter().enumerate() {
        let id = id.as_str().unwrap();
        if n % 5 == 1 {
            let proof = json!({
                "weightNet": random.random_range(1..40), "ticketNumber": "T", "vehicleRegistration": "V", "files": null,
                "capturedAtUTC": moment(random, &["2026-03-28", "2026-03-29"]),
            });
            prove(app, &User::admin(), id, &proof).await.ok();
        } else if n % 17 == 2 {
            cancel(app, &User::admin(), id).await.ok();
        }
    }
}

fn filters(random: &mut StdRng) -> Filters {
    let all = [
        ("f:organiserId", pick(random, &["grain", "mill", "none"]).to_owned()),
        ("f:carrierId", pick(random, &["haul", "fast", "grain"]).to_owned()),
        ("f:status", pick(random, &["upcoming", "completed", "upcoming,cancelled", "cancelled"]).to_owned()),
        ("f:commodityId", pick(random, &["2", "1,3,5", "99"]).to_owned()),
        ("f:tag", pick(random, &["x", "y", "z"]).to_owned()),
        ("overdue", "true".to_owned()),
        ("startDateISO", format!("2026-03-{:02}", random.random_range(25..30))),
        ("endDateISO", format!("2026-10-{:02}", random.random_range(23..27))),
        ("query", pick(random, &["s-1", "haul", "wheat"]).to_owned()),
    ];
    all.into_iter().filter(|_| random.random_bool(0.2)).collect()
}

/// Reads all rows of a search.
async fn rows(app: &App, user: &User, query: &str) -> Vec<Value> {
    let mut rows = Vec::new();
    loop {
        let path = format!("/v1/loads?limit=100&sortBy=reference&offset={}&{query}", rows.len());
        let page = app.get(&path).by(user).send().await.ok();
        let page = page.as_array().unwrap();
        rows.extend_from_slice(page);
        if page.len() < 100 {
            return rows;
        }
    }
}

/// Returns a weight in ten-thousandths of a tonne.
#[expect(clippy::cast_possible_truncation, reason = "weights are small")]
fn scaled(tonnes: &Value) -> i64 {
    (tonnes.as_f64().unwrap_or_default() * 10_000.0).round() as i64
}

/// Number of loads, agreed weight and net weight.
type Sums = (i64, i64, i64);

fn sums(value: &Value) -> Sums {
    (value["count"].as_i64().unwrap(), scaled(&value["weight"]), scaled(&value["weightNet"]))
}

/// Returns the key of the group of a load.
fn key(load: &Value, group_by: &str, at: &str, time_zone: &str) -> Option<String> {
    let id = |party: &str| load[party]["id"].as_str().unwrap_or("none").to_owned();
    Some(match group_by {
        "commodity" => load["commodity"]["id"].to_string(),
        "carrier" | "organiser" => id(group_by),
        "status" => load["status"].as_str()?.to_owned(),
        _ => {
            let Some(at) = load[at].as_str() else { return Some("none".to_owned()) };
            let at: DateTime<Utc> = at.parse().unwrap();
            let day = at.with_timezone(&time_zone.parse::<Tz>().unwrap()).date_naive();
            match group_by {
                "day" => day.to_string(),
                "month" => day.to_string()[..7].to_owned(),
                _ => format!("{}-W{:02}", day.iso_week().year(), day.iso_week().week()),
            }
        }
    })
}

async fn assert_sums(app: &App, random: &mut StdRng) {
    let caller = pick(random, &["haul", "grain", "admin"]);
    let user = if caller == "admin" { User::admin() } else { User::of(caller) };
    let query = url::form_urlencoded::Serializer::new(String::new()).extend_pairs(filters(random)).finish();
    let group_by = pick(random, &["commodity", "carrier", "organiser", "status", "day", "week", "month"]);
    let (date_by, member) = if random.random_bool(0.5) {
        ("delivery", "deliveryDateISO")
    } else {
        ("completion", "completedAtUTC")
    };
    let zones = [
        "Europe/London",
        "America/New_York",
        "Asia/Kathmandu",
        "Australia/Lord_Howe",
        "UTC",
        "Pacific/Apia",
        "Africa/Casablanca",
        "Pacific/Chatham",
    ];
    let zone = pick(random, &zones);
    let mut path = format!("/v1/loads/summary?groupBy={group_by}&dateBy={date_by}&timeZone={zone}&{query}");
    // By default, dates are those of deliveries in Britain.
    path = path.replace("&dateBy=delivery", "").replace("&timeZone=Europe/London", "");
    let summary = app.get(&path).by(&user).send().await.ok();
    let (mut groups, mut total) = (BTreeMap::<String, Sums>::new(), (0, 0, 0));
    let mut names = BTreeSet::new();
    for load in rows(app, &user, &query).await {
        let Some(key) = key(&load, group_by, member, zone) else { continue };
        let own = (scaled(&load["weight"]["weight"]), scaled(&load["weightNet"]["weight"]));
        for sums in [groups.entry(key.clone()).or_default(), &mut total] {
            *sums = (sums.0 + 1, sums.1 + own.0, sums.2 + own.1);
        }
        names.insert((key, load[group_by]["name"].to_string()));
    }
    assert_eq!(sums(&summary["total"]), total, "{path}");
    let shown: Vec<_> = summary["groups"].as_array().unwrap().iter().collect();
    let keys = |group: &&Value| group["key"].as_str().unwrap().to_owned();
    let found: BTreeMap<_, _> = shown.iter().map(|group| (keys(group), sums(group))).collect();
    assert_eq!((&found, shown.len()), (&groups, groups.len()), "{path}");
    if ["day", "week", "month"].contains(&group_by) {
        assert!(shown.iter().map(keys).is_sorted(), "{path}");
        return;
    }
    let order = |group: &&Value| (-scaled(&group["weightNet"]), -scaled(&group["weight"]));
    assert!(shown.iter().map(order).is_sorted(), "{path}");
    for group in shown.iter().filter(|group| group_by != "status" && group["key"] != "none") {
        assert!(names.contains(&(keys(group), group["name"].to_string())), "{path}: {group}");
    }
}

testkit::on_both! {
    async fn sums_agree_with_the_search(backend) {
        let app = app(backend).await;
        let mut random = StdRng::seed_from_u64(11);
        populate(&app, &mut random).await;
        for _ in 0..CASES {
            assert_sums(&app, &mut random).await;
        }
        // Loads of the previous release, which does not store the id of the commodity.
        app.database.execute("UPDATE loads SET commodity_id = NULL WHERE weight IS NULL");
        let unfilled = app.get("/v1/loads/summary?groupBy=commodity&f:commodityId=1,2,3").by(&User::admin());
        let unfilled = unfilled.send().await.ok();
        // It changes the commodity in the document and the name.
        let json = if backend == Backend::Sqlite { "json_replace(document, '$.commodity.id', 3)" } else {
            "jsonb_set(document::jsonb, '{commodity,id}', '3')::json"
        };
        app.database.execute(&format!("UPDATE loads SET commodity_key = 'x', document = {json} WHERE commodity_id = 2"));
        for _ in 0..CASES / 4 {
            assert_sums(&app, &mut random).await;
        }
        assert_eq!(unfilled["groups"].as_array().unwrap().len(), 3);
        let app = App::start_on::<Logistics>(app.stop().await, Settings::default()).await;
        for _ in 0..CASES / 4 {
            assert_sums(&app, &mut random).await;
        }
        let filled = app.get("/v1/loads/summary?groupBy=commodity&f:commodityId=1,2,3").by(&User::admin());
        assert_eq!(filled.send().await.ok()["groups"].as_array().unwrap().len(), 3);
    }

    async fn sums_have_three_formats_and_may_be_empty(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        create_load(&app).await;
        app.post("/v1/loads/organiser").by(&grain).json(&with(organiser_form(), "weightNet", json!(0.0001))).send().await.ok();
        let get = async |user: &User, query: &str| app.get(&format!("/v1/loads/summary?{query}")).by(user).send().await;
        let total = json!({"count": 2, "weight": 29.4, "weightNet": 0.0001});
        assert_eq!(get(&grain, "").await.ok(), json!({"total": total}));
        assert_eq!(get(&grain, "groupBy=carrier").await.ok(), json!({"total": total, "groups": [
            {"key": "none", "count": 1, "weight": 29.4, "weightNet": 0.0001},
            {"key": "haul", "name": "Hereford Haulage", "count": 1, "weight": 0, "weightNet": 0},
        ]}));
        let csv = get(&grain, "groupBy=carrier&format=CSV").await.text();
        assert_eq!(csv, "key,name,count,weight,weightNet\r\nnone,,1,29.4,0.0001\r\nhaul,Hereford Haulage,1,0,0\r\n");
        assert_eq!(get(&grain, "groupBy=carrier&format=XLSX").await.status, 200);
        let empty = json!({"total": {"count": 0, "weight": 0, "weightNet": 0}, "groups": []});
        assert_eq!(get(&User::of("mill"), "groupBy=carrier").await.ok(), empty);
        let errors = get(&grain, "groupBy=year&dateBy=x&timeZone=Mars&f:x=1").await.errors();
        assert_eq!(errors, ["dateBy enum", "f:x enum", "groupBy enum", "timeZone enum"]);
    }
}

//! Random searches agree with a plain in-memory model.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::*;

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

async fn populate(app: &App, random: &mut StdRng) -> Vec<Value> {
    let mut loads = Vec::new();
    for n in 0..150 {
        let mut any = |of: &[&str]| of[random.random_range(0..of.len())].to_owned();
        let (carrier, organiser) = (any(&["Zeta", "alpha", "Ärger"]), any(&["", "grain", "mill"]));
        let (reference, tag, weight) =
            (any(&["a", "B", "c_%"]), any(&["x", "Y"]), any(&["null", "7", "2.5", "30"]));
        let form = json!({
            "carrierId": "haul", "carrierName": carrier, "organisationId": organiser,
            "commodityId": random.random_range(1..=5), "reference": format!("{reference}-{n}"),
            "deliveryDateISO": format!("2026-03-{:02}", random.random_range(1..=9)),
            "weight": serde_json::from_str::<Value>(&weight).unwrap(), "tags": [tag],
        });
        let load = app.post("/v1/loads/carrier").by(&User::of("haul")).json(&form).send().await.ok();
        loads.push(load);
    }
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

fn compare(a: &Value, b: &Value) -> std::cmp::Ordering {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => a.total_cmp(&b),
        _ => a.as_str().unwrap().cmp(b.as_str().unwrap()),
    }
}

fn expected(loads: &[Value], filters: &[(&str, String)], sort: &str, desc: bool) -> Vec<String> {
    let matches = |load: &Value| {
        filters.iter().all(|(name, value)| match *name {
            "f:organiserId" => load["organiser"]["id"] == value.as_str(),
            "startDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] >= **value,
            "endDateISO" => load["deliveryDateISO"].as_str().unwrap()[..10] <= **value,
            _ => value.to_lowercase().split(' ').all(|word| {
                let parts = [
                    &load["reference"],
                    &load["organiser"]["name"],
                    &load["carrier"]["name"],
                    &load["commodity"]["name"],
                    &load["tags"][0],
                ];
                parts.iter().any(|part| part.as_str().unwrap_or_default().to_lowercase().contains(word))
            }),
        })
    };
    let mut found: Vec<_> = loads.iter().filter(|load| matches(load)).collect();
    found.sort_by(|a, b| {
        let (x, y) = (key(a, sort), key(b, sort));
        let by_id = a["id"].as_str().cmp(&b["id"].as_str());
        let missing_last = x.is_none().cmp(&y.is_none());
        let order = x.zip(y).map_or(std::cmp::Ordering::Equal, |(x, y)| compare(&x, &y)).then(by_id);
        missing_last.then(if desc { order.reverse() } else { order })
    });
    found.iter().map(|load| load["id"].as_str().unwrap().to_owned()).collect()
}

testkit::on_both! {
    async fn searches_agree_with_the_model(backend) {
        let mut random = StdRng::seed_from_u64(7);
        let app = app(backend).await;
        let loads = populate(&app, &mut random).await;
        for _ in 0..60 {
            let all = [
                ("f:organiserId", ["grain", "mill", "none"][random.random_range(0..3)].to_owned()),
                ("startDateISO", format!("2026-03-{:02}", random.random_range(1..=9))),
                ("endDateISO", format!("2026-03-{:02}", random.random_range(9..=12))),
                ("query", ["a", "wheat x", "c_%", "ÄRGER", "zeta grain"][random.random_range(0..5)].to_owned()),
            ];
            let filters: Vec<_> = all.into_iter().filter(|_| random.random_bool(0.4)).collect();
            let (sort, desc) = (SORTS[random.random_range(0..SORTS.len())], random.random());
            let (limit, offset) = (random.random_range(1..=100), random.random_range(0..20));
            let mut query = url::form_urlencoded::Serializer::new(String::new());
            query.extend_pairs(&filters).append_pair("sortBy", sort).append_pair("sortDesc", &format!("{desc}"));
            let path = format!("/v1/loads?limit={limit}&offset={offset}&{}", query.finish());
            let found = app.get(&path).by(&User::of("haul")).send().await.ok();
            let found: Vec<_> = found.as_array().unwrap().iter().map(|l| l["id"].as_str().unwrap().to_owned()).collect();
            let model = expected(&loads, &filters, sort, desc);
            let model: Vec<_> = model.into_iter().skip(offset).take(limit).collect();
            assert_eq!(found, model, "{path}");
        }
    }
}

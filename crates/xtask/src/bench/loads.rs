//! Scenarios of logistics that read: searches, CSV, how cost grows.

use anyhow::Result;

use super::loads_data::{LARGE, MEDIUM, RARE};
use super::loads_fill;
use super::report::Target;
use super::searches::{self, CLIENTS, QUESTIONS, Question};
use super::stage::{Limit, Row, Stage};
use super::wrk::Requests;
use crate::random::{Random, SEED};
use crate::service::Service;

/// Organiser, carrier and dates.
pub fn search(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.logistics()?, Random(SEED));
    let asked: Vec<_> = (0..QUESTIONS).map(|_| question(&mut random, stage.postgres.is_some())).collect();
    let target = stage.either(Target::Cpu(120.0), Target::Share(0.4));
    searches::measure(stage, service, "loads", &service.token(Some(LARGE)), &asked, target)
}

fn question(random: &mut Random, postgres: bool) -> Question {
    let (carrier, year, first) = (random.below(200), 2024 + random.below(3), 1 + random.below(9));
    let (start, end) = (format!("{year}-{first:02}-01"), format!("{year}-{:02}-28", first + 3));
    let path = format!(
        "/v1/loads?f:organiserId={LARGE}&f:carrierId=haul-{carrier}&startDateISO={start}&endDateISO={end}\
         &sortBy=deliveryDateISO&sortDesc=true"
    );
    let (from, to) = if postgres {
        (format!("'{start} 00:00:00+00'"), format!("'{end} 23:59:59.999+00'"))
    } else {
        (format!("unixepoch('{start}') * 1000"), format!("unixepoch('{end}') * 1000 + 86399999"))
    };
    let sql = format!(
        "SELECT document FROM loads WHERE organiser_id = '{LARGE}' AND carrier_id = 'haul-{carrier}' AND \
         delivery_at >= {from} AND delivery_at <= {to} ORDER BY delivery_at DESC, id DESC LIMIT 20"
    );
    Question { path, sql }
}

/// 10,000 loads as CSV.
pub fn csv(stage: &Stage) -> Result<()> {
    let service = stage.logistics()?;
    let orders = ["deliveryDateISO", "createdAt"].map(|by| [true, false].map(|desc| (by, desc)));
    let paths: Vec<_> = orders
        .iter()
        .flatten()
        .map(|(by, desc)| format!("/v1/loads?format=CSV&limit=10000&sortBy={by}&sortDesc={desc}"))
        .collect();
    let target = stage.either(Target::Cpu(25_000.0), Target::Cpu(40_000.0));
    searches::measure_alone(stage, service, "loads-csv", &service.token(Some(LARGE)), &paths, target)
}

/// A page far back against the first one, and many rows against few.
pub fn growth(stage: &Stage) -> Result<()> {
    let (service, pages) = (stage.logistics()?, stage.rows() / 25);
    let admin = service.token(None);
    let far = service.cursor(&format!("/v1/loads?offset={}", 20 * (pages - 2)), &admin)?;
    let first = Requests::get(stage.path("requests"), &admin, &["/v1/loads".to_owned()])?;
    let last = Requests::get(stage.path("requests"), &admin, &[format!("/v1/loads?cursor={far}")])?;
    let run = |requests| Box::new(move || service.load(requests, CLIENTS, stage.seconds));
    stage.measure(Row {
        name: format!("growth: page {pages} by cursor"),
        service,
        run: run(&last),
        limits: vec![Limit { name: "page 1", run: run(&first) }],
        target: Target::CpuTimes(1.3),
    })?;

    let small = stage.start_over("logistics", stage.path("few"), stage.database("few")?)?;
    loads_fill::fill(&small, 10_000, stage.stop)?;
    // Full pages, however many loads there are.
    let paths: Vec<_> = (2024..2027)
        .flat_map(|year| (1..13).map(move |month| format!("{year}-{month:02}")))
        .map(|m| format!("/v1/loads?startDateISO={m}-01&endDateISO={m}-28&sortBy=deliveryDateISO"))
        .collect();
    let ask = |service: &Service| Requests::get(stage.path("requests"), &service.token(Some(LARGE)), &paths);
    let (few, many) = (ask(&small)?, ask(service)?);
    stage.measure(Row {
        name: format!("growth: loads, {} rows", stage.rows()),
        service,
        run: run(&many),
        limits: vec![Limit {
            name: "10000 rows",
            run: Box::new(|| small.load(&few, CLIENTS, stage.seconds)),
        }],
        target: Target::CpuTimes(1.3),
    })
}

/// Every kind of search by itself.
pub fn every(stage: &Stage) -> Result<()> {
    let service = stage.logistics()?;
    let [large, medium] = [LARGE, MEDIUM].map(|org| service.token(Some(org)));
    let some = service.get("/v1/loads?limit=50", &large)?;
    let ids: Vec<_> =
        some.json.as_array().into_iter().flatten().filter_map(|load| load["id"].as_str()).collect();
    let search = |query: &str| format!("/v1/loads?{query}");
    let cursor = service.cursor(&search(&format!("limit=100&offset={}", stage.rows() / 5)), &large)?;
    let mut asked: Vec<_> = [
        ("newest 20", String::new()),
        ("newest 100", "limit=100".into()),
        ("by delivery date", "sortBy=deliveryDateISO".into()),
        ("a month's deliveries", "startDateISO=2025-06-01&endDateISO=2025-06-30".into()),
        ("upcoming, by delivery", "f:status=upcoming&sortBy=deliveryDateISO".into()),
        ("completed, newest", "f:status=completed".into()),
        ("of a carrier", "f:carrierId=haul-7".into()),
        ("a reference", "query=ref-0000100".into()),
        ("a rare word", format!("query={}", RARE.0)),
        ("a common word", "query=wheat".into()),
        ("two words", "query=wheat%20ledbury".into()),
        ("two letters", "query=wh".into()),
        ("no such word", "query=zebra".into()),
        ("by reference", "sortBy=reference".into()),
        ("by commodity", "sortBy=commodity".into()),
        ("by weight", "sortBy=weight&sortDesc=true".into()),
        ("offset 5000", "offset=5000".into()),
        ("counted", "count=true".into()),
        ("CSV of 1000", "format=CSV&limit=1000".into()),
    ]
    .map(|(kind, query)| (kind, medium.clone(), search(&query)))
    .into();
    asked.push(("newest 20 of many", large.clone(), search("")));
    asked.push(("far on, by cursor", large.clone(), search(&format!("cursor={cursor}"))));
    asked.push(("50 by ids", large.clone(), format!("/v1/loads/by-ids?ids={}", ids.join(","))));
    asked.push(("completed export", large, "/v1/loads/completed".into()));
    searches::measure_each(stage, service, "loads", &asked)
}

//! One request of each kind of search.

use anyhow::Result;
use testkit::market::loads::{LARGE_ORGANISER, MEDIUM_ORGANISER, RARE_TAG};

use crate::environment::BenchEnvironment;
use crate::get_benchmark::GetBenchmark;
use crate::load::CLIENTS;
use crate::report::Target;

/// Measures each kind of search.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    let service = env.logistics()?;
    let [large, medium] = [LARGE_ORGANISER, MEDIUM_ORGANISER].map(|org| service.token(Some(org)));
    let newest = service.get("/v1/loads?limit=50", &large)?;
    let ids: Vec<_> =
        newest.json.as_array().into_iter().flatten().filter_map(|load| load["id"].as_str()).collect();
    let search = |query: &str| format!("/v1/loads?{query}");
    let cursor = service.cursor(&search(&format!("limit=100&offset={}", env.rows / 5)), &large)?;
    let searches = [
        ("newest 20", String::new()),
        ("newest 100", "limit=100".into()),
        ("sorted by delivery date", "sortBy=deliveryDateISO".into()),
        ("deliveries of a month", "startDateISO=2025-06-01&endDateISO=2025-06-30".into()),
        ("upcoming, sorted by delivery date", "f:status=upcoming&sortBy=deliveryDateISO".into()),
        ("completed, newest first", "f:status=completed".into()),
        ("one carrier", "f:carrierId=haul-7".into()),
        ("one reference", "query=ref-0000100".into()),
        ("rare word", format!("query={RARE_TAG}")),
        ("common word", "query=wheat".into()),
        ("two words", "query=wheat%20ledbury".into()),
        ("two letters", "query=wh".into()),
        ("unknown word", "query=zebra".into()),
        ("sorted by reference", "sortBy=reference".into()),
        ("sorted by commodity", "sortBy=commodity".into()),
        ("sorted by weight", "sortBy=weight&sortDesc=true".into()),
        ("offset 5000", "offset=5000".into()),
        ("with count", "count=true".into()),
        ("CSV of 1000", "format=CSV&limit=1000".into()),
    ]
    .map(|(kind, query)| (kind, &medium, search(&query)));
    let of_large_organiser = [
        ("newest 20 of a large organiser", &large, search("")),
        ("distant page by cursor", &large, search(&format!("cursor={cursor}"))),
        ("50 by ids", &large, format!("/v1/loads/by-ids?ids={}", ids.join(","))),
        ("export of completed loads", &large, "/v1/loads/completed".into()),
    ];
    for (kind, token, path) in searches.into_iter().chain(of_large_organiser) {
        let (name, token) = (format!("loads: {kind}"), token.clone());
        GetBenchmark { name, service, token, paths: vec![path], target: Target::None }.alone(env, CLIENTS)?;
    }
    Ok(())
}

//! Growth of cost: each search with 10,000 rows, 100,000 and 1,000,000, as far as `--scale` goes, and distant pages.

use anyhow::Result;
use testkit::market::listings::LARGE_ORGANISATION;
use testkit::market::loads::LARGE_ORGANISER;
use testkit::processes::service::ServiceProcess;

use super::{listings, loads};
use crate::benchmark::{Baseline, Benchmark, Run};
use crate::datasets;
use crate::environment::{BenchEnvironment, size_label};
use crate::load::{self, CLIENTS};
use crate::report::{BenchmarkResult, COST_BY_ROWS, Target};
use crate::wrk::Requests;

/// Maximum ratio of the cost with most rows to that with the fewest.
const MAX_GROWTH: f64 = 2.0;
/// Exports are measured from this number of rows on: fewer have no 10,000 loads of an organiser.
const MIN_EXPORT_ROWS: usize = 100_000;

/// A kind of search.
struct Search {
    name: &'static str,
    paths: Vec<String>,
    /// Number of rows from which on it is measured.
    min_rows: usize,
    /// Divisor of microseconds for the figure that has a target. `None` without a target.
    recorded: Option<f64>,
}

/// Measures searches of listings.
pub fn listings(env: &BenchEnvironment) -> Result<()> {
    use listings::search::{BY_DATE, BY_PRICE, NEAR, NEAR_ALL_BREEDS};
    let paths = |search: listings::search::Search| search.queries(false).0;
    let changed = |path: String, from: &str, to: &str| path.replacen(from, to, 1);
    let nearest = paths(NEAR_ALL_BREEDS).into_iter().map(|path| changed(path, "&distanceKm=50", ""));
    let nearest = nearest.map(|path| changed(path, BY_DATE.sorting, "sortBy=distance")).collect();
    let facets = paths(BY_DATE).into_iter().map(|path| changed(path, BY_DATE.sorting, "docs=false"));
    let searches = [
        ("listing page by date", paths(BY_DATE), None),
        ("listing page by price", paths(BY_PRICE), None),
        ("within 50 km, breed", paths(NEAR), Some(1.0)),
        ("within 50 km, all breeds", paths(NEAR_ALL_BREEDS), Some(1.0)),
        ("nearest listings", nearest, None),
        ("facets of a breed", facets.collect(), None),
        ("listings of an organisation", each_of("/v1/listings?f:organisationId=org-", 0..50), None),
    ];
    let all = env.livestock()?;
    let small = smaller_services(env, "livestock", |service, rows| {
        datasets::listings::create(service, rows, env.stop)
    })?;
    searches.into_iter().try_for_each(|(name, paths, recorded)| {
        let search = Search { name, paths, min_rows: 0, recorded };
        measure(env, all, &small, LARGE_ORGANISATION, search)
    })
}

/// Measures searches of loads.
pub fn loads(env: &BenchEnvironment) -> Result<()> {
    // Each month has a full page of loads in every database.
    let months = (2024..2027).flat_map(|year| (1..13).map(move |month| format!("{year}-{month:02}")));
    let by_month = months
        .map(|m| format!("/v1/loads?startDateISO={m}-01&endDateISO={m}-28&sortBy=deliveryDateISO"))
        .collect();
    let pages = loads::search::queries(false).0;
    let export_min = if env.rows < MIN_EXPORT_ROWS { 0 } else { MIN_EXPORT_ROWS };
    let searches = [
        ("load page by organiser, carrier and dates", pages, 0, Some(1.0)),
        ("load page by dates", by_month, 0, None),
        ("load page by carrier", each_of("/v1/loads?f:carrierId=haul-", 0..50), 0, None),
        ("CSV of 10,000 loads by dates", loads::search::csv_paths(), export_min, Some(1_000.0)),
    ];
    let all = env.logistics()?;
    distant_page(env, all)?;
    let small =
        smaller_services(env, "logistics", |service, rows| datasets::loads::create(service, rows, env.stop))?;
    searches.into_iter().try_for_each(|(name, paths, min_rows, recorded)| {
        measure(env, all, &small, LARGE_ORGANISER, Search { name, paths, min_rows, recorded })
    })
}

/// Returns a path for each number.
fn each_of(prefix: &str, numbers: std::ops::Range<usize>) -> Vec<String> {
    numbers.map(|number| format!("{prefix}{number}")).collect()
}

/// Starts services with fewer rows than those of the run.
fn smaller_services(
    env: &BenchEnvironment,
    name: &'static str,
    create: impl Fn(&ServiceProcess, usize) -> Result<()>,
) -> Result<Vec<(usize, ServiceProcess)>> {
    let sizes = if env.rows < 10_000 { vec![env.rows / 5] } else { vec![10_000, 100_000] };
    let smaller = sizes.into_iter().filter(|rows| *rows < env.rows);
    smaller
        .map(|rows| {
            let database = env.create_database(&format!("{name}_{rows}"))?;
            let service = env.start(name, env.temp_path(name), database)?;
            create(&service, rows)?;
            Ok((rows, service))
        })
        .collect()
}

fn measure(
    env: &BenchEnvironment,
    all: &ServiceProcess,
    small: &[(usize, ServiceProcess)],
    org: &str,
    search: Search,
) -> Result<()> {
    let small: Vec<_> = small.iter().filter(|(rows, _)| *rows >= search.min_rows).collect();
    let requests = |service: &ServiceProcess| {
        Requests::get(env.temp_path("requests"), &service.token(Some(org)), &[], &search.paths)
    };
    let own_requests = requests(all)?;
    let small_requests = small.iter().map(|(_, service)| requests(service)).collect::<Result<Vec<_>>>()?;
    let baselines = small.iter().zip(&small_requests).map(|((rows, service), requests)| Baseline {
        name: baseline_name(*rows),
        run: send(env, service, requests),
    });
    let result = Benchmark {
        name: format!("growth: {}, {} rows", search.name, size_label(env.rows)),
        service: all,
        run: send(env, all, &own_requests),
        baselines: baselines.collect(),
        target: if small.is_empty() { Target::None } else { Target::MaxCpuRatio(MAX_GROWTH) },
    }
    .measure(env)?;
    record(env, &search, &result, &small.iter().map(|(rows, _)| *rows).collect::<Vec<_>>());
    Ok(())
}

/// Records the cost at each size for the plot and for the targets.
fn record(env: &BenchEnvironment, search: &Search, result: &BenchmarkResult, small: &[usize]) {
    let baselines = result.baselines.iter().map(|(_, summary)| summary.cpu_us);
    let costs = small.iter().copied().zip(baselines).chain([(env.rows, result.cpu_us())]);
    for (rows, cpu_us) in costs {
        env.add_point(COST_BY_ROWS, search.name, rows, cpu_us);
        if let Some(divisor) = search.recorded {
            env.record(&format!("{}, {}", search.name, size_label(rows)), cpu_us.map(|us| us / divisor));
        }
    }
    if let (Some(_), Some(fewest)) = (search.recorded, small.first()) {
        let name = format!("{}, {} against {}", search.name, size_label(env.rows), size_label(*fewest));
        env.record(&name, result.cpu_ratio(baseline_name(*fewest)));
    }
}

fn baseline_name(rows: usize) -> &'static str {
    match rows {
        10_000 => "10k rows",
        100_000 => "100k rows",
        _ => "fewer rows",
    }
}

fn distant_page(env: &BenchEnvironment, service: &ServiceProcess) -> Result<()> {
    let (token, pages) = (service.token(None), env.rows / 25);
    let cursor = service.cursor(&format!("/v1/loads?offset={}", 20 * (pages - 2)), &token)?;
    let request = |path| Requests::get(env.temp_path("requests"), &token, &[], &[path]);
    let first = request("/v1/loads".to_owned())?;
    let distant = request(format!("/v1/loads?cursor={cursor}"))?;
    Benchmark {
        name: format!("growth: page {pages} by cursor"),
        service,
        run: send(env, service, &distant),
        baselines: vec![Baseline { name: "page 1", run: send(env, service, &first) }],
        target: Target::MaxCpuRatio(1.3),
    }
    .measure(env)
    .map(drop)
}

fn send<'a>(env: &'a BenchEnvironment, service: &'a ServiceProcess, requests: &'a Requests) -> Run<'a> {
    Box::new(move || load::send(env, service, requests, CLIENTS))
}

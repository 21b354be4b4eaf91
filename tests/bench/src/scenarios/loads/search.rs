//! Pages and CSV exports of loads.

use anyhow::Result;
use testkit::market::loads::{self, LARGE_ORGANISER};
use testkit::market::random::{Random, SEED};

use crate::baselines::floor::FLOOR;
use crate::baselines::sql::SELECT_IN_PGBENCH;
use crate::environment::BenchEnvironment;
use crate::get_benchmark::{GetBenchmark, QUERY_COUNT};
use crate::report::Target;

/// Rows of an export.
const EXPORT_ROWS: usize = 10_000;

/// Measures pages by organiser, carrier and delivery dates.
pub fn by_delivery(env: &BenchEnvironment) -> Result<()> {
    let (paths, statements) = queries(env.postgres.is_some());
    let target = env.by_database(Target::MaxCpu(120.0), Target::MinRateRatio(0.5));
    let result = benchmark(env, "loads", paths, target)?.against_sql(env, &statements)?;
    env.record("load page, against the floor", result.cpu_ratio(FLOOR));
    env.record("load page, part of the rate of pgbench", result.rate_percent(SELECT_IN_PGBENCH));
    Ok(())
}

/// Returns a benchmark of loads as a large organiser sees them.
pub fn benchmark<'a>(
    env: &'a BenchEnvironment,
    name: &str,
    paths: Vec<String>,
    target: Target,
) -> Result<GetBenchmark<'a>> {
    Ok(GetBenchmark::new(env.logistics()?, LARGE_ORGANISER, name, paths, target))
}

/// Returns random paths of pages, the same in every run, and an SQL statement for each.
pub fn queries(is_postgres: bool) -> (Vec<String>, Vec<String>) {
    let mut random = Random(SEED);
    (0..QUERY_COUNT).map(|_| path_and_sql(&mut random, is_postgres)).unzip()
}

/// Chooses a carrier (half of them as often as loads have them, half of them evenly) and a quarter of a year.
fn path_and_sql(random: &mut Random, is_postgres: bool) -> (String, String) {
    let carrier = if random.percent(50) { loads::carrier(random) } else { random.below(200) };
    let (year, first) = (2024 + random.below(3), 1 + random.below(9));
    let (start, end) = (format!("{year}-{first:02}-01"), format!("{year}-{:02}-28", first + 3));
    let path = format!(
        "/v1/loads?f:organiserId={LARGE_ORGANISER}&f:carrierId=haul-{carrier}&startDateISO={start}\
         &endDateISO={end}&sortBy=deliveryDateISO&sortDesc=true"
    );
    let (from, to) = if is_postgres {
        (format!("'{start} 00:00:00+00'"), format!("'{end} 23:59:59.999+00'"))
    } else {
        (format!("unixepoch('{start}') * 1000"), format!("unixepoch('{end}') * 1000 + 86399999"))
    };
    let sql = format!(
        "SELECT document FROM loads WHERE organiser_id = '{LARGE_ORGANISER}' AND carrier_id = 'haul-{carrier}' AND \
         delivery_at >= {from} AND delivery_at <= {to} ORDER BY delivery_at DESC, id DESC LIMIT 20"
    );
    (path, sql)
}

/// Measures exports of 10,000 loads with a delivery date in a range as CSV.
pub fn csv(env: &BenchEnvironment) -> Result<()> {
    let target = env.by_database(Target::MaxCpu(30_000.0), Target::MaxCpu(40_000.0));
    let result = benchmark(env, "loads-csv", csv_paths(), target)?.against_floor(env)?;
    env.record("CSV, against the floor", result.cpu_ratio(FLOOR));
    Ok(())
}

/// Returns the paths of exports in all orders, each of 18 months.
pub fn csv_paths() -> Vec<String> {
    let orders = ["deliveryDateISO", "createdAt"].map(|by| [true, false].map(|desc| (by, desc)));
    let dates = [("2024-01-01", "2025-06-30"), ("2025-03-01", "2026-08-31")];
    let path = |((by, desc), (start, end))| {
        format!(
            "/v1/loads?format=CSV&limit={EXPORT_ROWS}&startDateISO={start}&endDateISO={end}&sortBy={by}&sortDesc={desc}"
        )
    };
    orders.into_iter().flatten().flat_map(|order| dates.map(|dates| path((order, dates)))).collect()
}

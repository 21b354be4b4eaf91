//! Pages of listings, filtered by category, status and breed.

use std::fmt::Write;

use anyhow::Result;
use testkit::market::listings::LARGE_ORGANISATION;
use testkit::market::random::{Random, SEED};

use super::animal::{random_animal, random_point};
use super::sql::{Order, within};
use crate::baselines::floor::FLOOR;
use crate::baselines::sql::SELECT_IN_PGBENCH;
use crate::environment::BenchEnvironment;
use crate::get_benchmark::{GetBenchmark, QUERY_COUNT};
use crate::report::{BenchmarkResult, Target};

/// A kind of search.
#[derive(Debug, Clone, Copy)]
pub struct Search {
    /// Query parameters of the order.
    pub sorting: &'static str,
    order: Order,
    breed: bool,
    near: bool,
}

/// Newest first.
pub const BY_DATE: Search = Search {
    sorting: "sortBy=publishedAt&sortDesc=true",
    order: Order { column: "created_at", desc: true },
    breed: true,
    near: false,
};
/// Cheapest first.
pub const BY_PRICE: Search = Search {
    sorting: "sortBy=price&sortDesc=false",
    order: Order { column: "price", desc: false },
    ..BY_DATE
};
/// Within 50 km, newest first.
pub const NEAR: Search = Search { near: true, ..BY_DATE };
/// Within 50 km, of any breed, newest first.
pub const NEAR_ALL_BREEDS: Search = Search { breed: false, ..NEAR };

/// Target on PostgreSQL.
const POSTGRES: Target = Target::MinRateRatio(0.5);

/// Measures pages with the newest first.
pub fn by_date(env: &BenchEnvironment) -> Result<()> {
    let result = measure(env, "listings-by-date", BY_DATE, env.by_database(Target::MaxCpu(120.0), POSTGRES))?;
    env.record("listing page, against the floor", result.cpu_ratio(FLOOR));
    record(env, "listing page by date", &result);
    Ok(())
}

/// Measures pages with the cheapest first.
pub fn by_price(env: &BenchEnvironment) -> Result<()> {
    let target = env.by_database(Target::MaxCpu(130.0), POSTGRES);
    let result = measure(env, "listings-by-price", BY_PRICE, target)?;
    record(env, "listing page by price", &result);
    Ok(())
}

/// Measures pages within 50 km with the newest first, with and without a breed.
pub fn near(env: &BenchEnvironment) -> Result<()> {
    let target = env.by_database(Target::MaxCpu(250.0), POSTGRES);
    measure(env, "listings-near", NEAR, target)?;
    let target = env.by_database(Target::MaxCpu(500.0), POSTGRES);
    let result = measure(env, "listings-near, all breeds", NEAR_ALL_BREEDS, target)?;
    env.record("within 50 km, against the floor", result.cpu_ratio(FLOOR));
    Ok(())
}

/// Records the CPU time of a page, and on PostgreSQL its rate as a part of that of pgbench.
fn record(env: &BenchEnvironment, name: &str, result: &BenchmarkResult) {
    env.record(name, result.cpu_us());
    let percent = result.rate_percent(SELECT_IN_PGBENCH);
    env.record(&format!("{name}, part of the rate of pgbench"), percent);
}

fn measure(env: &BenchEnvironment, name: &str, search: Search, target: Target) -> Result<BenchmarkResult> {
    let (paths, statements) = search.queries(env.postgres.is_some());
    benchmark(env, name, paths, target)?.against_sql(env, &statements)
}

/// Returns a benchmark of listings as a large organisation sees them.
pub fn benchmark<'a>(
    env: &'a BenchEnvironment,
    name: &str,
    paths: Vec<String>,
    target: Target,
) -> Result<GetBenchmark<'a>> {
    Ok(GetBenchmark::new(env.livestock()?, LARGE_ORGANISATION, name, paths, target))
}

impl Search {
    /// Returns random paths of a search, the same in every run, and an SQL statement for each.
    pub fn queries(self, is_postgres: bool) -> (Vec<String>, Vec<String>) {
        let mut random = Random(SEED);
        (0..QUERY_COUNT).map(|_| self.query(&mut random, is_postgres)).unzip()
    }

    fn query(self, random: &mut Random, is_postgres: bool) -> (String, String) {
        let animal = random_animal(random);
        let mut path = format!(
            "/v1/listings?f:commodityType={}&f:status=active-selling&{}",
            animal.category, self.sorting
        );
        let mut common =
            format!("status = 'active' AND kind = 'selling' AND category = {}", animal.category_id);
        if self.near {
            let (lat, lon) = random_point(random);
            let [lat, lon] = [lat, lon].map(|degrees| (degrees * 10_000.0).round() / 10_000.0);
            let _ = write!(path, "&latitude={lat}&longitude={lon}&distanceKm=50");
            common += &within(lat, lon, 50.0);
        }
        let mut conditions = vec![common.clone()];
        if self.breed {
            let _ = write!(path, "&f:commodityBreed={}", animal.breed.replace(' ', "%20"));
            let breed = animal.breed.to_lowercase();
            conditions = vec![
                format!("{common} AND breed = '{breed}'"),
                format!("{common} AND breed_type = '{breed}' AND (breed IS NULL OR breed <> '{breed}')"),
            ];
        }
        (path, self.order.page(&conditions, is_postgres))
    }
}

/// Measures small compressed pages. They are slow where the end of a response waits for a delayed acknowledgement.
pub fn gzip(env: &BenchEnvironment) -> Result<()> {
    let mut random = Random(SEED);
    let mut path = || {
        let category = random_animal(&mut random).category;
        format!("/v1/listings?f:commodityType={category}&limit={}", 1 + random.below(20))
    };
    let paths = (0..QUERY_COUNT).map(|_| path()).collect();
    let target = Target::MaxP50(1_000.0);
    let result =
        benchmark(env, "listings-gzip, one connection", paths, target)?.gzip_against_identity(env)?;
    env.record("compressed page on one kept connection, p50", Some(result.summary.p50_us / 1_000.0));
    Ok(())
}

//! What is measured: each scenario has rows of requests, or a function.

mod citus;
mod feed;
mod files;
mod growth;
mod lifecycle;
mod peer;
mod places;
mod saved_searches;
mod search;
mod writes;

use anyhow::Result;

use self::search::{LISTINGS, LOADS, Limit, Search};
use crate::environment::BenchEnvironment;
use crate::report::Bound::{AtLeast, AtMost};
use crate::report::{CPU, P50, Target};

pub use self::lifecycle::stop_services;

/// A scenario.
#[derive(Clone, Copy)]
pub enum Scenario {
    /// Rows of the report.
    Rows(&'static [Search]),
    Function(fn(&BenchEnvironment) -> Result<()>),
}

use Scenario::{Function, Rows};

/// All scenarios in the order in which they run: those that write follow those that read.
pub const SCENARIOS: &[(&str, Scenario)] = &[
    ("start", Function(lifecycle::start)),
    ("listings-by-date", Rows(&[BY_DATE])),
    ("listings-by-price", Rows(&[BY_PRICE])),
    ("listings-near", Rows(&[NEAR, NEAR_ALL_BREEDS])),
    ("listings-gzip", Rows(&[GZIP, SMALL_GZIP])),
    ("facets", Rows(&[FACETS])),
    ("facets-uncached", Rows(&[UNCACHED_FACETS])),
    ("facets-near", Rows(&[facets("facets-near", "/v1/listings?docs=false{filters}&{point}&distanceKm=60")])),
    ("facets-age", Rows(&[facets("facets-age", "/v1/listings?docs=false{filters}&{age}")])),
    (
        "facets-wishlist",
        Rows(&[facets("facets-wishlist", "/v1/listings?docs=false{filters}&isWishlisted=true")]),
    ),
    (
        "listings-words",
        Rows(&[
            listings("listings-words, in all listings", "/v1/listings?query={common word}"),
            listings("listings-words, in a third", "/v1/listings?query={tag}"),
            listings("listings-words, rare", "/v1/listings?query={rare words}"),
            listings("listings-words, of one lot", "/v1/listings?query={lot}"),
            listings("listings-words, two letters", "/v1/listings?query={two letters}"),
        ]),
    ),
    (
        "facets-words",
        Rows(&[
            facets("facets-words, in all listings", "/v1/listings?docs=false&query={common word}"),
            facets("facets-words, rare", "/v1/listings?docs=false&query={rare words}"),
            facets("facets-words, of one lot", "/v1/listings?docs=false&query={lot}"),
        ]),
    ),
    ("first-facets", Function(lifecycle::first_facets)),
    ("growth-listings", Function(growth::listings)),
    ("saved-searches", Function(saved_searches::run)),
    ("loads", Rows(&[LOAD_PAGE])),
    ("loads-csv", Rows(&[CSV])),
    (
        "feed",
        Rows(&[Search {
            targets: &[(CPU, AtMost(200.0))],
            ..loads("feed, 100 events", "/v1/events?limit=100&after=1.{event}")
        }]),
    ),
    ("streams", Function(feed::streams)),
    (
        "sums",
        Rows(&[
            sums("sums by commodity, 18 months", "/v1/loads/summary?groupBy=commodity&{18 months}"),
            sums("sums by carrier, all loads", "/v1/loads/summary?groupBy=carrier"),
            sums(
                "sums by week of completion",
                "/v1/loads/summary?groupBy=week&dateBy=completion&f:carrierId=haul-{carrier}",
            ),
        ]),
    ),
    (
        "map",
        Rows(&[
            Search {
                clients: 1,
                targets: &[(P50, AtMost(20_000.0))],
                ..listings(
                    "map, Great Britain",
                    "/v1/listings?format=GEOJSON&clusterZoom=6&bbox=-8.2,49.8,1.8,60.9&f:commodityBreed={breed}",
                )
            },
            Search {
                clients: 1,
                targets: &[(P50, AtMost(5_000.0))],
                ..listings("map, a county", "/v1/listings?format=GEOJSON&clusterZoom=10&bbox={county}")
            },
        ]),
    ),
    ("growth-loads", Function(growth::loads)),
    ("clients-page", Function(|env| search::by_clients(env, &BY_DATE))),
    (
        "listings-beside-writes",
        Rows(&[
            beside("listings-beside-writes, 20/s", 20, PAGE_BESIDE, BY_DATE),
            beside("listings-beside-writes, 150/s", 150, PAGE_BESIDE, BY_DATE),
        ]),
    ),
    (
        "facets-beside-writes",
        Rows(&[beside("facets-beside-writes, 20/s", 20, &[(CPU, AtMost(600.0))], FACETS)]),
    ),
    (
        "loads-beside-writes",
        Rows(&[
            beside("loads-beside-writes, 20/s", 20, PAGE_BESIDE, LOAD_PAGE),
            beside("loads-beside-writes, 150/s", 150, PAGE_BESIDE, LOAD_PAGE),
        ]),
    ),
    ("create-loads", Function(writes::create_loads)),
    ("clients-create", Function(writes::by_clients)),
    ("peer", Function(peer::run)),
    ("slow-export", Function(writes::slow_export)),
    ("import", Function(writes::import)),
    ("updates", Function(writes::updates)),
    ("sheets", Function(writes::sheets)),
    ("actions", Function(writes::actions)),
    ("upload", Function(files::upload)),
    ("download", Function(files::download)),
    ("places", Function(places::run)),
    ("citus", Function(citus::run)),
];

const FLOORS: &str = "× CPU of floor";
const HALF_OF_PGBENCH: Target = ("% of requests/s of pgbench", AtLeast(50.0));
const PAGE_BESIDE: &[Target] = &[("% of requests/s of quiet", AtLeast(85.0))];

/// SQL of a page of listings: its index, further conditions and order.
macro_rules! page {
    ($index:literal, $conditions:literal, $order:literal) => {
        concat!(
            "SELECT (SELECT document FROM listings WHERE listings.{key} = page.key) FROM (SELECT {key} AS key FROM listings/*",
            $index, "*/ WHERE category = {category id} AND status = 'active' AND kind = 'selling'", $conditions,
            " ORDER BY ", $order, " LIMIT 20) AS page"
        )
    };
}

const BY_DATE: Search = Search {
    path: "/v1/listings?f:commodityType={category}&f:status=active-selling&sortBy=publishedAt&sortDesc=true\
           &f:commodityBreed={breed}",
    sql: page!("floor_date", " AND breed = '{lower breed}'", "created_at DESC, id DESC"),
    limits: &[Limit::Sql],
    targets: &[(CPU, AtMost(120.0)), (FLOORS, AtMost(1.5)), HALF_OF_PGBENCH],
    ..listings("listings-by-date", "")
};
/// Those without a price are last.
const BY_PRICE: Search = Search {
    name: "listings-by-price",
    path: "/v1/listings?f:commodityType={category}&f:status=active-selling&sortBy=price&sortDesc=false\
           &f:commodityBreed={breed}",
    sql: concat!(
        "SELECT * FROM (",
        page!("floor_price", " AND breed = '{lower breed}' AND price IS NOT NULL", "price, id"),
        ") AS a UNION ALL SELECT * FROM (",
        page!("floor_price", " AND breed = '{lower breed}' AND price IS NULL", "id"),
        ") AS b LIMIT 20"
    ),
    targets: &[(CPU, AtMost(130.0)), HALF_OF_PGBENCH],
    ..BY_DATE
};
const NEAR: Search = Search {
    name: "listings-near",
    path: "/v1/listings?f:commodityType={category}&f:status=active-selling&sortBy=publishedAt&sortDesc=true\
           &f:commodityBreed={breed}&{point}&distanceKm=50",
    sql: page!(
        "floor_breed_place",
        " AND breed = '{lower breed}' AND {within 50 km}",
        "created_at DESC, id DESC"
    ),
    targets: &[(CPU, AtMost(250.0))],
    ..BY_DATE
};
const NEAR_ALL_BREEDS: Search = Search {
    name: "listings-near, all breeds",
    path: "/v1/listings?f:commodityType={category}&f:status=active-selling&sortBy=publishedAt&sortDesc=true\
           &{point}&distanceKm=50",
    sql: page!("floor_place", " AND {within 50 km}", "created_at DESC, id DESC"),
    targets: &[(CPU, AtMost(500.0)), (FLOORS, AtMost(3.5))],
    ..BY_DATE
};
const GZIP: Search = Search {
    name: "listings-gzip",
    headers: &[("Accept", "application/json, text/plain, */*"), ("Accept-Encoding", "gzip")],
    limits: &[Limit::WithoutHeaders],
    targets: &[],
    ..BY_DATE
};
/// A response that ends in a second packet would wait for the acknowledgement of the first.
const SMALL_GZIP: Search = Search {
    name: "listings-gzip, 1 client",
    path: "/v1/listings?f:commodityType={category}&limit={limit}",
    clients: 1,
    targets: &[(P50, AtMost(1_000.0))],
    ..GZIP
};
const FACETS: Search =
    Search { targets: &[(CPU, AtMost(100.0))], ..listings("facets", "/v1/listings?docs=false{filters}") };
/// More combinations than livestock caches.
const UNCACHED_FACETS: Search = Search {
    count: 2_500,
    targets: &[(CPU, AtMost(2_000.0))],
    ..listings("facets-uncached", "/v1/listings?docs=false&f:commodityBreed={breeds}&f:commoditySexes={sex}")
};
const LOAD_PAGE: Search = Search {
    path: "/v1/loads?f:organiserId=org-0&f:carrierId=haul-{carrier}&{dates}&sortBy=deliveryDateISO&sortDesc=true",
    sql: "SELECT document FROM loads/*floor_pair*/ WHERE organiser_id = 'org-0' AND carrier_id = 'haul-{carrier}' \
          AND delivery_at >= {from} AND delivery_at < {to} ORDER BY delivery_at DESC, id DESC LIMIT 20",
    limits: &[Limit::Sql],
    targets: &[(CPU, AtMost(120.0)), (FLOORS, AtMost(1.6)), HALF_OF_PGBENCH],
    ..LOADS
};
const CSV: Search = Search {
    name: "loads-csv",
    path: "/v1/loads?format=CSV&limit=10000&{18 months}&sortBy={order}&sortDesc={descending}",
    count: 8,
    targets: &[(CPU, AtMost(30_000.0))],
    ..LOADS
};

const fn loads(name: &'static str, path: &'static str) -> Search {
    Search { name, path, ..LOADS }
}

/// Sums over the loads of an organisation.
const fn sums(name: &'static str, path: &'static str) -> Search {
    Search { clients: 1, targets: &[(P50, AtMost(50_000.0))], ..loads(name, path) }
}

const fn listings(name: &'static str, path: &'static str) -> Search {
    Search { name, path, ..LISTINGS }
}

/// Facets that need a pass over the listings.
const fn facets(name: &'static str, path: &'static str) -> Search {
    Search { targets: &[(CPU, AtMost(20_000.0))], ..listings(name, path) }
}

/// A search while others commit, compared with the same search without commits.
const fn beside(name: &'static str, commits: u32, targets: &'static [Target], search: Search) -> Search {
    Search { name, commits, limits: &[Limit::Quiet], targets, ..search }
}

/// Runs a scenario.
pub fn run(env: &BenchEnvironment, scenario: Scenario) -> Result<()> {
    match scenario {
        Rows(rows) => rows.iter().try_for_each(|search| search.measure(env, search.name).map(drop)),
        Function(run) => run(env),
    }
}

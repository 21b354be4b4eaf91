//! The floor: the least that a request of a service can cost with actix and SQLite. Each handler does what its scenario
//! needs on a copy of the service's database: no authorization, validation, log lines or further parameters. As in the
//! services, no statement runs on a worker, where others would wait for it.

mod create;
mod csv;
mod listings;
mod loads;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use actix_web::error::ErrorInternalServerError;
use actix_web::rt::System;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use rusqlite::Connection;

use crate::sqlite;

pub use self::create::serve as serve_creates;

thread_local! {
    /// The connection of a blocking thread.
    static CONNECTION: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

/// Query parameters of a request.
type Parameters = HashMap<String, String>;

/// What the handlers share.
struct Floor {
    database: PathBuf,
    organisation: String,
}

/// Serves pages of listings and loads and exports of loads until the process is killed. Adds the best index of each
/// search to the database. Loads are those that an organisation organises.
pub fn serve_reads(database: &Path, port: u16, organisation: &str) -> Result<()> {
    let connection = sqlite::open(database)?;
    let has_table = |name: &str| connection.table_exists(None, name);
    if has_table("listings")? {
        connection.execute_batch(listings::INDEXES)?;
    }
    if has_table("loads")? {
        connection.execute_batch(loads::INDEXES)?;
    }
    drop(connection);
    let floor =
        web::Data::new(Floor { database: database.to_owned(), organisation: organisation.to_owned() });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(floor.clone())
            .route("/v1/listings", web::get().to(listings))
            .route("/v1/loads", web::get().to(loads))
    });
    System::new().block_on(server.bind(("127.0.0.1", port))?.run())?;
    Ok(())
}

async fn listings(floor: web::Data<Floor>, query: web::Query<Parameters>) -> actix_web::Result<HttpResponse> {
    respond("application/json", floor, move |connection, _| listings::page(connection, &query)).await
}

async fn loads(floor: web::Data<Floor>, query: web::Query<Parameters>) -> actix_web::Result<HttpResponse> {
    if query.contains_key("format") {
        let export = move |connection: &Connection, floor: &Floor| {
            csv::export(connection, &query, &floor.organisation)
        };
        return respond("text/csv", floor, export).await;
    }
    respond("application/json", floor, move |connection, _| loads::page(connection, &query)).await
}

/// Responds with a body that a blocking thread reads from the database.
async fn respond(
    content_type: &str,
    floor: web::Data<Floor>,
    body: impl FnOnce(&Connection, &Floor) -> Result<String> + Send + 'static,
) -> actix_web::Result<HttpResponse> {
    let read = move || {
        CONNECTION.with_borrow_mut(|kept| {
            let connection = match kept.take() {
                Some(connection) => connection,
                None => sqlite::open(&floor.database)?,
            };
            body(kept.insert(connection), &floor)
        })
    };
    let body = web::block(read).await?.map_err(|error| ErrorInternalServerError(format!("{error:#}")))?;
    Ok(HttpResponse::Ok().content_type(content_type).body(body))
}

/// Returns a parameter that a scenario always sends.
fn parameter<'a>(query: &'a Parameters, name: &str) -> Result<&'a str> {
    query.get(name).map(String::as_str).with_context(|| format!("the floor needs {name}"))
}

/// SQL of the first and last millisecond of two dates, which are bound as `?from` and `?to`.
fn between(from: usize, to: usize) -> String {
    format!("BETWEEN unixepoch(?{from}) * 1000 AND unixepoch(?{to}) * 1000 + 86399999")
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTINGS: &str = "
        CREATE TABLE listings (id BLOB PRIMARY KEY, category INTEGER, status TEXT, kind TEXT, breed TEXT, price INTEGER,
            created_at INTEGER, band INTEGER, lon REAL, x REAL, y REAL, z REAL, document TEXT);
        INSERT INTO listings VALUES
            (x'01', 1, 'active', 'selling', 'texel', NULL, 1, 520, 0, 0.6156614753, 0, 0.7880107536, '{\"n\":1}'),
            (x'02', 1, 'active', 'selling', 'texel', 9, 2, 523, 0, 0.6115273, 0, 0.7912233, '{\"n\":2}'),
            (x'03', 1, 'active', 'selling', 'suffolk', 5, 3, 520, 0, 0.6156614753, 0, 0.7880107536, '{\"n\":3}'),
            (x'04', 1, 'active', 'selling', 'texel', 5, 4, 530, 0, 0.6018150232, 0, 0.7986355100, '{\"n\":4}');";
    const LOADS: &str = "
        CREATE TABLE loads (id BLOB PRIMARY KEY, organiser_id TEXT, carrier_id TEXT, delivery_at INTEGER,
            created_at INTEGER, document TEXT);
        INSERT INTO loads VALUES
            (x'01', 'org-0', 'haul-1', 1767225600000, 2, '{\"id\":\"a\",\"tags\":[\"x\",\"y\"],\"commodity\":{\"id\":3}}'),
            (x'02', 'org-0', 'haul-1', 1767311999999, 1, '{\"id\":\"b\",\"reference\":\"1,2\"}'),
            (x'03', 'org-0', 'haul-1', 1767312000000, 3, '{\"id\":\"c\"}');";

    fn parameters(query: &str) -> Parameters {
        web::Query::<Parameters>::from_query(query).unwrap().into_inner()
    }

    #[test]
    fn finds_listings_by_breed_price_and_place() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(LISTINGS).unwrap();
        connection.execute_batch(listings::INDEXES).unwrap();
        for (query, expected) in [
            ("f:commodityBreed=Texel", r#"[{"n":4},{"n":2},{"n":1}]"#),
            ("f:commodityBreed=Texel&sortBy=price", r#"[{"n":4},{"n":2},{"n":1}]"#),
            (
                "latitude=52&longitude=0&distanceKm=50",
                r#"[{"n":3,"distanceKm":0.0},{"n":2,"distanceKm":33.4},{"n":1,"distanceKm":0.0}]"#,
            ),
            (
                "f:commodityBreed=texel&latitude=52&longitude=0&distanceKm=50",
                r#"[{"n":2,"distanceKm":33.4},{"n":1,"distanceKm":0.0}]"#,
            ),
        ] {
            let query = parameters(&format!("f:commodityType=sheep&{query}"));
            assert_eq!(listings::page(&connection, &query).unwrap(), expected, "{query:?}");
        }
    }

    #[test]
    fn finds_loads_of_a_day_and_exports_them() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(LOADS).unwrap();
        connection.execute_batch(loads::INDEXES).unwrap();
        let day = "startDateISO=2026-01-01&endDateISO=2026-01-01";
        let page = parameters(&format!("f:organiserId=org-0&f:carrierId=haul-1&{day}"));
        let page: serde_json::Value =
            serde_json::from_str(&loads::page(&connection, &page).unwrap()).unwrap();
        assert_eq!(
            (&page[0]["id"], &page[1]["id"], page.as_array().map(Vec::len)),
            (&"b".into(), &"a".into(), Some(2))
        );
        let export = parameters(&format!("format=CSV&limit=10&{day}"));
        let csv = csv::export(&connection, &export, "org-0").unwrap();
        let lines: Vec<_> = csv.split("\r\n").collect();
        assert_eq!(lines[1..], ["a,,,,,,,,3,,,,,,,,,x;y,,", "b,\"1,2\",,,,,,,,,,,,,,,,,,", ""]);
        assert_eq!(lines[0].split(',').count(), lines[1].split(',').count());
    }
}

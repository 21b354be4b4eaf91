//! Random requests, the same in every run, each with the SQL statement that does the least for it.

use testkit::market::listings::{self, ADDITIONAL_INFO, RARE_BREED, SEXES};
use testkit::market::loads;
use testkit::market::random::{Random, SEED};

const EARTH_RADIUS_KM: f64 = 6_371.008_8;
const STATUSES: [&str; 4] = ["active-selling", "active-buying", "sold", "active-selling"];
/// The best indexes of the statements, for a copy of the SQLite database.
pub const LISTING_INDEXES: &[&str] = &[
    "floor_date ON listings (breed, category, status, kind, created_at, id)",
    "floor_price ON listings (breed, category, status, kind, price, id)",
    "floor_breed_place ON listings (breed, category, status, kind, band, lon, x, y, z, created_at, id)",
    "floor_place ON listings (category, status, kind, band, lon, x, y, z, created_at, id)",
];
pub const LOAD_INDEXES: &[&str] = &["floor_pair ON loads (organiser_id, carrier_id, delivery_at, id)"];

/// A path with parameters, and the SQL of its documents; empty for requests that are not compared with SQL.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    pub path: String,
    pub sql: String,
}

impl Query {
    /// Returns `count` requests. Names in braces stand for random values. A comment behind a table names the index that
    /// SQLite must use.
    pub fn many(count: usize, path: &str, sql: &str, is_postgres: bool) -> Vec<Self> {
        let mut random = Random(SEED);
        let mut query = || {
            let (mut path, mut sql) = (path.to_owned(), sql.to_owned());
            for (name, value) in values(&mut random, is_postgres) {
                path = path.replace(name, &value.replace(' ', "%20"));
                sql = sql.replace(name, &value);
            }
            if !is_postgres {
                sql = sql.replace("/*", " INDEXED BY ").replace("*/", "");
            }
            Self { path, sql }
        };
        (0..count).map(|_| query()).collect()
    }
}

/// Chooses the values of a request.
fn values(random: &mut Random, is_postgres: bool) -> Vec<(&'static str, String)> {
    let (category, id, breed) = animal(random);
    let breeds = [(); 3].map(|()| animal(random).2).join(",");
    // Half of the points are where listings are, half of them anywhere in Great Britain.
    let (lat, lon) = if random.percent(50) {
        listings::point(random)
    } else {
        (random.between((50.5, 58.0)), random.between((-5.0, 1.0)))
    };
    let [lat, lon] = [lat, lon].map(|degrees| (degrees * 10_000.0).round() / 10_000.0);
    let carrier = if random.percent(50) { loads::carrier(random) } else { random.below(200) };
    let (year, month, age) = (2024 + random.below(3), 1 + random.below(9), random.below(40));
    let (from, to) = (format!("{year}-{month:02}-01"), format!("{year}-{:02}", month + 3));
    let time = |day: &str| {
        if is_postgres { format!("timestamptz '{day}'") } else { format!("unixepoch('{day}') * 1000") }
    };
    let sex = random.one(&SEXES[..4]);
    let filters = [
        (70, format!("commodityType={category}")),
        (50, format!("commodityBreed={breed}")),
        (50, format!("status={}", random.one(&STATUSES))),
        (20, format!("commoditySexes={sex}")),
        (20, format!("commodityAdditionalInfo={}", random.one(&ADDITIONAL_INFO))),
        (20, format!("commodityBreedSociety=Society {}", 1 + random.below(40))),
    ];
    let filters = filters.into_iter().filter(|(chance, _)| random.percent(*chance));
    let filters = filters.map(|(_, filter)| format!("&f:{filter}")).collect::<Vec<_>>().concat();
    let mut word = |words: &[&str]| random.one(words).to_owned();
    vec![
        ("{category}", category.to_owned()),
        ("{category id}", id.to_string()),
        ("{breed}", breed.clone()),
        ("{lower breed}", breed.to_lowercase()),
        ("{breeds}", breeds),
        ("{sex}", sex.to_owned()),
        ("{filters}", filters),
        ("{point}", format!("latitude={lat}&longitude={lon}")),
        ("{county}", format!("{},{},{},{}", lon - 0.6, lat - 0.4, lon + 0.6, lat + 0.4)),
        ("{within 50 km}", within(lat, lon, 50.0)),
        ("{age}", format!("minAge={age}&maxAge={}", age + 15)),
        ("{common word}", word(&["quiet", "handle", "appointment"])),
        ("{tag}", word(&["spring", "autumn", "dispersal"])),
        ("{rare words}", word(&[RARE_BREED, "huntaway dispersal", "society 40 kelpie"])),
        ("{two letters}", word(&["qu", "zz", "te"])),
        ("{lot}", format!("lot {}:", random.below(100_000))),
        ("{event}", format!("{:x}", random.below(100_000))),
        ("{limit}", (1 + random.below(20)).to_string()),
        ("{carrier}", carrier.to_string()),
        ("{dates}", format!("startDateISO={from}&endDateISO={to}-28")),
        ("{from}", time(&from)),
        ("{to}", time(&format!("{to}-29"))),
        ("{18 months}", {
            let (from, to) = random.one(&[("2024-01-01", "2025-06-30"), ("2025-03-01", "2026-08-31")]);
            format!("startDateISO={from}&endDateISO={to}")
        }),
        ("{order}", random.one(&["deliveryDateISO", "createdAt"]).to_owned()),
        ("{descending}", random.percent(50).to_string()),
        // SQLite finds a row by its rowid without an index.
        ("{key}", if is_postgres { "id" } else { "rowid" }.to_owned()),
    ]
}

/// Chooses a category, its id, and a breed: half of them as often as listings have them, half of them evenly.
fn animal(random: &mut Random) -> (&'static str, usize, String) {
    let (category, id) = random.one(&[("sheep", 1), ("cattle", 2), ("working-dog", 3)]);
    let is_usual = random.percent(50);
    let breed =
        if is_usual { listings::breed(random, id) } else { format!("Breed {}", 1 + random.below(80)) };
    (category, id, breed)
}

/// Returns the condition of a distance, as in geo.rs of livestock: bands of a tenth of a degree of latitude, a range of
/// longitudes, and the squared chord between points on the unit sphere. Coordinates are in degrees.
fn within(lat: f64, lon: f64, km: f64) -> String {
    let (phi, lambda, angle) = (lat.to_radians(), lon.to_radians(), km / EARTH_RADIUS_KM);
    let [x, y, z] = [phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin()];
    #[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
    let [south, north] = [-1.0, 1.0].map(|sign| ((lat + sign * angle.to_degrees()) * 10.0).floor() as i32);
    let bands: Vec<_> = (south..=north).map(|band| band.to_string()).collect();
    let (bands, half_width) = (bands.join(", "), (angle.sin() / phi.cos()).asin().to_degrees());
    let (west, east, chord) = (lon - half_width, lon + half_width, (2.0 * (angle / 2.0).sin()).powi(2));
    format!(
        "band IN ({bands}) AND lon BETWEEN {west} AND {east} AND \
         (x - ({x})) * (x - ({x})) + (y - ({y})) * (y - ({y})) + (z - ({z})) * (z - ({z})) <= {chord}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_the_same_in_every_run() {
        let (path, sql) = ("/v1/listings?a={breeds}&{point}{filters}", "FROM t/*i*/ WHERE {within 50 km}");
        let pages = Query::many(300, path, sql, false);
        assert_eq!(pages, Query::many(300, path, sql, false));
        assert!(pages.iter().all(|page| !page.path.contains([' ', '{']) && !page.sql.contains("/*")));
        assert!(pages[0].sql.starts_with("FROM t INDEXED BY i WHERE band IN ("));
    }
}

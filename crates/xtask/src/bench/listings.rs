//! Scenarios of livestock: searches, facets.

use std::fmt::Write;

use anyhow::Result;

use super::listings_data::{INFO, RARE, SEXES};
use super::report::Target;
use super::searches::{self, QUESTIONS, Question};
use super::stage::Stage;
use crate::random::{Random, SEED};
use crate::service::Service;

/// Somebody who has one listing of a hundred.
const ORG: &str = super::listings_data::LARGE;
const EARTH_KM: f64 = 6_371.008_8;

/// Category, status and breed, newest first.
pub fn by_date(stage: &Stage) -> Result<()> {
    let target = stage.either(Target::Cpu(170.0), Target::Share(0.4));
    search(
        stage,
        "listings-by-date",
        "sortBy=createdAt&sortDesc=true",
        &Order::new("created_at", true),
        false,
        target,
    )
}

/// The same, cheapest first.
pub fn by_price(stage: &Stage) -> Result<()> {
    let target = stage.either(Target::Cpu(170.0), Target::Share(0.4));
    search(
        stage,
        "listings-by-price",
        "sortBy=price&sortDesc=false",
        &Order::new("price", false),
        false,
        target,
    )
}

/// The same within 50 km, newest first.
pub fn near(stage: &Stage) -> Result<()> {
    let target = stage.either(Target::Cpu(250.0), Target::Share(0.4));
    search(
        stage,
        "listings-near",
        "sortBy=createdAt&sortDesc=true",
        &Order::new("created_at", true),
        true,
        target,
    )
}

/// What rows are sorted by.
struct Order {
    column: &'static str,
    desc: bool,
}

impl Order {
    const fn new(column: &'static str, desc: bool) -> Self {
        Self { column, desc }
    }

    /// A page of 20 documents of the rows that meet one of these conditions. As the service does it: each condition by
    /// itself, those with a price before those without, and on PostgreSQL each cut off by itself.
    fn page(&self, conditions: &[String], postgres: bool) -> String {
        let Self { column, desc } = *self;
        let direction = if desc { "DESC" } else { "ASC" };
        let parts: &[&str] =
            if column == "price" { &[" AND price IS NOT NULL", " AND price IS NULL"] } else { &[""] };
        let order = format!("ORDER BY sort_key {direction}");
        let branch = |(condition, part): (&String, &&str)| {
            let rows = format!("SELECT id, {column} AS sort_key FROM listings WHERE {condition}{part}");
            if postgres {
                format!("SELECT * FROM ({rows} {order}, id {direction} LIMIT 20) AS branch")
            } else {
                rows
            }
        };
        let all: Vec<_> =
            parts.iter().flat_map(|part| conditions.iter().map(move |c| (c, part))).map(branch).collect();
        let last = if parts.len() > 1 { " NULLS LAST" } else { "" };
        format!(
            "SELECT (SELECT document FROM listings WHERE listings.id = page.id) AS document FROM ({} {order}{last}, \
             id {direction} LIMIT 20) AS page",
            all.join(" UNION ALL ")
        )
    }
}

fn search(stage: &Stage, name: &str, sorting: &str, order: &Order, near: bool, target: Target) -> Result<()> {
    let (service, mut random) = (stage.livestock()?, Random(SEED));
    let mut question = || {
        let (category, number, breed) = animal(&mut random);
        let mut path = format!(
            "/v1/listings?f:commodityType={category}&f:status=active-selling&f:commodityBreed={}&{sorting}",
            breed.replace(' ', "%20")
        );
        let mut common = format!("status = 'active' AND kind = 'selling' AND category = {number}");
        if near {
            let (lat, lon) = (random.between((50.5, 58.0)), random.between((-5.0, 1.0)));
            let _ = write!(path, "&latitude={lat:.4}&longitude={lon:.4}&distanceKm=50");
            common += &within(&format!("{lat:.4}"), &format!("{lon:.4}"), 50.0);
        }
        let breed = breed.to_lowercase();
        let conditions = [
            format!("{common} AND breed = '{breed}'"),
            format!("{common} AND breed_type = '{breed}' AND (breed IS NULL OR breed <> '{breed}')"),
        ];
        Question { path, sql: order.page(&conditions, stage.postgres.is_some()) }
    };
    let asked: Vec<_> = (0..QUESTIONS).map(|_| question()).collect();
    searches::measure(stage, service, name, &service.token(Some(ORG)), &asked, target)
}

/// Small pages by date, compressed: mostly waiting if the last bytes of an answer wait for an acknowledgement.
pub fn compressed(stage: &Stage) -> Result<()> {
    let (service, mut random) = (stage.livestock()?, Random(SEED));
    let mut path = || {
        let (category, _, _) = animal(&mut random);
        format!("/v1/listings?f:commodityType={category}&limit={}", 1 + random.below(5))
    };
    let paths: Vec<_> = (0..QUESTIONS).map(|_| path()).collect();
    let token = service.token(Some(ORG));
    searches::measure_compressed(stage, service, "listings-gzip", &token, &paths, Target::Share(0.3))
}

/// A category, its number, and a breed that its listings have.
fn animal(random: &mut Random) -> (&'static str, usize, String) {
    let (category, number, common) = random.one(&[
        ("sheep", 1, ["Texel", "Suffolk", "Swaledale"]),
        ("cattle", 2, ["Hereford", "Limousin", "Aberdeen Angus"]),
        ("working-dog", 3, ["Border Collie", "Kelpie", "Huntaway"]),
    ]);
    let breed = if random.percent(40) {
        random.one(&common).to_owned()
    } else {
        format!("Breed {}", 1 + random.below(79))
    };
    (category, number, breed)
}

/// What SQL says of so many kilometres around a point (see place.rs of livestock).
fn within(lat: &str, lon: &str, km: f64) -> String {
    let [lat, lon]: [f64; 2] = [lat, lon].map(|text| text.parse().unwrap_or_default());
    let (phi, lambda, reach) = (lat.to_radians(), lon.to_radians(), (km / EARTH_KM).to_degrees());
    let [x, y, z] = [phi.cos() * lambda.cos(), phi.cos() * lambda.sin(), phi.sin()];
    let width = ((km / EARTH_KM).sin() / phi.cos()).asin().to_degrees();
    #[expect(clippy::cast_possible_truncation, reason = "-900..=900")]
    let [south, north] = [lat - reach, lat + reach].map(|lat| (lat * 10.0).floor() as i32);
    let bands: Vec<_> = (south..=north).map(|band| band.to_string()).collect();
    let chord = 2.0 * (km / EARTH_KM / 2.0).sin();
    format!(
        " AND band IN ({}) AND lon BETWEEN {} AND {} AND (x - ({x})) * (x - ({x})) + (y - ({y})) * (y - ({y})) + \
         (z - ({z})) * (z - ({z})) <= {}",
        bands.join(", "),
        lon - width,
        lon + width,
        chord * chord
    )
}

/// The counts of a search filtered by what is exactly so.
pub fn facets(stage: &Stage) -> Result<()> {
    let target = stage.either(Target::Cpu(300.0), Target::Cpu(1_000.0));
    count(stage, "facets", Service::token, Some(ORG), |_| String::new(), target)
}

/// The counts under distance.
pub fn facets_near(stage: &Stage) -> Result<()> {
    let point = |random: &mut Random| {
        let (lat, lon) = (random.between((50.5, 58.0)), random.between((-5.0, 1.0)));
        format!("&latitude={lat:.4}&longitude={lon:.4}&distanceKm={}", 20 + random.below(80))
    };
    count(stage, "facets-near", Service::token, Some(ORG), point, Target::Cpu(10_000.0))
}

/// The counts under an age.
pub fn facets_age(stage: &Stage) -> Result<()> {
    let age = |random: &mut Random| {
        let least = random.below(40);
        format!("&minAge={least}&maxAge={}", least + 5 + random.below(20))
    };
    count(stage, "facets-age", Service::token, Some(ORG), age, Target::Cpu(10_000.0))
}

/// The counts of a wishlist, which the administrator has.
pub fn facets_wishlist(stage: &Stage) -> Result<()> {
    count(
        stage,
        "facets-wishlist",
        Service::token,
        None,
        |_| "&isWishlisted=true".into(),
        Target::Cpu(10_000.0),
    )
}

fn count(
    stage: &Stage,
    name: &str,
    token: fn(&Service, Option<&str>) -> String,
    org: Option<&str>,
    more: impl Fn(&mut Random) -> String,
    target: Target,
) -> Result<()> {
    let (service, mut random) = (stage.livestock()?, Random(SEED));
    let mut path = || {
        let (category, _, breed) = animal(&mut random);
        let mut path = "/v1/listings?docs=false".to_owned();
        let sexes = random.one(&SEXES[..4]);
        for (chance, filter) in [
            (70, format!("&f:commodityType={category}")),
            (50, format!("&f:commodityBreed={}", breed.replace(' ', "%20"))),
            (
                50,
                format!(
                    "&f:status={}",
                    random.one(&["active-selling", "active-buying", "sold", "active-selling"])
                ),
            ),
            (20, format!("&f:commoditySexes={sexes}")),
            (20, format!("&f:commodityAdditionalInfo={}", random.one(&INFO))),
            (20, format!("&f:commodityBreedSociety=Society%20{}", 1 + random.below(40))),
        ] {
            if random.percent(chance) {
                path += &filter;
            }
        }
        path + &more(&mut random)
    };
    let paths: Vec<_> = (0..QUESTIONS).map(|_| path()).collect();
    searches::measure_alone(stage, service, name, &token(service, org), &paths, target)
}

/// Every kind of search by itself.
pub fn every(stage: &Stage) -> Result<()> {
    const POINT: &str = "latitude=52.2&longitude=-2.7";
    let service = stage.livestock()?;
    let large = service.token(Some(ORG));
    let search = |query: &str| format!("/v1/listings?{}", query.replace(' ', "%20"));
    let first = service.get(&search("limit=1&offset=2"), &large)?;
    let id = first.json[0]["id"].as_str().unwrap_or_default().to_owned();
    let cursor = service.cursor(&search(&format!("limit=100&offset={}", stage.rows() / 5)), &large)?;
    let mut asked: Vec<_> = [
        ("newest 20", String::new()),
        ("newest 100", "limit=100".into()),
        ("active, selling", "f:status=active-selling".into()),
        ("of a category", "f:commodityType=sheep".into()),
        ("lowest price", "sortBy=price&sortDesc=false".into()),
        ("highest price", "sortBy=price&sortDesc=true".into()),
        ("youngest", "sortBy=age&sortDesc=false".into()),
        ("by quantity", "sortBy=quantity&sortDesc=true".into()),
        ("by organisation", "sortBy=organisationName&sortDesc=false".into()),
        ("a common breed", "f:commodityBreed=Hereford".into()),
        ("a rare breed", format!("f:commodityBreed={RARE}")),
        ("a rare breed by price", format!("f:commodityBreed={RARE}&sortBy=price")),
        ("of a society", "f:commodityBreedSociety=Society 7".into()),
        ("within 25 km", format!("{POINT}&distanceKm=25")),
        ("within 50 km, newest", format!("{POINT}&distanceKm=50&sortBy=createdAt&sortDesc=true")),
        ("nearest", POINT.into()),
        ("farthest", format!("{POINT}&sortBy=distance&sortDesc=true")),
        ("within 500 km by price", format!("{POINT}&distanceKm=500&sortBy=price")),
        ("sexes and info", "f:commoditySexes=heifers&f:commodityAdditionalInfo=pedigree".into()),
        ("an age range", "minAge=12&maxAge=24".into()),
        ("of an organisation", "f:organisationId=org-7".into()),
        ("the wishlist", "isWishlisted=true".into()),
        ("drafts", "f:status=draft".into()),
        ("a type", "f:commodityType=store".into()),
        ("an unknown type", "f:commodityType=zebra".into()),
        ("offset 10000", "offset=10000".into()),
        ("counted", "count=true".into()),
        ("far on, by cursor", format!("cursor={cursor}")),
        ("facets of all", "docs=false".into()),
        ("CSV of 1000", "format=CSV&limit=1000".into()),
    ]
    .map(|(kind, query)| (kind, large.clone(), search(&query)))
    .into();
    asked.push(("one by id", large, format!("/v1/listings/{id}")));
    searches::measure_each(stage, service, "listings", &asked)
}

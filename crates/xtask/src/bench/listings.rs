//! Listings: how fast they are created one by one, then what each kind of search takes, seen from the client, beside a
//! constant answer.

use std::ops::Range;
use std::thread;
use std::time::Instant;

use anyhow::{Context, Result, anyhow};
use serde_json::json;

use super::listings_data::{LARGE, ORGANISATIONS, PERIOD, RARE, listing};
use super::measure::Measured;
use super::questions::{self, CONSTANT, Question};
use crate::cli::BenchArgs;
use crate::client::{AT_ONCE, Body};
use crate::stop::Stop;

/// So many are done before the next line of progress.
const STRETCH: usize = 10_000;
const WISHES: usize = 50;

/// Fills a database with listings and asks each kind of question of it.
pub fn run(args: &BenchArgs, stop: &Stop) -> Result<()> {
    let service = Measured::start("livestock", args.database.as_deref(), stop)?;
    let ids = fill(&service, args.rows, stop)?;
    let asked = questions(&service, ids.first().context("there must be some listings: --rows")?)?;
    let (_, caught_up) =
        service.send("GET", "/v1/listings?docs=false", &service.token(None), &Body::Empty)?;
    println!("The first facets after so many changes took {caught_up:.0} ms.\n");
    questions::ask(&service, &asked, args.requests, stop)?;
    service.finish().map(drop)
}

/// Listings of thousands of organisations; some are then closed, and some wished for. The ids, by number.
fn fill(service: &Measured, rows: usize, stop: &Stop) -> Result<Vec<String>> {
    let tokens: Vec<_> =
        (0..ORGANISATIONS).map(|number| service.token(Some(&format!("org-{number}")))).collect();
    let begun = Instant::now();
    let ids = on_threads("created", rows, stop, |number| {
        let listing = listing(number);
        let path = format!("/v1/listings/{}", listing.path);
        let (answer, _) =
            service.send("POST", &path, &tokens[listing.organisation], &Body::Json(listing.body))?;
        answer.json["id"].as_str().map(str::to_owned).ok_or_else(|| anyhow!("{path} gave no id"))
    })?;
    println!("{:>9} created in {:.0} s", rows, begun.elapsed().as_secs_f64());
    let admin = service.token(None);
    on_threads("closed", rows.div_ceil(PERIOD), stop, |turn| {
        let status = if turn % 4 == 0 { "found" } else { "sold" };
        let path = format!("/v1/listings/{}/close", ids[turn * PERIOD]);
        service.send("POST", &path, &admin, &Body::Json(json!({"status": status})))
    })?;
    for id in ids.iter().skip(2).step_by((rows / WISHES).max(1)).take(WISHES) {
        service.send("PUT", &format!("/v1/listings/{id}/wishlist"), &admin, &Body::Empty)?;
    }
    Ok(ids)
}

/// Does this for each number below `end`, from several threads at once, and prints how fast.
fn on_threads<T: Send>(
    done: &str,
    end: usize,
    stop: &Stop,
    work: impl Fn(usize) -> Result<T> + Sync,
) -> Result<Vec<T>> {
    let share = |numbers: Range<usize>| {
        numbers.map(|number| stop.check().and_then(|()| work(number))).collect::<Result<Vec<_>>>()
    };
    let (share, mut all) = (&share, Vec::with_capacity(end));
    for first in (0..end).step_by(STRETCH) {
        let begun = Instant::now();
        let (last, before) = (end.min(first + STRETCH), all.len());
        thread::scope(|scope| {
            let each = (last - first).div_ceil(AT_ONCE);
            let shares = (first..last).step_by(each).map(|from| from..last.min(from + each));
            let threads: Vec<_> = shares.map(|numbers| scope.spawn(move || share(numbers))).collect();
            for thread in threads {
                all.extend(thread.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            anyhow::Ok(())
        })?;
        #[expect(clippy::cast_precision_loss, reason = "small")]
        let rate = (all.len() - before) as f64 / begun.elapsed().as_secs_f64();
        println!("{:>9} {done}, {rate:.0} per second", all.len());
    }
    Ok(all)
}

fn questions(service: &Measured, id: &str) -> Result<Vec<Question>> {
    const POINT: &str = "latitude=52.2&longitude=-2.7";
    let large = service.token(Some(LARGE));
    let search = |query: &str| format!("/v1/listings?{}", query.replace(' ', "%20"));
    let cursor = questions::cursor(service, &search("limit=100&offset=20000"), &large)?;
    let mut asked = vec![(CONSTANT, large.clone(), "/healthz".to_owned())];
    for (kind, query) in [
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
        ("after 20000, by cursor", format!("cursor={cursor}")),
        ("facets of all", "docs=false".into()),
        ("facets: category, breed", "docs=false&f:commodityType=cattle&f:commodityBreed=Hereford".into()),
        ("facets: within 50 km", format!("docs=false&{POINT}&distanceKm=50")),
        ("facets: wishlist", "docs=false&isWishlisted=true".into()),
    ] {
        asked.push((kind, large.clone(), search(&query)));
    }
    asked.push(("one by id", large.clone(), format!("/v1/listings/{id}")));
    asked.push(("CSV of 1000", large.clone(), search("format=CSV&limit=1000")));
    asked.push(("CSV of all", large.clone(), search("format=CSV")));
    Ok(asked)
}

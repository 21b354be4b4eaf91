//! Listings of which each has breeds and a society of its own, which fill the facets of everybody.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{THREADS, Tenants, end, listing};
use crate::abuse::stage::{Bounds, Victim};
use crate::client::Body;

const CREATE: &str = "/v1/listings/sheep";
const FACETS: &str = "/v1/listings?docs=false";
/// Characters of a breed, a breed type or a society.
const MAX_CHARS: usize = 60;
/// Values of a facet.
const MAX_VALUES: usize = 500;
/// KiB of the answer: breeds and societies of 60 characters of 4 bytes, 500 each, and what else it has.
const MAX_KIB: usize = 320;

/// MiB more. 10,500 listings whose texts are all the same take 74 already (caches, the table of facets); the rest is
/// for 31,500 texts of 240 bytes, which are kept as terms and as they are written.
const MEMORY: f64 = 256.0;

/// Creates listings with long breeds, then asks for the facets of all listings.
pub fn listings(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, victim) = (tenants.stage.trial, &tenants.livestock);
    let count = if trial.short { 600 } else { 10_500 };
    // Uses the longest accepted text: earlier versions accepted 200 characters.
    let create = |length: usize, number: usize| {
        let text = |kind: &str| format!("{kind}{number:06}{}", "🐑".repeat(length - kind.len() - 6));
        let texts = ["b", "t", "s"].map(text);
        let body = listing(&texts.each_ref().map(String::as_str));
        Ok::<_, anyhow::Error>(end(&tenants.attack(victim, CREATE, Body::Json(body))?))
    };
    let long = create(200, 0)?;
    let length = if long == "200" { 200 } else { MAX_CHARS };
    tenants.expect(
        length == MAX_CHARS,
        victim,
        "breeds and a society of 200 characters",
        long,
        "400 length",
    )?;
    let what = format!("{count} listings with breeds and societies of {length} characters, all different");
    tenants.abuse_within(&what, victim, &Bounds { ends: &["200"], memory: MEMORY }, || {
        tenants.repeat(THREADS, count, |number| create(length, number + 1))
    })?;

    let facets = Facets::read(victim, &tenants.honest)?;
    let limit = if trial.short { 3000 } else { 100 };
    tenants.expect(
        facets.values <= MAX_VALUES && facets.truncated,
        victim,
        "values of the longest facet after that",
        format!("{}, truncated: {}", facets.values, facets.truncated),
        format!("{MAX_VALUES}, truncated: true"),
    )?;
    tenants.expect(
        facets.kib <= MAX_KIB && facets.took.as_millis() <= limit,
        victim,
        "facets of all listings after that",
        format!("{} KiB in {:.1} ms", facets.kib, facets.took.as_secs_f64() * 1000.0),
        format!("{MAX_KIB} KiB, {limit} ms"),
    )
}

struct Facets {
    kib: usize,
    /// Of the facet that has the most.
    values: usize,
    truncated: bool,
    /// The quickest of several requests.
    took: Duration,
}

impl Facets {
    fn read(victim: &Victim, token: &str) -> Result<Self> {
        let mut took = Duration::MAX;
        let mut read = || {
            let begun = Instant::now();
            let answer = victim.service.get(FACETS, token)?;
            took = took.min(begun.elapsed());
            Ok::<_, anyhow::Error>(answer)
        };
        for _ in 0..4 {
            read()?;
        }
        let answer = read()?;
        let values = answer.json["filters"].as_object().into_iter().flatten();
        let values =
            values.filter_map(|(_, values)| Some(values.as_array()?.len())).max().unwrap_or_default();
        let truncated = answer.json["truncated"] == true;
        Ok(Self { kib: answer.bytes.len() >> 10, values, truncated, took })
    }
}

//! Listings with different breeds and societies, which fill the facets of all organisations.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use stack::http::Body;

use super::{THREADS, Tenants, listing, outcome};
use crate::abuse::target::{Limits, Target};

/// Limit of the characters of a breed, a breed type or a society.
const MAX_CHARS: usize = 60;
/// Characters of texts that earlier versions accepted.
const OLD_MAX_CHARS: usize = 200;
/// Limit of the values of a facet.
const MAX_VALUES: usize = 500;
/// Limit of a response in KiB: 500 breeds and societies of 60 characters of 4 bytes, and other facets.
const MAX_KIB: usize = 320;
/// Additional memory in MiB. 10,500 listings with the same texts need 74 (caches, the table of facets). The rest is for
/// 31,500 texts of 240 bytes, which are stored as terms and as they are written.
const MEMORY: f64 = 256.0;

/// Creates listings with long breeds, then requests the facets of all listings.
pub fn run(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, target) = (tenants.trial, &tenants.livestock);
    let count = if trial.short { 600 } else { 10_500 };
    let create = |length: usize, number: usize| {
        let text = |kind: &str| format!("{kind}{number:06}{}", "🐑".repeat(length - kind.len() - 6));
        let texts = ["b", "t", "s"].map(text);
        let body = Body::Json(listing(&texts.each_ref().map(String::as_str)));
        Ok::<_, anyhow::Error>(outcome(&tenants.post(target, "/v1/listings/sheep", body)?))
    };
    let long = create(OLD_MAX_CHARS, 0)?;
    let is_refused = long.starts_with("400 length ");
    target.expect(is_refused, "breeds and a society of 200 characters", long, "400 length")?;
    let attack =
        format!("{count} listings with breeds and societies of {MAX_CHARS} characters, all different");
    target.attack(&attack, &Limits { outcomes: &["200"], memory: MEMORY }, || {
        tenants.repeat(THREADS, count, |number| create(MAX_CHARS, number + 1))
    })?;

    let facets = Facets::request(target, &tenants.honest)?;
    let limit = if trial.short { 3000 } else { 100 };
    target.expect(
        facets.values <= MAX_VALUES && facets.is_truncated,
        "values of the longest facet after them",
        format!("{}, truncated: {}", facets.values, facets.is_truncated),
        format!("{MAX_VALUES}, truncated: true"),
    )?;
    target.expect(
        facets.kib <= MAX_KIB && facets.duration.as_millis() <= limit,
        "facets of all listings after them",
        format!("{} KiB in {:.1} ms", facets.kib, facets.duration.as_secs_f64() * 1000.0),
        format!("{MAX_KIB} KiB, {limit} ms"),
    )
}

struct Facets {
    /// Size of the response.
    kib: usize,
    /// Values of the longest facet.
    values: usize,
    is_truncated: bool,
    /// The shortest of several durations.
    duration: Duration,
}

impl Facets {
    fn request(target: &Target<'_>, token: &str) -> Result<Self> {
        let request = || {
            let begun = Instant::now();
            let response = target.service.get("/v1/listings?docs=false", token)?;
            Ok((begun.elapsed(), response))
        };
        let responses = (0..5).map(|_| request()).collect::<Result<Vec<_>>>()?;
        let shortest = responses.into_iter().min_by_key(|(duration, _)| *duration);
        let (duration, response) = shortest.context("no response")?;
        let facets = response.json["filters"].as_object().into_iter().flatten();
        let values =
            facets.filter_map(|(_, values)| Some(values.as_array()?.len())).max().unwrap_or_default();
        let is_truncated = response.json["truncated"] == true;
        Ok(Self { kib: response.bytes.len() >> 10, values, is_truncated, duration })
    }
}

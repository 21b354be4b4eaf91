//! The dearest that can be asked of listings, and more combinations of filters than counts are kept for.

use anyhow::Result;

use super::costly::{one_after_another, timed};
use super::socket::head;
use super::stage::{ORG, Stage, Victim, get, timeout_settings};
use crate::bench::listings_data::listing;
use crate::client::Body;

/// Searches and facets.
pub fn requests(stage: &Stage<'_>) -> Result<()> {
    let (trial, short) = (stage.trial, stage.trial.short);
    let mut settings = timeout_settings(short);
    settings.push(("DROVER_SERVICE__SYSTEM_URL".into(), stage.system.service.url("")));
    let service = trial.service("livestock", "abuse-livestock", None, settings)?;
    let token = service.token(Some(ORG));
    for number in 0..if short { 60 } else { 5000 } {
        let listing = listing(number);
        service.send("POST", &format!("/v1/listings/{}", listing.path), &token, &Body::Json(listing.body))?;
    }
    let victim = Victim::new(service, token, |url| {
        ["/v1/listings", "/v1/listings?docs=false", "/v1/categories", "/v1/listings?f:commodityType=sheep"]
            .map(|path| get(url(path)))
            .into()
    })?;
    let point = "latitude=54&longitude=-2";
    let breeds: Vec<_> = (0..50).map(|n| format!("breed{n}")).collect();
    let queries = [
        ("deep", "offset=1000000&limit=100&count=true".to_owned(), "200"),
        ("nearest", format!("{point}&limit=100&offset=4000&count=true"), "200"),
        (
            "near, of an age",
            format!("{point}&distanceKm=20000&minAge=0&maxAge=600&count=true&limit=100"),
            "200",
        ),
        ("breeds", format!("f:commodityBreed={}&count=true", breeds.join(",")), "200"),
        ("facets", "docs=false".into(), "200"),
        (
            "facets, near, of an age",
            format!("docs=false&{point}&distanceKm=20000&minAge=0&maxAge=600"),
            "200",
        ),
        ("facets of breeds", format!("docs=false&f:commodityBreed={}", breeds.join(",")), "200"),
        (
            "all filters",
            format!(
                "docs=false&f:commodityType=sheep&f:commodityBreed=Texel&f:commoditySexes=ewes&f:commodityAdditionalInfo=crossbred&f:status=active-selling&isWishlisted=true&{point}&distanceKm=9"
            ),
            "200",
        ),
    ];
    let request = |(name, query, end)| {
        let head = head("GET", &format!("/v1/listings?{query}"), Some(&victim.token), &[]) + "\r\n";
        (name, head, Vec::new(), end)
    };
    let limit = if short { 3000 } else { 500 };
    timed(stage, &victim, "the dearest searches of listings", queries.map(request).into(), limit)?;
    let count = if short { 300 } else { 5000 };
    let paths = (0..count).map(|n| format!("/v1/listings?docs=false&f:commodityBreed=breed{n}"));
    one_after_another(stage, &victim, &format!("{count} combinations of filters"), &["200"], paths)
}

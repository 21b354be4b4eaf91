//! Pages with the headers of a browser, which asks for compressed responses.

use anyhow::Result;

use super::listings::search::{BY_DATE, BY_PRICE, NEAR};
use super::{listings, loads};
use crate::environment::BenchEnvironment;
use crate::report::Target;

/// Measures pages of listings and loads.
pub fn run(env: &BenchEnvironment) -> Result<()> {
    for (name, search) in
        [("listings by date", BY_DATE), ("listings by price", BY_PRICE), ("listings near", NEAR)]
    {
        let (paths, _) = search.queries(env.postgres.is_some());
        listings::search::benchmark(env, &format!("browser: {name}"), paths, Target::None)?
            .as_browser(env)?;
    }
    let (paths, _) = loads::search::queries(env.postgres.is_some());
    loads::search::benchmark(env, "browser: loads", paths, Target::None)?.as_browser(env).map(drop)
}

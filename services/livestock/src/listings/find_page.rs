//! Reads a page of a search, and prepares a search for words.

use std::sync::Arc;

use common::{Caller, Error, ResultPage};
use database::Database;

use super::background::rebuild_stale_rows;
use super::facets::FacetService;
use super::model::append_distance;
use super::search::{self, ListingSearch, Plan};
use super::store;

/// Prepares a search that may have words: fills the texts that the previous release left out, and finds the candidates
/// of words that no index has.
///
/// # Errors
/// If the database fails.
pub(crate) async fn prepare_words(
    db: &Database,
    facets: &Arc<FacetService>,
    search: &mut ListingSearch,
) -> Result<(), Error> {
    if search.words.is_empty() {
        return Ok(());
    }
    if db.read(store::has_stale_rows).await? {
        rebuild_stale_rows(db).await?;
    }
    if search.documents && search.has_short_words_only() {
        search.candidates = facets.candidates(db, search).await?;
    }
    Ok(())
}

/// Reads a page of a search. Each listing has its distance, if the search has a point and is not public.
///
/// # Errors
/// If the database fails.
pub(crate) async fn find_page(
    db: &Database,
    caller: Caller,
    search: ListingSearch,
) -> Result<ResultPage, Error> {
    let (near, plan) = (search.near.filter(|_| !search.is_public()), Plan::of(&search));
    let read = move |c: &mut _| search::store::read_page(c, &caller, &search);
    let page = match plan {
        Plan::Reusable => db.read_with_reusable_plan(read).await,
        Plan::Prepared | Plan::PerCall => db.read(read).await,
    };
    let mut page = page?;
    if let Some(near) = near {
        let from = near.point.unit_vector();
        for document in &mut page.documents {
            append_distance(document, from)?;
        }
    }
    Ok(page)
}

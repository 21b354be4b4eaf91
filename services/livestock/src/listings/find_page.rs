//! Reads a page of a search, and prepares searches for words and in boxes.

use std::sync::Arc;

use common::{Caller, Error, ResultPage};
use database::Database;

use super::background::rebuild_stale_rows;
use super::facets::{Candidates, FacetService};
use super::model::append_distance;
use super::search::{self, ListingSearch, ListingSortKey, Plan};
use super::store;

/// Prepares a search: fills the texts that the previous release left out, if it has words, and finds the candidates of
/// words that no index has, and of a box.
///
/// # Errors
/// If the database fails.
pub(crate) async fn prepare(
    db: &Database,
    facets: &Arc<FacetService>,
    search: &mut ListingSearch,
) -> Result<(), Error> {
    if !search.words.is_empty() && db.read(store::has_stale_rows).await? {
        rebuild_stale_rows(db).await?;
    }
    if search.documents && (search.has_short_words_only() || search.bbox.is_some()) {
        match facets.candidates(db, search).await? {
            Candidates::Few(ids) => search.candidates = Some(ids),
            Candidates::Many { found, of } => {
                // The rows that are read in order until the page is full, compared with all in the box.
                let page_end = u64::try_from(search.page.limit.saturating_add(search.page.offset));
                let read = page_end.unwrap_or_default().saturating_mul(of) / found.max(1);
                search.reads_in_order = search.bbox.is_some()
                    && search.within_km().is_none()
                    && search.sorting.by.key != ListingSortKey::Distance
                    && read < found;
            }
        }
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

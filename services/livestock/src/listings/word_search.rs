//! What a search for words needs before it runs.

use std::sync::Arc;

use common::Error;
use database::Database;

use super::background::rebuild_before_text_search;
use super::facets::FacetService;
use super::search::ListingSearch;

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
    rebuild_before_text_search(db).await?;
    if search.documents && search.has_short_words_only() {
        search.candidates = facets.candidates(db, search).await?;
    }
    Ok(())
}

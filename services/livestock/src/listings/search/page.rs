//! A page of a search, as responses have it.

use common::{Caller, Error, ResultPage};
use database::Database;

use super::{ListingSearch, store};
use crate::listings::model::append_distance;

/// Reads a page of a search. Each listing has its distance, if the search has a point and is not public.
///
/// # Errors
/// If the database fails.
pub(crate) async fn find_page(
    db: &Database,
    caller: Caller,
    search: ListingSearch,
) -> Result<ResultPage, Error> {
    let (near, has_one_plan) = (search.near.filter(|_| !search.is_public()), search.has_one_plan());
    let read = move |c: &mut _| store::search(c, &caller, &search);
    let page = if has_one_plan { db.read_in_index_order(read).await } else { db.read(read).await };
    let mut page = page?;
    if let Some(near) = near {
        let from = near.point.unit_vector();
        for document in &mut page.documents {
            append_distance(document, from)?;
        }
    }
    Ok(page)
}

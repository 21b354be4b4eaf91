//! Exports of a listing search.

use common::{Caller, Error, StreamingResponse, stream_by_ids};
use database::{AnyConnection, Id, Json};

use crate::Livestock;
use crate::listings::csv_columns::table_layout;
use crate::listings::search::{ListingSearch, store};

/// Streams all listings of a search as CSV or XLSX, from the offset or cursor of its page up to its limit. `list`
/// returns the documents of a block of listings.
pub(super) async fn export(
    service: &Livestock,
    caller: Caller,
    search: ListingSearch,
    list: impl Fn(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error> + Clone + Send + Sync + 'static,
) -> Result<StreamingResponse, Error> {
    let (page, now, format) = (search.page.clone(), search.now, search.format);
    let total = {
        let (caller, search) = (caller.clone(), search.clone());
        service.db.read_lagging(move |c| store::count(c, &caller, &search)).await?
    };
    let id_batch = move |c: &mut AnyConnection, page: &_| store::id_batch(c, &caller, &search, page);
    let listings = stream_by_ids(&service.db, page, id_batch, list);
    let layout = table_layout(service.categories.clone(), now);
    Ok(StreamingResponse::new(format, layout, "listings", listings).await?.total(total))
}

//! Streams all loads of a search.

use common::{Caller, Error, PageRequest, StreamingResponse, stream_by_ids, stream_pages};
use database::{Database, Id};

use super::members::layout;
use super::search::{LoadSearch, store as search_store};
use super::store;

/// Streams the loads of a search from its page on, up to its limit. A file is an attachment with this name and the
/// extension of its format.
///
/// Reads page by page if an index has the order of the search and no page skips many rows. Otherwise reads the ids in
/// large blocks, and then the documents by id.
///
/// # Errors
/// Errors of the first read. A later error aborts the response.
pub(crate) async fn stream(
    db: &Database,
    caller: Caller,
    search: LoadSearch,
    file_name: &str,
) -> Result<StreamingResponse, Error> {
    let probe_caller = caller.clone();
    let (search, total, by_pages) = db
        .read_from_standby(move |c| {
            let search = search_store::in_used_roles(c, &probe_caller, search.clone())?;
            let by_pages = search_store::has_cheap_pages(c, &probe_caller, &search)?;
            let total = search_store::count(c, &probe_caller, &search)?;
            Ok::<_, Error>((search, total, by_pages))
        })
        .await?;
    let (format, page, reader) = (search.format, search.page.clone(), caller.clone());
    let response = if by_pages {
        let search = LoadSearch { count: false, ..search };
        let read = move |c: &mut _, page: &PageRequest| search_store::read_page(c, &caller, &search, page);
        StreamingResponse::new(format, layout(), file_name, stream_pages(db, page, read)).await?
    } else {
        let block = move |c: &mut _, page: &PageRequest| search_store::id_batch(c, &caller, &search, page);
        let find = move |c: &mut _, ids: &[Id]| store::list_by_ids(c, &reader, ids);
        StreamingResponse::new(format, layout(), file_name, stream_by_ids(db, page, block, find)).await?
    };
    Ok(response.total(total))
}

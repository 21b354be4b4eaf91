//! The queries of the listing search. Each begins from `visible_with` or [`visible`].

mod filters;
mod sort_key;

use common::{Caller, Error, IdBatch, PageRequest, ResultPage};
use database::search::{MergedQuery, Position, SortKey, SortOrder};
use database::{AnyConnection, Id, Json, MultiBackend};
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;

use super::super::search_fields::day;
use super::super::store::visible;
use super::branch::{Branch, Rows};
use super::{ListingSearch, ListingSortKey};
use crate::schema::listings::dsl as l;
use filters::{matches, with_sort_key};
use sort_key::{SortExpression, SquaredChord};

/// Reads one page of a search: one query, and one more for each counted branch if the count was requested. The nearest
/// listings are searched in a small area first, and in larger ones only if it has too few.
pub fn search(c: &mut AnyConnection, caller: &Caller, search: &ListingSearch) -> Result<ResultPage, Error> {
    let mut rows = Vec::new();
    for ring in search.rings() {
        rows = page(c, caller, &ring)?;
        if i64::try_from(rows.len()).is_ok_and(|count| count >= search.page.fetch()) {
            break;
        }
    }
    let mut page = ResultPage::new(rows, &search.page, &search.sorting);
    page.total = count(c, caller, search)?;
    Ok(page)
}

fn page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Vec<(Json, Position)>, Error> {
    let page = &search.page;
    let Some(query) = merged(caller, search, page, page.fetch()) else { return Ok(Vec::new()) };
    Ok(query.cache_statement(search.is_cacheable()).load_with_documents("listings", c)?)
}

/// Reads the ids of many listings of a search, and the position of the last.
pub fn id_batch(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let Some(query) = merged(caller, search, page, page.limit) else { return Ok(IdBatch::default()) };
    let (ids, last) = query.load_ids(c)?;
    Ok(IdBatch { ids, last: last.map(|position| search.sorting.cursor(position)) })
}

/// Counts the matches of a search, if the count was requested.
pub fn count(c: &mut AnyConnection, caller: &Caller, search: &ListingSearch) -> Result<Option<i64>, Error> {
    if !search.count {
        return Ok(None);
    }
    let mut total = 0;
    for branch in Branch::to_count(search) {
        total += matches(caller, search, &branch).count().get_result::<i64>(c)?;
    }
    Ok(Some(total))
}

/// Reads the documents of these listings, in any order.
pub fn list_by_ids(c: &mut AnyConnection, caller: &Caller, ids: &[Id]) -> Result<Vec<(Id, Json)>, Error> {
    Ok(visible(caller).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?)
}

/// The branches of a page, merged. `None` if a cursor asks for rows that this search has no branch for.
fn merged<'a>(
    caller: &'a Caller,
    search: &'a ListingSearch,
    page: &PageRequest,
    limit: i64,
) -> Option<MergedQuery<impl QueryFragment<MultiBackend> + 'a>> {
    let branches: Vec<_> = Branch::all(search, page)
        .iter()
        .map(|branch| {
            let order = order(search, branch);
            let mut query = with_sort_key(matches(caller, search, branch), search, branch);
            // A branch of rows without a value comes after all rows with one.
            let position =
                page.position().filter(|(value, _)| value.is_some() == (branch.rows != Rows::WithoutKey));
            if let Some(rows_after) = position.and_then(|position| order.after(position)) {
                query = query.filter(rows_after);
            }
            query.select((l::id, SortKey(order.key)))
        })
        .collect();
    let order = search.sorting.order(());
    (!branches.is_empty()).then(|| MergedQuery::new(branches, &order, limit, page.offset))
}

fn order(search: &ListingSearch, branch: &Branch) -> SortOrder<SortExpression> {
    search.sorting.order(match search.sorting.by.key {
        ListingSortKey::Column(name) => SortExpression::Column(name),
        ListingSortKey::Age if branch.rows == Rows::Dogs => SortExpression::DogAge(day(search.now)),
        ListingSortKey::Age => SortExpression::Column("age"),
        ListingSortKey::Distance => SortExpression::Distance(SquaredChord(search.unit())),
    })
}

//! The queries of the listing search. Each begins from `visible_with` or [`visible`].

mod filters;
mod newest_within;
mod sort_key;

use std::borrow::Cow;
use std::collections::HashSet;

use common::{Caller, Error, IdBatch, PageRequest, ResultPage};
use database::search::{MergedQuery, Position, RowSortKey, SortOrder, fulltext};
use database::{AnyConnection, Id, Json, MultiBackend};
use diesel::prelude::*;
use diesel::query_builder::QueryFragment;

use super::branch::{Branch, KeyKind};
use super::{ListingSearch, ListingSortKey};
use crate::listings::search_fields::day;
use crate::listings::store::visible;
use crate::schema::listings::dsl as l;
pub(crate) use filters::with_words;
use filters::{matches, with_sort_key};
use sort_key::{SortExpression, SquaredChord};

/// Reads one page of a search: usually one query, and one more for each counted branch if the count was requested.
pub(crate) fn search(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<ResultPage, Error> {
    let search = &*with_fulltext(c, search)?;
    let rows = match newest_within::full_page(c, caller, search)? {
        Some(rows) => rows,
        None => nearest_page(c, caller, search)?,
    };
    let mut page = ResultPage::new(rows, &search.page, &search.sorting);
    page.total = count_matches(c, caller, search)?;
    Ok(page)
}

/// Chooses the full-text query that a search by text begins with.
fn with_fulltext<'a>(
    c: &mut AnyConnection,
    search: &'a ListingSearch,
) -> Result<Cow<'a, ListingSearch>, Error> {
    Ok(match fulltext::selective_query(c, "listings_fts", &search.words)? {
        Some(query) => Cow::Owned(ListingSearch { fulltext: Some(query), ..search.clone() }),
        None => Cow::Borrowed(search),
    })
}

/// Reads the rows of a page. If the nearest listings come first, looks in a small area first, and in larger ones only
/// if that area has too few.
fn nearest_page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Vec<(Json, Position)>, Error> {
    // Few matches are sorted without looking in areas.
    let has_few_matches = search.fulltext.is_some() || search.candidates.is_some();
    let mut ring_km = search.first_ring_km().filter(|_| !has_few_matches);
    while let Some(km) = ring_km {
        let rows = page(c, caller, &search.within(km))?;
        if i64::try_from(rows.len()).is_ok_and(|count| count >= search.page.fetch()) {
            return Ok(rows);
        }
        ring_km = search.next_ring_km(km, rows.len());
    }
    page(c, caller, search)
}

/// Reads the rows of a page. Rows without a sort key come last, so their branches are read only if the others do not
/// fill the page.
///
/// They are read later than the others. A listing that loses its sort key in between is found by both reads, and is
/// returned once. One that gets a sort key in between is found by neither.
fn page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Vec<(Json, Position)>, Error> {
    let mut page = PageRequest { limit: search.page.fetch(), ..search.page.clone() };
    let mut load = |branches: &[Branch], page: &PageRequest| match merged(caller, search, branches, page) {
        Some(query) => {
            query.cache_statement(search.has_frequent_statement()).load_with_documents("listings", c)
        }
        None => Ok(Vec::new()),
    };
    let all = Branch::all(search, &page);
    let (keyed, missing): (Vec<_>, Vec<_>) =
        all.iter().cloned().partition(|branch| branch.keys != KeyKind::Missing);
    let mut rows = load(&keyed, &page)?;
    let count = i64::try_from(rows.len()).unwrap_or(i64::MAX);
    if missing.is_empty() || count >= page.limit {
        return Ok(rows);
    }
    if rows.is_empty() && page.offset > 0 {
        // Nothing says how many rows with a sort key the offset skips.
        return Ok(load(&all, &page)?);
    }
    // As many as the page has: some may be there already.
    page.offset = 0;
    append_others(&mut rows, load(&missing, &page)?, page.limit);
    Ok(rows)
}

/// Appends those of the rows whose listings are not there yet, up to this number of rows.
fn append_others(rows: &mut Vec<(Json, Position)>, more: Vec<(Json, Position)>, limit: i64) {
    let present: HashSet<Id> = rows.iter().map(|(_, (_, id))| *id).collect();
    rows.extend(more.into_iter().filter(|(_, (_, id))| !present.contains(id)));
    rows.truncate(usize::try_from(limit).unwrap_or_default());
}

/// Reads the ids of a block of listings of a search, and the position of the last one.
pub(crate) fn id_batch(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let search = &*with_fulltext(c, search)?;
    let Some(query) = merged(caller, search, &Branch::all(search, page), page) else {
        return Ok(IdBatch::default());
    };
    let (ids, last) = query.load_ids(c)?;
    Ok(IdBatch { ids, last: last.map(|position| search.sorting.cursor(position)) })
}

/// Counts the matches of a search, if the count was requested.
pub(crate) fn count(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Option<i64>, Error> {
    let search = &*with_fulltext(c, search)?;
    count_matches(c, caller, search)
}

/// As [`count`], for a search with its full-text query.
fn count_matches(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Option<i64>, Error> {
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
pub(crate) fn list_by_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    ids: &[Id],
) -> Result<Vec<(Id, Json)>, Error> {
    Ok(visible(caller).filter(l::id.eq_any(ids)).select((l::id, l::document)).load(c)?)
}

/// Merges branches into one query for the rows of a page. Returns `None` without branches: a cursor may ask for rows
/// that the search has no branch for.
fn merged<'a>(
    caller: &'a Caller,
    search: &'a ListingSearch,
    branches: &[Branch],
    page: &PageRequest,
) -> Option<MergedQuery<impl QueryFragment<MultiBackend> + use<'a>>> {
    let branches: Vec<_> = branches
        .iter()
        .map(|branch| {
            let order = order(search, branch);
            let mut query = with_sort_key(matches(caller, search, branch), search, branch);
            // All rows without a sort key follow a cursor that has one.
            let position =
                page.position().filter(|(value, _)| value.is_some() == (branch.keys != KeyKind::Missing));
            if let Some(rows_after) = position.and_then(|position| order.after(position)) {
                query = query.filter(rows_after);
            }
            query.select((l::id, RowSortKey(order.key)))
        })
        .collect();
    let order = search.sorting.order(());
    (!branches.is_empty()).then(|| MergedQuery::new(branches, &order, page.limit, page.offset))
}

/// Returns the order of a branch: the expression of its sort keys, then the id.
fn order(search: &ListingSearch, branch: &Branch) -> SortOrder<SortExpression> {
    search.sorting.order(match search.sorting.by.key {
        ListingSortKey::Column(name) => SortExpression::Column(name),
        ListingSortKey::Age if branch.keys == KeyKind::DogAge => SortExpression::DogAge(day(search.now)),
        ListingSortKey::Age => SortExpression::Column("age"),
        ListingSortKey::Distance => SortExpression::Distance(SquaredChord::of(search)),
    })
}

#[cfg(test)]
mod tests {
    use database::search::SortValue;

    use super::*;

    fn row(n: u32, key: Option<i64>) -> (Json, Position) {
        let id = Id::parse(&format!("00000000-0000-7000-8000-{n:012}")).unwrap();
        (Json(n.to_string()), (key.map(SortValue::Integer), id))
    }

    /// The price of listing 2 was removed between both reads.
    #[test]
    fn a_listing_that_is_edited_between_two_reads_is_returned_once() {
        let keyed = vec![row(1, Some(5)), row(2, Some(6))];
        let missing = vec![row(2, None), row(7, None), row(8, None), row(9, None)];
        for (limit, expected) in
            [(3, &["1", "2", "7"][..]), (4, &["1", "2", "7", "8"]), (9, &["1", "2", "7", "8", "9"])]
        {
            let mut rows = keyed.clone();
            append_others(&mut rows, missing.clone(), limit);
            let found: Vec<_> = rows.iter().map(|(document, _)| document.0.as_str()).collect();
            assert_eq!(found, expected);
            assert_eq!(rows[1], keyed[1], "where it was");
        }
    }
}

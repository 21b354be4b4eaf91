//! The queries of the listing search. Each begins from `visible_with` or [`visible`].

mod filters;
mod sort_key;

use std::collections::HashSet;

use common::{Caller, Error, Format, IdBatch, PageRequest, ResultPage};
use database::search::{MergedQuery, Position, RowSortKey, SortOrder, words};
use database::{AnyConnection, Database, Id, Json, MultiBackend};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Bool, Double, Integer, Text};

use super::plan::{Branch, BreedColumn, Candidates, KeyKind, Plan, Rings, Start};
use super::{ListingSearch, ListingSortKey};
use crate::listings::calendar::day;
use crate::listings::geo::{Cell, squared_chord_of};
use crate::listings::model::append_distance;
use crate::listings::store::{mark_suspended, mark_wishlisted};
use crate::schema::listings::dsl as l;
pub(crate) use filters::with_words;
use filters::{Reading, matches, matches_anywhere, with_sort_key};
use sort_key::{SortExpression, SquaredChord};

/// Rows that are read in cells for each row up to the end of the page. An area of 50 km is at least a tenth of its
/// cells, except near the poles.
const SCANNED_PER_ROW: i64 = 24;

/// Reads a page of a search. Each listing has its distance, if the search has a point and is not public.
///
/// # Errors
/// If the database fails.
pub(crate) async fn find_page(
    db: &Database,
    caller: Caller,
    search: ListingSearch,
    candidates: Candidates,
) -> Result<ResultPage, Error> {
    let (near, plan) = (search.near.filter(|_| !search.is_public()), Plan::of(&search));
    let read = move |c: &mut _| read_page(c, &caller, &search, &candidates);
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

/// Reads one page of a search: usually one query, and one more for each counted branch if the count was requested.
fn read_page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
    candidates: &Candidates,
) -> Result<ResultPage, Error> {
    let fulltext = fulltext_of(c, search)?;
    let reading = Reading::new(c, caller, search, candidates, fulltext.as_deref())?;
    let has_few_matches = fulltext.is_some() || reading.candidates.is_some();
    let full = match Start::of(search, matches!(c, AnyConnection::Sqlite(_)), has_few_matches) {
        Start::Cells(cells) => full_page_of_cells(c, reading, cells)?,
        Start::Rings(rings) => full_page_of_rings(c, reading, rings)?,
        Start::Everywhere => None,
    };
    let mut rows = match full {
        Some(rows) => rows,
        None => page(c, reading)?,
    };
    if !search.is_public() && search.format == Format::Json {
        mark_wishlisted(c, caller, rows.iter_mut().map(|(document, (_, id))| (*id, &mut document.0)))?;
        mark_suspended(c, caller, rows.iter_mut().map(|(document, (_, id))| (*id, &mut document.0)))?;
    }
    let mut page = ResultPage::new(rows, &search.page, &search.sorting);
    page.total = count_matches(c, reading)?;
    Ok(page)
}

/// Returns the full-text query that a search by text begins with, if an index helps.
fn fulltext_of(c: &mut AnyConnection, search: &ListingSearch) -> Result<Option<String>, Error> {
    Ok(words::selective_query(c, "listings_fts", &search.words)?)
}

/// Returns true if rows fill a page.
fn fill(rows: &[(Json, Position)], search: &ListingSearch) -> bool {
    i64::try_from(rows.len()).is_ok_and(|count| count >= search.page.fetch())
}

/// Reads a page of the nearest listings from the rings around the point. Returns `None` if none of them fills it.
fn full_page_of_rings(
    c: &mut AnyConnection,
    reading: Reading<'_>,
    rings: Rings,
) -> Result<Option<Vec<(Json, Position)>>, Error> {
    let mut ring_km = rings.first_km();
    while let Some(km) = ring_km {
        let within = reading.search.within(km);
        let rows = page(c, Reading { search: &within, ..reading })?;
        if fill(&rows, reading.search) {
            return Ok(Some(rows));
        }
        ring_km = rings.next_km(km, rows.len());
    }
    Ok(None)
}

/// Reads a page of the newest or oldest listings within a distance from an index that has the listings of each cell in
/// this order: the cost depends neither on the number of listings nor on their density. Returns `None` if the listings
/// within the distance are too few among those of the cells to fill the page.
fn full_page_of_cells(
    c: &mut AnyConnection,
    reading: Reading<'_>,
    cells: Vec<Cell>,
) -> Result<Option<Vec<(Json, Position)>>, Error> {
    let search = reading.search;
    let Some(km) = search.within_km() else { return Ok(None) };
    let page = &search.page;
    let breed = if search.breeds.is_empty() { BreedColumn::Any } else { BreedColumn::Breed };
    let branch = Branch { longitudes: None, breed, keys: KeyKind::Always };
    let order = order(search, &branch);
    let in_cell = |Cell { row, column }| {
        // The expressions of the index.
        let row = sql::<Bool>("(band + 900) / 10 = ").bind::<Integer, _>(row);
        let cell = row.sql(" AND CAST((lon + 180.0) / 2.0 AS INTEGER) = ").bind::<Integer, _>(column);
        let mut query = matches_anywhere(reading, &branch).filter(cell);
        if let Some(rows_after) = page.position().and_then(|position| order.after(position)) {
            query = query.filter(rows_after);
        }
        query.select((l::id, RowSortKey(order.key), l::x, l::y, l::z))
    };
    let branches = cells.into_iter().map(in_cell).collect();
    let merged = MergedQuery::new(branches, &search.sorting.order(()), page.fetch(), page.offset);
    let within = Within {
        chord: SquaredChord::of(search),
        max: squared_chord_of(km),
        breed: search.breeds.first().map(String::as_str),
    };
    let scanned = (page.offset + page.fetch()) * SCANNED_PER_ROW;
    let query = merged.filter_first(scanned, within).cache_statement(true);
    let rows = query.load_with_documents("listings", c)?;
    Ok(fill(&rows, search).then_some(rows))
}

/// Reads the rows of a page. Rows without a sort key come last, so their branches are read only if the others do not
/// fill the page.
///
/// They are read later than the others. A listing that loses its sort key in between is found by both reads, and is
/// returned once. One that gets a sort key in between is found by neither.
fn page(c: &mut AnyConnection, reading: Reading<'_>) -> Result<Vec<(Json, Position)>, Error> {
    let search = reading.search;
    let mut page = PageRequest { limit: search.page.fetch(), ..search.page.clone() };
    let mut load = |branches: &[Branch], page: &PageRequest| match merged(reading, branches, page) {
        Some(query) => {
            query.cache_statement(Plan::of(search).is_prepared()).load_with_documents("listings", c)
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
    candidates: &Candidates,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let fulltext = fulltext_of(c, search)?;
    let reading = Reading::new(c, caller, search, candidates, fulltext.as_deref())?;
    let Some(query) = merged(reading, &Branch::all(search, page), page) else {
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
    candidates: &Candidates,
) -> Result<Option<i64>, Error> {
    let fulltext = fulltext_of(c, search)?;
    let reading = Reading::new(c, caller, search, candidates, fulltext.as_deref())?;
    count_matches(c, reading)
}

fn count_matches(c: &mut AnyConnection, reading: Reading<'_>) -> Result<Option<i64>, Error> {
    if !reading.search.count {
        return Ok(None);
    }
    let mut total = 0;
    for branch in Branch::to_count(reading.search) {
        // All matches are counted, in no order.
        total += matches(Reading { in_order: false, ..reading }, &branch).count().get_result::<i64>(c)?;
    }
    Ok(Some(total))
}

/// Merges branches into one query for the rows of a page. Returns `None` without branches: a cursor may ask for rows
/// that the search has no branch for.
fn merged<'a>(
    reading: Reading<'a>,
    branches: &[Branch],
    page: &PageRequest,
) -> Option<MergedQuery<impl QueryFragment<MultiBackend> + use<'a>>> {
    let search = reading.search;
    let branches: Vec<_> = branches
        .iter()
        .map(|branch| {
            let order = order(search, branch);
            let mut query = with_sort_key(matches(reading, branch), search, branch);
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

/// The condition for listings within a distance. No listing meets it if the breed is also a breed type: the index does
/// not have breed types.
struct Within<'a> {
    chord: SquaredChord,
    max: f64,
    breed: Option<&'a str>,
}

impl QueryFragment<MultiBackend> for Within<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, MultiBackend>) -> QueryResult<()> {
        self.chord.walk_ast(out.reborrow())?;
        out.push_sql(" <= ");
        out.push_bind_param::<Double, _>(&self.max)?;
        if let Some(breed) = self.breed {
            out.push_sql(" AND NOT EXISTS (SELECT 1 FROM listings WHERE breed_type = ");
            out.push_bind_param::<Text, _>(breed)?;
            out.push_sql(")");
        }
        Ok(())
    }
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

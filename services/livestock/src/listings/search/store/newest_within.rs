//! Pages of the newest or oldest listings within a distance, read from an index that has the listings of each part of
//! the globe in this order. The cost depends neither on the number of listings nor on their density.

use common::{Caller, Error};
use database::search::{MergedQuery, Position, RowSortKey};
use database::{AnyConnection, Json, MultiBackend};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment};
use diesel::sql_types::{Bool, Double, Integer, Text};

use super::filters::matches_anywhere;
use super::order;
use super::sort_key::SquaredChord;
use crate::listings::geo::{Cell, squared_chord_of};
use crate::listings::search::branch::{Branch, BreedColumn, KeyKind};
use crate::listings::search::{ListingSearch, ListingSortKey};
use crate::schema::listings::dsl as l;

/// The most rows up to the end of a page.
const MAX_PAGE_END: i64 = 200;
/// Rows that are read for each row up to the end of the page. An area of 50 km is at least a tenth of its cells, except
/// near the poles.
const SCANNED_PER_ROW: i64 = 24;

/// Reads a page, if it is full. Returns `None` for other searches, and if the listings within the distance are few
/// among those around.
///
/// PostgreSQL has no such index. Public searches do not use it.
pub(super) fn full_page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &ListingSearch,
) -> Result<Option<Vec<(Json, Position)>>, Error> {
    let (page, page_end) = (&search.page, search.page.offset + search.page.fetch());
    let is_supported = matches!(c, AnyConnection::Sqlite(_))
        && search.sorting.by.key == ListingSortKey::PUBLISHED
        && search.has_frequent_statement()
        && !search.is_public()
        && page_end <= MAX_PAGE_END;
    let cells = search.bounding_area().and_then(|area| area.few_cells());
    let (Some(cells), Some(km)) = (cells.filter(|_| is_supported), search.within_km()) else {
        return Ok(None);
    };
    let breed = if search.breeds.is_empty() { BreedColumn::Any } else { BreedColumn::Breed };
    let branch = Branch { longitudes: None, breed, keys: KeyKind::Always };
    let order = order(search, &branch);
    let in_cell = |Cell { row, column }| {
        // The expressions of the index.
        let row = sql::<Bool>("(band + 900) / 10 = ").bind::<Integer, _>(row);
        let cell = row.sql(" AND CAST((lon + 180.0) / 2.0 AS INTEGER) = ").bind::<Integer, _>(column);
        let mut query = matches_anywhere(caller, search, &branch).filter(cell);
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
    let query = merged.filter_first(page_end * SCANNED_PER_ROW, within).cache_statement(true);
    let rows = query.load_with_documents("listings", c)?;
    Ok(i64::try_from(rows.len()).is_ok_and(|count| count >= page.fetch()).then_some(rows))
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

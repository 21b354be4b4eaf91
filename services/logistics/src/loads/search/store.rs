//! The queries of the load search. Each begins from [`visible`].

use common::{Caller, Error, IdBatch, PageRequest, ResultPage};
use database::search::{Column, MergedQuery, SortKey, SortOrder, like};
use database::{AnyConnection, Id};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};

use super::super::store::{LoadQuery, Role, visible};
use super::{LoadSearch, words};
use crate::schema::loads::dsl as l;

/// Reads one page of a search: one query, and a second one for the count if it was requested.
pub fn search(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    page: &PageRequest,
) -> Result<ResultPage, Error> {
    let fulltext = fulltext_query(c, search)?;
    let key = SortKey(search.sorting.by.key.column);
    let branches = branches(caller, search, page, fulltext.as_deref());
    let branches = branches.into_iter().map(|branch| branch.select((l::id, key, l::document)));
    let query = MergedQuery::new(branches.collect(), &order(search), page.fetch(), page.offset);
    let mut rows = ResultPage::new(query.load(c)?, page, &search.sorting);
    if search.count {
        rows.total = Some(count_matches(c, caller, search, fulltext.as_deref())?);
    }
    Ok(rows)
}

/// Counts the matches of a search, if the count was requested.
pub fn count(c: &mut AnyConnection, caller: &Caller, search: &LoadSearch) -> Result<Option<i64>, Error> {
    if !search.count {
        return Ok(None);
    }
    let fulltext = fulltext_query(c, search)?;
    Ok(Some(count_matches(c, caller, search, fulltext.as_deref())?))
}

fn count_matches(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    fulltext: Option<&str>,
) -> Result<i64, Error> {
    Ok(matches(caller, Role::Any, search, fulltext).count().get_result(c)?)
}

/// Reads the ids of many loads of a search, and the position of the last. Both come from one statement: a load that
/// changes before the next batch can move, but the start of the next batch cannot.
pub fn id_batch(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let fulltext = fulltext_query(c, search)?;
    let key = SortKey(search.sorting.by.key.column);
    let branches = branches(caller, search, page, fulltext.as_deref());
    let branches = branches.into_iter().map(|branch| branch.select((l::id, key)));
    let query = MergedQuery::new(branches.collect(), &order(search), page.limit, page.offset);
    let (ids, last) = query.load_ids(c)?;
    Ok(IdBatch { ids, last: last.map(|position| search.sorting.cursor(position)) })
}

fn order(search: &LoadSearch) -> SortOrder<Column> {
    search.sorting.order(search.sorting.by.key.column)
}

/// The matches after the cursor, as queries that have no row in common.
fn branches<'a>(
    caller: &'a Caller,
    search: &'a LoadSearch,
    page: &PageRequest,
    fulltext: Option<&'a str>,
) -> Vec<LoadQuery<'a>> {
    let branch = |role: &Role| {
        let query = matches(caller, *role, search, fulltext);
        match page.position().and_then(|position| order(search).after(position)) {
            Some(rows_after) => query.filter(rows_after),
            None => query,
        }
    };
    roles(caller, search).iter().map(branch).collect()
}

/// A full-text query that matches fewer loads than this, of all organisations, begins with the full-text index. With
/// more matches it is cheaper to read the caller's own loads in order: a page's worth is found soon.
const MAX_FULLTEXT_MATCHES: i64 = 5_000;

/// Returns the full-text query that a search begins with. Only on SQLite, which has no statistics to choose the index
/// by.
fn fulltext_query(c: &mut AnyConnection, search: &LoadSearch) -> Result<Option<String>, Error> {
    let (AnyConnection::Sqlite(_), Some(query)) = (&mut *c, words::trigrams(&search.words)) else {
        return Ok(None);
    };
    let count = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_fts WHERE loads_fts MATCH ")
        .bind::<Text, _>(&query)
        .sql(" LIMIT ")
        .bind::<BigInt, _>(MAX_FULLTEXT_MATCHES)
        .sql("))");
    let count: i64 = diesel::select(count).get_result(c)?;
    Ok((count < MAX_FULLTEXT_MATCHES).then_some(query))
}

/// The number of loads that may wait for the full-text index of SQLite: indexing them one by one costs four times as
/// much each.
const MAX_UNINDEXED: i64 = 500;
/// The loads indexed by one transaction, which takes about 50 ms.
const INDEX_BATCH_SIZE: i64 = 2_000;

/// True if [`MAX_UNINDEXED`] loads wait for the full-text index. Never on PostgreSQL, whose index is up to date.
pub fn has_unindexed(c: &mut AnyConnection) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let count = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_unindexed LIMIT ");
    let count: i64 = diesel::select(count.bind::<BigInt, _>(MAX_UNINDEXED).sql("))")).get_result(c)?;
    Ok(count == MAX_UNINDEXED)
}

/// Puts a batch of the waiting loads into the full-text index.
pub fn index_batch(c: &mut AnyConnection) -> Result<(), Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(()) };
    let batch = format!("IN (SELECT n FROM loads_unindexed ORDER BY n LIMIT {INDEX_BATCH_SIZE})");
    let insert =
        "INSERT OR REPLACE INTO loads_fts (rowid, search_text) SELECT n, search_text FROM loads WHERE n";
    for statement in [insert, "DELETE FROM loads_unindexed WHERE n"] {
        diesel::sql_query(format!("{statement} {batch}")).execute(c)?;
    }
    Ok(())
}

/// Returns the roles in which the caller can have matches. One role wherever the filters allow it: a database reads a
/// branch without matches to its end.
fn roles(caller: &Caller, search: &LoadSearch) -> &'static [Role] {
    let (organiser, carrier) = (search.organiser_id.as_deref(), search.carrier_id.as_deref());
    let own = |id: Option<&str>| id.is_some_and(|id| caller.acts_for(id));
    if caller.admin || own(organiser) || own(carrier) {
        &[Role::Any]
    } else if organiser.is_some() {
        &[Role::Carrier]
    } else if carrier.is_some() {
        &[Role::Organiser]
    } else {
        &[Role::Organiser, Role::Carrier]
    }
}

/// The most loads that a branch may skip on each page of an export.
const MAX_SKIPPED: i64 = 1_000;

/// True if no branch of a search skips many loads to find a page. The branch for carriers skips the loads that the
/// caller organises as well.
pub fn skips_few_loads(c: &mut AnyConnection, caller: &Caller, search: &LoadSearch) -> Result<bool, Error> {
    if roles(caller, search).len() == 1 {
        return Ok(true);
    }
    let in_both_roles = visible(caller, Role::Organiser).filter(l::carrier_id.eq(caller.organisation_id()));
    let last = in_both_roles.select(l::id).offset(MAX_SKIPPED).first::<Id>(c).optional()?;
    Ok(last.is_none())
}

/// The loads that the caller sees in this role and that pass all filters.
fn matches<'a>(
    caller: &'a Caller,
    role: Role,
    search: &'a LoadSearch,
    fulltext: Option<&'a str>,
) -> LoadQuery<'a> {
    let mut query = visible(caller, role);
    if let Some(fulltext) = fulltext {
        let indexed = sql::<Bool>("n IN (SELECT rowid FROM loads_fts WHERE loads_fts MATCH ");
        query =
            query.filter(indexed.bind::<Text, _>(fulltext).sql(" UNION ALL SELECT n FROM loads_unindexed)"));
    }
    if let Some(id) = &search.organiser_id {
        query = query.filter(l::organiser_id.eq(id));
    }
    if let Some(id) = &search.carrier_id {
        query = query.filter(l::carrier_id.eq(id));
    }
    if let Some(status) = &search.status {
        query = query.filter(l::status.eq(status));
    }
    if let Some(start) = search.start {
        query = query.filter(l::delivery_at.ge(start));
    }
    if let Some(end) = search.end {
        query = query.filter(l::delivery_at.le(end));
    }
    if let Some((first, last)) = search.completed {
        query = query.filter(l::completed_at.is_not_null());
        // An organiser's export leaves out loads that others entered until the organiser accepts them.
        let is_accepted = l::awaits_acceptance.is_null();
        query = match role {
            Role::Organiser => query.filter(is_accepted),
            Role::Any if !caller.admin => {
                query.filter(is_accepted.or(l::carrier_id.eq(caller.organisation_id())))
            }
            Role::Any | Role::Carrier => query,
        };
        if let Some(first) = first {
            query = query.filter(l::completed_at.ge(first));
        }
        if let Some(last) = last {
            query = query.filter(l::completed_at.le(last));
        }
    }
    for word in &search.words {
        query = query.filter(l::search_text.like(like::containing(word)).escape('\\'));
    }
    query
}

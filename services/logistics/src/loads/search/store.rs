//! The queries of the search. Each begins from [`visible`].

use common::{Caller, Cursor, Error, IdBatch, PageRequest, ResultPage, SortValue, after, after_nullable};
use database::{AnyConnection, Id, IdSql, MergedQuery, Nulls, OrderBy, Timestamp, TimestampSql};
use diesel::connection::DefaultLoadingMode;
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};

use super::super::model::{Load, Sort};
use super::super::store::{Query, Role, visible};
use super::{Search, words};
use crate::schema::loads::dsl as l;

/// One page of a search, and its cursor. One query; two if a count was asked for.
pub fn search(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &Search,
    page: &PageRequest,
) -> Result<ResultPage, Error> {
    let narrowed = narrowed(c, search)?;
    let columns = (
        (l::delivery_at, l::created_at, l::completed_at, l::reference_key, l::status, l::organiser_key),
        (l::carrier_key, l::commodity_key, l::weight, l::weight_net, l::id, l::document),
    );
    let matching = |role| matching(caller, role, search, narrowed.as_deref());
    let branches = roles(caller, search).iter();
    let branches = branches.map(|role| remaining(matching(*role), search, page).select(columns));
    let found = MergedQuery::new(c, branches.collect(), by(search), page.fetch(), page.offset);
    let mut rows = ResultPage::new(found.load(c)?, page, |last| {
        let load: Load = last.parse()?;
        Ok(Cursor { sort: search.sorting.order.clone(), value: load.key(search.sorting.sort), id: load.id })
    })?;
    if search.count {
        rows.total = Some(matching(Role::Any).count().get_result(c)?);
    }
    Ok(rows)
}

/// How many loads match, if that was asked.
pub fn count(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<Option<i64>, Error> {
    if !search.count {
        return Ok(None);
    }
    let narrowed = narrowed(c, search)?;
    Ok(Some(matching(caller, Role::Any, search, narrowed.as_deref()).count().get_result(c)?))
}

/// The ids of many loads of a search, and where it goes on. The place comes from the same statement: a load that is
/// changed in between can move, but not the place where the next block begins.
pub fn block(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &Search,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let (by, narrowed) = (by(search), narrowed(c, search)?);
    macro_rules! keys {
        ($sql:ty, $rust:ty, $key:expr) => {{
            let branches = roles(caller, search).iter().map(|role| {
                let matching = matching(caller, *role, search, narrowed.as_deref());
                remaining(matching, search, page).select((l::id, sql::<$sql>(by.column)))
            });
            let keys =
                MergedQuery::<_, (IdSql, $sql)>::keys(c, branches.collect(), by, page.limit, page.offset);
            let (mut ids, mut last) = (Vec::new(), None);
            for row in keys.load_iter::<(Id, Option<$rust>), DefaultLoadingMode>(c)? {
                let (id, value) = row?;
                ids.push(id);
                last = Some((id, value));
            }
            let sort = search.sorting.order.clone();
            let last = last.map(|(id, value)| Cursor { sort, value: value.map($key), id });
            Ok(IdBatch { ids, last })
        }};
    }
    match search.sorting.sort {
        Sort::DeliveryDate | Sort::CreatedAt | Sort::CompletedAt => {
            keys!(Nullable<TimestampSql>, Timestamp, |at| SortValue::Number(at.millis()))
        }
        Sort::Weight | Sort::WeightNet => keys!(Nullable<BigInt>, i64, SortValue::Number),
        Sort::Reference | Sort::Status | Sort::Organiser | Sort::Carrier | Sort::Commodity => {
            keys!(Nullable<Text>, String, SortValue::Text)
        }
    }
}

/// Fewer than this many loads with the words of a search, of all organisations, are read one by one. Of more it is
/// cheaper to go through the caller's own in order: a page's worth is found soon.
const MAX_COUNTED_MATCHES: i64 = 5_000;

/// On SQLite, which has no statistics to decide by: the full-text query that a search is to begin with.
fn narrowed(c: &mut AnyConnection, search: &Search) -> Result<Option<String>, Error> {
    let (AnyConnection::Sqlite(_), Some(query)) = (&mut *c, words::trigrams(&search.words)) else {
        return Ok(None);
    };
    let some = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_fts WHERE loads_fts MATCH ")
        .bind::<Text, _>(&query)
        .sql(" LIMIT ")
        .bind::<BigInt, _>(MAX_COUNTED_MATCHES)
        .sql("))");
    let some: i64 = diesel::select(some).get_result(c)?;
    Ok((some < MAX_COUNTED_MATCHES).then_some(query))
}

/// So few loads may wait for the full-text index of SQLite: one by one each would cost four times as much.
const WAITING: i64 = 500;
/// So many are put there at once, which takes some 50 ms.
const SLICE: i64 = 2_000;

/// True if more than a few loads wait for the full-text index.
pub fn has_unindexed(c: &mut AnyConnection) -> Result<bool, Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(false) };
    let some = sql::<BigInt>("(SELECT count(*) FROM (SELECT 1 FROM loads_unindexed LIMIT ");
    let some: i64 = diesel::select(some.bind::<BigInt, _>(WAITING).sql("))")).get_result(c)?;
    Ok(some == WAITING)
}

/// Puts some of those that wait into the full-text index.
pub fn index_some(c: &mut AnyConnection) -> Result<(), Error> {
    let AnyConnection::Sqlite(c) = c else { return Ok(()) };
    let some = format!("IN (SELECT n FROM loads_unindexed ORDER BY n LIMIT {SLICE})");
    let index =
        "INSERT OR REPLACE INTO loads_fts (rowid, search_text) SELECT n, search_text FROM loads WHERE n";
    for begin in [index, "DELETE FROM loads_unindexed WHERE n"] {
        diesel::sql_query(format!("{begin} {some}")).execute(c)?;
    }
    Ok(())
}

/// The roles in which a caller can have what is searched for: one wherever the filters say so, since a branch without
/// matches would be read to its end.
fn roles(caller: &Caller, search: &Search) -> &'static [Role] {
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

/// So many loads at most are passed over at each page of an export.
const PASSED_OVER: i64 = 1_000;

/// True if no branch of a search passes over many loads to find a page: those that a caller both organises and carries
/// are found by one branch, and passed over by the other.
pub fn passes_over_few(c: &mut AnyConnection, caller: &Caller, search: &Search) -> Result<bool, Error> {
    if roles(caller, search).len() == 1 {
        return Ok(true);
    }
    let both = visible(caller, Role::Organiser).filter(l::carrier_id.eq(caller.organisation_id()));
    let more = both.select(l::id).offset(PASSED_OVER).first::<Id>(c).optional()?;
    Ok(more.is_none())
}

fn matching<'a>(caller: &'a Caller, role: Role, search: &'a Search, narrowed: Option<&'a str>) -> Query<'a> {
    let mut query = visible(caller, role);
    if let Some(fts) = narrowed {
        let begin = sql::<Bool>("n IN (SELECT rowid FROM loads_fts WHERE loads_fts MATCH ");
        query = query.filter(begin.bind::<Text, _>(fts).sql(" UNION ALL SELECT n FROM loads_unindexed)"));
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
        // An organiser's export leaves out what others entered and the organiser has not accepted.
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
        query = query.filter(l::search_text.like(words::pattern(word)).escape('\\'));
    }
    query
}

/// Those after the cursor.
fn remaining<'a>(query: Query<'a>, search: &Search, page: &PageRequest) -> Query<'a> {
    let desc = search.sorting.desc;
    match search.sorting.sort {
        Sort::DeliveryDate => after!(query, l::delivery_at, l::id, desc, page.after_instant()),
        Sort::CreatedAt => after!(query, l::created_at, l::id, desc, page.after_instant()),
        // A search by it has those only that are completed.
        Sort::CompletedAt => after!(query, l::completed_at, l::id, desc, page.after_instant()),
        Sort::Reference => after!(query, l::reference_key, l::id, desc, page.after_text()),
        Sort::Status => after!(query, l::status, l::id, desc, page.after_text()),
        Sort::Commodity => after!(query, l::commodity_key, l::id, desc, page.after_text()),
        Sort::Organiser => after_nullable!(query, l::organiser_key, l::id, desc, page.after_text()),
        Sort::Carrier => after_nullable!(query, l::carrier_key, l::id, desc, page.after_text()),
        Sort::Weight => after_nullable!(query, l::weight, l::id, desc, page.after_number()),
        Sort::WeightNet => after_nullable!(query, l::weight_net, l::id, desc, page.after_number()),
    }
}

fn by(search: &Search) -> OrderBy {
    let (column, missing) = match search.sorting.sort {
        Sort::DeliveryDate => ("delivery_at", Nulls::Never),
        Sort::CreatedAt => ("created_at", Nulls::Never),
        Sort::CompletedAt => ("completed_at", Nulls::Never),
        Sort::Reference => ("reference_key", Nulls::Never),
        Sort::Status => ("status", Nulls::Never),
        Sort::Commodity => ("commodity_key", Nulls::Never),
        Sort::Organiser => ("organiser_key", Nulls::Mixed),
        Sort::Carrier => ("carrier_key", Nulls::Mixed),
        Sort::Weight => ("weight", Nulls::Mixed),
        Sort::WeightNet => ("weight_net", Nulls::Mixed),
    };
    OrderBy { column, missing, desc: search.sorting.desc }
}

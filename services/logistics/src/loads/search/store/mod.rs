//! The queries of the load search. Each begins from [`visible`].

mod plan;
mod summary;

use common::{Caller, Error, IdBatch, PageRequest, ResultPage};
use database::search::{MergedQuery, RowSortKey, SortKey};
use database::{AnyConnection, Database, Id, Json};
use diesel::prelude::*;
use serde::Serialize;

use super::{DriverFilter, Include, LoadSearch};
use crate::loads::history::{NoteReader, newest_notes};
use crate::loads::store::{LoadQuery, Role, drivers_of, visible};
use crate::schema::loads::dsl as l;
use plan::{SearchPlan, at_dates, matches, roles};
pub(crate) use summary::summarize;

/// Reads one page of a search.
///
/// # Errors
/// If the database fails.
pub(crate) async fn find_page(
    db: &Database,
    caller: Caller,
    search: LoadSearch,
) -> Result<ResultPage, Error> {
    let has_reusable_plan = search.has_reusable_plan();
    let read = move |c: &mut _| read_page(c, &caller, &search, &search.page);
    if has_reusable_plan { db.read_with_reusable_plan(read).await } else { db.read(read).await }
}

/// Reads one page of a search: one query, and a second one for the count if it was requested.
pub(crate) fn read_page(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    page: &PageRequest,
) -> Result<ResultPage, Error> {
    let plan = SearchPlan::new(c, caller, search)?;
    let key = SortKey(plan.key);
    let branches = branches(caller, search, page, &plan).into_iter();
    let (order, limit, cache) = (plan.sort_order(search), page.fetch(), search.has_cached_statements());
    let rows = if plan.is_sorted {
        // Documents are not sorted with their keys.
        let branches = branches.map(|branch| branch.select((l::id, RowSortKey(plan.key)))).collect();
        let query = MergedQuery::new(branches, &order, limit, page.offset).cache_statement(cache);
        query.load_with_documents("loads", c)?
    } else {
        let branches = branches.map(|branch| branch.select((l::id, key, l::document))).collect();
        MergedQuery::new(branches, &order, limit, page.offset).cache_statement(cache).load(c)?
    };
    let ids: Vec<Id> = rows.iter().map(|(_, (_, id))| *id).collect();
    let mut rows = ResultPage::new(rows, page, &search.sorting);
    append_included(c, caller, search, (&ids, &mut rows.documents))?;
    if search.count {
        rows.total = Some(count_matches(c, caller, search, &plan)?);
    }
    Ok(rows)
}

/// Appends what the search includes to the documents of loads: notes and drivers, each read for all loads together.
fn append_included(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    (ids, documents): (&[Id], &mut [String]),
) -> Result<(), Error> {
    let is_driver = search.driver == Some(DriverFilter::Caller);
    if search.include.contains(&Include::NewestNote) {
        let reader = match (is_driver, caller.admin) {
            (true, _) => NoteReader::Driver(&caller.user_id),
            (_, true) => NoteReader::Admin,
            _ => NoteReader::Party(caller.organisation_id_or_empty()),
        };
        let notes = newest_notes(c, ids, reader)?;
        for (id, document) in ids.iter().zip(&mut *documents) {
            if let Some(note) = notes.get(id) {
                append(document, "newestNote", note)?;
            }
        }
    }
    // A driver does not learn who else drives a load.
    if search.include.contains(&Include::DriverIds) && !is_driver {
        let drivers = drivers_of(c, ids, Some(caller))?;
        for (id, document) in ids.iter().zip(documents) {
            append(document, "driverIds", drivers.get(id).unwrap_or(&Vec::new()))?;
        }
    }
    Ok(())
}

/// Appends a member to a JSON object.
fn append(document: &mut String, name: &str, value: &impl Serialize) -> Result<(), Error> {
    let value = Json::of(value)?;
    document.truncate(document.trim_end().len() - 1);
    document.extend([",\"", name, "\":", &value.0, "}"]);
    Ok(())
}

/// Counts the matches of a search, if the count was requested.
pub(crate) fn count(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
) -> Result<Option<i64>, Error> {
    if !search.count {
        return Ok(None);
    }
    let plan = SearchPlan::new(c, caller, search)?;
    Ok(Some(count_matches(c, caller, search, &plan)?))
}

/// Counts the matches of a search.
fn count_matches(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    plan: &SearchPlan,
) -> Result<i64, Error> {
    let plan = SearchPlan { skips_dates: false, ..plan.clone() };
    let is_driver = search.driver == Some(DriverFilter::Caller);
    let role = if is_driver { Role::Driver } else { Role::Any };
    Ok(matches(caller, role, search, &plan).count().get_result(c)?)
}

/// Reads the ids of a block of loads of a search, and the position of the last one. Both come from one statement: a
/// load that changes before the next batch can move, but the start of the next batch cannot.
pub(crate) fn id_batch(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
    page: &PageRequest,
) -> Result<IdBatch, Error> {
    let plan = SearchPlan::new(c, caller, search)?;
    let key = SortKey(plan.key);
    let branches = branches(caller, search, page, &plan).into_iter();
    let branches = branches.map(|branch| branch.select((l::id, key))).collect();
    let query = MergedQuery::new(branches, &plan.sort_order(search), page.limit, page.offset);
    let (ids, last) = query.cache_statement(search.has_cached_statements()).load_ids(c)?;
    Ok(IdBatch { ids, last: last.map(|position| search.sorting.cursor(position)) })
}

/// Returns queries that together have the matches after the cursor, each once.
fn branches<'a>(
    caller: &'a Caller,
    search: &'a LoadSearch,
    page: &PageRequest,
    plan: &'a SearchPlan,
) -> Vec<LoadQuery<'a>> {
    let branch = |role: &Role| {
        let query = matches(caller, *role, search, plan);
        match page.position().and_then(|position| plan.sort_order(search).after(position)) {
            Some(rows_after) => query.filter(rows_after),
            None => query,
        }
    };
    roles(caller, search).iter().map(branch).collect()
}

/// Returns the search limited to the roles in which the caller has any loads at these dates. Most organisations either
/// organise loads or carry them. The pages of their exports are then read without being merged.
pub(crate) fn in_used_roles(
    c: &mut AnyConnection,
    caller: &Caller,
    search: LoadSearch,
) -> Result<LoadSearch, Error> {
    if roles(caller, &search).len() == 1 {
        return Ok(search);
    }
    let mut has_any = |loads| at_dates(loads, &search).select(l::id).first::<Id>(c).optional();
    // Also loads that the caller organises itself: an index does not tell them apart.
    let carried = visible(caller, Role::Any).filter(l::carrier_id.eq(caller.organisation_id_or_empty()));
    let roles = if has_any(carried)?.is_none() {
        Some(&[Role::Organiser][..])
    } else if has_any(visible(caller, Role::Organiser))?.is_none() {
        Some(&[Role::Carrier][..])
    } else {
        None
    };
    Ok(LoadSearch { roles, ..search })
}

/// The most loads that a branch may skip on each page of an export.
const MAX_SKIPPED: i64 = 1_000;

/// Returns true if an index has the matches in their order and no branch skips many loads to find a page. The branch
/// for carriers skips the loads that the caller organises as well.
pub(crate) fn has_cheap_pages(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &LoadSearch,
) -> Result<bool, Error> {
    if !search.has_index(caller) && !SearchPlan::new(c, caller, search)?.skips_dates {
        return Ok(false);
    }
    if roles(caller, search).len() == 1 {
        return Ok(true);
    }
    let in_both_roles =
        visible(caller, Role::Organiser).filter(l::carrier_id.eq(caller.organisation_id_or_empty()));
    let last = in_both_roles.select(l::id).offset(MAX_SKIPPED).first::<Id>(c).optional()?;
    Ok(last.is_none())
}

//! Loads that the user created.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{ERASED_NAME, Erasure, IdentityColumns, Record, RecordQuery};
use database::{AnyConnection, Id, Json};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::Bool;
use serde_json::{Value, json};

use crate::schema::load_creators::dsl as k;
use crate::schema::loads::dsl as l;

const CREATORS: IdentityColumns =
    IdentityColumns { table: "loads", key: "id", user_id: "creator_id", user_name: Some("creator_name") };

/// The most loads that one transaction erases on SQLite.
const BATCH_SIZE: i64 = 500;

/// Returns the ids of the next loads that the user created, in ascending order. SQLite has no index of them, but
/// `load_creators`, and the loads that wait for it.
fn list_ids(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Id>, Error> {
    let created =
        l::loads.filter(l::creator_id.eq(&query.user_id)).filter(l::id.gt(query.after_id())).select(l::id);
    if matches!(c, AnyConnection::Postgres(_)) {
        return Ok(created.order(l::id).limit(query.limit).load(c)?);
    }
    // First those that wait: loads that are moved meanwhile are found twice, not missed.
    let waiting = created.filter(sql::<Bool>("n IN (SELECT n FROM loads_unindexed)"));
    let mut ids: BTreeSet<Id> = waiting.load(c)?.into_iter().collect();
    let known = k::load_creators
        .filter(k::creator_id.eq(&query.user_id))
        .filter(k::load_id.gt(query.after_id()))
        .order(k::load_id)
        .limit(query.limit)
        .select(k::load_id);
    ids.extend(known.load::<Id>(c)?);
    Ok(ids.into_iter().take(usize::try_from(query.limit).unwrap_or_default()).collect())
}

/// Lists loads that the user created.
pub(in crate::personal_data) fn list_created(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let ids = list_ids(c, query)?;
    let rows: Vec<(Id, Option<String>, Json)> = l::loads
        .filter(l::id.eq_any(ids))
        .order(l::id)
        .select((l::id, l::creator_name, l::document))
        .load(c)?;
    let record = |(id, name, document): (Id, Option<String>, Json)| {
        let load: Value = document.parse()?;
        Record::new(id, &json!({ "userId": query.user_id, "userName": name, "load": load }))
    };
    rows.into_iter().map(record).collect()
}

/// Erases the user as the creator of loads.
pub(in crate::personal_data) fn erase_created(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    if matches!(c, AnyConnection::Postgres(_)) {
        return CREATORS.erase(c, erasure);
    }
    let query = RecordQuery { user_id: erasure.user_id.clone(), after: None, limit: BATCH_SIZE };
    let ids = list_ids(c, &query)?;
    let rows = || l::loads.filter(l::id.eq_any(&ids));
    diesel::update(rows()).set(l::creator_id.eq(&erasure.erased_id)).execute(c)?;
    // A user without a name stays so.
    let named = rows().filter(l::creator_name.is_not_null());
    diesel::update(named).set(l::creator_name.eq(ERASED_NAME)).execute(c)?;
    let of_user = k::load_creators.filter(k::creator_id.eq(&erasure.user_id));
    diesel::delete(of_user.filter(k::load_id.eq_any(&ids))).execute(c)?;
    Ok(ids.len())
}

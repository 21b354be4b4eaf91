//! Loads that the user accepted, or that have files of the user.

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{
    self, DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery, erase_in, erase_uploader_names,
};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::loads::Load;
use crate::schema::loads::dsl as l;
use crate::schema::notifications::dsl as n;

/// Lists loads that the user accepted.
pub(in crate::personal_data) fn list_accepted(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let rows: Vec<(Id, Option<Timestamp>)> = l::loads
        .filter(l::accepted_by.eq(&query.user_id))
        .filter(l::id.gt(query.after_id()))
        .order(l::id)
        .limit(query.limit)
        .select((l::id, l::accepted_at))
        .load(c)?;
    let record = |(id, at): (Id, Option<Timestamp>)| {
        Record::new(id, &json!({ "loadId": id, "userId": query.user_id, "acceptedAtUTC": at }))
    };
    rows.into_iter().map(record).collect()
}

/// Lists files of loads that the user uploaded.
pub(in crate::personal_data) fn list_files(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    personal_data::list_file_references(c, query, "loadId", |c, ids| {
        Ok(l::loads.filter(l::id.eq_any(ids.to_vec())).select((l::id, l::document)).load(c)?)
    })
}

/// Erases the name of the user as the uploader of files of loads, also in notifications about them and, later, in
/// deliveries.
pub(in crate::personal_data) fn erase_files(
    c: &mut AnyConnection,
    erasure: &Erasure,
) -> Result<usize, Error> {
    personal_data::erase_file_references(c, erasure, |c, load_id, files| {
        erase_in_load(c, load_id, files)?;
        erase_in_notifications(c, load_id, erasure, files)?;
        webhooks::queue_erasure(c, load_id, erasure, files)
    })
}

fn erase_in_load(c: &mut AnyConnection, id: Id, files: &BTreeSet<String>) -> Result<(), Error> {
    let document: Option<Json> = l::loads.find(id).select(l::document).first(c).optional()?;
    let Some(document) = document else { return Ok(()) };
    let mut load: Load = document.parse()?;
    if erase_uploader_names(&mut load.files, files) {
        let changes = (l::document.eq(Json::of(&load)?), l::revision.eq(l::revision + 1));
        diesel::update(l::loads.find(id)).set(changes).execute(c)?;
    }
    Ok(())
}

fn erase_in_notifications(
    c: &mut AnyConnection,
    load_id: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let mut after = Id::NIL;
    loop {
        let rows: Vec<(Id, Json)> = n::notifications
            .filter(n::load_id.eq(load_id))
            .filter(n::id.gt(after))
            .order(n::id)
            .limit(DOCUMENT_BATCH_SIZE)
            .select((n::id, n::body))
            .load(c)?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        for (id, body) in rows {
            let mut body: Value = body.parse()?;
            if erase_in(&mut body, erasure, files) {
                diesel::update(n::notifications.find(id)).set(n::body.eq(Json::of(&body)?)).execute(c)?;
            }
        }
    }
}

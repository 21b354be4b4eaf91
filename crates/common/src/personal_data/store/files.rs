//! The files that users uploaded, as loads and listings refer to them.

use std::collections::{BTreeMap, BTreeSet};

use database::{AnyConnection, Id, Json};
use diesel::prelude::*;
use serde_json::{Value, json};

use crate::personal_data::model::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery, erase_in};
use crate::schema::file_uploaders::{self, dsl as u};
use crate::schema::idempotency_keys::{self, dsl as k};
use crate::{Error, JsonResponse};

/// Returns the next files that the user uploaded: the load or listing, and the file.
fn uploads(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<(Id, Id)>, Error> {
    let (subject, file) = query.after_pair();
    let after = u::subject_id.gt(subject).or(u::file_id.gt(file));
    // The first condition begins the scan of the primary key.
    let rows = u::file_uploaders
        .filter(u::user_id.eq(&query.user_id))
        .filter(u::subject_id.ge(subject))
        .filter(after)
        .order((u::subject_id, u::file_id))
        .limit(query.limit)
        .select((u::subject_id, u::file_id));
    Ok(rows.load(c)?)
}

/// Where documents of loads and listings have files.
const FILE_LISTS: [&str; 3] = ["/files", "/collection/files", "/rejection/files"];

/// Lists the references to files that the user uploaded. `documents` returns the documents of some loads or listings,
/// and `member` is the member of the export with the id of the load or listing.
///
/// # Errors
/// Those of `documents`, and if the database fails.
pub fn list_file_references(
    c: &mut AnyConnection,
    query: &RecordQuery,
    member: &str,
    documents: impl FnOnce(&mut AnyConnection, &[Id]) -> Result<Vec<(Id, Json)>, Error>,
) -> Result<Vec<Record>, Error> {
    let uploads = uploads(c, query)?;
    let mut subjects: Vec<Id> = uploads.iter().map(|(subject, _)| *subject).collect();
    subjects.dedup();
    let mut files = BTreeMap::new();
    for (subject, document) in documents(c, &subjects)? {
        let document: Value = document.parse()?;
        let lists = FILE_LISTS.iter().filter_map(|list| document.pointer(list)?.as_array()).flatten();
        files.insert(subject, lists.cloned().collect::<Vec<_>>());
    }
    let record = |(subject, id): (Id, Id)| {
        let is_file = |file: &&Value| file["id"].as_str().and_then(Id::parse) == Some(id);
        // A load or listing that was edited may have the file no longer.
        let file = files.get(&subject).and_then(|files| files.iter().find(is_file));
        let file = file.cloned().unwrap_or_else(|| json!({ "id": id }));
        Record::new(format!("{subject} {id}"), &json!({ member: subject, "file": file }))
    };
    uploads.into_iter().map(record).collect()
}

/// Erases the user as the uploader of up to 100 files. `rewrite` erases the names of the uploader in the documents of a
/// load or listing; it gets the ids of its files, in lower case. Returns the number of files.
///
/// # Errors
/// Those of `rewrite`, and if the database fails.
pub fn erase_file_references(
    c: &mut AnyConnection,
    erasure: &Erasure,
    mut rewrite: impl FnMut(&mut AnyConnection, Id, &BTreeSet<String>) -> Result<(), Error>,
) -> Result<usize, Error> {
    let user_id = erasure.user_id.clone();
    let uploads = uploads(c, &RecordQuery { user_id, after: None, limit: DOCUMENT_BATCH_SIZE })?;
    let mut files = BTreeMap::<Id, BTreeSet<String>>::new();
    for (subject, file) in &uploads {
        files.entry(*subject).or_default().insert(file.to_string());
    }
    for (subject, files) in files {
        rewrite(c, subject, &files)?;
        erase_in_responses(c, subject, erasure, &files)?;
    }
    for (subject, file) in &uploads {
        // The file may have been added again since a part of this erasure that was committed.
        diesel::delete(file_uploaders::table.find((&erasure.erased_id, *subject, *file))).execute(c)?;
        diesel::update(file_uploaders::table.find((&erasure.user_id, *subject, *file)))
            .set(u::user_id.eq(&erasure.erased_id))
            .execute(c)?;
    }
    Ok(uploads.len())
}

/// Erases the names of the uploader in the responses about a load or listing that are kept for repeated requests.
fn erase_in_responses(
    c: &mut AnyConnection,
    subject: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let rows: Vec<(String, String, String, Json)> = k::idempotency_keys
        .filter(k::subject_id.eq(subject.to_string()))
        .select((k::caller, k::operation, k::key, k::answer))
        .load(c)?;
    for (caller, operation, key, answer) in rows {
        let mut response: JsonResponse = answer.parse()?;
        let mut body: Value = serde_json::from_str(&response.body)?;
        if erase_in(&mut body, erasure, files) {
            response.body = body.to_string();
            let row = idempotency_keys::table.find((caller, operation, key));
            diesel::update(row).set(k::answer.eq(Json::of(&response)?)).execute(c)?;
        }
    }
    Ok(())
}

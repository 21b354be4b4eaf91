//! The records that have the id or the name of a user (docs/api/personal-data.md).

use common::Error;
use common::personal_data::{IdentityColumns, Record, RecordKind, RecordQuery};
use database::AnyConnection;
use diesel::prelude::*;
use serde_json::json;

use super::usage;
use crate::files::model::File;
use crate::schema::files;

const FILES: IdentityColumns = IdentityColumns {
    table: "files",
    key: "id",
    user_id: "user_id",
    user_name: Some("user_name"),
    text: None,
};

/// Returns the kinds of records with personal data.
pub(crate) fn record_kinds() -> Vec<RecordKind> {
    vec![
        RecordKind { name: "files", list: list_files, erase: |c, e| FILES.erase(c, e) },
        // The files of the user are counted again under the other id when that is needed.
        RecordKind::copies(|c, e| usage::forget(c, &e.user_id)),
    ]
}

/// Lists files that the user uploaded, also archived ones.
fn list_files(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<File> = files::table
        .filter(files::user_id.eq(&query.user_id))
        .filter(files::id.gt(query.after_id()))
        .order(files::id)
        .limit(query.limit)
        .select(File::as_select())
        .load(c)?;
    rows.iter().map(record).collect()
}

fn record(file: &File) -> Result<Record, Error> {
    let record = json!({
        "id": file.id, "bucket": file.bucket.to_string(), "type": file.kind.to_string(),
        "organisationId": file.organisation_id, "name": file.name, "hash": format!("sha256:{}", file.hash),
        "contentType": file.content_type, "size": file.size, "userId": file.user_id,
        "userName": file.user_name, "organisations": file.organisations, "createdAtUTC": file.created_at,
        "archivedAtUTC": file.archived_at,
    });
    Record::new(file.id, &record)
}

//! The records that have the id or the name of a user (docs/api/personal-data.md).

mod store;

use common::personal_data::{IdentityColumns, RecordKind};

use crate::files::forget_usage;

const FILES: IdentityColumns =
    IdentityColumns { table: "files", key: "id", user_id: "user_id", user_name: Some("user_name") };

/// Returns the kinds of records with personal data.
pub(crate) fn record_kinds() -> Vec<RecordKind> {
    vec![
        RecordKind { name: "files", list: store::list_files, erase: |c, e| FILES.erase(c, e) },
        // The files of the user are counted again under the other id when that is needed.
        RecordKind::copies(|c, e| forget_usage(c, &e.user_id)),
    ]
}

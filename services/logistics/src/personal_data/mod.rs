//! The records that have the id or the name of a user (docs/api/personal-data.md).

mod store;

use common::personal_data::{IdentityColumns, RecordKind};

use crate::loads;

const ACCEPTERS: IdentityColumns =
    IdentityColumns { table: "loads", key: "id", user_id: "accepted_by", user_name: None, text: None };
const EVENTS: IdentityColumns = IdentityColumns {
    table: "load_events",
    key: "n",
    user_id: "user_id",
    user_name: Some("user_name"),
    text: Some("text"),
};
const BATCHES: IdentityColumns = IdentityColumns {
    table: "load_batches",
    key: "id",
    user_id: "user_id",
    user_name: Some("user_name"),
    text: None,
};
const DRIVERS: IdentityColumns = IdentityColumns {
    table: "load_drivers",
    key: "load_id, driver_id",
    user_id: "driver_id",
    user_name: None,
    text: None,
};

/// Returns the kinds of records with personal data.
pub(crate) fn record_kinds() -> Vec<RecordKind> {
    vec![
        RecordKind { name: "loads", list: store::list_created, erase: store::erase_created },
        RecordKind { name: "acceptedLoads", list: store::list_accepted, erase: |c, e| ACCEPTERS.erase(c, e) },
        RecordKind { name: "batches", list: store::list_batches, erase: |c, e| BATCHES.erase(c, e) },
        RecordKind { name: "files", list: store::list_files, erase: store::erase_files },
        RecordKind { name: "events", list: store::list_events, erase: |c, e| EVENTS.erase(c, e) },
        RecordKind {
            name: "driverEvents",
            list: store::list_driver_events,
            erase: store::erase_driver_events,
        },
        RecordKind {
            name: "drivers",
            list: store::list_drivers,
            erase: |c, e| {
                store::erase_reports(c, e)?;
                DRIVERS.erase(c, e)
            },
        },
        RecordKind {
            name: "notifications",
            list: store::list_notifications,
            erase: store::erase_notifications,
        },
        RecordKind::copies(store::delete_note_times),
        RecordKind { name: "knownAs", list: loads::list_caller, erase: loads::erase_caller },
        RecordKind {
            name: "addressBooks",
            list: loads::list_contacts_of_user,
            erase: loads::delete_contacts_of_user,
        },
        webhooks::DELIVERY_RECORDS,
        webhooks::DELIVERY_COPIES,
    ]
}

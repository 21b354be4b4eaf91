//! The records that have the id or the name of a user (docs/api/personal-data.md).

mod store;

use common::personal_data::{IdentityColumns, RecordKind};

use crate::{enquiries, saved_searches};

const EVENTS: IdentityColumns = IdentityColumns {
    table: "listing_events",
    key: "n",
    user_id: "user_id",
    user_name: Some("user_name"),
    text: None,
};
const WISHLIST: IdentityColumns = IdentityColumns {
    table: "wishlists",
    key: "user_id, listing_id",
    user_id: "user_id",
    user_name: None,
    text: None,
};
const REPORTS: IdentityColumns = IdentityColumns {
    table: "reports",
    key: "listing_id, user_id",
    user_id: "user_id",
    user_name: None,
    text: None,
};

/// Returns the kinds of records with personal data. Listings come before events, by which they are found.
pub(crate) fn record_kinds() -> Vec<RecordKind> {
    vec![
        RecordKind { name: "listings", list: store::list_listings, erase: store::erase_listings },
        RecordKind { name: "files", list: store::list_files, erase: store::erase_files },
        RecordKind { name: "events", list: store::list_events, erase: |c, e| EVENTS.erase(c, e) },
        RecordKind { name: "wishlist", list: store::list_wishlist, erase: |c, e| WISHLIST.erase(c, e) },
        RecordKind { name: "reports", list: store::list_reports, erase: |c, e| REPORTS.erase(c, e) },
        RecordKind { name: "enquiries", list: enquiries::list_of_user, erase: enquiries::erase_user },
        RecordKind {
            name: "savedSearches",
            list: saved_searches::list_of_user,
            erase: saved_searches::erase_user,
        },
        webhooks::DELIVERY_RECORDS,
        webhooks::DELIVERY_COPIES,
    ]
}

//! The differences between two states of a listing, by the members of requests.

use common::history::{self, Changes};
use serde_json::{Value, json};

use crate::listings::model::Listing;

/// Returns the members of requests that differ between two states of a listing.
pub(crate) fn changes(before: &Listing, after: &Listing) -> Changes {
    history::changes(members(before), members(after))
}

/// Returns the members of a listing that requests have. Files have their ids and names only.
fn members(listing: &Listing) -> [(&'static str, Option<Value>); 8] {
    let file_names: Vec<_> =
        listing.files.iter().map(|file| json!({ "id": file.id, "name": file.name })).collect();
    [
        ("type", Some(json!(listing.kind))),
        ("categoryIds", Some(json!(listing.category_ids))),
        ("location", listing.location.as_ref().map(|location| json!(location))),
        ("price", Some(json!(listing.price))),
        ("files", Some(Value::Array(file_names))),
        ("description", Some(json!(listing.description))),
        ("tags", Some(json!(listing.tags))),
        ("properties", listing.properties.clone().map(Value::Object)),
    ]
}

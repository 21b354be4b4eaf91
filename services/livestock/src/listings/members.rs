//! The members of listings, each declared once: whether it can be edited, its value in the history and in the form
//! that creates the listing, and how an edit replaces it. Their types are in `model.rs` and `form.rs`, the columns of
//! CSV and XLSX in `csv_columns.rs`.

use common::history::{self, Changes};
use serde_json::{Value, json};

use super::location::Location;
use super::model::{Listing, NewListing, Status};

/// A member of a listing, or of a body that creates or edits one.
pub(crate) struct Member {
    /// The name in requests and histories.
    pub(crate) name: &'static str,
    /// What the request that creates the listing says of it; `None` for members that no patch can change.
    edited: Option<Edited>,
    /// Patches may replace it, but not remove it.
    is_required: bool,
}

/// A member that patches can change.
#[derive(Clone, Copy)]
struct Edited {
    /// The value in the form that creates the listing.
    requested: fn(&Listing) -> Value,
    /// The value in the history; `None` if it is the value of the form.
    recorded: Option<fn(&Listing) -> Value>,
    /// Takes the value over from the result of a patch.
    replace: fn(&mut Listing, &NewListing),
}

/// All members.
const MEMBERS: [Member; 22] = [
    read_only("id"),
    read_only("userId"),
    read_only("organisationId"),
    read_only("organisationName"),
    edited("type", |listing| json!(listing.kind), |listing, new| listing.kind = new.kind).required(),
    read_only("status"),
    read_only("isDraft"),
    edited(
        "categoryIds",
        |listing| json!(listing.category_ids),
        |listing, new| listing.category_ids.clone_from(&new.category_ids),
    )
    .required(),
    edited(
        "location",
        |listing| json!(listing.location.as_ref().map(Location::as_requested)),
        |listing, new| {
            let before = std::mem::replace(&mut listing.location, new.location.clone());
            if let (Some(location), Some(before)) = (&mut listing.location, &before) {
                location.keep_coordinates_of(before);
            }
        },
    )
    .recorded(|listing| json!(listing.location)),
    edited("price", |listing| json!(listing.price), |listing, new| listing.price = new.price.clone())
        .required(),
    edited("files", |listing| json!(listing.files), |listing, new| listing.files.clone_from(&new.files))
        .recorded(|listing| {
            listing.files.iter().map(|file| json!({ "id": file.id, "name": file.name })).collect()
        }),
    // Editing checks whether it is removed: it may be an empty text.
    edited(
        "description",
        |listing| json!(listing.description),
        |listing, new| listing.description.clone_from(&new.description),
    ),
    edited("tags", |listing| json!(listing.tags), |listing, new| listing.tags.clone_from(&new.tags))
        .required(),
    edited(
        "properties",
        |listing| json!(listing.properties),
        |listing, new| listing.properties.clone_from(&new.properties),
    ),
    read_only("createdAtUTC"),
    read_only("revision"),
    read_only("updatedAtUTC"),
    read_only("publishedAtUTC"),
    read_only("distanceKm"),
    read_only("isWishlisted"),
    read_only("suspended"),
    read_only("warnings"),
];

const fn read_only(name: &'static str) -> Member {
    Member { name, edited: None, is_required: false }
}

const fn edited(
    name: &'static str,
    requested: fn(&Listing) -> Value,
    replace: fn(&mut Listing, &NewListing),
) -> Member {
    Member { name, edited: Some(Edited { requested, recorded: None, replace }), is_required: false }
}

impl Member {
    const fn required(mut self) -> Self {
        self.is_required = true;
        self
    }

    const fn recorded(mut self, value: fn(&Listing) -> Value) -> Self {
        if let Some(edited) = &mut self.edited {
            edited.recorded = Some(value);
        }
        self
    }
}

/// Returns the names of the members that no patch can change.
pub(crate) fn read_only_names() -> Vec<&'static str> {
    MEMBERS.iter().filter(|member| member.edited.is_none()).map(|member| member.name).collect()
}

/// Returns the names of the members that no patch can remove.
pub(crate) fn required_names() -> Vec<&'static str> {
    MEMBERS.iter().filter(|member| member.is_required).map(|member| member.name).collect()
}

fn edited_members() -> impl Iterator<Item = (&'static str, Edited)> {
    MEMBERS.iter().filter_map(|member| Some((member.name, member.edited?)))
}

/// Returns a listing in the form that creates it.
pub(crate) fn form_of(listing: &Listing) -> Value {
    let mut form: serde_json::Map<String, Value> =
        edited_members().map(|(name, member)| (name.to_owned(), (member.requested)(listing))).collect();
    form.insert("isDraft".to_owned(), json!(listing.status == Status::Draft));
    Value::Object(form)
}

/// Replaces those members of a listing for which `is_named` returns true. The others stay exactly as they are, also if
/// an earlier release stored them in another form.
pub(crate) fn replace(listing: &mut Listing, new: &NewListing, is_named: impl Fn(&str) -> bool) {
    for (_, member) in edited_members().filter(|(name, _)| is_named(name)) {
        (member.replace)(listing, new);
    }
}

/// Returns the members of requests that differ between two states of a listing. Files have their ids and names only.
pub(crate) fn changes(before: &Listing, after: &Listing) -> Changes {
    let values = |listing| {
        edited_members().map(move |(name, member)| {
            let value = member.recorded.unwrap_or(member.requested)(listing);
            (name, Some(value).filter(|value| !value.is_null()))
        })
    };
    history::changes(values(before), values(after))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use utoipa::PartialSchema;
    use utoipa::openapi::{RefOr, Schema};

    use super::*;
    use crate::listings::edit::ListingPatch;
    use crate::listings::form::ListingForm;

    /// Returns the names of the properties of a schema.
    fn properties<T: PartialSchema>() -> BTreeSet<String> {
        let RefOr::T(Schema::Object(schema)) = T::schema() else { panic!("no object") };
        schema.properties.into_keys().collect()
    }

    /// Names the member that is missing somewhere.
    #[test]
    fn each_member_is_everywhere() {
        let all = MEMBERS.iter().map(|member| member.name.to_owned()).collect::<BTreeSet<_>>();
        let mut expected = properties::<Listing>();
        expected.extend(properties::<ListingForm>());
        expected.insert("properties".to_owned());
        assert_eq!(all, expected, "MEMBERS, and the members of Listing and ListingForm");
        let edited = edited_members().map(|(name, _)| name.to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(
            properties::<ListingPatch>(),
            edited,
            "the members of ListingPatch, and those that are edited"
        );
    }
}

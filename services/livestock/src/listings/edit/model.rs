//! The rules of editing a listing.

use common::validation::{Code, FieldError, ValidationErrors};
use common::wire::{FileReference, Warning};
use common::{Caller, Error, MergePatch, Precondition, Reason};
use serde_json::{Value, json};

use super::form::{FormValidators, ListingPatch};
use crate::breeds::Breeds;
use crate::categories::Categories;
use crate::listings::model::{Listing, NewListing, Status};
use crate::listings::{members, price};

/// A listing with what its document does not show.
#[derive(Clone, Debug)]
pub(crate) struct StoredListing {
    pub listing: Listing,
    /// The main category.
    pub category: i32,
}

/// What is needed to apply patches.
#[derive(Clone, Copy)]
pub(crate) struct Editor<'a> {
    pub validators: &'a FormValidators,
    pub categories: &'a Categories,
    pub breeds: &'a Breeds,
}

impl Editor<'_> {
    /// Validates a patch by the rules that its schema cannot state. The result of the patch must satisfy the rules for
    /// creating the listing, if the caller can see the listing.
    pub(crate) fn validate(
        &self,
        patch: &MergePatch<ListingPatch>,
        stored: Option<&StoredListing>,
        errors: &mut ValidationErrors,
    ) {
        patch.check_names(&members::read_only_names(), &members::required_names(), errors);
        if patch.removes("description") && !patch.is_blank("description") {
            errors.push("description", Code::Required, "is required and cannot be removed");
        }
        if patch.pointer("/location/coordinatesSource").is_some() {
            errors.push("location.coordinatesSource", Code::Inconsistent, "cannot be edited");
        }
        let Some(stored) = stored else { return };
        if let Err(Error::Validation(invalid)) = self.result(patch, stored) {
            for FieldError { path, code, message, data } in invalid {
                errors.push_with(path, code, message, Value::Object(data));
            }
        }
    }

    /// Checks that the caller may make this patch, that the listing's status allows it, and the condition of the
    /// request, in this order.
    ///
    /// # Errors
    /// 403, 409 or 412.
    pub(crate) fn check(
        &self,
        patch: &MergePatch<ListingPatch>,
        stored: &StoredListing,
        caller: &Caller,
        condition: &Precondition,
    ) -> Result<(), Error> {
        stored.listing.check_owner(caller)?;
        match stored.listing.status {
            Status::Active if patch.names("type") => {
                return Err(Error::conflict(
                    Reason::ListingPublished,
                    "The type of a published listing cannot be edited.",
                ));
            }
            Status::Active if self.moves(patch, stored) => {
                return Err(Error::conflict(
                    Reason::ListingPublished,
                    "The main category of a listing cannot be edited.",
                ));
            }
            Status::Draft | Status::Active => {}
            Status::Sold | Status::Found | Status::Cancelled => {
                return Err(Error::conflict(Reason::ListingClosed, "This listing is closed."));
            }
        }
        condition.check(stored.listing.revision)
    }

    /// Returns the listing after a patch. `files` are the complete references of the files that it names.
    ///
    /// # Errors
    /// 400 if the result does not satisfy the rules for creating the listing.
    pub(crate) fn apply(
        &self,
        patch: &MergePatch<ListingPatch>,
        stored: &StoredListing,
        files: &[FileReference],
    ) -> Result<Listing, Error> {
        let (mut new, mut listing) = (self.result(patch, stored)?, stored.listing.clone());
        let known = |file: &FileReference| stored.listing.files.iter().find(|known| known.id == file.id);
        new.files = files.iter().map(|file| known(file).unwrap_or(file).clone()).collect();
        members::replace(&mut listing, &new, |name| patch.names(name));
        Ok(listing)
    }

    /// Returns a warning for each amount of the patch that the type of the price does not use.
    pub(crate) fn warnings(patch: &MergePatch<ListingPatch>, listing: &Listing) -> Vec<Warning> {
        let mut named = patch.pointer("/price").cloned().unwrap_or_default();
        if !named.is_object() {
            return Vec::new();
        }
        named["type"] = json!(listing.price.kind);
        let unused = price::remove_unused(&mut named).into_iter();
        let unused = unused
            .filter(|name| patch.pointer(&format!("/price/{name}")).is_some_and(|amount| !amount.is_null()));
        price::ignored(unused.map(|name| format!("price.{name}")))
    }

    /// Returns the result of a patch in the form that creates the listing.
    fn result(&self, patch: &MergePatch<ListingPatch>, stored: &StoredListing) -> Result<NewListing, Error> {
        let mut form = members::form_of(&stored.listing);
        let category_ids = form["categoryIds"].clone();
        patch.apply_to(&mut form);
        form.get_mut("price").map(price::remove_unused);
        if !patch.names("location") {
            // It stays as it is, also if an earlier release stored what is refused today.
            form["location"] = Value::Null;
        }
        // These two may be null, and must not be absent.
        for name in ["location", "files"] {
            if form.get(name).is_none() {
                form[name] = Value::Null;
            }
        }
        if self.moves(patch, stored) {
            // Reported as a conflict, see `check`.
            form["categoryIds"] = category_ids;
        }
        Ok(self.validators.new_listing(stored.category, form, self.categories, self.breeds)?)
    }

    /// Returns true if the patch names existing categories, some of them of another main category, and the listing is
    /// no draft. Of a draft, such categories are unknown references.
    fn moves(&self, patch: &MergePatch<ListingPatch>, stored: &StoredListing) -> bool {
        let ids = patch.members.category_ids.as_deref().unwrap_or_default();
        stored.listing.status != Status::Draft
            && ids.iter().all(|id| self.categories.exists(*id))
            && ids.iter().any(|id| self.categories.find_within(*id, stored.category).is_none())
    }
}

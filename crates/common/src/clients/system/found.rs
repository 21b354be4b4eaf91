//! The result of a look-up: the files that exist, their references, and which of them may be shared (docs/api/files.md,
//! "File references").

use std::collections::HashMap;

use database::Id;

use super::model::{DueShare, FileInfo};
use crate::auth::Caller;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::FileReference;

/// The properties of a caller that decide which files are shared.
#[derive(Clone, Copy, Debug)]
struct Sharer<'a> {
    user_id: &'a str,
    organisation: Option<&'a str>,
    admin: bool,
}

impl<'a> Sharer<'a> {
    fn of(caller: &'a Caller) -> Self {
        let organisation = caller.organisation.as_ref().map(|organisation| organisation.id.as_str());
        Self { user_id: &caller.user_id, organisation, admin: caller.admin }
    }

    /// Returns true if the file belongs to one of these organisations and the caller may share it.
    fn may_share_owned(self, file: &FileInfo, owners: &[&str]) -> bool {
        belongs_to(file, owners) && (self.admin || file.organisation_id.as_deref() == self.organisation)
    }

    /// Returns true if the caller may share the file for a load or listing of the organisations `owners`: the file
    /// belongs to one of them and the caller may share it, or the caller uploaded it for the caller's own organisation.
    /// An `admin` who acts for others shares only files of those others.
    fn may_share(self, file: &FileInfo, owners: &[&str]) -> bool {
        if belongs_to(file, owners) {
            return self.may_share_owned(file, owners);
        }
        let acts_for_others = self.admin && self.organisation.is_none_or(|own| !owners.contains(&own));
        let is_own_upload =
            file.user_id == self.user_id && file.organisation_id.as_deref() == self.organisation;
        is_own_upload && !acts_for_others
    }
}

fn belongs_to(file: &FileInfo, owners: &[&str]) -> bool {
    file.organisation_id.as_deref().is_some_and(|owner| owners.contains(&owner))
}

/// The files that a request names and that the system service found.
#[derive(Clone, Debug, Default)]
pub struct FoundFiles {
    /// The ids in the order of the request; `None` for a text that is not an id.
    requested: Vec<Option<Id>>,
    by_id: HashMap<Id, FileInfo>,
    /// Those that the load or listing has already. They are not looked up, and may have been archived since.
    present: HashMap<Id, FileReference>,
}

impl FoundFiles {
    /// Creates an empty result for the files of a request. `present` are those that the load or listing has already.
    pub(super) fn of(files: &[FileReference], present: &[FileReference]) -> Self {
        let present = present.iter().filter_map(|file| Some((Id::parse(&file.id)?, file.clone())));
        Self {
            requested: files.iter().map(|file| Id::parse(&file.id)).collect(),
            by_id: HashMap::new(),
            present: present.collect(),
        }
    }

    /// Adds files that were found.
    pub(super) fn add(&mut self, infos: Vec<FileInfo>) {
        self.by_id.extend(infos.into_iter().map(|info| (info.id, info)));
    }

    /// Returns the ids to look up in the order of the request, each once.
    pub(super) fn unknown_ids(&self) -> Vec<Id> {
        let mut ids = self.ids();
        ids.retain(|id| !self.present.contains_key(id));
        ids
    }

    /// Returns the ids in the order of the request, each once.
    fn ids(&self) -> Vec<Id> {
        let mut ids = Vec::new();
        for id in self.requested.iter().flatten() {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    fn files(&self) -> impl Iterator<Item = &FileInfo> {
        self.ids().into_iter().filter_map(|id| self.by_id.get(&id))
    }

    /// Adds `unknown_reference` at `files[i].id` for each file that does not exist, is archived, or is not readable for
    /// the caller.
    pub fn report_unknown(&self, errors: &mut ValidationErrors) {
        for (i, id) in self.requested.iter().enumerate() {
            if id.is_none_or(|id| !self.by_id.contains_key(&id) && !self.present.contains_key(&id)) {
                errors.push(
                    format!("files[{i}].id"),
                    Code::UnknownReference,
                    "names no file that you may use: upload it first, or ask its owner to share it",
                );
            }
        }
    }

    /// Returns the complete references in the order of the request, each once.
    ///
    /// # Errors
    /// Returns the entries of [`FoundFiles::report_unknown`].
    pub fn references(&self) -> Result<Vec<FileReference>, ValidationErrors> {
        let mut errors = ValidationErrors::default();
        self.report_unknown(&mut errors);
        errors.check()?;
        let reference =
            |id: &Id| self.by_id.get(id).map(FileInfo::reference).or_else(|| self.present.get(id).cloned());
        Ok(self.ids().iter().filter_map(reference).collect())
    }

    /// Returns the files that a load or listing with the files `present` does not have yet.
    #[must_use]
    pub fn added(&self, present: &[FileReference]) -> Self {
        let is_present = |id: Id| present.iter().any(|file| Id::parse(&file.id) == Some(id));
        let mut added = self.clone();
        added.requested.retain(|id| id.is_none_or(|id| !is_present(id)));
        added
    }

    /// Returns those of the files that a load or listing with the files `present` has.
    #[must_use]
    pub fn only(&self, present: &[FileReference]) -> Self {
        let is_present = |id: Id| present.iter().any(|file| Id::parse(&file.id) == Some(id));
        let mut only = self.clone();
        only.requested.retain(|id| id.is_some_and(is_present));
        only
    }

    /// Returns the share that is due once the load or listing `subject` of the organisations `owners` is stored: the
    /// files that the caller may share for it, with the organisations `with` (`*`: everybody). Returns `None` if there
    /// is nothing to share.
    pub fn share(&self, caller: &Caller, subject: Id, owners: &[&str], with: &[&str]) -> Option<DueShare> {
        let by = Sharer::of(caller);
        let shareable = self.files().filter(|file| by.may_share(file, owners));
        DueShare::new(caller, subject, shareable.map(|file| file.id).collect(), with)
    }

    /// Returns a share as [`FoundFiles::share`] does, for files that another caller attached: only files of the
    /// organisations `owners`.
    pub fn share_owned(
        &self,
        caller: &Caller,
        subject: Id,
        owners: &[&str],
        with: &[&str],
    ) -> Option<DueShare> {
        let by = Sharer::of(caller);
        let owned = self.files().filter(|file| by.may_share_owned(file, owners));
        DueShare::new(caller, subject, owned.map(|file| file.id).collect(), with)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn file(user: &str, organisation: Option<&str>) -> FileInfo {
        serde_json::from_value(json!({
            "id": Id::new(), "name": "n", "url": "u", "userId": user, "organisationId": organisation,
            "createdAtUTC": "2026-03-01T09:30:00.000Z", "organisations": ["many", "others"],
        }))
        .unwrap()
    }

    #[test]
    fn shares_files_of_owners_and_own_uploads() {
        let files = [
            file("zoe", Some("grain")),
            file("zoe", Some("haul")),
            file("zoe", Some("third")),
            file("ann", Some("third")),
            file("ann", None),
            file("zoe", None),
        ];
        let ann = |organisation, admin| Sharer { user_id: "ann", organisation, admin };
        for (by, shareable) in [
            (ann(Some("grain"), false), [true, false, false, false, false, false]),
            (ann(Some("haul"), false), [false, true, false, false, false, false]),
            // A driver of an organisation that is not a party, and a driver without an organisation.
            (ann(Some("third"), false), [false, false, false, true, false, false]),
            (ann(None, false), [false, false, false, false, true, false]),
            // An admin shares only files of the parties.
            (ann(None, true), [true, true, false, false, false, false]),
            (ann(Some("third"), true), [true, true, false, false, false, false]),
            (ann(Some("grain"), true), [true, true, false, false, false, false]),
        ] {
            let may_share = files.each_ref().map(|file| by.may_share(file, &["grain", "haul"]));
            assert_eq!(may_share, shareable, "{by:?}");
        }
    }
}

//! The result of a look-up: which files there are, what a reference shows of them, and which of them may be shared.

use std::collections::HashMap;

use database::Id;
use serde::Deserialize;

use super::DueShare;
use crate::auth::Caller;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::FileReference;

/// The members of File info that are needed here.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct FileInfo {
    pub id: Id,
    name: String,
    url: String,
    #[serde(default)]
    user_id: String,
    #[serde(default)]
    user_name: String,
    #[serde(default)]
    organisation_id: Option<String>,
    #[serde(rename = "createdAtUTC")]
    created_at: String,
}

impl FileInfo {
    fn reference(&self) -> FileReference {
        FileReference {
            id: self.id.to_string(),
            name: self.name.clone(),
            url: self.url.clone(),
            user_name: self.user_name.clone(),
            created_at: self.created_at.clone(),
        }
    }

    fn belongs_to(&self, owners: &[&str]) -> bool {
        self.organisation_id.as_deref().is_some_and(|owner| owners.contains(&owner))
    }

    /// True if the file belongs to one of these organisations and the caller may share it.
    fn is_owned(&self, by: Sharer<'_>, owners: &[&str]) -> bool {
        self.belongs_to(owners) && (by.admin || self.organisation_id.as_deref() == by.organisation)
    }

    /// True if the caller may have this file shared for a load or listing of the organisations `owners`: it belongs to one of
    /// them and the caller may share it, or the caller uploaded it for their own organisation. An `admin` who acts for
    /// others shares only files of those others.
    fn is_shareable(&self, by: Sharer<'_>, owners: &[&str]) -> bool {
        let owner = self.organisation_id.as_deref();
        if self.belongs_to(owners) {
            return self.is_owned(by, owners);
        }
        let acts_for_others = by.admin && by.organisation.is_none_or(|own| !owners.contains(&own));
        !acts_for_others && self.user_id == by.user_id && owner == by.organisation
    }
}

/// The part of a caller that decides which files are shared.
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
}

/// Files that a request names, as the system service knows them.
#[derive(Clone, Debug, Default)]
pub struct FoundFiles {
    /// The ids in the order of the request; `None` for a text that is no id.
    requested: Vec<Option<Id>>,
    found: HashMap<Id, FileInfo>,
}

impl FoundFiles {
    /// Nothing found yet of the files of a request.
    pub(super) fn of(files: &[FileReference]) -> Self {
        Self { requested: files.iter().map(|file| Id::parse(&file.id)).collect(), found: HashMap::new() }
    }

    /// Adds files that the system service knows.
    pub(super) fn add(&mut self, infos: Vec<FileInfo>) {
        self.found.extend(infos.into_iter().map(|info| (info.id, info)));
    }

    /// The ids of the request, each once, in its order.
    pub(super) fn ids(&self) -> Vec<Id> {
        let mut ids = Vec::new();
        for id in self.requested.iter().flatten() {
            if !ids.contains(id) {
                ids.push(*id);
            }
        }
        ids
    }

    fn files(&self) -> impl Iterator<Item = &FileInfo> {
        self.ids().into_iter().filter_map(|id| self.found.get(&id))
    }

    /// Adds `unknown_reference` at `files[i].id` for each file that is not there, archived, or not readable for the caller.
    pub fn report_unknown(&self, errors: &mut ValidationErrors) {
        for (i, id) in self.requested.iter().enumerate() {
            if id.is_none_or(|id| !self.found.contains_key(&id)) {
                errors.push(
                    format!("files[{i}].id"),
                    Code::UnknownReference,
                    "names no file that you may use: upload it first, or ask its owner to share it",
                );
            }
        }
    }

    /// The complete references, each once, in the order of the request.
    ///
    /// # Errors
    /// 400 with the entries of [`FoundFiles::report_unknown`].
    pub fn references(&self) -> Result<Vec<FileReference>, crate::Error> {
        let mut errors = ValidationErrors::default();
        self.report_unknown(&mut errors);
        errors.check()?;
        Ok(self.files().map(FileInfo::reference).collect())
    }

    /// The share that is due once the load or listing `subject` is stored: those of the files that the caller may share for
    /// something of the organisations `owners`, with the organisations `with` (`*`: everybody). `None` if that is nothing.
    pub fn share(&self, caller: &Caller, subject: Id, owners: &[&str], with: &[&str]) -> Option<DueShare> {
        let by = Sharer::of(caller);
        let shareable = self.files().filter(|file| file.is_shareable(by, owners));
        DueShare::new(caller, subject, shareable.map(|file| file.id).collect(), with)
    }

    /// As [`FoundFiles::share`], for files that another caller named: only those of the organisations `owners`, whoever
    /// uploaded them.
    pub fn share_owned(
        &self,
        caller: &Caller,
        subject: Id,
        owners: &[&str],
        with: &[&str],
    ) -> Option<DueShare> {
        let by = Sharer::of(caller);
        let owned = self.files().filter(|file| file.is_owned(by, owners));
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
    fn files_of_the_owners_and_own_uploads_are_shared() {
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
            // A driver: of an organisation that is no party, and of none.
            (ann(Some("third"), false), [false, false, false, true, false, false]),
            (ann(None, false), [false, false, false, false, true, false]),
            // An admin shares only files of the parties.
            (ann(None, true), [true, true, false, false, false, false]),
            (ann(Some("third"), true), [true, true, false, false, false, false]),
            (ann(Some("grain"), true), [true, true, false, false, false, false]),
        ] {
            let found = files.each_ref().map(|file| file.is_shareable(by, &["grain", "haul"]));
            assert_eq!(found, shareable, "{by:?}");
        }
    }
}

//! Looking up and sharing files at the system service.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::anyhow;
use database::Id;
use reqwest::StatusCode;
use serde_json::json;

use super::model::{DueShare, FileInfo, Sharing};
use super::resolve::{CallError, OnBehalfOf, SystemApi};
use crate::Error;
use crate::auth::Caller;
use crate::cli::Checks;
use crate::extract::{Body, Fingerprint};
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::FileReference;

/// Maximum number of attempts of a look-up that a request waits for.
const MAX_ATTEMPTS: u32 = 3;
/// Maximum number of files in one call.
const MAX_FILES: usize = 50;

/// A client for the files of the system service.
pub struct SystemClient(SystemApi);

impl SystemClient {
    /// Creates a client of the system service with this base URL (`service.system_url`).
    ///
    /// # Errors
    /// Fails if the URL is invalid. The message names the setting.
    pub fn new(system_url: &str) -> anyhow::Result<Self> {
        SystemApi::new(system_url).map(Self)
    }

    /// Returns true if the system service answers a probe within 700 ms.
    pub async fn is_reachable(&self) -> bool {
        self.0.is_reachable().await
    }

    /// Checks for `check-config` that the system service answers at `service.system_url`.
    pub async fn check(&self, checks: &mut Checks) {
        let remedy = "start the system service, or change service.system_url (DROVER_SERVICE__SYSTEM_URL)";
        checks.run_online("system", remedy, self.0.check()).await;
    }

    /// Looks up the files that a request names, without sharing them. Texts that are not ids are not sent; without ids
    /// there is no call.
    ///
    /// # Errors
    /// 503 if the system service is unavailable, 401 if it refuses the token.
    pub async fn look_up(&self, caller: &Caller, files: &[FileReference]) -> Result<FoundFiles, Error> {
        self.look_up_added(caller, files, &[]).await
    }

    /// Looks up files as [`SystemClient::look_up`] does, except those that the load or listing has already: these are
    /// in the result as they are in `present`.
    ///
    /// # Errors
    /// Those of [`SystemClient::look_up`].
    pub async fn look_up_added(
        &self,
        caller: &Caller,
        files: &[FileReference],
        present: &[FileReference],
    ) -> Result<FoundFiles, Error> {
        self.find(caller, files, present, MAX_ATTEMPTS).await.map_err(|error| match error {
            CallError::TokenExpired | CallError::Refused(StatusCode::UNAUTHORIZED) => {
                Error::Unauthenticated(Some("the system service does not accept the token"))
            }
            CallError::Refused(status) => unavailable(anyhow!("unexpected status of a look-up: {status}")),
            CallError::NoRoom(_) => unavailable(anyhow!("a look-up was refused like a share")),
            CallError::Unavailable(cause) => unavailable(cause),
        })
    }

    /// Adds an entry for each unknown file to the errors of a request that is refused anyway. `present` are the files
    /// that the load or listing has already. Makes one attempt and adds nothing if the system service is unavailable.
    pub async fn report_unknown(
        &self,
        caller: &Caller,
        files: &[FileReference],
        present: &[FileReference],
        errors: &mut ValidationErrors,
    ) {
        if let Ok(found) = self.find(caller, files, present, 1).await {
            found.report_unknown(errors);
        }
    }

    /// Returns the error of a request that is refused: unknown files (400) take precedence over `error`. `present` are
    /// the files that the load or listing has already. Makes one attempt.
    pub async fn report_unknown_before(
        &self,
        caller: &Caller,
        files: &[FileReference],
        present: &[FileReference],
        error: Error,
    ) -> Error {
        if matches!(error, Error::Internal(_) | Error::Unavailable(..) | Error::Validation(_)) {
            return error;
        }
        let mut errors = ValidationErrors::default();
        self.report_unknown(caller, files, present, &mut errors).await;
        errors.check().err().map_or(error, Error::from)
    }

    async fn find(
        &self,
        caller: &Caller,
        files: &[FileReference],
        present: &[FileReference],
        attempts: u32,
    ) -> Result<FoundFiles, CallError> {
        let mut found = FoundFiles::of(files, present);
        for ids in found.unknown_ids().chunks(MAX_FILES) {
            let by = OnBehalfOf {
                token: &caller.token,
                tenant: &caller.tenant(),
                request_id: &caller.request.id,
                traceparent: Some(caller.request.traceparent()),
            };
            found.add(self.0.call(&by, &json!({ "ids": ids, "brief": true }), attempts).await?);
        }
        Ok(found)
    }

    /// Returns the API of the system service.
    pub(super) fn api(&self) -> &SystemApi {
        &self.0
    }

    /// Returns how long the circuit breaker stays open, or `None` if calls are possible.
    pub(super) fn blocked_for(&self) -> Option<Duration> {
        self.0.blocked_for()
    }

    /// Makes one attempt to share. If some files are shared with too many organisations, the others are shared
    /// nevertheless.
    ///
    /// # Errors
    /// [`CallError::NoRoom`] names the files that were not shared. [`CallError::TokenExpired`] for a retry after the
    /// token has expired.
    pub(super) async fn share(&self, share: &DueShare) -> Result<(), CallError> {
        if share.is_expired() {
            return Err(CallError::TokenExpired);
        }
        let mut full = Vec::new();
        for (chunk, ids) in share.files.chunks(MAX_FILES).enumerate() {
            let share_id = format!("{}-{chunk}", share.id);
            match self.share_chunk(share, &share_id, ids).await {
                Err(CallError::NoRoom(refused)) => {
                    let rest: Vec<_> = ids.iter().copied().filter(|id| !refused.contains(id)).collect();
                    if !rest.is_empty() {
                        // Another id, so that a retry determines again which files have no room.
                        self.share_chunk(share, &format!("{share_id}-rest"), &rest).await?;
                    }
                    full.extend(refused);
                }
                result => result?,
            }
        }
        if full.is_empty() { Ok(()) } else { Err(CallError::NoRoom(full)) }
    }

    async fn share_chunk(&self, share: &DueShare, share_id: &str, ids: &[Id]) -> Result<(), CallError> {
        let by = OnBehalfOf {
            token: &share.token,
            tenant: &share.tenant,
            request_id: &share.request_id,
            traceparent: share.traceparent.clone(),
        };
        // The system service shares once for each `shareId`. So the retry of an attempt whose response was lost does
        // not undo an unsharing that happened meanwhile.
        let mut body = json!({ "ids": ids, "brief": true });
        let (member, organisations) = share.sharing.member();
        body[member] = json!(organisations);
        if matches!(share.sharing, Sharing::With(_)) {
            body["shareId"] = json!(share_id);
        }
        if share.leaves() {
            body["leave"] = json!(true);
        }
        self.0.call(&by, &body, 1).await.map(drop)
    }
}

fn unavailable(cause: anyhow::Error) -> Error {
    Error::Unavailable(cause, "The system service, which has the files,")
}

impl<T> Body<T> {
    /// Applies further rules as [`Body::check`] does. If there are errors, entries for unknown files are added, so that
    /// all invalid fields are reported at once. Otherwise the system service is not called: the files are looked up
    /// when the request is carried out.
    ///
    /// # Errors
    /// 400 with all errors.
    pub async fn check_with_files(
        self,
        rules: impl FnOnce(&T, &mut ValidationErrors),
        client: &SystemClient,
        caller: &Caller,
        files: impl FnOnce(&T) -> &[FileReference],
    ) -> Result<(T, Fingerprint), Error> {
        self.check_with_added_files(rules, client, caller, files, &[]).await
    }

    /// Applies further rules as [`Body::check_with_files`] does. `present` are the files that the load or listing has
    /// already, which may have been archived since.
    ///
    /// # Errors
    /// 400 with all errors.
    pub async fn check_with_added_files(
        self,
        rules: impl FnOnce(&T, &mut ValidationErrors),
        client: &SystemClient,
        caller: &Caller,
        files: impl FnOnce(&T) -> &[FileReference],
        present: &[FileReference],
    ) -> Result<(T, Fingerprint), Error> {
        self.check_and_complete(rules, async |value, errors| {
            client.report_unknown(caller, files(value), present, errors).await;
        })
        .await
    }
}

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

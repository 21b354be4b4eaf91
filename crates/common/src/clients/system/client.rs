//! Looking up and sharing files at the system service.

use std::time::Duration;

use anyhow::anyhow;
use database::Id;
use reqwest::StatusCode;
use serde_json::json;

use super::found::FoundFiles;
use super::model::{DueShare, Sharing};
use super::resolve::{CallError, OnBehalfOf, SystemApi};
use crate::Error;
use crate::auth::Caller;
use crate::cli::Checks;
use crate::extract::{Body, Fingerprint};
use crate::response::validation::ValidationErrors;
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

    /// Returns what makes the calls.
    pub(super) fn resolver(&self) -> &SystemApi {
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

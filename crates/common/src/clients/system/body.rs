//! The check of a JSON body with the files that it names.

use super::client::SystemClient;
use crate::Error;
use crate::auth::Caller;
use crate::extract::{Body, Fingerprint};
use crate::response::validation::ValidationErrors;
use crate::wire::FileReference;

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

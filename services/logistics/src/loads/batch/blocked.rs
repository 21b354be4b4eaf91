//! Rows that are refused because an organisation that they name has blocked their sender (docs/api/loads.md, "Block
//! list").

use std::collections::HashSet;

use common::validation::{Code, ValidationErrors};
use common::{Error, Reason};
use database::AnyConnection;
use serde_json::json;

use super::model::MAX_ERRORS;
use super::row::RowIdentity;
use crate::organisations::{NamedBy, find_blocked};

/// Message for a batch with such rows.
const BLOCKED: &str =
    "An organisation that rows name has blocked the one that names it as organiser or carrier.";

/// Checks, with one query, that no organisation that these rows name has blocked the one that names it.
///
/// # Errors
/// 403 with an entry for each of these rows, up to [`MAX_ERRORS`].
pub(crate) fn check_not_blocked<'a>(
    c: &mut AnyConnection,
    rows: impl Iterator<Item = &'a RowIdentity> + Clone,
) -> Result<(), Error> {
    let namings = rows.filter_map(|row| Some((row, row.naming.as_ref()?)));
    let pairs: HashSet<&NamedBy> = namings.clone().map(|(_, naming)| &*naming.pair).collect();
    let blocked = find_blocked(c, &pairs.into_iter().collect::<Vec<_>>())?;
    let refused = || namings.clone().filter(|(_, naming)| blocked.contains(&*naming.pair));
    let mut errors = ValidationErrors::default();
    errors.extend(refused().take(MAX_ERRORS).map(|(row, naming)| {
        let message = "has blocked the organisation that names it";
        let mut error = row.error(naming.column, Code::Forbidden, message);
        error.data.insert("reason".to_owned(), json!(Reason::Blocked));
        error
    }));
    if errors.is_empty() {
        return Ok(());
    }
    let failed_rows = refused().count();
    let error = Error::ForbiddenFields(errors, BLOCKED).with("reason", json!(Reason::Blocked));
    Err(error.with("failedRows", failed_rows))
}

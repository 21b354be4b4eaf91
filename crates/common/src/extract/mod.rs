//! Extractors: the validated parts of a request, as arguments of a handler.

mod body;
pub mod idempotency;
mod merge_patch;
pub mod multipart;
mod query;
mod stored_query;

use std::future::{Ready, ready};

use actix_web::dev::Payload;
use actix_web::{FromRequest, HttpRequest};
use database::Id;
use serde_json::json;

use crate::Error;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::{ID_MESSAGE, TextForm, is_plain_id};
pub(crate) use body::JsonLimit;
pub use body::{Body, FormBody};
pub(crate) use idempotency::Fingerprint;
pub use merge_patch::MergePatch;
pub use query::{IdsParams, Query, documents_by_ids};
pub use stored_query::QueryValidator;

/// The path parameter `id`. A text that is not a UUID is extracted without an error, because errors in the query and
/// the body precede 404 (docs/api/errors.md, "Order of checks").
pub struct PathId(Option<Id>);

impl PathId {
    /// Returns the id.
    ///
    /// # Errors
    /// 404 if the path has no UUID.
    pub fn id(&self) -> Result<Id, Error> {
        self.0.ok_or(Error::NotFound)
    }
}

/// Checks an id in a path that is a text, such as that of a user.
///
/// # Errors
/// 404 if it has control characters, which no stored id has. PostgreSQL cannot even compare with NUL.
pub fn check_path_text(text: String) -> Result<String, Error> {
    // Bytes that are not UTF-8 arrive as replacement characters, and name nothing.
    let is_named = |c: char| !c.is_control() && c != char::REPLACEMENT_CHARACTER;
    if text.chars().all(is_named) { Ok(text) } else { Err(Error::NotFound) }
}

/// The most characters of an id, as in tokens.
const MAX_ID_CHARS: usize = 200;

/// Returns the id of an organisation in a path in the form in which requests name organisations.
///
/// # Errors
/// 404 for control characters, 400 for an id that no request can name.
pub fn organisation_id_of_path(text: String) -> Result<String, Error> {
    let text = check_path_text(text)?;
    let id = TextForm::Id.normalize(&text).into_owned();
    let mut errors = ValidationErrors::default();
    if !(1..=MAX_ID_CHARS).contains(&id.chars().count()) {
        let data = json!({ "minimum": 1, "maximum": MAX_ID_CHARS });
        errors.push_with("id", Code::Length, format!("must have 1 to {MAX_ID_CHARS} characters"), data);
    } else if !is_plain_id(&id) {
        errors.push("id", Code::Format, ID_MESSAGE);
    }
    errors.check()?;
    Ok(id)
}

impl FromRequest for PathId {
    type Error = Error;
    type Future = Ready<Result<Self, Error>>;

    fn from_request(request: &HttpRequest, _: &mut Payload) -> Self::Future {
        ready(Ok(Self(request.match_info().get("id").and_then(Id::parse))))
    }
}

//! Editing and cancelling loads (docs/api/loads.md, "Edit" and "Cancel").

mod form;
mod model;

pub(super) use form::{CancelForm, LoadPatch};
pub(super) use model::{apply, check, validate};

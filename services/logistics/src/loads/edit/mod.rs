//! Editing and cancelling loads (docs/api/loads.md, "Edit" and "Cancel").

mod model;

pub(super) use model::{apply, check_rights, check_state, new_carrier, validate};

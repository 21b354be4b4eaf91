//! Editing loads (docs/api/loads.md, "Edit").

mod model;

pub(super) use model::{apply, check_rights, check_state, new_carrier, validate};

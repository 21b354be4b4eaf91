//! Sending a load to its driver or carrier (docs/api/loads.md, "Send to a driver or carrier").

mod form;
mod model;

pub(super) use form::{SendToCarrier, SendToDriver};
pub(super) use model::{Recipient, file_owners, may_share_files};

//! Proof of delivery (docs/api/loads.md, "Proof of delivery"): the weighbridge ticket that completes a load.

mod form;
mod model;

pub(super) use form::{Delivery, ProofOfDelivery, ProofOfDeliveryOfLoad, UNKNOWN_LOAD};
pub(super) use model::{Proof, validate_captured_at};

//! Proof of delivery (docs/api/loads.md, "Proof of delivery"): the weighbridge ticket that completes a load, and its
//! corrections.

mod correction;
mod form;
mod model;
mod tolerance;

pub(super) use correction::Correction;
pub(super) use form::{Delivery, ProofOfDelivery, ProofOfDeliveryOfLoad, UNKNOWN_LOAD};
pub(super) use model::{FilesBefore, OriginalProof, Proof, check};
pub(crate) use tolerance::WeightTolerance;

//! A load as it is stored: with what its document does not show.

use common::Caller;

use super::life::Status;
use super::model::Load;
use super::party::Party;
use super::proof::{BeforeProof, Proof};

/// A load with what its document does not show.
#[derive(Clone, Debug)]
pub(crate) struct StoredLoad {
    pub load: Load,
    /// The proof of delivery as it was given.
    pub proof: Option<Proof>,
    /// What the load had before its proof.
    pub before_proof: BeforeProof,
    /// The proof of delivery after corrections.
    pub corrected_proof: Option<Proof>,
    /// The organisation that created the load. For loads of older versions: the organiser, or else the carrier.
    pub created_by: Option<String>,
}

impl StoredLoad {
    /// Returns true if this is the proof of the load, as given or as corrected.
    pub(crate) fn is_proven_by(&self, proof: &Proof) -> bool {
        [&self.proof, &self.corrected_proof].into_iter().flatten().any(|known| known == proof)
    }

    /// Returns true if the caller acts for the organiser, or for the carrier that created the load, or is an `admin`.
    /// These edit and cancel the load. A creator that is no party any more only reads it.
    pub(crate) fn is_managed_by(&self, caller: &Caller) -> bool {
        let is_creator = self.created_by.as_ref().is_some_and(|id| caller.acts_for(id));
        let manages_as_carrier = is_creator && self.is_carried_by(caller);
        caller.admin || manages_as_carrier || is_own(self.load.organiser.as_ref(), caller)
    }

    /// Returns true if the caller may reopen the load: acts for its organiser, for the creator of a cancelled load, or
    /// for the carrier that created a load whose organiser has no id, or is an `admin`.
    pub(crate) fn is_reopened_by(&self, caller: &Caller) -> bool {
        let is_creator = self.created_by.as_ref().is_some_and(|id| caller.acts_for(id));
        let has_organiser = self.load.organiser.as_ref().is_some_and(|organiser| organiser.id.is_some());
        let as_creator = is_creator
            && (self.load.status == Status::Cancelled || self.is_carried_by(caller) && !has_organiser);
        caller.admin || as_creator || is_own(self.load.organiser.as_ref(), caller)
    }

    /// Returns true if the caller acts for the carrier.
    pub(crate) fn is_carried_by(&self, caller: &Caller) -> bool {
        is_own(self.load.carrier.as_ref(), caller)
    }

    /// Returns true if the caller acts for the organiser or the carrier, or is an `admin`.
    pub(crate) fn is_of_party(&self, caller: &Caller) -> bool {
        caller.admin || self.is_carried_by(caller) || is_own(self.load.organiser.as_ref(), caller)
    }
}

fn is_own(party: Option<&Party>, caller: &Caller) -> bool {
    party.and_then(|party| party.id.as_ref()).is_some_and(|id| caller.acts_for(id))
}

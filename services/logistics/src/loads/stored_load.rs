//! A load as it is stored: with what its document does not show.

use common::{Caller, Error, Reason};

use super::model::Load;
use super::party::Party;
use super::proof::{BeforeProof, Proof};
use super::status::{Action, Status};

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
    /// Undoes what ended the load: its cancellation, its rejection, or its completion. The load is collected then if it
    /// has a collection, and upcoming otherwise. Returns false for a load that has not ended.
    pub(crate) fn reopen(&mut self) -> bool {
        let load = &mut self.load;
        match load.status {
            Status::Upcoming | Status::Collected => return false,
            Status::Cancelled => {}
            Status::Rejected => load.rejection = None,
            Status::Completed => {
                load.completed_at = None;
                let proofs = [self.proof.take(), self.corrected_proof.take()];
                let files: Vec<String> = proofs.into_iter().flatten().flat_map(|proof| proof.files).collect();
                let before = &self.before_proof;
                load.files.retain(|file| {
                    let id = file.id.to_ascii_lowercase();
                    !files.contains(&id) || before.files.contains(&id)
                });
                before.values.clone().unwrap_or_default().restore(load);
            }
        }
        load.status = if load.collection.is_some() { Status::Collected } else { Status::Upcoming };
        true
    }

    /// Returns the present proof of a completed load.
    ///
    /// # Errors
    /// 409 if the load is not completed, or was completed by an older version without a proof.
    pub(crate) fn proof_to_correct(&self) -> Result<&Proof, Error> {
        Action::Correct.check(self.load.status)?;
        let proof = self.corrected_proof.as_ref().or(self.proof.as_ref());
        proof.ok_or_else(|| Error::conflict(Reason::LoadCompleted, "This load has no proof of delivery."))
    }

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

    /// Returns true if the caller may reopen the load: acts for its organiser, for the party that created a cancelled
    /// load, or for the carrier that created a load whose organiser has no id, or is an `admin`. A creator that is no
    /// party any more only reads it.
    pub(crate) fn is_reopened_by(&self, caller: &Caller) -> bool {
        let is_creator = self.created_by.as_ref().is_some_and(|id| caller.acts_for(id));
        let has_organiser = self.load.organiser.as_ref().is_some_and(|organiser| organiser.id.is_some());
        let as_creator = is_creator
            && self.is_of_party(caller)
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

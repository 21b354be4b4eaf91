//! What people do with a load, and to whom which of it is offered. The service decides; the console only leaves out
//! what it would refuse anyway.

use crate::api::model::Load;
use crate::session::Person;

/// Something to do with a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    Edit,
    Collect,
    Prove,
    Correct,
    Accept,
    SendToCarrier,
    SendToDriver,
    Reject,
    Cancel,
    Reopen,
    Note,
    AddFiles,
}

impl Action {
    const ALL: [Self; 12] = [
        Self::Edit,
        Self::Collect,
        Self::Prove,
        Self::Correct,
        Self::Accept,
        Self::SendToCarrier,
        Self::SendToDriver,
        Self::Note,
        Self::AddFiles,
        Self::Reopen,
        Self::Reject,
        Self::Cancel,
    ];

    /// Returns the part of the address that names it.
    pub(crate) fn slug(self) -> &'static str {
        match self {
            Self::Edit => "edit",
            Self::Collect => "collect",
            Self::Prove => "prove",
            Self::Correct => "correct",
            Self::Accept => "accept",
            Self::SendToCarrier => "send-to-carrier",
            Self::SendToDriver => "send-to-driver",
            Self::Reject => "reject",
            Self::Cancel => "cancel",
            Self::Reopen => "reopen",
            Self::Note => "note",
            Self::AddFiles => "files",
        }
    }

    /// Returns the action with this name.
    pub(crate) fn of_slug(slug: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|action| action.slug() == slug)
    }

    /// Returns the text of its button.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Edit => "Edit",
            Self::Collect => "Record the collection",
            Self::Prove => "Prove the delivery",
            Self::Correct => "Correct the proof",
            Self::Accept => "Accept",
            Self::SendToCarrier => "Send to a haulier",
            Self::SendToDriver => "Send to a driver",
            Self::Reject => "Rejected by the recipient",
            Self::Cancel => "Cancel the load",
            Self::Reopen => "Reopen",
            Self::Note => "Write a note",
            Self::AddFiles => "Add files",
        }
    }

    /// Returns true if it ends or undoes something.
    pub(crate) fn is_dangerous(self) -> bool {
        matches!(self, Self::Reject | Self::Cancel | Self::Reopen)
    }
}

/// Returns what a person may do with a load, most usual first. `is_accepted`: the history contains an acceptance.
pub(crate) fn offered(load: &Load, person: &Person, is_accepted: bool) -> Vec<Action> {
    let roles = Roles::of(load, person);
    let is_offered =
        |action: &Action| is_possible(*action, &load.status) && roles.may(*action, load, is_accepted);
    Action::ALL.into_iter().filter(is_offered).collect()
}

/// Returns true if a status allows an action (docs/api/loads.md, "Status").
fn is_possible(action: Action, status: &str) -> bool {
    let is_open = ["upcoming", "collected"].contains(&status);
    match action {
        Action::Edit | Action::Collect | Action::Prove | Action::Reject | Action::SendToDriver => is_open,
        Action::SendToCarrier | Action::Cancel => status == "upcoming",
        Action::Correct => status == "completed",
        Action::Reopen => !is_open,
        Action::Accept => is_open || status == "completed",
        Action::AddFiles => status != "cancelled",
        Action::Note => true,
    }
}

/// What a person is to a load.
struct Roles<'a> {
    person: &'a Person,
    organises: bool,
    carries: bool,
    created: bool,
}

impl<'a> Roles<'a> {
    fn of(load: &Load, person: &'a Person) -> Self {
        let is_own = |id: Option<&String>| person.acts_for(id.map(String::as_str));
        Self {
            person,
            organises: is_own(load.organiser.as_ref().and_then(|party| party.id.as_ref())),
            carries: is_own(load.carrier.as_ref().and_then(|party| party.id.as_ref())),
            created: is_own(load.created_by.as_ref().map(|created| &created.organisation_id)),
        }
    }

    /// Returns true if the person may do it (docs/api/authentication.md, "Permissions").
    fn may(&self, action: Action, load: &Load, is_accepted: bool) -> bool {
        let Person { is_admin, is_viewer, is_weigher, .. } = *self.person;
        let weighs = [Action::Collect, Action::Prove, Action::Correct, Action::Reject, Action::Note];
        if is_viewer || is_weigher && !weighs.contains(&action) {
            return false;
        }
        let is_party = self.organises || self.carries;
        // Whoever reads a load without having created it or being a party is its driver.
        let is_driver = !is_party && !self.created;
        match action {
            // The organiser accepts, nobody else.
            Action::Accept => self.organises && !self.created && load.created_by.is_some() && !is_accepted,
            _ if is_admin => true,
            Action::Cancel => self.organises || self.carries && self.created,
            Action::Collect | Action::Prove | Action::Reject | Action::Note | Action::AddFiles => {
                is_party || is_driver
            }
            Action::Edit | Action::Correct | Action::SendToCarrier | Action::SendToDriver => is_party,
            Action::Reopen => {
                let has_organiser = load.organiser.as_ref().is_some_and(|organiser| organiser.id.is_some());
                let for_nobody = self.carries && !has_organiser;
                self.organises || self.created && (load.status == "cancelled" || for_nobody)
            }
        }
    }
}

/// Returns the members that a person may edit (docs/api/loads.md, "Edit").
pub(crate) fn editable(load: &Load, person: &Person) -> &'static [&'static str] {
    let roles = Roles::of(load, person);
    let is_collected = load.status == "collected";
    let owns = person.is_admin || roles.organises || roles.carries && roles.created;
    let carries = roles.carries || person.is_admin;
    match (owns, is_collected, carries) {
        (true, false, _) => &[
            "reference",
            "deliveryDateISO",
            "commodityId",
            "weight",
            "pickupPostcode",
            "dropoffPostcode",
            "carrierId",
            "carrierName",
            "vehicleRegistration",
            "ticketNumber",
            "tags",
        ],
        (true, true, true) => {
            &["reference", "deliveryDateISO", "dropoffPostcode", "vehicleRegistration", "tags"]
        }
        (true, true, false) => &["reference", "deliveryDateISO", "dropoffPostcode", "tags"],
        (false, true, _) => &["vehicleRegistration"],
        (false, false, _) => &["vehicleRegistration", "ticketNumber", "weightNet"],
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::api::model::{CreatedBy, Party};

    pub(crate) fn load(status: &str, created_by: &str) -> Load {
        let party = |id: &str| Some(Party { id: Some(id.to_owned()), name: id.to_owned() });
        Load {
            status: status.to_owned(),
            organiser: party("grain"),
            carrier: party("haul"),
            created_by: Some(CreatedBy { organisation_id: created_by.to_owned() }),
            ..Load::default()
        }
    }

    pub(crate) fn person(organisation: &str) -> Person {
        Person {
            id: "ruth".to_owned(),
            name: "Ruth".to_owned(),
            organisation_id: (!organisation.is_empty()).then(|| organisation.to_owned()),
            organisation_name: None,
            is_admin: false,
            is_viewer: false,
            is_weigher: false,
        }
    }

    #[test]
    fn offers_what_status_and_permissions_allow() {
        let offered = |status: &str, created_by: &str, person: &Person| {
            let actions = offered(&load(status, created_by), person, false);
            actions.into_iter().map(Action::slug).collect::<Vec<_>>().join(" ")
        };
        let all = "edit collect prove send-to-carrier send-to-driver note files reject cancel";
        assert_eq!(offered("upcoming", "grain", &person("grain")), all);
        assert_eq!(offered("upcoming", "grain", &person("haul")), all.strip_suffix(" cancel").unwrap());
        assert_eq!(offered("upcoming", "haul", &person("grain")), all.replace("prove", "prove accept"));
        assert_eq!(offered("upcoming", "haul", &person("haul")), all);
        assert_eq!(offered("upcoming", "grain", &person("")), "collect prove note files reject", "a driver");
        assert_eq!(offered("completed", "grain", &person("haul")), "correct note files");
        assert_eq!(offered("completed", "grain", &person("grain")), "correct note files reopen");
        assert_eq!(offered("cancelled", "old", &person("old")), "reopen", "a former party");
        assert_eq!(offered("upcoming", "grain", &Person { is_viewer: true, ..person("grain") }), "");
        let weigher = Person { is_weigher: true, ..person("haul") };
        assert_eq!(offered("collected", "grain", &weigher), "collect prove note reject");
    }

    #[test]
    fn names_are_found_again() {
        for action in Action::ALL {
            assert_eq!(Action::of_slug(action.slug()), Some(action));
        }
        assert_eq!(Action::of_slug("delete"), None);
    }

    #[test]
    fn a_carrier_edits_less_than_the_organiser() {
        let members = |status: &str, created_by: &str, organisation: &str| {
            editable(&load(status, created_by), &person(organisation)).len()
        };
        assert_eq!(members("upcoming", "grain", "grain"), 11);
        assert_eq!(members("upcoming", "haul", "haul"), 11);
        assert_eq!(members("upcoming", "grain", "haul"), 3);
        assert_eq!(members("collected", "grain", "grain"), 4);
        assert_eq!(members("collected", "haul", "haul"), 5);
        assert_eq!(members("collected", "grain", "haul"), 1);
    }
}

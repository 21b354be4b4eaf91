//! The statuses of loads, and what each of them allows (docs/api/loads.md, "Status").

use common::{Error, Reason};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The status of a load.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    Serialize,
    Deserialize,
    ToSchema,
    strum::EnumIter,
    strum::EnumString,
    strum::IntoStaticStr,
    strum::VariantNames,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Status {
    /// The load is not collected yet, or nobody has recorded that it was.
    Upcoming,
    /// The vehicle is loaded.
    Collected,
    /// The delivery is proven.
    Completed,
    /// The recipient has refused the load.
    Rejected,
    /// The load will not be delivered.
    Cancelled,
}

/// What somebody does with a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::EnumIter)]
pub(crate) enum Action {
    /// Editing members.
    Edit,
    /// Accepting it for its organiser.
    Accept,
    /// Sending it to a driver, or to the carrier that it has.
    Send,
    /// Giving it a carrier.
    AssignCarrier,
    /// Recording its collection. The load is collected then.
    Collect,
    /// Proving its delivery. The load is completed then.
    Prove,
    /// Correcting the proof of its delivery.
    Correct,
    /// Adding files.
    AddFiles,
    /// Rejecting it. The load is rejected then.
    Reject,
    /// Cancelling it. The load is cancelled then.
    Cancel,
}

impl Status {
    /// Returns the word for the status in documents and columns.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Action {
    /// Returns the statuses of the loads that the action is for.
    const fn statuses(self) -> &'static [Status] {
        use Status::{Cancelled, Collected, Completed, Rejected, Upcoming};
        match self {
            Self::Edit | Self::Send | Self::Collect | Self::Prove | Self::Reject => &[Upcoming, Collected],
            Self::Accept => &[Upcoming, Collected, Completed],
            Self::AssignCarrier => &[Upcoming],
            Self::Cancel => &[Upcoming, Cancelled],
            Self::Correct => &[Completed],
            Self::AddFiles => &[Upcoming, Collected, Completed, Rejected],
        }
    }

    /// Checks that a load with this status allows the action.
    ///
    /// # Errors
    /// 409 otherwise.
    pub(crate) fn check(self, status: Status) -> Result<(), Error> {
        if self.statuses().contains(&status) {
            return Ok(());
        }
        let (reason, message) = match status {
            Status::Upcoming => (Reason::LoadUpcoming, "This load is not completed yet."),
            Status::Collected => (Reason::LoadCollected, "This load is collected."),
            Status::Completed => (Reason::LoadCompleted, "This load is completed."),
            Status::Rejected => (Reason::LoadRejected, "This load is rejected."),
            Status::Cancelled => (Reason::LoadCancelled, "This load is cancelled."),
        };
        Err(Error::conflict(reason, message))
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;

    /// The picture in docs/api/loads.md, "Status", has the arrows of the table.
    #[test]
    fn the_picture_agrees_with_the_table() {
        use Status::{Cancelled, Collected, Completed, Rejected, Upcoming};
        let page = include_str!("../../../../docs/api/loads.md");
        let picture = page.split("stateDiagram-v2\n").nth(1).and_then(|rest| rest.split("```").next());
        let mut drawn: Vec<_> = picture.unwrap_or_default().lines().map(str::trim).collect();
        let mut arrows = vec!["[*] --> upcoming".to_owned()];
        for (action, to, label) in [
            (Action::Collect, Collected, "collection"),
            (Action::Prove, Completed, "proof of delivery"),
            (Action::Reject, Rejected, "rejection"),
            (Action::Cancel, Cancelled, "cancel"),
        ] {
            let from = action.statuses().iter().filter(|from| **from != to);
            arrows.extend(from.map(|from| format!("{} --> {}: {label}", from.as_str(), to.as_str())));
        }
        let ended = Status::iter().filter(|status| ![Upcoming, Collected].contains(status));
        arrows.extend(ended.map(|from| format!("{} --> upcoming: reopen", from.as_str())));
        drawn.sort_unstable();
        arrows.sort_unstable();
        assert_eq!(drawn, arrows);
    }

    /// The same table as in docs/api/loads.md, "Status".
    #[test]
    fn each_status_allows_its_actions() {
        let table = Status::iter().map(|status| {
            let allowed = Action::iter().filter(|action| action.check(status).is_ok());
            let actions = allowed.map(|action| format!("{action:?}")).collect::<Vec<_>>().join(" ");
            format!("{}: {actions}", status.as_str())
        });
        assert_eq!(
            table.collect::<Vec<_>>(),
            [
                "upcoming: Edit Accept Send AssignCarrier Collect Prove AddFiles Reject Cancel",
                "collected: Edit Accept Send Collect Prove AddFiles Reject",
                "completed: Accept Correct AddFiles",
                "rejected: AddFiles",
                "cancelled: Cancel",
            ]
        );
    }
}

//! Rows that edit loads which exist already, by the rules of `PATCH` (docs/api/batches.md, "Rows that exist").

use common::history::Changes;
use common::validation::{Code, FieldError};
use common::{Caller, Error, MergePatch, Precondition};
use database::Id;
use serde::Serialize;
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use super::row::{GivenCells, RowIdentity};
use crate::commodities::Catalogue;
use crate::loads::edit;
use crate::loads::form::LoadPatch;
use crate::loads::history::Change;
use crate::loads::members::{changes, find_member};
use crate::loads::model::Load;
use crate::loads::party::PartyNames;
use crate::loads::stored_load::StoredLoad;
use crate::organisations::NamedBy;

/// The reason of a row whose caller may not edit the load.
const FORBIDDEN: &str = "forbidden";

/// The changes that a row makes.
#[derive(Clone, Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RowChanges {
    /// The number of the row, from 0.
    pub(crate) row: usize,
    #[schema(value_type = String, format = Uuid)]
    pub(crate) load_id: Id,
    /// The changed members by their names in requests.
    #[schema(value_type = std::collections::BTreeMap<String, Change>)]
    pub(crate) changes: Changes,
}

/// What the cells of a row make of its load.
pub(crate) enum Edit {
    /// They equal the load.
    Unchanged,
    Changed(Box<EditedLoad>),
    /// They contradict what cannot be edited.
    Refused(FieldError),
}

/// A load that a row changes.
pub(crate) struct EditedLoad {
    pub(crate) load: Load,
    pub(crate) changes: Changes,
    /// The members that change.
    patch: MergePatch<LoadPatch>,
}

/// Compares the cells of a row with its load.
///
/// # Errors
/// 500 if the cells were not validated.
pub(crate) fn compare(
    row: &RowIdentity,
    cells: GivenCells,
    stored: &StoredLoad,
    catalogue: &Catalogue,
    names: &PartyNames,
) -> Result<Edit, Error> {
    let before = &stored.load;
    let GivenCells { patch, organiser_id, organiser_name, is_organiser_found } = cells;
    let Value::Object(mut members) = patch else { return Ok(Edit::Unchanged) };
    let organiser = before.organiser.as_ref();
    let known_id = organiser.and_then(|organiser| organiser.id.as_deref());
    // A load whose organiser has only a name keeps it, also if the address book has the name by now.
    let organiser_id = organiser_id.filter(|_| !is_organiser_found || known_id.is_some());
    if organiser_id.as_deref().is_some_and(|id| known_id != Some(id)) {
        return Ok(Edit::Refused(fixed(row, "organiserId")));
    }
    // The tokens of an organisation name it, whatever the row says.
    let has_name = known_id.is_some_and(|id| names.token_name(id).is_some());
    let known_name = organiser.map(|organiser| organiser.name.as_str());
    if !has_name && organiser_name.as_deref().is_some_and(|name| known_name != Some(name)) {
        return Ok(Edit::Refused(fixed(row, "organiserName")));
    }
    if !members.contains_key("carrierId") && members.contains_key("carrierName") {
        let name = before.carrier.as_ref().map(|carrier| json!(carrier.name));
        if members.remove("carrierName") != name {
            // Of a new load, the name would be the same error, which suggests names of the address book.
            let of_new = row.if_new.iter().find(|error| error.path.ends_with(".carrierId")).cloned();
            let error = of_new
                .unwrap_or_else(|| row.error("carrierId", Code::Required, "is required with carrierName"));
            return Ok(Edit::Refused(error));
        }
    }
    // Most cells repeat the load. The carrier has its id and its name.
    let is_same =
        |name: &str, value: &Value| find_member(name).is_some_and(|member| member.has(before, value));
    let carrier_is_same = ["carrierId", "carrierName"]
        .iter()
        .all(|name| members.get(*name).is_none_or(|value| is_same(name, value)));
    members.retain(|name, value| match name.as_str() {
        "carrierId" | "carrierName" => !carrier_is_same,
        name => !is_same(name, value),
    });
    if members.is_empty() {
        return Ok(Edit::Unchanged);
    }
    let mut load = before.clone();
    edit::apply(&patch_of(members.clone())?, &mut load, catalogue, names, &[])?;
    let changes = changes(before, &load);
    if changes.is_empty() {
        return Ok(Edit::Unchanged);
    }
    // Only what changes needs a right: a row repeats the rest.
    members.retain(|name, _| changes.contains_key(name.as_str()));
    Ok(Edit::Changed(Box::new(EditedLoad { load, changes, patch: patch_of(members)? })))
}

fn patch_of(members: Map<String, Value>) -> Result<MergePatch<LoadPatch>, Error> {
    Ok(MergePatch::of_valid(Value::Object(members))?)
}

/// Returns the error of a cell that differs from what cannot be edited.
fn fixed(row: &RowIdentity, column: &str) -> FieldError {
    row.error(column, Code::Inconsistent, "differs from that of the load, which cannot be edited")
}

impl EditedLoad {
    /// Checks that the caller may make the change. Returns the error of the row otherwise.
    ///
    /// # Errors
    /// Those that do not concern the row.
    pub(crate) fn check(
        &self,
        row: &RowIdentity,
        stored: &StoredLoad,
        caller: &Caller,
    ) -> Result<Option<FieldError>, Error> {
        let checked = edit::check_rights(&self.patch, stored, caller)
            .and_then(|()| edit::check_state(&self.patch, stored, caller, &Precondition::default()));
        let (message, reason) = match checked {
            Ok(()) => return Ok(None),
            Err(Error::Forbidden(message)) => (message.to_owned(), json!(FORBIDDEN)),
            Err(Error::Conflict(message, body)) => (message, body.get("reason").cloned().unwrap_or_default()),
            Err(error) => return Err(error),
        };
        let message = format!("names a load that cannot be edited so: {}", message.trim_end_matches('.'));
        let column = if row.id == Some(stored.load.id) { "id" } else { "reference" };
        let mut error = row.error(column, Code::Inconsistent, &message);
        error.data.insert("reason".to_owned(), reason);
        error.data.insert("loadId".to_owned(), json!(stored.load.id));
        Ok(Some(error))
    }

    /// Returns the organisation that the change makes the carrier, and the one in whose name.
    pub(crate) fn new_carrier(&self, before: &Load, caller: &Caller) -> Option<NamedBy> {
        edit::new_carrier_named(&self.patch, before, caller)
    }
}

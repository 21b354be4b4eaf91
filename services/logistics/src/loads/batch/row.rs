//! The rules of a row, and what is known of a valid row besides its load.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use anyhow::anyhow;
use common::validation::{Code, FieldError, ValidationErrors};
use common::wire::{ExternalId, Name, fold};
use common::{Caller, Error};
use database::{Id, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::commodities::Catalogue;
use crate::loads::address_book::BatchNames;
use crate::loads::batch::options::CellOptions;
use crate::loads::batch::upload::DefaultOrganiser;
use crate::loads::form::{BatchRow, UNKNOWN_COMMODITY};
use crate::loads::members::{Editor, find_member};
use crate::loads::model::Load;
use crate::loads::party::Party;
use crate::loads::reference::ComparedReference;
use crate::loads::weights::reword_tonnes;
use crate::organisations::NamedBy;

/// The inputs that all rows of a batch share.
pub(crate) struct RowContext<'a> {
    /// The id of the batch.
    pub(crate) batch_id: Id,
    /// Who sends the batch.
    pub(crate) caller: &'a Caller,
    /// What is known of the organisations that rows name.
    pub(crate) names: BatchNames<'a>,
    /// The commodities that rows may name.
    pub(crate) catalogue: &'a Catalogue,
    /// The organiser of rows that name none.
    pub(crate) organiser: DefaultOrganiser,
    /// A row uses the organiser of the form, whose name is missing. This is reported once for the form.
    pub(crate) lacks_organiser_name: bool,
    /// The response has room for more errors.
    pub(crate) reports_errors: bool,
    /// The suggestions for unknown names of commodities so far: many rows have the same one.
    pub(crate) suggestions: HashMap<String, Vec<String>>,
    /// Rows may edit loads, or are compared with them.
    pub(crate) keeps_cells: bool,
}

/// A valid row.
pub(crate) struct ParsedRow {
    /// The load that it creates. `None` if it lacks cells of a new load.
    pub(crate) load: Option<Load>,
    pub(crate) reference: String,
    /// `None` if the cell is blank.
    pub(crate) delivery_at: Option<Timestamp>,
    /// Its cells, if [`RowContext::keeps_cells`] is true.
    pub(crate) cells: Option<GivenCells>,
    /// The organisations that it names and for which nobody has called this service, with their columns.
    pub(crate) unknown: Vec<(&'static str, String)>,
}

/// The cells of a row with which a load is edited or compared. Blank ones are left out.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct GivenCells {
    /// The members of a [`LoadPatch`](crate::loads::form::LoadPatch).
    pub(crate) patch: Value,
    pub(crate) organiser_id: Option<String>,
    pub(crate) organiser_name: Option<String>,
    /// The id is that of the organisation with the name: the row has none.
    pub(crate) is_organiser_found: bool,
}

const REQUIRED: &str = "is required";
/// Message for an organisation that is given by a name that none or several of the address book have.
const NOT_IN_BOOK: &str =
    "is required: your address book does not have exactly one organisation with this name";

/// Moves schema errors from `found` to `errors`, one per cell, with messages for people who edit a table.
pub(crate) fn reword_errors(
    mut found: ValidationErrors,
    options: CellOptions,
    errors: &mut ValidationErrors,
) {
    reword_tonnes("weight", &mut found);
    reword_tonnes("weightNet", &mut found);
    found.reword("commodityId", Code::Type, "must be a number: see GET /v1/commodities");
    for name in ["weight", "weightNet"] {
        found.reword(name, Code::Type, options.decimal.number_message());
    }
    if let Some(message) = options.date_order.message() {
        found.reword("deliveryDateISO", Code::Format, message);
    }
    for field_error in found {
        let column = field_error.path.split(['[', '.']).next().unwrap_or_default();
        errors.push_with(column, field_error.code, field_error.message, field_error.data.into());
    }
}

impl RowContext<'_> {
    /// Returns the names of commodities that are near an unknown name, or none if the error is not reported.
    fn suggestions(&mut self, name: &str) -> &[String] {
        if !self.reports_errors {
            return &[];
        }
        let catalogue = self.catalogue;
        let near = || catalogue.near_names(name).into_iter().map(str::to_owned).collect();
        self.suggestions.entry(name.to_owned()).or_insert_with(near)
    }

    /// Returns the data of an error for the name of an organisation: the names that are near it, or none if the error
    /// is not reported.
    fn suggested_parties(&mut self, name: &str) -> Result<Value, Error> {
        let near = if self.reports_errors { self.names.suggestions(name)? } else { Vec::new() };
        Ok(json!({ "suggestions": near }))
    }
}

impl BatchRow {
    /// Converts the row, and adds what is wrong with it to `errors`.
    ///
    /// # Errors
    /// 500 if the row was not validated by its schema.
    pub(crate) fn parse(
        mut self,
        context: &mut RowContext<'_>,
        errors: &mut ValidationErrors,
    ) -> Result<ParsedRow, Error> {
        let commodity_id = self.commodity_id(context, errors);
        if self.weight_unit.as_ref().is_some_and(|unit| !unit.eq_ignore_ascii_case("tonne")) {
            errors.push_with("weightUnit", Code::Enum, "must be tonne", json!({ "allowed": ["tonne"] }));
        }
        let names_organiser = self.organiser_id.is_some();
        self.name_own_organisation(context.caller);
        self.find_parties(context, errors)?;
        let cells =
            context.keeps_cells.then(|| self.given_cells(commodity_id, names_organiser)).transpose()?;
        let (organiser, carrier) = self.parties(context, errors)?;
        let (reference, delivery_at) = (self.reference.0.clone(), self.delivery_date.start());
        let named = [("organiserId", &organiser), ("carrierId", &carrier)];
        let ids = named.into_iter().filter_map(|(column, party)| Some((column, party.as_ref()?.id.clone()?)));
        let unknown = ids.filter(|(column, id)| context.names.names.warning(*column, id).is_some()).collect();
        let mut row = ParsedRow { load: None, reference, delivery_at, cells, unknown };
        if !errors.is_empty() {
            return Ok(row);
        }
        let (fields, weight_net) = self.into_fields(commodity_id);
        let load = fields.into_load(context.catalogue, context.caller, weight_net)?;
        row.load = Some(Load { organiser, carrier, batch_id: Some(context.batch_id), ..load });
        Ok(row)
    }

    /// Returns the cells that are not blank. `names_organiser`: one of them is the organiser's id.
    ///
    /// # Errors
    /// 500 if the row cannot be serialized, which is a bug.
    fn given_cells(&self, commodity_id: Option<f64>, names_organiser: bool) -> Result<GivenCells, Error> {
        let mut patch = match serde_json::to_value(self) {
            Ok(Value::Object(cells)) => cells,
            other => return Err(Error::Internal(anyhow!("a row is not an object: {other:?}"))),
        };
        patch.insert("commodityId".to_owned(), json!(commodity_id));
        if let Some(instant) = self.delivery_date.start() {
            // In the form that loads have, because it is compared with theirs.
            patch.insert("deliveryDateISO".to_owned(), json!(instant));
        }
        patch.retain(|name, value| {
            let is_blank = value.is_null() || *value == json!("") || *value == json!([]);
            !is_blank && find_member(name).is_some_and(|member| member.editor != Editor::Nobody)
        });
        Ok(GivenCells {
            patch: Value::Object(patch),
            organiser_id: self.organiser_id.as_ref().map(|id| id.0.clone()),
            organiser_name: self.organiser_name.as_ref().map(|name| name.0.clone()),
            is_organiser_found: !names_organiser,
        })
    }

    /// Adds the id of the caller's organisation to a party that is given by its name only.
    fn name_own_organisation(&mut self, caller: &Caller) {
        add_own_id(&mut self.organiser_id, self.organiser_name.as_ref(), caller);
        add_own_id(&mut self.carrier_id, self.carrier_name.as_ref(), caller);
    }

    /// Adds the ids of parties that are given by a name only, if exactly one organisation of the address book has it.
    /// Looks up the names of all parties.
    fn find_parties(&mut self, context: &mut RowContext<'_>, errors: &ValidationErrors) -> Result<(), Error> {
        for (column, id, name) in [
            ("organiserId", &mut self.organiser_id, &self.organiser_name),
            ("carrierId", &mut self.carrier_id, &self.carrier_name),
        ] {
            if let (None, Some(name), false) = (&id, name, errors.failed(column)) {
                *id = context.names.find(name)?.map(ExternalId);
            }
            if let Some(id) = id {
                context.names.add(id)?;
            }
        }
        Ok(())
    }

    /// Returns the id of the commodity that id or name, or both, name.
    fn commodity_id(&self, context: &mut RowContext<'_>, errors: &mut ValidationErrors) -> Option<f64> {
        let catalogue = context.catalogue;
        let by_name = self.commodity_name.as_ref().map(|name| catalogue.find_name(name));
        let by_id = self.commodity_id.map(|id| catalogue.find(id));
        if let (Some(None), Some(name)) = (by_name, &self.commodity_name) {
            let suggestions = context.suggestions(name);
            let message = match suggestions {
                [] => UNKNOWN_COMMODITY.to_owned(),
                near => format!("{UNKNOWN_COMMODITY} (near names: {})", near.join(", ")),
            };
            let data = json!({ "suggestions": suggestions });
            errors.push_with("commodityName", Code::UnknownReference, message, data);
        }
        match (by_id, by_name) {
            (Some(None), _) => errors.push("commodityId", Code::UnknownReference, UNKNOWN_COMMODITY),
            (_, Some(None)) => {}
            (Some(Some(id)), Some(Some(name))) if id.id != name.id => {
                let message = format!("is not the name of commodity {}, which is {}", id.id, id.name);
                errors.push("commodityName", Code::Inconsistent, message);
            }
            (Some(found), _) | (None, Some(found)) => return found.map(|entry| entry.id.into()),
            (None, None) if errors.failed("commodityName") => {}
            (None, None) => {
                errors.push("commodityId", Code::Required, "is required: commodityId or commodityName");
            }
        }
        None
    }

    /// Returns organiser and carrier. The form supplies the organiser, or its name, if the row omits it.
    fn parties(
        &mut self,
        context: &mut RowContext<'_>,
        errors: &mut ValidationErrors,
    ) -> Result<(Option<Party>, Option<Party>), Error> {
        let (caller, default) = (context.caller, &context.organiser);
        let (mut id, mut name) = (self.organiser_id.take(), self.organiser_name.take());
        let (carrier_id, carrier_name) = (self.carrier_id.take(), self.carrier_name.take());
        let is_invalid = ["organiserId", "organiserName"].iter().any(|field| errors.failed(field));
        let is_default = id.is_none() && name.is_none() && !is_invalid;
        if is_default {
            id.clone_from(&default.id);
        }
        let has_carrier = carrier_id.is_some() || carrier_name.is_some() || errors.failed("carrierId");
        let has_default = default.id.is_some() || default.name.is_some();
        if let Some(own) = caller.organisation.as_ref().filter(|_| is_default && !has_default && !has_carrier)
        {
            // A token without the name of the organisation is no reason to refuse the row.
            name = Some(Name(own.name.clone().unwrap_or_else(|| own.id.clone())));
            id = Some(ExternalId(own.id.clone()));
        }
        // The default name does not apply to a row with another organiser.
        if is_default
            || (name.is_none()
                && default.id.as_ref().is_none_or(|default_id| id.as_ref() == Some(default_id)))
        {
            name = name.or_else(|| default.name.clone());
        }
        let lacks_name = |id: &Option<ExternalId>, name: &Option<Name>| {
            name.is_none() && id.as_ref().is_some_and(|id| context.names.names.supplied(id).is_none())
        };
        let (organiser_lacks_name, carrier_lacks_name) =
            (lacks_name(&id, &name), lacks_name(&carrier_id, &carrier_name));
        if organiser_lacks_name {
            if is_default {
                context.lacks_organiser_name = true;
            } else {
                errors.push("organiserName", Code::Required, REQUIRED);
            }
        }
        if carrier_lacks_name {
            errors.push("carrierName", Code::Required, REQUIRED);
        }
        if let (Some(name), None) = (&carrier_name, &carrier_id) {
            let data = context.suggested_parties(name)?;
            errors.push_with("carrierId", Code::Required, NOT_IN_BOOK, data);
        }
        if id.is_none() && carrier_id.is_none() && !errors.failed("carrierId") {
            match &name {
                Some(name) => {
                    let data = context.suggested_parties(name)?;
                    errors.push_with("organiserId", Code::Required, NOT_IN_BOOK, data);
                }
                None => errors.push("organiserId", Code::Required, "is required: organiserId or carrierId"),
            }
        }
        let names = &context.names.names;
        Ok((Party::new(id, name, names), Party::new(carrier_id, carrier_name, names)))
    }
}

/// Adds the id of the caller's organisation to a party that has only a name, if that is the organisation's.
pub(crate) fn add_own_id(id: &mut Option<ExternalId>, name: Option<&Name>, caller: &Caller) {
    let Some(own) = caller.organisation.as_ref().filter(|_| id.is_none()) else { return };
    let is_own = |name: &Name| own.name.as_ref().is_some_and(|own| fold(own) == fold(name));
    if name.is_some_and(is_own) {
        *id = Some(ExternalId(own.id.clone()));
    }
}

/// What identifies the load of a valid row, and where the row is.
#[derive(Debug)]
pub(crate) struct RowIdentity {
    /// The load that the column `id` names.
    pub(crate) id: Option<Id>,
    pub(crate) reference: ComparedReference,
    /// `None` if the cell is blank, which rows that edit loads permit.
    pub(crate) delivery_at: Option<Timestamp>,
    /// The number of the row in the batch, from 0.
    pub(crate) index: usize,
    /// The line in its file.
    pub(crate) line: u64,
    /// The name of its file if there are several.
    pub(crate) file: Option<Arc<str>>,
    /// The other organisation that the row names.
    pub(crate) naming: Option<Naming>,
    /// What is wrong with the row unless its load exists.
    pub(crate) if_new: Vec<FieldError>,
}

impl RowIdentity {
    /// Returns where the row is, for an error or a warning.
    pub(crate) fn location(&self) -> Map<String, Value> {
        let mut data = Map::from_iter([("line".to_owned(), json!(self.line))]);
        data.extend(self.file.as_deref().map(|file| ("file".to_owned(), json!(file))));
        data
    }

    /// Returns an error at a column of the row.
    pub(crate) fn error(&self, column: &str, code: Code, message: &str) -> FieldError {
        let path = format!("rows[{}].{column}", self.index);
        FieldError { path, message: message.to_owned(), code, data: self.location() }
    }
}

/// The organisation that a row names besides the one in whose name it is sent, and the column.
#[derive(Clone, Debug)]
pub(crate) struct Naming {
    pub(crate) pair: Arc<NamedBy>,
    pub(crate) column: &'static str,
}

/// The pairs of organisations of all rows so far, each once: many rows name the same ones.
#[derive(Debug, Default)]
pub(crate) struct Namings(HashSet<Arc<NamedBy>>);

impl Namings {
    /// Returns the other organisation that a load names, if there is one.
    pub(crate) fn find(&mut self, load: &Load, caller: &Caller) -> Option<Naming> {
        let pair = NamedBy::another_party(&load.parties(), load.principal(caller)?)?;
        let column = if load.carrier_id() == Some(&*pair.named) { "carrierId" } else { "organiserId" };
        if let Some(known) = self.0.get(&pair) {
            return Some(Naming { pair: known.clone(), column });
        }
        let pair = Arc::new(pair);
        self.0.insert(pair.clone());
        Some(Naming { pair, column })
    }
}

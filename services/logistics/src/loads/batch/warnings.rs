//! The warnings for rows of a batch: for those that name an organisation for which nobody has called this service
//! (docs/api/loads.md, "Address book"), and for new ones whose reference is only similar to another one
//! (docs/api/batches.md, "Similar references").

use std::collections::{BTreeSet, HashMap, HashSet};

use common::wire::Warning;
use common::{Caller, Error};
use database::{AnyConnection, Id};
use serde_json::json;

use super::plan::Plan;
use super::row::RowIdentity;
use crate::loads::party::PartyNames;
use crate::loads::reference::{ComparedReference, FoldedHash};
use crate::loads::store;

/// The maximum number of warnings of a kind: one for each organisation or reference.
const MAX_WARNINGS: usize = 100;
/// The number of rows that a warning lists.
const MAX_ROWS: usize = 100;

/// The unknown organisations that rows name.
#[derive(Debug, Default)]
pub(crate) struct UnknownParties {
    by_id: HashMap<String, usize>,
    /// In the order of their first rows.
    all: Vec<UnknownParty>,
}

#[derive(Debug)]
struct UnknownParty {
    id: String,
    /// The column of the first row.
    column: &'static str,
    /// The positions of the rows among the valid ones.
    positions: Vec<usize>,
}

impl UnknownParties {
    /// Adds a row by its position among the valid ones, with the unknown organisations that it names.
    pub(crate) fn add(&mut self, position: usize, named: Vec<(&'static str, String)>) {
        for (column, id) in named {
            let index = *self.by_id.entry(id.clone()).or_insert_with(|| {
                self.all.push(UnknownParty { id, column, positions: Vec::new() });
                self.all.len() - 1
            });
            if let Some(party) = self.all.get_mut(index) {
                party.positions.push(position);
            }
        }
    }

    /// Returns a warning for each organisation that rows which create or edit loads name.
    pub(crate) fn warnings(&self, names: &PartyNames, rows: &[RowIdentity], plans: &[Plan]) -> Vec<Warning> {
        let warning = |party: &UnknownParty| {
            let is_used = |position: &&usize| matches!(plans.get(**position), Some(Plan::New | Plan::Edit));
            let used = party.positions.iter().filter(is_used).filter_map(|position| rows.get(*position));
            let used: Vec<&RowIdentity> = used.take(MAX_ROWS).collect();
            let first = used.first()?;
            let mut warning = names.warning(format!("rows[{}].{}", first.index, party.column), &party.id)?;
            warning.data = first.location();
            warning.data.insert("organisationId".to_owned(), json!(party.id));
            let indices: Vec<usize> = used.iter().map(|row| row.index).collect();
            warning.data.insert("rows".to_owned(), json!(indices));
            Some(warning)
        };
        self.all.iter().filter_map(warning).take(MAX_WARNINGS).collect()
    }
}

/// A row whose reference is similar to that of a load or of an earlier row, and equal to none.
#[derive(Debug)]
pub(crate) struct SimilarRow {
    /// The position of the row among the valid ones.
    position: usize,
    /// What its reference is similar to.
    reference: String,
    /// The newest load with that reference.
    load: Option<Id>,
    /// The number of the row with that reference, if no load has it.
    row: Option<usize>,
}

/// Returns the rows whose reference no active load of the organisation has, but which resembles that of an active load
/// or of an earlier row.
pub(crate) fn find_similar(
    c: &mut AnyConnection,
    caller: &Caller,
    rows: &[RowIdentity],
) -> Result<Vec<SimilarRow>, Error> {
    let keys: BTreeSet<&str> = rows.iter().map(|row| row.reference.similarity_key.as_str()).collect();
    let mut known = HashSet::new();
    let mut newest: HashMap<String, store::SimilarLoad> = HashMap::new();
    for load in store::find_similar(c, caller.organisation_id_or_empty(), &keys)? {
        let ComparedReference { folded, similarity_key: key, .. } =
            ComparedReference::new(load.reference.clone());
        known.insert(folded);
        if newest.get(&key).is_none_or(|other| other.id < load.id) {
            newest.insert(key, load);
        }
    }
    let mut first_rows: HashMap<&str, &RowIdentity> = HashMap::new();
    let mut similar = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let ComparedReference { folded, similarity_key: key, .. } = &row.reference;
        if known.contains(folded) {
            continue;
        }
        if let Some(load) = newest.get(key) {
            let reference = load.reference.clone();
            similar.push(SimilarRow { position, reference, load: Some(load.id), row: None });
            continue;
        }
        let earlier = first_rows.entry(key).or_insert(row);
        if earlier.reference.folded != *folded {
            let reference = earlier.reference.text.clone();
            similar.push(SimilarRow { position, reference, load: None, row: Some(earlier.index) });
        }
    }
    Ok(similar)
}

/// Returns a warning for each reference of these rows that new ones have, with the first of their rows.
pub(crate) fn similar_warnings(
    similar: &[SimilarRow],
    rows: &[RowIdentity],
    is_new: &[bool],
) -> Vec<Warning> {
    let mut warnings: Vec<(Warning, Vec<usize>)> = Vec::new();
    let mut by_reference: HashMap<FoldedHash, usize> = HashMap::new();
    for found in similar.iter().filter(|found| is_new.get(found.position) == Some(&true)) {
        let Some(row) = rows.get(found.position) else { continue };
        if let Some(known) = by_reference.get(&row.reference.folded) {
            let listed = &mut warnings[*known].1;
            if listed.len() < MAX_ROWS {
                listed.push(row.index);
            }
        } else if warnings.len() < MAX_WARNINGS {
            by_reference.insert(row.reference.folded, warnings.len());
            warnings.push((similar_warning(found, row), vec![row.index]));
        }
    }
    let with_rows = |(mut warning, rows): (Warning, Vec<usize>)| {
        warning.data.insert("rows".to_owned(), json!(rows));
        warning
    };
    warnings.into_iter().map(with_rows).collect()
}

fn similar_warning(found: &SimilarRow, row: &RowIdentity) -> Warning {
    let reference = &found.reference;
    let message = match found.row {
        None => format!(
            "is similar to {reference}, the reference of a load of your organisation: is it the same?"
        ),
        Some(_) => format!("is similar to {reference}, the reference of an earlier row: is it the same?"),
    };
    let mut data = row.location();
    data.insert("reference".to_owned(), json!(reference));
    data.extend(found.load.map(|id| ("loadId".to_owned(), json!(id))));
    data.extend(found.row.map(|index| ("row".to_owned(), json!(index))));
    Warning { data, ..Warning::new(format!("rows[{}].reference", row.index), "similar_reference", message) }
}

//! The warning for new rows whose reference is only similar to another one (docs/api/batches.md, "Similar references").

use std::collections::{BTreeSet, HashMap, HashSet};

use common::wire::Warning;
use common::{Caller, Error};
use database::{AnyConnection, Id};
use serde_json::json;

use super::row::RowIdentity;
use crate::loads::reference::{ComparedReference, FoldedHash};
use crate::loads::store;

/// The maximum number of these warnings, one for each reference.
const MAX_WARNINGS: usize = 100;
/// The number of rows that a warning lists.
const MAX_ROWS: usize = 100;

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
pub(crate) fn warnings(similar: &[SimilarRow], rows: &[RowIdentity], is_new: &[bool]) -> Vec<Warning> {
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
            warnings.push((warning(found, row), vec![row.index]));
        }
    }
    let with_rows = |(mut warning, rows): (Warning, Vec<usize>)| {
        warning.data.insert("rows".to_owned(), json!(rows));
        warning
    };
    warnings.into_iter().map(with_rows).collect()
}

fn warning(found: &SimilarRow, row: &RowIdentity) -> Warning {
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

//! The warning for rows that name an organisation for which nobody has called this service (docs/api/loads.md, "Address
//! book").

use std::collections::HashMap;

use common::wire::Warning;
use serde_json::json;

use super::plan::Plan;
use super::row::RowIdentity;
use crate::loads::party::PartyNames;

/// The maximum number of these warnings, one for each organisation.
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

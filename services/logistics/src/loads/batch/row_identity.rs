//! What is known of a valid row besides its load: where it is, what identifies its load, and whom it names.

use std::collections::HashSet;
use std::sync::Arc;

use common::Caller;
use common::validation::{Code, FieldError};
use database::{Id, Timestamp};
use serde_json::{Map, Value, json};

use crate::loads::model::Load;
use crate::organisations::NamedBy;

/// What identifies the load of a valid row, and where the row is.
#[derive(Debug)]
pub(crate) struct RowIdentity {
    /// The load that the column `id` names.
    pub(crate) id: Option<Id>,
    pub(crate) reference: String,
    pub(crate) delivery_at: Timestamp,
    /// The number of the row in the batch, from 0.
    pub(crate) index: usize,
    /// The line in its file.
    pub(crate) line: u64,
    /// The name of its file if there are several.
    pub(crate) file: Option<Arc<str>>,
    /// The other organisation that the row names.
    pub(crate) naming: Option<Naming>,
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

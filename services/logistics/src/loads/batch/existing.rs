//! Rows whose loads exist already (docs/api/batches.md, "Rows that exist").

use std::collections::{HashMap, HashSet};

use common::validation::{Code, FieldError};
use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use serde_json::json;

use super::options::MatchBy;
use super::row::RowIdentity;
use crate::loads::reference::{ComparedReference, FoldedHash};
use crate::loads::store::{self, find_created, find_readable_ids};

/// The most loads with the reference of a row that a response names.
const MAX_LISTED: usize = 10;

/// The load of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The row names this load, which the caller may see.
    Named(Id),
    /// The caller's organisation created this load with the same reference and delivery date, or reference.
    Created(Id),
    /// The caller's organisation created these loads with the same reference.
    Several(Vec<Id>),
}

impl Existing {
    /// Returns the only load of the row.
    pub(crate) fn id(&self) -> Option<Id> {
        match self {
            Self::Named(id) | Self::Created(id) => Some(*id),
            Self::Several(_) => None,
        }
    }
}

/// What two rows of the same load have in common.
pub(crate) type RowKey = (FoldedHash, Option<Timestamp>);

impl RowIdentity {
    /// Returns what other rows of the same load have too. `None` if one of these cells is blank, which is possible in
    /// rows that name their load by id.
    fn key(&self, match_by: MatchBy) -> Option<RowKey> {
        if self.reference.text.is_empty() {
            return None;
        }
        let date = match match_by {
            MatchBy::Reference => None,
            MatchBy::ReferenceAndDate => Some(self.delivery_at?),
        };
        Some((self.reference.folded, date))
    }
}

/// Returns the load of each row, or `None` for a new one.
pub(crate) fn find_existing(
    c: &mut AnyConnection,
    caller: &Caller,
    match_by: MatchBy,
    rows: &[RowIdentity],
) -> Result<Vec<Option<Existing>>, Error> {
    let ids: Vec<Id> = rows.iter().filter_map(|row| row.id).collect();
    let readable = find_readable_ids(c, caller, &ids)?;
    let organisation = caller.organisation_id_or_empty();
    let found = match match_by {
        MatchBy::ReferenceAndDate => {
            let pairs =
                rows.iter().filter_map(|row| Some((row.reference.similarity_key.as_str(), row.delivery_at?)));
            find_created(c, organisation, pairs)?
        }
        MatchBy::Reference => {
            let keys = rows.iter().map(|row| row.reference.similarity_key.as_str()).collect();
            store::find_by_reference(c, organisation, &keys)?
        }
    };
    let folded: HashMap<&str, FoldedHash> =
        rows.iter().map(|row| (row.reference.text.as_str(), row.reference.folded)).collect();
    let mut created: HashMap<RowKey, Vec<Id>> = HashMap::new();
    for load in found {
        // Most loads that exist have the very reference of a row.
        let folded = folded.get(load.reference.as_str()).copied();
        let folded = folded.unwrap_or_else(|| ComparedReference::new(load.reference).folded);
        let date = Some(load.delivery_at).filter(|_| match_by == MatchBy::ReferenceAndDate);
        created.entry((folded, date)).or_default().push(load.id);
    }
    let existing = |row: &RowIdentity| {
        if let Some(id) = row.id.filter(|id| readable.contains(id)) {
            return Some(Existing::Named(id));
        }
        let ids = created.get(&row.key(match_by)?)?;
        match (match_by, ids.as_slice()) {
            (MatchBy::Reference, [_, _, ..]) => {
                let mut newest = ids.clone();
                newest.sort_unstable_by(|a, b| b.cmp(a));
                newest.truncate(MAX_LISTED);
                Some(Existing::Several(newest))
            }
            (_, ids) => ids.last().map(|id| Existing::Created(*id)),
        }
    };
    Ok(rows.iter().map(existing).collect())
}

/// The loads of the rows so far.
#[derive(Debug, Default)]
pub(crate) struct EarlierRows {
    keys: HashSet<RowKey>,
    loads: HashSet<Id>,
}

impl EarlierRows {
    /// Returns true if an earlier row has the same load. `existing` is what the row may be compared with.
    pub(crate) fn contains(&self, row: &RowIdentity, match_by: MatchBy, existing: Option<&Existing>) -> bool {
        let load = existing.and_then(Existing::id);
        let key = Self::key(row, match_by, existing);
        key.is_some_and(|key| self.keys.contains(&key)) || load.is_some_and(|load| self.loads.contains(&load))
    }

    /// Adds a row.
    pub(crate) fn add(&mut self, row: &RowIdentity, match_by: MatchBy, existing: Option<&Existing>) {
        self.keys.extend(Self::key(row, match_by, existing));
        self.loads.extend(existing.and_then(Existing::id));
    }

    /// Returns the key of a row, unless the row names its load: several loads may have the same reference.
    fn key(row: &RowIdentity, match_by: MatchBy, existing: Option<&Existing>) -> Option<RowKey> {
        row.key(match_by).filter(|_| !matches!(existing, Some(Existing::Named(_))))
    }
}

/// Returns the error of a row whose load exists.
pub(crate) fn refusal(row: &RowIdentity, match_by: MatchBy, existing: &Existing) -> FieldError {
    let (column, message) = match (existing, match_by) {
        (Existing::Named(_), _) => ("id", "names a load that exists already"),
        (Existing::Created(_), MatchBy::ReferenceAndDate) => {
            ("reference", "exists already: your organisation has a load of this delivery date with it")
        }
        (Existing::Created(_), MatchBy::Reference) => {
            ("reference", "exists already: your organisation has a load with it")
        }
        (Existing::Several(_), _) => {
            ("reference", "is that of several loads of your organisation: name one of them by its id")
        }
    };
    let mut error = row.error(column, Code::Inconsistent, message);
    match existing {
        Existing::Named(id) | Existing::Created(id) => {
            error.data.insert("loadId".to_owned(), json!(id));
        }
        Existing::Several(ids) => {
            error.data.insert("loadIds".to_owned(), json!(ids));
        }
    }
    error
}

/// Returns the error of a row whose load an earlier row has too.
pub(crate) fn repetition(row: &RowIdentity, match_by: MatchBy) -> FieldError {
    let message = match match_by {
        MatchBy::ReferenceAndDate => "occurs in an earlier row with the same delivery date",
        MatchBy::Reference => "occurs in an earlier row",
    };
    row.error("reference", Code::Inconsistent, message)
}

//! Rows whose loads exist already (docs/api/batches.md, "Rows that exist").

use std::collections::{HashMap, HashSet};

use common::validation::{Code, FieldError, ValidationErrors};
use common::{Caller, Error};
use database::{AnyConnection, Id, Timestamp};
use serde_json::json;

use super::row::RowIdentity;
use crate::loads::reference::{ComparedReference, FoldedHash};
use crate::loads::store::{find_created, find_readable_ids};

/// Why the load of a row exists already.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Existing {
    /// The row names this load, which the caller may see.
    Named(Id),
    /// The caller's organisation created this load with the same reference and delivery date.
    Created(Id),
    /// An earlier row of the batch has the same reference and delivery date.
    EarlierRow,
}

/// The loads that rows are compared with.
#[derive(Debug, Default)]
struct KnownLoads {
    readable: HashSet<Id>,
    /// By folded reference and delivery date.
    created: HashMap<(FoldedHash, Timestamp), Id>,
}

/// Returns for each row why its load exists already, or `None` for a new load.
pub(crate) fn find_existing(
    c: &mut AnyConnection,
    caller: &Caller,
    rows: &[RowIdentity],
) -> Result<Vec<Option<Existing>>, Error> {
    let ids: Vec<Id> = rows.iter().filter_map(|row| row.id).collect();
    let mut known = KnownLoads { readable: find_readable_ids(c, caller, &ids)?, created: HashMap::new() };
    let pairs = rows.iter().map(|row| (row.reference.similarity_key.as_str(), row.delivery_at));
    let folded: HashMap<&str, FoldedHash> =
        rows.iter().map(|row| (row.reference.text.as_str(), row.reference.folded)).collect();
    for load in find_created(c, caller.organisation_id_or_empty(), pairs)? {
        // Most loads that exist have the very reference of a row.
        let folded = folded.get(load.reference.as_str()).copied();
        let folded = folded.unwrap_or_else(|| ComparedReference::new(load.reference).folded);
        known.created.insert((folded, load.delivery_at), load.id);
    }
    Ok(compare(rows, &known))
}

fn compare(rows: &[RowIdentity], known: &KnownLoads) -> Vec<Option<Existing>> {
    let mut earlier = HashSet::new();
    let reason = |row: &RowIdentity| {
        let pair = (row.reference.folded, row.delivery_at);
        let created = known.created.get(&pair).copied();
        let is_first = earlier.insert(pair);
        if let Some(id) = row.id.filter(|id| known.readable.contains(id)) {
            return Some(Existing::Named(id));
        }
        match created {
            Some(id) => Some(Existing::Created(id)),
            None => (!is_first).then_some(Existing::EarlierRow),
        }
    };
    rows.iter().map(reason).collect()
}

/// Adds an error for each row whose load exists, up to `max_errors` errors in all. Returns the number of these rows.
pub(crate) fn refuse_existing(
    rows: &[RowIdentity],
    existing: &[Option<Existing>],
    max_errors: usize,
    errors: &mut ValidationErrors,
) -> usize {
    let refused = || rows.iter().zip(existing).filter_map(|(row, reason)| Some((row, (*reason)?)));
    let left = max_errors.saturating_sub(errors.len());
    errors.extend(refused().take(left).map(|(row, reason)| error(row, reason)));
    refused().count()
}

fn error(row: &RowIdentity, reason: Existing) -> FieldError {
    let (column, message, load) = match reason {
        Existing::Named(id) => ("id", "names a load that exists already", Some(id)),
        Existing::Created(id) => (
            "reference",
            "exists already: your organisation has a load of this delivery date with it",
            Some(id),
        ),
        Existing::EarlierRow => ("reference", "occurs in an earlier row with the same delivery date", None),
    };
    let mut error = row.error(column, Code::Inconsistent, message);
    error.data.extend(load.map(|id| ("loadId".to_owned(), json!(id))));
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(index: usize, id: Option<Id>, reference: &str, date: &str) -> RowIdentity {
        let delivery_at = Timestamp::parse(date).unwrap();
        RowIdentity {
            id,
            reference: ComparedReference::new(reference.into()),
            delivery_at,
            index,
            line: 2,
            file: None,
            naming: None,
        }
    }

    #[test]
    fn compares_rows_with_loads_and_earlier_rows() {
        let (readable, created, unknown) = (Id::new(), Id::new(), Id::new());
        let day = Timestamp::parse("2026-03-01").unwrap();
        let known = KnownLoads {
            readable: [readable].into(),
            created: [((ComparedReference::new("a".to_owned()).folded, day), created)].into(),
        };
        let rows = [
            row(0, Some(readable), "X", "2026-03-01"),
            row(1, Some(unknown), "A", "2026-03-01"),
            row(2, None, "A", "2026-03-02"),
            row(3, None, "b", "2026-03-01"),
            row(4, None, "A", "2026-03-02T00:00:00Z"),
            row(5, None, "X", "2026-03-01"),
        ];
        let existing = compare(&rows, &known);
        let earlier = Some(Existing::EarlierRow);
        let named = Some(Existing::Named(readable));
        assert_eq!(existing, [named, Some(Existing::Created(created)), None, None, earlier, earlier]);
        let mut errors = ValidationErrors::one("rows[9].weight", Code::Range, "x");
        assert_eq!(refuse_existing(&rows, &existing, 3, &mut errors), 4);
        let paths: Vec<_> = errors.iter().map(|error| error.path.as_str()).collect();
        assert_eq!(paths, ["rows[9].weight", "rows[0].id", "rows[1].reference"]);
    }
}

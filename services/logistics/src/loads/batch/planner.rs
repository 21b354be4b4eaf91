//! Decides for each valid row of a batch whether it creates a load, edits one, or is left out.

use std::collections::{HashMap, HashSet};

use common::system::{DueShare, FoundFiles};
use common::validation::{Code, FieldError};
use common::{Caller, Error, JsonResponse, Reason};
use database::{AnyConnection, Id};
use serde_json::json;

use super::existing::{EarlierRows, Existing, find_existing, refusal, repetition};
use super::options::{IfExists, MatchBy};
use super::plan::{Checked, MAX_LISTED, Plan, Purpose};
use super::row::{GivenCells, RowIdentity};
use super::spooled_import::SpooledImport;
use super::store::{record, refuse_repeat, serialize_lookups};
use super::update::{Edit, EditedLoad, RowChanges, compare};
use crate::commodities::Catalogue;
use crate::loads::edit::store_change;
use crate::loads::history::{Changes, EventType, NewEvent};
use crate::loads::model::Load;
use crate::loads::send::may_share_files;
use crate::loads::store::{self, find_many_stored};
use crate::loads::stored_load::StoredLoad;
use crate::organisations::{NamedBy, find_blocked};

/// The number of rows whose loads are read at a time.
const ROWS_AT_ONCE: usize = 500;

/// What an import has stored.
pub(crate) struct StoredImport {
    pub(crate) response: JsonResponse,
    /// The shares of files that are due after the transaction.
    pub(crate) shares: Vec<DueShare>,
    /// The number of loads that it created.
    pub(crate) new_loads: usize,
}

/// Compares the rows with loads and with each other.
struct Planner<'a> {
    import: &'a SpooledImport,
    catalogue: &'a Catalogue,
    purpose: Purpose,
    blocked: HashMap<NamedBy, bool>,
    earlier: EarlierRows,
    /// The edits of the rows since the last ones were stored.
    pending: Vec<PendingEdit>,
    checked: Checked,
}

/// An edit that keeps the carrier, to be stored with others.
struct PendingEdit {
    before: Load,
    load: Load,
    changes: Changes,
}

impl SpooledImport {
    /// Checks the rows of an import and, to [store](Purpose::Store) it, the loads that they edit. An edit is stored
    /// only as long as nothing is wrong, unless rows with entries are left out.
    ///
    /// # Errors
    /// 500 and 503. What is wrong with rows is in the result.
    pub(super) fn check(
        &self,
        c: &mut AnyConnection,
        catalogue: &Catalogue,
        purpose: Purpose,
    ) -> Result<Checked, Error> {
        let import = self;
        let contents = &import.import;
        if contents.compares_loads() && purpose == Purpose::Store {
            serialize_lookups(c, &contents.organisation_id)?;
        }
        let rows = &import.identities;
        let existing = if contents.compares_loads() || import.dry_run {
            find_existing(c, &import.caller, contents.match_by, rows)?
        } else {
            vec![None; rows.len()]
        };
        let mut planner = Planner {
            import,
            catalogue,
            purpose,
            blocked: HashMap::new(),
            earlier: EarlierRows::default(),
            pending: Vec::new(),
            checked: Checked {
                plans: Vec::with_capacity(rows.len()),
                existing,
                faults: import.faults.clone(),
                updated: 0,
                unchanged: 0,
                changes: Vec::new(),
                differing: Vec::new(),
                shares: Vec::new(),
                shared_files: Vec::new(),
            },
        };
        planner.find_blocked(c)?;
        planner.plan_all(c)?;
        Ok(planner.checked)
    }

    /// Returns the error of the batch, if what was found forbids to store it.
    ///
    /// # Errors
    /// Those of [`Self::refuse_rows`], and 409 if a content was imported before.
    pub(super) fn refuse(&self, c: &mut AnyConnection, checked: &Checked) -> Result<(), Error> {
        self.refuse_rows(checked)?;
        refuse_repeat(c, &self.import)
    }

    /// Checks the import and stores it: edits loads, and creates new ones with `store`, which gets whether each row is
    /// new. Can be called again if the transaction is retried.
    ///
    /// # Errors
    /// Those of [`Self::refuse`].
    pub(super) fn commit(
        &mut self,
        c: &mut AnyConnection,
        catalogue: &Catalogue,
        store: impl FnOnce(&mut Self, &mut AnyConnection, &[bool]) -> Result<(), Error>,
    ) -> Result<StoredImport, Error> {
        let checked = self.check(c, catalogue, Purpose::Store)?;
        self.refuse(c, &checked)?;
        let is_new = checked.is_new();
        if checked.stores_something() {
            record(c, &self.import)?;
            self.keep(c, &checked)?;
        }
        if is_new.contains(&true) {
            store(self, c, &is_new)?;
        }
        let (response, new_loads) = (self.answer(&checked, &is_new)?, checked.count(Plan::New));
        Ok(StoredImport { response, shares: checked.shares, new_loads })
    }
}

impl Planner<'_> {
    fn caller(&self) -> &Caller {
        &self.import.caller
    }

    /// Finds out, with one query, which of the named organisations have blocked the one that names them.
    fn find_blocked(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        let namings = self.import.identities.iter().filter_map(|row| Some(&*row.naming.as_ref()?.pair));
        let pairs: HashSet<&NamedBy> = namings.collect();
        let pairs: Vec<_> = pairs.into_iter().collect();
        let blocked = find_blocked(c, &pairs)?;
        self.blocked = pairs.into_iter().map(|pair| (pair.clone(), blocked.contains(pair))).collect();
        Ok(())
    }

    fn is_blocked(&mut self, c: &mut AnyConnection, pair: &NamedBy) -> Result<bool, Error> {
        if let Some(is_blocked) = self.blocked.get(pair) {
            return Ok(*is_blocked);
        }
        let is_blocked = !find_blocked(c, &[pair])?.is_empty();
        self.blocked.insert(pair.clone(), is_blocked);
        Ok(is_blocked)
    }

    fn plan_all(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        let import = self.import;
        let mut cells = import.cells()?;
        let wants_loads = match import.import.if_exists {
            IfExists::Update => true,
            IfExists::Skip => self.purpose == Purpose::Preview,
            IfExists::Create | IfExists::Refuse => false,
        };
        let compares = import.import.if_exists != IfExists::Create;
        for start in (0..import.identities.len()).step_by(ROWS_AT_ONCE) {
            let rows = &import.identities[start..import.identities.len().min(start + ROWS_AT_ONCE)];
            let ids =
                self.checked.existing[start..start + rows.len()].iter().flatten().filter_map(Existing::id);
            let ids: Vec<Id> = if wants_loads { ids.collect() } else { Vec::new() };
            let stored = find_many_stored(c, self.caller(), &ids)?;
            for (position, row) in (start..).zip(rows) {
                // Rows that create loads are not compared with others, although a dry run has looked for equal
                // references.
                let existing = self.checked.existing[position].clone().filter(|_| compares);
                let cells = cells.next().transpose()?;
                let stored = existing.as_ref().and_then(Existing::id).and_then(|id| stored.get(&id));
                let plan = match self.plan(c, row, existing.as_ref(), (stored, cells))? {
                    Ok(plan) => plan,
                    Err(errors) => {
                        self.checked.faults.add_to_row(row.index, errors);
                        Plan::LeftOut
                    }
                };
                if plan != Plan::LeftOut {
                    self.earlier.add(row, import.import.match_by, existing.as_ref());
                }
                self.checked.plans.push(plan);
            }
            self.store_pending(c)?;
        }
        Ok(())
    }

    /// Stores the edits that are pending.
    fn store_pending(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        let caller = &self.import.caller;
        let pending = std::mem::take(&mut self.pending);
        let (loads, changes): (Vec<_>, Vec<_>) =
            pending.into_iter().map(|edit| ((edit.before, edit.load), edit.changes)).unzip();
        let changes = loads.iter().zip(changes).map(|((before, load), changes)| {
            let event = NewEvent { changes, ..NewEvent::new(load.id, EventType::Updated, caller) };
            store::Change { before, load, event }
        });
        store::update_many(c, &changes.collect::<Vec<_>>())
    }

    /// Returns what a row does, or what is wrong with it.
    fn plan(
        &mut self,
        c: &mut AnyConnection,
        row: &RowIdentity,
        existing: Option<&Existing>,
        (stored, cells): (Option<&StoredLoad>, Option<GivenCells>),
    ) -> Result<Result<Plan, Vec<FieldError>>, Error> {
        let (if_exists, match_by) = (self.import.import.if_exists, self.import.import.match_by);
        let is_repeated = self.earlier.contains(row, match_by, existing);
        let counts_once = match_by == MatchBy::Reference || if_exists == IfExists::Update;
        if let Some(several @ Existing::Several(_)) = existing {
            return Ok(Err(vec![refusal(row, match_by, several)]));
        }
        if is_repeated && counts_once {
            return Ok(Err(vec![repetition(row, match_by)]));
        }
        match (existing, if_exists) {
            (Some(existing), IfExists::Refuse) => return Ok(Err(vec![refusal(row, match_by, existing)])),
            (Some(_), IfExists::Skip) => {
                if let (Some(stored), Some(cells)) = (stored, cells) {
                    self.note_difference(row, cells, stored)?;
                }
                return Ok(Ok(Plan::Skip));
            }
            (Some(_), IfExists::Update) => {
                let (Some(stored), Some(cells)) = (stored, cells) else { return Ok(Ok(Plan::Skip)) };
                return self.edit(c, row, cells, stored);
            }
            (Some(_), IfExists::Create) | (None, _) => {}
        }
        if is_repeated && if_exists == IfExists::Skip {
            return Ok(Ok(Plan::Skip));
        }
        if is_repeated && if_exists == IfExists::Refuse {
            return Ok(Err(vec![repetition(row, match_by)]));
        }
        if !row.if_new.is_empty() {
            return Ok(Err(row.if_new.clone()));
        }
        if let Some(naming) = &row.naming
            && self.is_blocked(c, &naming.pair)?
        {
            return Ok(Err(vec![blocked(row, naming.column)]));
        }
        Ok(Ok(Plan::New))
    }

    fn note_difference(
        &mut self,
        row: &RowIdentity,
        cells: GivenCells,
        stored: &StoredLoad,
    ) -> Result<(), Error> {
        if self.checked.differing.len() < MAX_LISTED {
            let edit = compare(row, cells, stored, self.catalogue, &self.import.names)?;
            if !matches!(edit, Edit::Unchanged) {
                self.checked.differing.push(row.index);
            }
        }
        Ok(())
    }

    /// Edits the load of a row.
    fn edit(
        &mut self,
        c: &mut AnyConnection,
        row: &RowIdentity,
        cells: GivenCells,
        stored: &StoredLoad,
    ) -> Result<Result<Plan, Vec<FieldError>>, Error> {
        let import = self.import;
        let edited = match compare(row, cells, stored, self.catalogue, &import.names)? {
            Edit::Unchanged => {
                self.checked.unchanged += 1;
                return Ok(Ok(Plan::Edit));
            }
            Edit::Refused(error) => return Ok(Err(vec![error])),
            Edit::Changed(edited) => *edited,
        };
        if let Some(error) = edited.check(row, stored, &import.caller)? {
            return Ok(Err(vec![error]));
        }
        if let Some(pair) = edited.new_carrier(&stored.load, &import.caller)
            && self.is_blocked(c, &pair)?
        {
            return Ok(Err(vec![blocked(row, "carrierId")]));
        }
        self.checked.updated += 1;
        let EditedLoad { mut load, changes, .. } = edited;
        let gets_carrier = changes.contains_key("carrierId");
        if self.purpose != Purpose::Store {
            if gets_carrier && !load.files.is_empty() && may_share_files(&import.caller, &stored.load, &load)
            {
                self.checked.shared_files.push((load.id, load.files.clone()));
            }
            if self.checked.changes.len() < MAX_LISTED {
                self.checked.changes.push(RowChanges { row: row.index, load_id: load.id, changes });
            }
        } else if !(self.checked.faults.is_empty() || import.leaves_out) {
            // The transaction is undone.
        } else if !gets_carrier {
            load.revise();
            self.pending.push(PendingEdit { before: stored.load.clone(), load, changes });
        } else {
            let none = FoundFiles::default();
            let kept = import.shared_files.get(&load.id).unwrap_or(&none);
            let kept = kept.only(&stored.load.files);
            let (_, shares) = store_change(c, &import.caller, stored, load, changes, &kept, Vec::new())?;
            self.checked.shares.extend(shares);
        }
        Ok(Ok(Plan::Edit))
    }
}

/// Returns the error of a row that names an organisation that has blocked its sender.
fn blocked(row: &RowIdentity, column: &str) -> FieldError {
    let message = "has blocked the organisation that names it";
    let mut error = row.error(column, Code::Forbidden, message);
    error.data.insert("reason".to_owned(), json!(Reason::Blocked));
    error
}

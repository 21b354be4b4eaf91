//! The one pass over all rows: what is wrong is collected, what is good is written down.

use std::time::Duration;

use actix_web::web::Data;
use common::multipart::Form;
use common::problem::{Code, Problem, Problems};
use common::{Caller, Error};
use serde_json::json;

use super::header::Header;
use super::plan::{Import, Plan};
use super::row::reword;
use super::table::{Fault, Row, Table};
use super::upload::{LoadBatchForm, Organiser, Received, understand};
use crate::Logistics;
use crate::loads::model::NewLoad;

/// How long a batch waits for others.
const PATIENCE: Duration = Duration::from_secs(30);
/// So many entries are told (contract, section 4, "Batch").
const ENTRIES_MAX: usize = 1000;

/// Checks a batch on a thread of its own.
///
/// # Errors
/// 400 with every bad cell; then 403 if a row is for another organisation.
pub async fn check(app: Data<Logistics>, caller: Caller, form: Form<Received>) -> Result<Plan, Error> {
    let turn = tokio::time::timeout(PATIENCE, app.batches.running.clone().acquire_owned()).await;
    let busy = |e: tokio::time::error::Elapsed| {
        Error::Unavailable(e.into(), "The reader of batches, which is busy,")
    };
    let running = turn.map_err(busy)?.map_err(|e| Error::Internal(e.into()))?;
    let checked = tokio::task::spawn_blocking(move || {
        // Held to the end, even when the client has gone.
        let _running = running;
        pass(&app, &caller, form)
    });
    checked.await.map_err(|e| Error::Internal(e.into()))?
}

struct Pass<'a> {
    app: &'a Logistics,
    caller: &'a Caller,
    organiser: Organiser,
    /// Rows so far, of all files.
    rows: usize,
    problems: Problems,
    failed_rows: usize,
    /// A row is for an organisation that is not the caller's.
    foreign: bool,
    nameless: bool,
    plan: Plan,
}

fn pass(app: &Logistics, caller: &Caller, form: Form<Received>) -> Result<Plan, Error> {
    let (mut fields, problems) = understand(&form, &app.batches);
    let organiser = fields.organiser(&problems);
    let LoadBatchForm { dry_run, repeat, .. } = fields;
    let import = Import::new(caller.organisation_id(), form.files.iter().map(|file| file.hash), repeat);
    let mut pass = Pass {
        app,
        caller,
        organiser,
        rows: 0,
        problems,
        failed_rows: 0,
        foreign: false,
        nameless: false,
        plan: Plan::new(import, dry_run)?,
    };
    let several = form.files.len() > 1;
    // An empty file has its entry by now.
    let files = if pass.problems.failed("file") { Vec::new() } else { form.files };
    for received in files {
        let name = received.name.unwrap_or_default();
        let name = several.then_some(&*name);
        match pass.file(received.file, name) {
            Ok(()) => {}
            Err(Stop::File(fault @ Fault::Refused { .. })) => {
                if let Error::Validation(problems) = fault.into_error(name) {
                    pass.problems.extend(problems);
                }
            }
            Err(Stop::File(fault)) => return Err(fault.into_error(name)),
            Err(Stop::All(error)) => return Err(error),
        }
    }
    pass.finish()
}

/// Why a file was not read to its end.
enum Stop {
    File(Fault),
    /// Nor will others be.
    All(Error),
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::File(fault)
    }
}

impl Pass<'_> {
    fn file(&mut self, file: std::fs::File, name: Option<&str>) -> Result<(), Stop> {
        let limits = self.app.batches.limits;
        let mut table = Table::open(file, limits)?;
        let first = table.next()?.unwrap_or(Row { line: 1, cells: Vec::new() });
        let mut found = Problems::default();
        let header = Header::read(&first.cells, self.organiser.id.is_some(), &mut found);
        self.take(found, |path| path, first.line, name);
        while let Some(row) = table.next()? {
            if self.rows == limits.rows {
                return Err(Stop::All(Fault::too_many("rows in all", limits.rows).into_error(None)));
            }
            if let Some(header) = &header {
                self.row(header, row, name).map_err(Stop::All)?;
            }
            self.rows += 1;
        }
        Ok(())
    }

    fn row(&mut self, header: &Header, row: Row, file: Option<&str>) -> Result<(), Error> {
        let mut found = Problems::default();
        let (object, stray) = header.object(row.cells, &mut found);
        let (read, problems) = self.app.batches.row.check(object);
        reword(problems, &mut found);
        let new = read.into_new(&self.organiser, &self.app.commodities, &mut found, &mut self.nameless);
        if stray {
            found.push("", Code::Length, "has a cell outside of the columns that have a name");
        } else if let Some(new) = new {
            self.foreign |= !self.is_own(&new);
            // Once anything is wrong nothing will be stored.
            return if self.problems.is_empty() { self.plan.add(&new.into_load(Vec::new())) } else { Ok(()) };
        }
        if found.is_empty() {
            return Err(Error::Internal(anyhow::anyhow!("a row is no load, and nothing is wrong with it")));
        }
        self.failed_rows += 1;
        let n = self.rows;
        let within =
            |path: String| if path.is_empty() { format!("rows[{n}]") } else { format!("rows[{n}].{path}") };
        self.take(found, within, row.line, file);
        Ok(())
    }

    /// As creating a load of one's own, by either form.
    fn is_own(&self, new: &NewLoad) -> bool {
        let parties = [&new.organiser, &new.carrier].into_iter().flatten();
        self.caller.admin || parties.filter_map(|p| p.id.as_deref()).any(|id| self.caller.acts_for(id))
    }

    /// Takes over entries, with where they were found.
    fn take(&mut self, found: Problems, path: impl Fn(String) -> String, line: u64, file: Option<&str>) {
        let left = ENTRIES_MAX.saturating_sub(self.problems.len());
        self.problems.extend(found.into_iter().take(left).map(|mut problem: Problem| {
            problem.path = path(problem.path);
            problem.data.insert("line".into(), json!(line));
            problem.data.extend(file.map(|file| ("file".into(), json!(file))));
            problem
        }));
    }

    fn finish(mut self) -> Result<Plan, Error> {
        if self.nameless {
            self.problems.push("organisationName", Code::Required, "is required with organisationId");
        }
        if self.rows == 0 && self.problems.is_empty() {
            self.problems.push_with("file", Code::Length, "must have rows", json!({ "minimum": 1 }));
        }
        self.problems.check().map_err(|error| error.with("failedRows", self.failed_rows))?;
        if self.foreign {
            return Err(Error::Forbidden("Loads are created for one's own organisation only."));
        }
        Ok(self.plan)
    }
}

//! Batches: loads from the rows of tables, all or none. The tables go to temporary files as they come; one pass reads
//! and checks every row and writes what is good to another; one transaction stores that.

mod api;
mod check;
mod header;
mod plan;
mod queue;
mod row;
mod store;
mod table;
mod upload;

use std::sync::Arc;

use common::SchemaValidator;

pub(super) use api::{create, template};

use crate::Settings;
use queue::FairQueue;
use row::BatchRow;
use table::Limits;
use upload::LoadBatchForm;

/// So many batches are checked at a time: each takes a core and some memory.
const MAX_CONCURRENT_BATCHES: usize = 2;

/// What all batches share.
pub(crate) struct Batches {
    form: SchemaValidator<LoadBatchForm>,
    row: SchemaValidator<BatchRow>,
    queue: Arc<FairQueue>,
    files_max: usize,
    limits: Limits,
}

impl Batches {
    /// # Errors
    /// If a schema does not compile, which is a mistake in it.
    pub(crate) fn new(settings: &Settings) -> anyhow::Result<Self> {
        Ok(Self {
            form: SchemaValidator::new()?,
            row: SchemaValidator::new()?,
            queue: FairQueue::new(MAX_CONCURRENT_BATCHES),
            files_max: settings.batch_files,
            limits: Limits { rows: settings.batch_rows, bytes: settings.batch_bytes },
        })
    }
}

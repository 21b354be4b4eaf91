//! Loads: consignments of one commodity, ordered by an organiser and moved by a carrier (docs/api/loads.md).

mod batch;
mod columns;
mod creator_backfill;
mod export;
mod form;
mod fulltext;
mod handlers;
mod model;
mod party;
mod proof;
mod search;
mod store;

pub(crate) use batch::Batches;
pub(crate) use creator_backfill::{backfill_creators_at_start, run_creator_backfill};
pub(crate) use fulltext::run_fulltext_indexer;
pub(crate) use handlers::routes;
pub(crate) use model::{Load, Status};
pub(crate) use party::{Party, parties};
pub(crate) use store::{add_driver, assign_carrier, find_own};

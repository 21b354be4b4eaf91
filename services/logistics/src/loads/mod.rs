//! Loads: consignments of one commodity, ordered by an organiser and moved by a carrier (docs/api/loads.md).

mod batch;
mod change;
mod demo;
mod edit;
mod feed;
mod form;
mod handlers;
mod history;
mod members;
mod model;
mod party;
mod proof;
mod reference;
mod search;
mod send;
mod store;
mod stored_load;

pub(crate) use batch::{Batches, run_large_imports};
pub(crate) use demo::create_demo_data;
pub(crate) use feed::{align_feed, find_new_events};
pub(crate) use handlers::routes;
pub(crate) use history::names_driver;
pub(crate) use model::Load;
pub(crate) use proof::WeightTolerance;
pub(crate) use store::{backfill_at_start, run_backfill, run_fulltext_indexer};

//! Loads: consignments of one commodity, ordered by an organiser and moved by a carrier (docs/api/loads.md).

mod address_book;
mod batch;
mod cancel;
mod captured;
mod collection;
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
mod quality;
mod reference;
mod rejection;
mod search;
mod send;
mod status;
mod store;
mod stored_load;
mod weights;

pub(crate) use address_book::{
    AddressBook, KnownCallers, delete_contacts_of_user, erase_caller, list_caller, list_contacts_of_user,
    run as run_address_book,
};
pub(crate) use batch::{Batches, run_large_imports};
pub(crate) use demo::{create_demo_data, sample_event};
pub(crate) use feed::{align_feed, find_new_events};
pub(crate) use handlers::routes;
pub(crate) use history::names_driver;
pub(crate) use model::Load;
pub(crate) use store::{backfill_at_start, run_backfill, run_fulltext_indexer};
pub(crate) use weights::WeightTolerance;

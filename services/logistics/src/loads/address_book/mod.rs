//! The address book of an organisation (docs/api/loads.md, "Address book"): the organisations and drivers that its
//! loads name, and who has called this service.
//!
//! Requests that store loads do not write it: [`run`] takes the contacts from the events of loads, and a request that
//! reads the address book does so first for the latest ones.

mod book;
mod callers;
mod model;
mod store;

pub(crate) use book::{AddressBook, BatchNames, run};
pub(crate) use callers::KnownCallers;
pub(crate) use model::{DriverContact, OrganisationContact};
pub(crate) use store::{delete_contacts_of_user, erase_caller, list_caller, list_contacts_of_user};

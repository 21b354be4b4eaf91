//! Commodities: what loads consist of.

pub(crate) mod handlers;
mod model;
mod near_names;

pub(crate) use model::Catalogue;

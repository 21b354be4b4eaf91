//! Commodities: what loads consist of.

pub(crate) mod handlers;
mod model;

pub(crate) use model::Catalogue;

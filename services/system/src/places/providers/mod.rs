//! Providers of three-word addresses and of postal addresses: the embedded ones, and clients of external services.

mod builder;
mod client;
mod credential;
mod embedded_gazetteer;
mod grid;
mod loqate;
mod photon;
mod provider;
mod what3words;

pub(super) use builder::Providers;
pub(super) use client::ProviderKind;
pub(super) use embedded_gazetteer::EmbeddedGazetteer;
pub(super) use provider::{GAZETTEER, Geocoder, WordScheme};

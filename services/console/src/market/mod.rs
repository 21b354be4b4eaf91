//! The market: what its pages search, count, draw and write.

mod facets;
mod forms;
mod map;
mod projection;
mod query;
mod reports;
mod texts;

pub(crate) use facets::{Choice, Group, groups};
pub(crate) use forms::{CATEGORIES, Category, Field, Form, Kind, texts};
pub(crate) use map::{ABROAD, Area, LAND, Place};
pub(crate) use query::{MarketQuery, SORTS};
pub(crate) use reports::{Entry, neighbours, queue};
pub(crate) use texts::{ages, animals, place, price, title};

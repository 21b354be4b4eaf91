//! The market: what its pages search, count, draw and write.

mod categories;
mod facets;
mod forms;
mod map;
mod projection;
mod query;
mod reports;
mod texts;

pub(crate) use categories::{CATEGORIES, Category, Field, Kind, ancestors};
pub(crate) use facets::{Choice, Group, groups};
pub(crate) use forms::{Form, texts};
pub(crate) use map::{ABROAD, Area, LAND, Place};
pub(crate) use query::{MarketQuery, SORTS};
pub(crate) use reports::{Entry, changed, neighbours, queue, removed};
pub(crate) use texts::{ages, animals, place, price, title};

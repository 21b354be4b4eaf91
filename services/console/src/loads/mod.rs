//! Loads as people handle them: filters of the list, what somebody may do with a load, the fields of its forms, and the
//! merging of two edits.

mod actions;
mod board;
mod edit;
mod filters;
mod forms;
mod kilograms;
mod warnings;

pub(crate) use actions::{Action, offered};
pub(crate) use board::{BoardQuery, By};
pub(crate) use edit::{Conflict, changed, conflicts};
pub(crate) use filters::{COLUMNS, LIST, ListQuery, SORTS, STATUSES};
pub(crate) use forms::{DATES, FILE_ERROR, FILES, Field, Form, Kind, MEASURES, REJECTIONS, TEXTS, sure};
pub(crate) use kilograms::in_tonnes;
pub(crate) use warnings::{warning_codes, warning_sentence};

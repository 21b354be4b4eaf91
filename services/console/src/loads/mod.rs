//! Loads as people handle them: filters of the list, what somebody may do with a load, the fields of its forms, and the
//! merging of two edits.

mod actions;
mod edit;
mod filters;
mod forms;
mod kilograms;

pub(crate) use actions::{Action, offered};
pub(crate) use edit::{Conflict, changed, conflicts};
pub(crate) use filters::{ListQuery, SORTS};
pub(crate) use forms::{FILE_ERROR, FILES, Field, Form, Kind, MEASURES, REJECTIONS, TEXTS};
pub(crate) use kilograms::in_tonnes;

//! The wire models that services share. Members and their meaning: interface.md, section 2.

mod normalize;
mod postcode;
mod text;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub(crate) use normalize::without_invisible;
pub use normalize::{TextForm, is_plain_line, normalize_line};
pub use postcode::Postcode;
pub(crate) use text::pattern_message;
pub use text::{
    Breed, DateOrDateTime, INVISIBLE_MESSAGE, LongText, Name, QueryText, Reference, Registration, StoredId,
    Tag,
};

/// The answer of operations that do something (interface.md, 2.13).
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ActionResult {
    /// One sentence for a person.
    pub message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// The id of what was made, where something was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
}

impl ActionResult {
    /// Success, in words.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: "success", id: None }
    }

    /// Success that made something.
    pub fn made(message: impl Into<String>, id: impl ToString) -> Self {
        Self { id: Some(id.to_string()), ..Self::new(message) }
    }
}

/// A file that a load, proof or listing refers to (interface.md, 2.4). In requests only `id` counts: the rest
/// comes from the system service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileReference {
    /// The file's id.
    #[schema(required = true, min_length = 1, max_length = 200, extensions(("x-text" = json!("line"))))]
    pub id: String,
    /// The name it was uploaded under.
    pub name: String,
    /// Where its content is downloaded.
    pub url: String,
    /// Who uploaded it.
    pub user_name: String,
    /// When.
    #[serde(rename = "createdAtUTC")]
    pub created_at: String,
}

/// A weight (interface.md, 2.5).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WeightMeasure {
    /// The unit, such as `tonne`.
    #[schema(value_type = String)]
    pub name: std::borrow::Cow<'static, str>,
    /// Kilograms in one of it.
    pub conversion: f64,
    /// The weight in that unit.
    #[schema(value_type = f64, minimum = 0)]
    pub weight: database::Amount,
}

impl WeightMeasure {
    /// A weight in tonnes.
    pub fn tonnes(weight: database::Amount) -> Self {
        Self { name: "tonne".into(), conversion: 1000.0, weight }
    }
}

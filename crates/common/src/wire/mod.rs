//! Types of requests and responses that several services share.

mod normalize;
mod postcode;
mod text;
mod unique_members;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

pub use fold::{END_OF_FOLDED, comparison_key, first_chars, fold, sort_key};
pub use normalize::{TextForm, is_plain_id, is_plain_line, normalize_line, single_spaces};
pub(crate) use normalize::{is_blank, without_invisible};
pub use postcode::is_eircode;
pub(crate) use text::pattern_message;
pub use text::{
    Breed, DateOrDateTime, ExternalId, ID_MESSAGE, ListedId, LongText, Message, NAME_MESSAGE, Name, Note,
    Postcode, QueryText, Reason, Reference, Registration, StoredId, Tag,
};
pub(crate) use unique_members::UniqueMembers;
pub use unique_members::{UniqueValue, is_duplicate};

/// The response of operations that return no resource.
#[derive(Clone, Debug, Serialize, ToSchema)]
pub struct ActionResult {
    /// One sentence for a person.
    pub message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    pub status: &'static str,
    /// The id of the created resource, if the operation created one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub id: Option<String>,
    /// What looks wrong about the request, if something does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub warnings: Vec<Warning>,
}

impl ActionResult {
    /// Creates a response with this message.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: "success", id: None, warnings: Vec::new() }
    }

    /// Creates a response for an operation that created the resource with this id.
    pub fn created(message: impl Into<String>, id: impl ToString) -> Self {
        Self { id: Some(id.to_string()), ..Self::new(message) }
    }
}

/// Something that looks wrong about an action that succeeded.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct Warning {
    /// The member of the request.
    pub path: String,
    /// For a program.
    pub code: String,
    /// One sentence for a person.
    pub message: String,
    /// The values that were compared.
    #[schema(value_type = Object)]
    pub data: serde_json::Map<String, serde_json::Value>,
}

impl Warning {
    /// Creates a warning without data.
    pub fn new(path: impl Into<String>, code: impl Into<String>, message: impl Into<String>) -> Self {
        let data = serde_json::Map::new();
        Self { path: path.into(), code: code.into(), message: message.into(), data }
    }
}

/// A file that a load, proof of delivery or listing refers to. Only `id` is read from requests; the other members come
/// from the system service.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct FileReference {
    /// The id of the file.
    #[schema(required = true, min_length = 1, max_length = 200, extensions(("x-text" = json!("line"))))]
    pub id: String,
    /// The name of the file.
    pub name: String,
    /// The absolute URL of the download.
    pub url: String,
    /// The name of the user who uploaded the file.
    pub user_name: String,
    /// The time of the upload.
    #[serde(rename = "createdAtUTC")]
    pub created_at: String,
    /// The user who uploaded the file. Neither read nor written with the reference: empty unless the system service has
    /// just described the file.
    #[serde(skip)]
    pub user_id: String,
}

/// A weight.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WeightMeasure {
    /// The unit, such as `tonne`.
    #[schema(value_type = String)]
    pub name: std::borrow::Cow<'static, str>,
    /// The number of kilograms in one unit.
    pub conversion: f64,
    /// The weight in this unit.
    #[schema(value_type = f64, minimum = 0)]
    pub weight: database::Amount,
}

impl WeightMeasure {
    /// Creates a weight in tonnes.
    pub fn tonnes(weight: database::Amount) -> Self {
        Self { name: "tonne".into(), conversion: 1000.0, weight }
    }
}

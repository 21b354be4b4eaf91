//! The rejection of a load by its recipient (docs/api/loads.md, "Rejection").

use common::validation::{Code, ValidationErrors};
use common::wire::{DateOrDateTime, FileReference, Note};
use database::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::captured::{normalize_ids, validate_not_in_future};
use super::quality::{self, Quality, QualityWithUnit};

/// Why a load is rejected.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RejectionReason {
    /// The quality is not what was agreed.
    #[default]
    Quality,
    /// The load is contaminated.
    Contamination,
    /// The load has insects or other pests.
    Pests,
    /// Documents are missing or wrong.
    Documents,
    /// The weight is not what was agreed, or the vehicle is too heavy.
    Weight,
    /// The vehicle came too late.
    Late,
    /// What the note says.
    Other,
}

/// Why the recipient refused a load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Rejection {
    /// The kind of the reason.
    pub reason: RejectionReason,
    /// The reason in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub note: Option<String>,
    /// Photographs and documents of the rejection.
    #[serde(default)]
    pub files: Vec<FileReference>,
    /// The quality that was measured.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<QualityWithUnit>)]
    pub quality: Vec<Quality>,
    /// When the load was rejected.
    #[serde(rename = "atUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub at: Timestamp,
}

/// A rejection to record.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "reason": "quality", "note": "Too wet", "quality": [{ "measure": "moisture", "value": 17.1 }],
}))]
pub(crate) struct RejectionForm {
    #[schema(required = true)]
    reason: RejectionReason,
    /// Required with the reason `other`.
    note: Option<Note>,
    #[schema(max_items = 50)]
    files: Option<Vec<FileReference>>,
    #[schema(max_items = 20)]
    quality: Option<Vec<Quality>>,
    /// When the load was rejected, for a driver who was offline; by default the present time. At most 366 days before
    /// the creation or the delivery date of the load, whichever is earlier.
    #[serde(rename = "capturedAtUTC")]
    captured_at: Option<DateOrDateTime>,
}

impl RejectionForm {
    /// Validates the rules that the schema cannot state.
    pub(crate) fn validate(&self, errors: &mut ValidationErrors) {
        quality::validate(self.quality.as_deref().unwrap_or_default(), errors);
        validate_not_in_future(self.captured_at(), errors);
        if self.reason == RejectionReason::Other && self.note.is_none() && !errors.failed("note") {
            errors.push("note", Code::Required, "is required with the reason other");
        }
    }

    /// Returns the files of the rejection.
    pub(crate) fn files(&self) -> &[FileReference] {
        self.files.as_deref().unwrap_or_default()
    }

    /// Returns when the load was rejected, if the request says so.
    pub(crate) fn captured_at(&self) -> Option<Timestamp> {
        self.captured_at.as_ref().and_then(DateOrDateTime::start)
    }

    /// Returns the rejection. `files` are the complete references of its files.
    pub(crate) fn rejection(&self, files: Vec<FileReference>, at: Timestamp) -> Rejection {
        Rejection {
            reason: self.reason,
            note: self.note.as_ref().map(|note| note.0.clone()),
            files,
            quality: self.quality.clone().unwrap_or_default(),
            at,
        }
    }
}

impl Rejection {
    /// Returns true if both have the same values, whenever they were captured.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        // Without `..`: a new value has to be compared.
        let Self { reason, note, files, quality, at: _ } = self;
        *reason == other.reason
            && *note == other.note
            && normalize_ids(files) == normalize_ids(&other.files)
            && quality::is_same(quality, &other.quality)
    }
}

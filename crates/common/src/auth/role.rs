//! Roles that restrict a caller (`docs/api/authentication.md`, "Roles").

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::{EnumIter, IntoEnumIterator, IntoStaticStr};
use utoipa::ToSchema;

/// The role without restrictions. It has precedence over all others.
pub(super) const ADMIN: &str = "admin";

/// A role that restricts its callers to the operations that name it in `x-roles`.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, EnumIter, IntoStaticStr, ToSchema,
)]
#[serde(rename_all = "lowercase")]
#[strum(serialize_all = "lowercase")]
pub enum Role {
    /// Reads what its organisation may read, and changes nothing but its own saved searches and wishlist.
    Viewer,
    /// Reads loads and files, uploads files, proves deliveries, and writes notes.
    Weighbridge,
}

impl Role {
    /// Returns the name, as in tokens and in `x-roles`.
    pub fn name(self) -> &'static str {
        self.into()
    }

    /// The message of the 403 for a caller whom the role keeps from an operation.
    pub(crate) fn denied_message(self) -> &'static str {
        match self {
            Self::Viewer => "The role viewer may read, and change its own saved searches and wishlist only.",
            Self::Weighbridge => {
                "The role weighbridge may read loads and files, upload files, record collections, proofs, their \
                 corrections and rejections, and write notes only."
            }
        }
    }

    /// Returns the roles in the claim of a token. Other names have no meaning.
    pub(super) fn parse_all(names: &[Value]) -> Vec<Self> {
        let is_named = |role: &Self| names.iter().any(|name| name == role.name());
        Self::iter().filter(is_named).collect()
    }
}

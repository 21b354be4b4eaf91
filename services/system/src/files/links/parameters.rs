//! The query parameters of a link.

use serde::Deserialize;
use utoipa::IntoParams;

/// The parameters of a link that its creation wrote, besides `width`. All of them are texts here, because a link that
/// was changed is 403.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(in crate::files) struct LinkParams {
    /// When the link expires, in seconds since 1970.
    pub(in crate::files) expires: Option<String>,
    /// Who made the link. Absent from links of earlier releases.
    pub(in crate::files) by: Option<String>,
    /// The number of the key that signed the link.
    pub(in crate::files) key: Option<String>,
    /// The signature.
    pub(in crate::files) signature: Option<String>,
}

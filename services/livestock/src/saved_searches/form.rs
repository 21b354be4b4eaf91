//! The request bodies that save and edit a search, and their rules.

use common::MergePatch;
use common::validation::ValidationErrors;
use common::wire::Name;
use serde::Deserialize;
use utoipa::ToSchema;

use super::parameters::{ParameterRules, Parameters};

/// Members of saved searches that no patch can change.
const READ_ONLY: [&str; 6] = ["id", "newMatches", "createdAtUTC", "revision", "updatedAtUTC", "warnings"];
/// Members that no patch can remove.
const REQUIRED: [&str; 3] = ["name", "parameters", "notify"];

/// A search to save.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({
    "name": "Hereford cattle near Brecon",
    "parameters": {
        "f:commodityType": "cattle", "f:commodityBreed": ["Hereford"], "latitude": "51.9469", "longitude": "-3.3915",
        "distanceKm": "50",
    },
    "notify": true,
}))]
pub(crate) struct SavedSearchForm {
    /// A name for people.
    #[schema(required = true)]
    pub(crate) name: Name,
    /// Query parameters of a listing search: texts, or arrays of texts for repeated ones. Without those for paging and
    /// sorting.
    #[schema(required = true, value_type = Object)]
    pub(crate) parameters: Parameters,
    /// `true`: listings that match are counted and reported to webhooks.
    #[schema(required = true)]
    pub(crate) notify: bool,
}

/// Members of a saved search to change.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(example = json!({ "name": "Hereford cattle within 80 km", "parameters": { "distanceKm": "80" } }))]
pub(crate) struct SavedSearchPatch {
    /// A name for people.
    #[schema(nullable = false)]
    pub(crate) name: Option<Name>,
    /// Query parameters to change. Absent ones stay as they are, `null` removes one.
    #[schema(value_type = Option<Object>, nullable = false)]
    pub(crate) parameters: Option<Parameters>,
    /// `true`: listings that match are counted and reported to webhooks.
    #[schema(nullable = false)]
    pub(crate) notify: Option<bool>,
}

impl SavedSearchForm {
    /// Returns the parameters to store.
    pub(crate) fn parameters(&self, rules: &ParameterRules) -> Parameters {
        let mut parameters = Parameters::new();
        rules.merge(&self.parameters, &mut parameters);
        parameters
    }
}

/// Validates the rules that the schema cannot state.
pub(crate) fn validate_form(form: &SavedSearchForm, rules: &ParameterRules, errors: &mut ValidationErrors) {
    if !errors.failed("parameters") {
        let others = errors.len();
        rules.check_all(&form.parameters, errors);
        rules.check_repeats(&form.parameters, errors);
        rules.check_names(&form.parameters, errors);
        if errors.len() == others {
            rules.check_size(&form.parameters(rules), form.notify, errors);
        }
    }
}

/// Validates the rules that the schema cannot state. The parameters are validated together once they are merged.
pub(crate) fn validate_patch(
    patch: &MergePatch<SavedSearchPatch>,
    rules: &ParameterRules,
    errors: &mut ValidationErrors,
) {
    patch.check_names(&READ_ONLY, &REQUIRED, errors);
    if let Some(parameters) = &patch.members.parameters {
        rules.check_each(parameters, errors);
        rules.check_repeats(parameters, errors);
        rules.check_names(parameters, errors);
    }
}

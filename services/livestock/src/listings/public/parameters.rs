//! The query parameters of the search for visitors.

use common::Format;
use common::validation::ValidationErrors;
use serde::Deserialize;
use utoipa::IntoParams;
use utoipa::openapi::path::{Parameter, ParameterIn};
use utoipa::openapi::schema::{ObjectBuilder, Type};

use crate::categories::Categories;
use crate::listings::search::{Audience, ListingSearch, ListingSearchParams, StatusFilter};

/// The most listings of one CSV file or workbook.
const MAX_EXPORTED: i64 = 10_000;

/// The parameters of the listing search, without the wishlist, and with the statuses of active listings only.
#[derive(Debug, Default, Deserialize)]
#[serde(transparent)]
pub(in crate::listings) struct PublicSearchParams(ListingSearchParams);

impl PublicSearchParams {
    /// Returns the search, and adds invalid parameters to `errors`. `accepted` is the format that the `Accept` header
    /// prefers.
    pub(in crate::listings) fn parse(
        &self,
        accepted: Format,
        categories: &Categories,
        errors: &mut ValidationErrors,
    ) -> ListingSearch {
        let mut search = self.0.parse(accepted, categories, errors);
        if search.format != Format::Json {
            search.page.limit = search.page.limit.min(MAX_EXPORTED);
        }
        ListingSearch { wishlisted: false, audience: Audience::Visitors, ..search }
    }
}

impl IntoParams for PublicSearchParams {
    fn into_params(parameter_in: impl Fn() -> Option<ParameterIn>) -> Vec<Parameter> {
        let all = ListingSearchParams::into_params(parameter_in).into_iter();
        let public = all.filter(|parameter| parameter.name != "isWishlisted").map(|mut parameter| {
            if parameter.name == "f:status" {
                let active = [StatusFilter::ActiveSelling, StatusFilter::ActiveBuying];
                let values = active.map(StatusFilter::as_str);
                let schema = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(values));
                parameter.schema = Some(schema.build().into());
                parameter.description = Some("By default all active ones.".to_owned());
            }
            parameter
        });
        public.collect()
    }
}

//! The schema of the properties of any listing.

use serde_json::json;
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::schema::AnyOfBuilder;
use utoipa::openapi::{Ref, RefOr, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::{CattleProperties, SheepProperties, WorkingDogProperties};

/// The properties of a listing, which depend on its category. Later releases may add members.
pub(crate) struct ListingProperties;

impl PartialSchema for ListingProperties {
    fn schema() -> RefOr<Schema> {
        let more: Extensions = [("additionalProperties", json!(true))].into_iter().collect();
        let categories = [CattleProperties::name(), SheepProperties::name(), WorkingDogProperties::name()];
        let any = categories
            .into_iter()
            .fold(AnyOfBuilder::new(), |any, name| any.item(Ref::from_schema_name(name)));
        any.description(Some("The properties of the category.")).extensions(Some(more)).into()
    }
}

impl ToSchema for ListingProperties {
    fn schemas(schemas: &mut Vec<(String, RefOr<Schema>)>) {
        schemas.push((SheepProperties::name().into(), SheepProperties::schema()));
        SheepProperties::schemas(schemas);
        schemas.push((CattleProperties::name().into(), CattleProperties::schema()));
        CattleProperties::schemas(schemas);
        schemas.push((WorkingDogProperties::name().into(), WorkingDogProperties::schema()));
        WorkingDogProperties::schemas(schemas);
    }
}

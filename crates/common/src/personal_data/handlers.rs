//! `GET /v1/users/{userId}/data` and `POST /v1/users/{userId}/erase`.

use actix_web::http::header::{CONTENT_DISPOSITION, ContentType};
use actix_web::web::{Data, Path};
use actix_web::{HttpResponse, get, post};
use database::Database;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{AdditionalProperties, ArrayBuilder, ObjectBuilder, Schema};
use utoipa::{PartialSchema, ToSchema};

use super::model::{ErasureResult, RecordKinds, RecordQuery, check_user_id};
use super::records;
use crate::auth::{Admin, Authorized};
use crate::extract::Fingerprint;
use crate::extract::idempotency::Idempotency;
use crate::{Error, ErrorResponses, JsonResponse};

/// Everything that a service holds about a user: an array for each kind of records.
pub(crate) struct PersonalData;

impl PartialSchema for PersonalData {
    fn schema() -> RefOr<Schema> {
        let record = ObjectBuilder::new().additional_properties(Some(AdditionalProperties::FreeForm(true)));
        let description =
            "Everything that the service holds about the user: an array for each kind of records";
        ObjectBuilder::new()
            .description(Some(description))
            .additional_properties(Some(ArrayBuilder::new().items(record)))
            .into()
    }
}
impl ToSchema for PersonalData {}

/// Export the personal data of a user
///
/// Returns everything that this service holds about the user: an object with an array for each kind of records. The
/// arrays are empty for a user who is unknown here. The other services hold data of their own.
#[utoipa::path(operation_id = "export_personal_data", tag = "users", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("userId" = String, Path, description = "Claim `sub` of the user", min_length = 1, max_length = 200,
        example = json!("former-employee"))),
    responses((status = 200, body = PersonalData,
        headers(("Content-Disposition" = String, description = "An attachment"))), ErrorResponses))]
#[get("/users/{userId}/data")]
pub(crate) async fn export(
    _admin: Authorized<Admin>,
    path: Path<String>,
    records: Data<RecordKinds>,
    db: Data<Database>,
) -> Result<HttpResponse, Error> {
    let query = RecordQuery { user_id: check_user_id(path.into_inner())?, after: None, limit: 0 };
    let kinds = records.kinds.iter().filter(|kind| !kind.are_copies()).copied().collect();
    let body = records::body((**db).clone(), kinds, query).await?;
    crate::security_event!("personal_data_exported", "personal data of a user was exported");
    let attachment = format!("attachment; filename=\"personal-data-{}.json\"", records.service);
    Ok(HttpResponse::Ok()
        .content_type(ContentType::json())
        .insert_header((CONTENT_DISPOSITION, attachment))
        .body(body))
}

/// Erase the personal data of a user
///
/// The ids of the user become a random `erased-…`, the same in all records of this service, and the names `erased
/// user`. The records stay, except saved searches, keys of repeated requests and shares that are still due. A request
/// changes records for up to 20 seconds; send it again until `count` is 0. The other services erase their own data.
#[utoipa::path(operation_id = "erase_personal_data", tag = "users", security(("bearer" = [])),
    extensions(("x-roles" = json!(["admin"]))),
    params(("userId" = String, Path, description = "Claim `sub` of the user", min_length = 1, max_length = 200,
        example = json!("former-employee"))),
    responses((status = 200, body = ErasureResult), ErrorResponses))]
#[post("/users/{userId}/erase")]
pub(crate) async fn erase(
    _admin: Authorized<Admin>,
    path: Path<String>,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    records: Data<RecordKinds>,
    db: Data<Database>,
) -> Result<JsonResponse, Error> {
    let user_id = check_user_id(path.into_inner())?;
    let run = idempotency.run_external(&db, fingerprint, async || {
        let result = records::run(&db, &records.kinds, user_id).await?;
        JsonResponse::json(&result)
    });
    run.await
}

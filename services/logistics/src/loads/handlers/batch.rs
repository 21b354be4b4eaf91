//! `POST /v1/loads/batch` and `GET /v1/loads/batch/template`.

use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get, post};
use common::multipart::{Form, Payload};
use common::{Authorized, Caller, Error, ErrorResponses, Idempotency, JsonResponse, MemberOrAdmin};
use database::AnyConnection;

use crate::Logistics;
use crate::loads::batch::{BatchResult, LoadBatchForm, StagedImport, UploadedFile, receive, validate};
use crate::loads::columns::COLUMNS;

/// Upload a batch of loads
///
/// CSV (the delimiter is detected) or XLSX (first sheet), at most 10 files of 25 MiB and 50,000 rows together. All rows
/// are stored or none. If any row is invalid, the response names every invalid cell (the first 1,000), and
/// `body.failedRows` is the number of invalid rows. A file whose content the organisation imported before is 409 with
/// `body.importedAtUTC` and `body.file`, unless `repeat` is true.
#[utoipa::path(operation_id = "create_load_batch", tag = "loads", security(("bearer" = [])),
    request_body(content = LoadBatchForm, content_type = "multipart/form-data"),
    responses((status = 200, body = BatchResult), ErrorResponses))]
#[post("/loads/batch")]
pub(super) async fn create(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    request: HttpRequest,
    form: Payload,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let form = receive(&request, form, &app.batches).await?;
    if !form.errors.is_empty() {
        // If rows are invalid too, the validation fails with all errors.
        let errors = form.errors.clone();
        validate_in_turn(&app, &caller, form).await?;
        return Err(Error::Validation(errors));
    }
    let fingerprint = form.fingerprint(&request, |file| &file.hash)?;
    idempotency
        .run(&app.db, fingerprint, async || {
            let mut import = validate_in_turn(&app, &caller, form).await?;
            Ok(move |c: &mut AnyConnection| import.commit(c))
        })
        .await
}

async fn validate_in_turn(
    app: &Data<Logistics>,
    caller: &Caller,
    form: Form<UploadedFile>,
) -> Result<StagedImport, Error> {
    let (service, caller) = (app.clone(), caller.clone());
    let tenant = caller.tenant();
    let work = move || validate(&service.batches, &service.commodities, &caller, form);
    app.batches.run_blocking(tenant, work).await
}

/// Template of a batch: the header row as CSV
#[utoipa::path(operation_id = "find_load_batch_template", tag = "loads", security(("bearer" = [])),
    responses((status = 200, content_type = "text/csv", body = String), ErrorResponses))]
#[get("/loads/batch/template")]
pub(super) async fn template(_caller: Caller) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"loads.csv\""))
        .body(COLUMNS.join(",") + "\r\n")
}

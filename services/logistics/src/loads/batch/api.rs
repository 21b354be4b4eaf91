//! The operations on batches.

use actix_web::http::header::CONTENT_DISPOSITION;
use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get, post};
use common::multipart::Payload;
use common::{Authorized, Caller, Error, ErrorResponses, Idempotency, JsonResponse, MemberOrAdmin};
use database::AnyConnection;

use super::check::check;
use super::plan::BatchResult;
use super::upload::{LoadBatchForm, receive};
use crate::Logistics;
use crate::loads::columns::COLUMNS;

/// Upload a batch of loads
///
/// CSV (delimiter found by itself) or XLSX (first sheet), at most 10 files of 25 MiB and 50,000 rows together. All or
/// nothing: every bad cell is named (the first 1,000; `body.failedRows` counts all failed rows). A file whose
/// content the organisation imported before is 409 with `body.importedAtUTC` and `body.file`, unless `repeat` is true.
#[utoipa::path(operation_id = "create_load_batch", tag = "loads", security(("bearer" = [])),
    request_body(content = LoadBatchForm, content_type = "multipart/form-data"),
    responses((status = 200, body = BatchResult), ErrorResponses))]
#[post("/loads/batch")]
pub(in crate::loads) async fn create(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    request: HttpRequest,
    form: Payload,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let form = receive(&request, form, &app.batches).await?;
    if let Err(refused) = form.errors.clone().check() {
        // What is wrong with the rows is told beside it.
        check(app, caller.clone(), form).await?;
        return Err(refused.into());
    }
    let fingerprint = form.fingerprint(&request, |file| &file.hash)?;
    idempotency
        .run(&app.db, fingerprint, async || {
            let mut plan = check(app.clone(), caller.clone(), form).await?;
            Ok(move |c: &mut AnyConnection| plan.commit(c))
        })
        .await
}

/// Template of a batch: the header row as CSV
#[utoipa::path(operation_id = "find_load_batch_template", tag = "loads", security(("bearer" = [])),
    responses((status = 200, content_type = "text/csv", body = String), ErrorResponses))]
#[get("/loads/batch/template")]
pub(in crate::loads) async fn template(_caller: Caller) -> HttpResponse {
    HttpResponse::Ok()
        .content_type("text/csv; charset=utf-8")
        .insert_header((CONTENT_DISPOSITION, "attachment; filename=\"loads.csv\""))
        .body(COLUMNS.join(",") + "\r\n")
}

//! `POST /v1/loads/batch` and `GET /v1/loads/batch/template`.

use actix_web::web::Data;
use actix_web::{HttpRequest, HttpResponse, get, post};
use common::multipart::{Form, Payload};
use common::wire::QueryText;
use common::{
    Authorized, Caller, Error, ErrorResponses, Format, Idempotency, JsonResponse, MemberOrAdmin, Query,
    Workbook,
};
use database::AnyConnection;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::Logistics;
use crate::loads::batch::{
    BatchResult, LoadBatchForm, SpooledImport, UploadedFile, ValidatedBatch, find_existing, prepare_import,
    receive, validate,
};
use crate::loads::members::stored_columns;

/// Upload a batch of loads
///
/// CSV (the delimiter is detected) or XLSX (first sheet), at most 10 files of 25 MiB and 50,000 rows together. All
/// rows are stored or none. If any row is invalid, the response names every invalid cell (the first 1,000), and
/// `body.failedRows` is the number of invalid rows. `ifExists` tells what happens to rows whose loads exist already:
/// `id` names a load that you may see, or your organisation created a load with the same reference (case, kinds of
/// dashes, apostrophes and white space do not count) and delivery date that is not cancelled, or an earlier row has
/// both. New rows whose reference is only similar to another one give a warning `similar_reference`. A file whose
/// content the organisation imported before is 409 with `body.importedAtUTC` and `body.file`, unless `repeat` is true
/// or `ifExists` is `skip`.
#[utoipa::path(operation_id = "create_load_batch", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
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
            let import = validate_in_turn(&app, &caller, form).await?;
            let import = prepare_import(&app.batches, &app.db, import).await?;
            Ok(move |c: &mut AnyConnection| import.commit(c))
        })
        .await
}

async fn validate_in_turn(
    app: &Data<Logistics>,
    caller: &Caller,
    form: Form<UploadedFile>,
) -> Result<SpooledImport, Error> {
    let (service, reader) = (app.clone(), caller.clone());
    let work = move || validate(&service.batches, &service.commodities, &reader, form);
    let mut invalid = match app.batches.run_blocking(caller.tenant(), work).await? {
        (ValidatedBatch::Valid(import), permit) => return Ok(import.with_permit(permit)),
        (ValidatedBatch::Invalid(invalid), _) => invalid,
    };
    let (rows, caller) = (invalid.refusable(), caller.clone());
    if !rows.is_empty() {
        invalid.refuse(&app.db.read(move |c| find_existing(c, &caller, &rows)).await?);
    }
    Err(invalid.into_error())
}

/// Query parameters of the template.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
struct TemplateParameters {
    /// `CSV` or `XLSX`, in any case; by default the format that the `Accept` header prefers, else CSV.
    format: Option<QueryText>,
}

const TEMPLATE_FORMATS: [Format; 2] = [Format::Csv, Format::Xlsx];

/// Template of a batch
///
/// As CSV, the header row. As XLSX, a table with date cells, drop-down lists and a sample row, which batches skip, and
/// a second sheet with the commodities.
#[utoipa::path(operation_id = "find_load_batch_template", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(TemplateParameters),
    responses((status = 200, content((String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads/batch/template")]
pub(super) async fn template(
    _caller: Caller,
    query: Query<TemplateParameters>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<HttpResponse, Error> {
    let accepted = Format::accepted(&request, &TEMPLATE_FORMATS, Format::Csv);
    let format =
        query.check(|p, errors| Format::named(p.format.as_deref(), &TEMPLATE_FORMATS, accepted, errors))?;
    let content = match format {
        Format::Xlsx => app.batches.template(),
        _ => (stored_columns().map(|(name, _)| name).collect::<Vec<_>>().join(",") + "\r\n").into(),
    };
    Ok(format.attachment("loads").body(content))
}

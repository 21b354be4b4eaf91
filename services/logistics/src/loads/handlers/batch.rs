//! `POST /v1/loads/batch` and `GET /v1/loads/batch/template`.

use actix_web::web::{Bytes, Data};
use actix_web::{HttpRequest, HttpResponse, Responder, get, post};
use common::multipart::{Form, Payload};
use common::wire::QueryText;
use common::{
    Authorized, Caller, Error, ErrorResponses, Format, Idempotency, MemberOrAdmin, Query, Workbook,
};
use database::AnyConnection;
use serde::Deserialize;
use utoipa::IntoParams;

use super::create::TOO_MANY_LOADS;
use crate::Logistics;
use crate::loads::batch::{
    self, BatchResult, LoadBatchForm, Parts, ReadBatch, SheetFormat, UploadedFile, prepare_import, receive,
    validate,
};
use crate::loads::members::stored_columns;

/// Upload a batch of loads
///
/// CSV (the delimiter is detected) or XLSX, at most 10 files of 25 MiB and 50,000 rows together. All rows are stored or
/// none, unless `invalidRows` leaves out invalid ones. If any row is invalid, the response names every invalid cell
/// (the first 1,000), and `body.failedRows` is the number of invalid rows. `body.recognised` tells what was recognised
/// in each file; `headings` and `corrections` mend it. `ifExists` tells what happens to rows whose loads exist already:
/// `id` names a load that you may see, or your organisation created a load with the same reference (case, kinds of
/// dashes, apostrophes and white space do not count) and delivery date that is not cancelled. New rows whose reference
/// is only similar to another one give a warning `similar_reference`. A file whose content the organisation imported
/// before is 409 with `body.importedAtUTC` and `body.file`, unless `repeat` is true or `ifExists` is `skip` or
/// `update`.
#[utoipa::path(operation_id = "create_load_batch", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!([]))),
    request_body(content = LoadBatchForm, content_type = "multipart/form-data"),
    responses((status = 200, content((BatchResult = "application/json"), (String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[post("/loads/batch")]
pub(super) async fn create(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    request: HttpRequest,
    form: Payload,
    app: Data<Logistics>,
) -> Result<HttpResponse, Error> {
    let form = receive(&request, form, &app.batches).await?;
    if !form.errors.is_empty() {
        // If rows are invalid too, the validation fails with all errors.
        let errors = form.errors.clone();
        let batch = read_in_turn(&app, &caller, form).await?;
        prepare_import(parts(&app), batch).await?;
        return Err(Error::Validation(errors));
    }
    let wants_sheet = form.last("format").is_some_and(|format| !format.trim().is_empty());
    if wants_sheet {
        // Nothing is stored, so that a repeat needs no stored response.
        let batch = read_in_turn(&app, &caller, form).await?;
        let format = match batch.format {
            Some(SheetFormat::Xlsx) => Format::Xlsx,
            _ => Format::Csv,
        };
        let content = batch.sheet(parts(&app)).await?;
        return Ok(format.attachment("loads-problems").body(content));
    }
    let fingerprint = form.fingerprint(&request, |file| &file.hash)?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        app.new_loads.check(&caller.tenant(), TOO_MANY_LOADS)?;
        let batch = read_in_turn(&app, &caller, form).await?;
        let (import, service) = (prepare_import(parts(&app), batch).await?, app.clone());
        Ok(move |c: &mut AnyConnection| {
            let stored = import.commit(c, &service.commodities)?;
            Ok((stored.response, (stored.shares, stored.new_loads)))
        })
    });
    let (response, output) = run.await?;
    app.webhooks.wake();
    if let Some((shares, new_loads)) = output {
        app.new_loads.add(&caller.tenant(), new_loads as u64);
        for share in shares {
            app.shares.share(Some(share)).await;
        }
    }
    Ok(response.respond_to(&request).map_into_boxed_body())
}

fn parts(app: &Logistics) -> Parts<'_> {
    Parts { db: &app.db, files: &app.files, commodities: &app.commodities, batches: &app.batches }
}

async fn read_in_turn(
    app: &Data<Logistics>,
    caller: &Caller,
    form: Form<UploadedFile>,
) -> Result<ReadBatch, Error> {
    let (service, reader) = (app.clone(), caller.clone());
    let work =
        move || validate(&service.batches, &service.commodities, (&reader, &service.address_book), form);
    let (mut batch, permit) = app.batches.run_blocking(caller.tenant(), work).await?;
    batch.import.hold(permit);
    Ok(batch)
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
/// As CSV, the header row. As XLSX, a table with date cells, drop-down lists and a sample row, which batches skip, a
/// sheet that explains the columns, and a sheet with the commodities.
#[utoipa::path(operation_id = "find_load_batch_template", tag = "loads", security(("bearer" = [])),
    extensions(("x-roles" = json!(["viewer"]))),
    params(TemplateParameters),
    responses((status = 200, content((String = "text/csv"),
        (inline(Workbook) = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"))), ErrorResponses))]
#[get("/loads/batch/template")]
pub(super) async fn template(
    caller: Caller,
    query: Query<TemplateParameters>,
    request: HttpRequest,
    app: Data<Logistics>,
) -> Result<HttpResponse, Error> {
    let accepted = Format::accepted(&request, &TEMPLATE_FORMATS, Format::Csv);
    let format =
        query.check(|p, errors| Format::named(p.format.as_deref(), &TEMPLATE_FORMATS, accepted, errors))?;
    let content = match format {
        Format::Xlsx => {
            let write = move || batch::template(&app.commodities, &caller);
            let written = tokio::task::spawn_blocking(write).await.map_err(|e| Error::Internal(e.into()))?;
            written.map_err(Error::Internal)?.into()
        }
        _ => Bytes::from(stored_columns().map(|(name, _)| name).collect::<Vec<_>>().join(",") + "\r\n"),
    };
    Ok(format.attachment("loads-template").body(content))
}

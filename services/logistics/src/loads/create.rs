//! Creating a load, by its organiser or by its carrier.

use actix_web::post;
use actix_web::web::Data;
use common::validation::ValidationErrors;
use common::{
    Authorized, Body, Caller, Error, ErrorResponses, Idempotency, JsonResponse, MemberOrAdmin, files,
};

use super::form::{CarrierForm, Form, OrganiserForm};
use super::model::{Creator, Load};
use super::store;
use crate::Logistics;

/// Create a new load (organiser form)
#[utoipa::path(operation_id = "create_load_as_organiser", tag = "loads", security(("bearer" = [])),
    request_body = OrganiserForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/organiser")]
pub(super) async fn create_as_organiser(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    body: Body<OrganiserForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    create(&app, &caller, idempotency, body).await
}

/// Create a new load (carrier form)
#[utoipa::path(operation_id = "create_load_as_carrier", tag = "loads", security(("bearer" = [])),
    request_body = CarrierForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/carrier")]
pub(super) async fn create_as_carrier(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    body: Body<CarrierForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    create(&app, &caller, idempotency, body).await
}

async fn create<F: Form>(
    app: &Logistics,
    caller: &Caller,
    idempotency: Idempotency,
    body: Body<F>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &F, errors: &mut ValidationErrors| form.rules(&app.commodities, errors);
    let (form, fingerprint) = body.check_with_files(rules, &app.files, caller, F::files).await?;
    if !caller.admin && !caller.acts_for(form.owner()) {
        let mut errors = ValidationErrors::default();
        app.files.report_unknown(caller, form.files(), &mut errors).await;
        errors.check()?;
        return Err(Error::Forbidden("Loads are created for one's own organisation only."));
    }
    let new = form.into_new(&app.commodities);
    let new = new.ok_or_else(|| Error::Internal(anyhow::anyhow!("a form that was not checked")))?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let found = app.files.look_up(caller, &new.files).await?;
        let creator = Creator::of(caller);
        let load = new.into_load(&creator, found.references()?);
        let share = found.share(caller, load.id, &load.parties(), &load.parties());
        Ok(move |c: &mut _| {
            let answer = store::create(c, &load, &creator)?;
            files::record(c, share.as_ref())?;
            Ok((answer, share.clone()))
        })
    });
    let (answer, share) = run.await?;
    app.shares.share(share.flatten()).await;
    Ok(answer)
}

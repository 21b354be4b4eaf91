//! Creating a load, by its organiser or by its carrier.

use actix_web::post;
use actix_web::web::Data;
use common::{Answer, Body, Caller, Error, Failures, Granted, MemberOrAdmin, Once};

use super::form::{CarrierForm, Form, OrganiserForm};
use super::model::{Creator, Load, parties};
use super::store;
use crate::Logistics;

/// Create a new load (organiser form)
#[utoipa::path(operation_id = "create_load_as_organiser", tag = "loads", security(("bearer" = [])),
    request_body = OrganiserForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), Failures))]
#[post("/loads/organiser")]
pub(super) async fn create_as_organiser(
    caller: Granted<MemberOrAdmin>,
    once: Once,
    body: Body<OrganiserForm>,
    app: Data<Logistics>,
) -> Result<Answer, Error> {
    create(&app, &caller, once, body).await
}

/// Create a new load (carrier form)
#[utoipa::path(operation_id = "create_load_as_carrier", tag = "loads", security(("bearer" = [])),
    request_body = CarrierForm, extensions(("x-one-or-array" = json!(true))), responses((status = 200, body = Load), Failures))]
#[post("/loads/carrier")]
pub(super) async fn create_as_carrier(
    caller: Granted<MemberOrAdmin>,
    once: Once,
    body: Body<CarrierForm>,
    app: Data<Logistics>,
) -> Result<Answer, Error> {
    create(&app, &caller, once, body).await
}

async fn create<F: Form>(
    app: &Logistics,
    caller: &Caller,
    once: Once,
    body: Body<F>,
) -> Result<Answer, Error> {
    let (form, print) = body.check(|form, problems| form.rules(&app.commodities, problems))?;
    if !caller.admin && !caller.acts_for(form.owner()) {
        return Err(Error::Forbidden("Loads are created for one's own organisation only."));
    }
    let new = form.into_new(&app.commodities);
    let new = new.ok_or_else(|| Error::Internal(anyhow::anyhow!("a form that was not checked")))?;
    once.run(&app.db, print, async || {
        let parties = parties(new.organiser.as_ref(), new.carrier.as_ref());
        let files = app.files.resolve(caller, &new.files, &parties).await?;
        let creator = Creator::of(caller);
        let load = new.into_load(&creator, files);
        Ok(move |c: &mut _| store::create(c, &load, &creator))
    })
    .await
}

//! `POST /v1/loads/organiser` and `POST /v1/loads/carrier`.

use actix_web::post;
use actix_web::web::Data;
use common::system::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::Warning;
use common::{
    Authorized, Body, Caller, Effect, Error, ErrorResponses, Idempotency, JsonResponse, MemberOrAdmin,
};

use crate::Logistics;
use crate::loads::form::{CarrierForm, FOREIGN_LOAD, LoadForm, OrganiserForm};
use crate::loads::model::Load;
use crate::loads::party::{Creator, PartyNames};
use crate::loads::store;
use crate::organisations::{NamedBy, check_not_blocked};

/// The message for an organisation that has reached `service.new_loads_per_hour`.
pub(super) const TOO_MANY_LOADS: &str = "Your organisation has created as many loads as it may in an hour.";

/// Create a new load (organiser form)
#[utoipa::path(operation_id = "create_load_as_organiser", tag = "loads", security(("bearer" = [])),
    request_body = OrganiserForm, extensions(("x-roles" = json!([])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = Load), ErrorResponses))]
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
    request_body = CarrierForm, extensions(("x-roles" = json!([])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = Load), ErrorResponses))]
#[post("/loads/carrier")]
pub(super) async fn create_as_carrier(
    caller: Authorized<MemberOrAdmin>,
    idempotency: Idempotency,
    body: Body<CarrierForm>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    create(&app, &caller, idempotency, body).await
}

async fn create<F: LoadForm>(
    app: &Logistics,
    caller: &Caller,
    idempotency: Idempotency,
    body: Body<F>,
) -> Result<JsonResponse, Error> {
    let rules = |form: &F, errors: &mut ValidationErrors| form.validate(&app.commodities, errors);
    let report_more = async |form: &F, errors: &mut ValidationErrors| {
        // If the names cannot be read, the request is refused with the other errors.
        let names = find_names(app, caller, form).await.unwrap_or_default();
        check_name(form, &names, errors);
        app.files.report_unknown(caller, form.files(), &[], errors).await;
    };
    let (form, fingerprint) = body.check_and_complete(rules, report_more).await?;
    let names = find_names(app, caller, &form).await?;
    let mut errors = ValidationErrors::default();
    check_name(&form, &names, &mut errors);
    if !errors.is_empty() {
        app.files.report_unknown(caller, form.files(), &[], &mut errors).await;
        return Err(errors.into());
    }
    if !caller.admin && !caller.acts_for(form.owner_id()) {
        let mut errors = ValidationErrors::default();
        app.files.report_unknown(caller, form.files(), &[], &mut errors).await;
        errors.check()?;
        return Err(FOREIGN_LOAD);
    }
    let run = idempotency.run_effect(&app.db, fingerprint, async || {
        app.new_loads.check(&caller.tenant(), TOO_MANY_LOADS)?;
        let found = match form.files() {
            [] => None,
            files => Some(app.files.look_up(caller, files).await?),
        };
        let owner = form.owner_id().to_owned();
        let warnings: Vec<Warning> =
            form.parties().into_iter().filter_map(|(member, id)| names.warning(member, id)).collect();
        let files = found.as_ref().map(FoundFiles::references).transpose()?.unwrap_or_default();
        let load = form.into_load(&app.commodities, caller, &names, files)?;
        let share = found.and_then(|found| found.share(caller, load.id, &load.parties(), &load.parties()));
        // A read of its own, so that the insert stays one round trip. A block that is stored meanwhile comes too late.
        if let Some(naming) = NamedBy::another_party(&load.parties(), &owner) {
            app.db.read(move |c| check_not_blocked(c, &naming)).await?;
        }
        let is_statement = load.files.is_empty();
        let creator = Creator::of(caller);
        let effect = move |c: &mut _| {
            let (response, is_reported) = store::create(c, &load, &creator)?;
            if share.is_some() {
                system::record_share(c, share.as_ref())?;
            }
            Ok((response.warnings(&warnings)?, (share.clone(), is_reported)))
        };
        Ok(if is_statement { Effect::SingleStatement(effect) } else { Effect::Transaction(effect) })
    });
    let (response, output) = run.await?;
    if let Some((share, is_reported)) = output {
        app.new_loads.add(&caller.tenant(), 1);
        if is_reported {
            app.webhooks.wake();
        }
        if share.is_some() {
            app.shares.share(share).await;
        }
    }
    Ok(response)
}

/// Returns the names of the organisations that a form names.
async fn find_names<F: LoadForm>(app: &Logistics, caller: &Caller, form: &F) -> Result<PartyNames, Error> {
    let ids = form.parties().into_iter().map(|(_, id)| id.to_owned()).filter(|id| !id.is_empty()).collect();
    app.address_book.names(caller, ids, form.lacks_names()).await
}

/// Checks that somebody has a name of the owner: the form, the token or the address book.
fn check_name<F: LoadForm>(form: &F, names: &PartyNames, errors: &mut ValidationErrors) {
    let (member, is_absent) = form.owner_name();
    if is_absent && names.supplied(form.owner_id()).is_none() {
        errors.push(member, Code::Required, "is required");
    }
}

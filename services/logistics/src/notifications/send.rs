//! Sending a load to its driver or carrier: recorded and answered; delivered afterwards.

use actix_web::post;
use actix_web::web::Data;
use common::files::{self, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::{ActionResult, Name};
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse};
use database::Id;
use serde::Deserialize;
use utoipa::ToSchema;

use super::model::Event;
use super::store::{self, Sending};
use crate::Logistics;
use crate::loads::{self, Load, Party, Status, parties};

/// Who drives a load (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(as = SendToDriver)]
struct ToDriver {
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    load_id: String,
    /// Claim `sub` of the driver, who may then read the load and prove its delivery.
    #[schema(required = true)]
    driver_id: Name,
}

/// Who carries a load (interface.md, 4.2).
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(default, rename_all = "camelCase")]
#[schema(as = SendToCarrier)]
struct ToCarrier {
    #[schema(required = true, min_length = 1, extensions(("x-text" = json!("line"))))]
    load_id: String,
    /// The organisation; it becomes the carrier of a load that has none.
    #[schema(required = true)]
    carrier_id: Name,
    /// Its name, for such a load; by default the id.
    carrier_name: Option<Name>,
}

/// Send to driver (notification to the driver of a load)
///
/// While a notification of the same load and driver is pending no other is stored: the answer has the id of the pending
/// one.
#[utoipa::path(operation_id = "send_load_to_driver", tag = "notifications", security(("bearer" = [])),
    request_body = ToDriver, extensions(("x-one-or-array" = json!(true))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/send-to-driver")]
pub(super) async fn send_to_driver(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<ToDriver>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let driver = Recipient::Driver(form.driver_id.0);
    send(&app, caller, idempotency, fingerprint, &form.load_id, driver).await
}

/// Send to carrier (notification to the carrier of a load)
///
/// A load without carrier gets this one, which may then read it and its organiser's files. While a notification of the
/// same load and carrier is pending no other is stored: the answer has the id of the pending one.
#[utoipa::path(operation_id = "send_load_to_carrier", tag = "notifications", security(("bearer" = [])),
    request_body = ToCarrier, extensions(("x-one-or-array" = json!(true))),
    responses((status = 200, body = ActionResult), ErrorResponses))]
#[post("/loads/send-to-carrier")]
pub(super) async fn send_to_carrier(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<ToCarrier>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let id = form.carrier_id.0;
    let own_name = caller.own_name(&id).map(str::to_owned);
    let name = own_name.or_else(|| form.carrier_name.map(|name| name.0)).unwrap_or_else(|| id.clone());
    send(&app, caller, idempotency, fingerprint, &form.load_id, Recipient::Carrier { id, name }).await
}

/// To whom a load is sent.
#[derive(Clone, Debug)]
enum Recipient {
    Driver(String),
    Carrier { id: String, name: String },
}

impl Recipient {
    fn id(&self) -> &str {
        match self {
            Self::Driver(id) | Self::Carrier { id, .. } => id,
        }
    }

    /// Makes a carrier that of a load without one, and says whether it did.
    ///
    /// # Errors
    /// 409 for a load that is completed or another's to carry.
    fn take(&self, load: &mut Load) -> Result<bool, Error> {
        if load.status == Status::Completed {
            return Err(Error::conflict("This load is completed."));
        }
        let Self::Carrier { id, name } = self else { return Ok(false) };
        match load.carrier.as_ref().and_then(|carrier| carrier.id.as_ref()) {
            Some(carrier) if carrier == id => Ok(false),
            Some(_) => Err(Error::conflict("This load is carried by another organisation.")),
            None => {
                load.carrier = Some(Party { id: Some(id.clone()), name: name.clone() });
                Ok(true)
            }
        }
    }
}

/// Records that a load is sent, and shares its files with its carrier once that is committed: of two carriers one comes
/// first, and the other gets nothing. Sending again shares again. Without files that the caller may share, system is not
/// called.
async fn send(
    app: &Logistics,
    caller: Caller,
    idempotency: Idempotency,
    fingerprint: Fingerprint,
    load_id: &str,
    to: Recipient,
) -> Result<JsonResponse, Error> {
    let unknown = || ValidationErrors::one("loadId", Code::UnknownReference, "names no load");
    let id = Id::parse(load_id).ok_or_else(unknown)?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let reader = caller.clone();
        let found = app.db.read(move |c| loads::find_own(c, &reader, id)).await;
        let mut load = found.map_err(|e| if matches!(e, Error::NotFound) { unknown().into() } else { e })?;
        to.take(&mut load)?;
        let found = match to {
            // Without system nothing is stored.
            Recipient::Carrier { .. } if may_share(&caller, &load) => {
                app.files.look_up(&caller, &load.files).await?
            }
            _ => FoundFiles::default(),
        };
        let (caller, to) = (caller.clone(), to.clone());
        Ok(move |c: &mut _| {
            // Read again: of two carriers one comes first.
            let mut load = loads::find_own(c, &caller, id)?;
            if to.take(&mut load)? {
                loads::assign_carrier(c, &load)?;
            }
            let event = match &to {
                Recipient::Driver(driver) => {
                    loads::add_driver(c, id, driver)?;
                    Event::SentToDriver
                }
                Recipient::Carrier { .. } => Event::SentToCarrier,
            };
            let share =
                found.share_owned(&caller, id, &load.file_owners(), &parties(None, load.carrier.as_ref()));
            files::record(c, share.as_ref())?;
            let sender = caller.organisation_id();
            let sending = Sending { sender, event, load: &load, recipient_id: to.id() };
            let made = store::create(c, &sending)?;
            let answer = JsonResponse::json(&ActionResult::created(
                "The load is sent; the notification's log says when it arrives.",
                made,
            ))?;
            Ok((answer, share))
        })
    });
    let (answer, share) = run.await?;
    app.notifications.wake();
    app.shares.share(share.flatten()).await;
    Ok(answer)
}

/// True if the load may have files that the caller may share with its carrier: those of an owner that is not the carrier
/// itself.
fn may_share(caller: &Caller, load: &Load) -> bool {
    let with = parties(None, load.carrier.as_ref());
    let may_lend = |owner: &&str| !with.contains(owner) && (caller.admin || caller.acts_for(owner));
    !with.is_empty() && load.file_owners().iter().any(may_lend)
}

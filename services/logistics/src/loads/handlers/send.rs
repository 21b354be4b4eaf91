//! `POST /v1/loads/send-to-driver` and `POST /v1/loads/send-to-carrier`.

use actix_web::post;
use actix_web::web::Data;
use common::system::{self, DueShare, FoundFiles};
use common::validation::{Code, ValidationErrors};
use common::wire::{ActionResult, Warning};
use common::{Body, Caller, Error, ErrorResponses, Fingerprint, Idempotency, JsonResponse};
use database::{AnyConnection, Id};
use serde_json::json;

use crate::Logistics;
use crate::loads::history::{self, Change, Changes, EventType, NewEvent};
use crate::loads::members::changes;
use crate::loads::model::Load;
use crate::loads::party::parties;
use crate::loads::send::{Recipient, SendToCarrier, SendToDriver, file_owners, may_share_files};
use crate::loads::store;
use crate::notifications::{self, NewNotification, Recipients};
use crate::organisations::{NamedBy, check_not_blocked};

/// Send a load to a driver
///
/// Notifies the driver, who may then read the load and prove its delivery. While a notification of the same load and
/// driver is pending, returns its id and stores no other. A load has at most 20 drivers at a time, and an organisation
/// sends at most 600 notifications to drivers in ten minutes.
#[utoipa::path(operation_id = "send_load_to_driver", tag = "notifications", security(("bearer" = [])),
    request_body = SendToDriver, extensions(("x-roles" = json!([])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = ActionResult),
        (status = 429, description = "The caller's organisation sent 600 notifications to drivers in ten minutes."),
        ErrorResponses))]
#[post("/loads/send-to-driver")]
pub(super) async fn send_to_driver(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<SendToDriver>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let warning = app.address_book.warning_of_driver(&form.driver_id).await?;
    let driver = Recipient::Driver(form.driver_id.0);
    send(&app, caller, (idempotency, fingerprint), &form.load_id, (driver, warning)).await
}

/// Send a load to a carrier
///
/// Notifies the carrier. A load without carrier gets this one, which may then read it and its organiser's files. While
/// a notification of the same load and carrier is pending, returns its id and stores no other. A carrier that has
/// blocked the sender is 403 with the `reason` `blocked`.
#[utoipa::path(operation_id = "send_load_to_carrier", tag = "notifications", security(("bearer" = [])),
    request_body = SendToCarrier, extensions(("x-roles" = json!([])), ("x-one-or-array" = json!(true))),
    responses((status = 200, body = ActionResult),
        (status = 429, description = "The caller's organisation sent 600 notifications in ten minutes, to drivers or \
            again to carriers."),
        ErrorResponses))]
#[post("/loads/send-to-carrier")]
pub(super) async fn send_to_carrier(
    caller: Caller,
    idempotency: Idempotency,
    body: Body<SendToCarrier>,
    app: Data<Logistics>,
) -> Result<JsonResponse, Error> {
    let (form, fingerprint) = body.check(|_, _| {})?;
    let id = form.carrier_id.0;
    let names = app.address_book.names(&caller, vec![id.clone()], form.carrier_name.is_none()).await?;
    let name = names.name(&id, form.carrier_name.as_deref()).unwrap_or(&id).to_owned();
    let warning = names.warning("carrierId", &id);
    let carrier = Recipient::Carrier { id, name };
    send(&app, caller, (idempotency, fingerprint), &form.load_id, (carrier, warning)).await
}

/// Stores a notification and, after the commit, shares the load's files with its carrier. If two carriers are sent the
/// same load at once, the transaction admits one and shares nothing with the other. Sending again shares again. If the
/// caller may share no files, system is not called.
async fn send(
    app: &Logistics,
    caller: Caller,
    (idempotency, fingerprint): (Idempotency, Fingerprint),
    load_id: &str,
    (recipient, warning): (Recipient, Option<Warning>),
) -> Result<JsonResponse, Error> {
    let unknown = || ValidationErrors::one("loadId", Code::UnknownReference, "names no load");
    let id = Id::parse(load_id).ok_or_else(unknown)?;
    let run = idempotency.run_with_output(&app.db, fingerprint, async || {
        let found = prepare(app, &caller, id, &recipient).await;
        let files = found.map_err(|e| if matches!(e, Error::NotFound) { unknown().into() } else { e })?;
        let (caller, recipient) = (caller.clone(), recipient.clone());
        Ok(move |c: &mut _| {
            let sent = store_sending(c, &caller, id, &recipient, &files)?;
            let message = "The load is sent; its notification log shows when it arrives.";
            let warnings = warning.iter().cloned().collect();
            let result = ActionResult { warnings, ..ActionResult::created(message, sent.notification) };
            Ok((JsonResponse::json(&result)?, sent.share))
        })
    });
    let (response, share) = run.await?;
    app.notifications.wake();
    app.webhooks.wake();
    app.shares.share(share.flatten()).await;
    Ok(response)
}

/// Checks that a load can be sent to a recipient, and looks up the files that its carrier gets.
///
/// # Errors
/// Those of [`store_sending`], and 503 if system is unavailable.
pub(super) async fn prepare(
    app: &Logistics,
    caller: &Caller,
    id: Id,
    recipient: &Recipient,
) -> Result<FoundFiles, Error> {
    let (reader, sent_to) = (caller.clone(), recipient.clone());
    let read = move |c: &mut _| {
        let before = store::find_own(c, &reader, id)?;
        check_recipient(c, &reader, &before, &sent_to)?;
        Ok::<_, Error>(before)
    };
    let before = app.db.read(read).await?;
    let mut load = before.clone();
    recipient.check_and_assign(&mut load)?;
    match recipient {
        // Nothing is stored if system is unavailable.
        Recipient::Carrier { .. } if may_share_files(caller, &before, &load) => {
            Ok(app.files.look_up(caller, &load.files).await?)
        }
        _ => Ok(FoundFiles::default()),
    }
}

/// A load that was sent.
pub(super) struct Sending {
    notification: Id,
    /// False if the same sending was pending.
    pub is_new: bool,
    pub share: Option<DueShare>,
}

/// Stores the notification of a recipient. `files` are those of [`prepare`].
///
/// # Errors
/// 404 if there is no such load, 403 if the caller has no part in it or is blocked, 409 if its status does not allow it
/// or it has another carrier, 429 if the organisation sends too many.
pub(super) fn store_sending(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    recipient: &Recipient,
    files: &FoundFiles,
) -> Result<Sending, Error> {
    // Reads again: another request may have assigned a carrier, or cancelled the load.
    let before = store::lock_own(c, caller, id)?;
    check_recipient(c, caller, &before, recipient)?;
    let mut load = before.clone();
    let is_assigned = recipient.check_and_assign(&mut load)?;
    if is_assigned {
        load.revise();
        store::save(c, &load)?;
    }
    let (event_type, changes) = match recipient {
        Recipient::Driver(driver) => {
            store::add_driver(c, id, driver)?;
            let change = Change::new(None, Some(json!(driver)));
            (EventType::SentToDriver, Changes::from([("driverId", change)]))
        }
        Recipient::Carrier { .. } => (EventType::SentToCarrier, changes(&before, &load)),
    };
    let notification = notifications::create(
        c,
        &NewNotification {
            sender_id: caller.organisation_id_or_empty(),
            event: recipient.event(),
            load_id: id,
            load: &load,
            recipients: Recipients::One(recipient.id()),
        },
    )?;
    if let (true, Some(own)) = (notification.is_new, &caller.organisation) {
        // Each load may be sent to its carrier once, however many there are.
        let is_counted = match recipient {
            Recipient::Driver(_) => true,
            Recipient::Carrier { id: carrier, .. } => {
                notifications::was_sent_before(c, id, recipient.event(), carrier, notification.id)?
            }
        };
        if is_counted {
            store::count_sending(c, &own.id)?;
        }
    }
    // Sending again while the notification is pending is the same sending.
    let is_recorded = match recipient {
        _ if notification.is_new => true,
        // The history tells which organisations sent the load to the driver.
        Recipient::Driver(driver) => {
            let own = caller.organisation.as_ref().map(|own| own.id.clone());
            !history::senders(c, id)?.get(driver).is_some_and(|by| by.contains_key(&own))
        }
        Recipient::Carrier { .. } => is_assigned,
    };
    let event = NewEvent { changes, ..NewEvent::new(id, event_type, caller) };
    if is_recorded {
        history::record(c, &event)?;
    }
    let share_with = parties(None, load.carrier.as_ref());
    // Files may have left the load since they were looked up.
    let files = files.only(&load.files);
    let share = files.share_owned(caller, id, &file_owners(&before, &load, caller), &share_with);
    system::record_share(c, share.as_ref())?;
    if notification.is_new {
        store::report(c, &event, &load)?;
    }
    Ok(Sending { notification: notification.id, is_new: is_recorded, share })
}

/// Checks that a carrier has not blocked the organisation that sends it the load.
///
/// # Errors
/// 403 otherwise.
fn check_recipient(
    c: &mut AnyConnection,
    caller: &Caller,
    load: &Load,
    recipient: &Recipient,
) -> Result<(), Error> {
    match (recipient, load.principal(caller)) {
        (Recipient::Carrier { id, .. }, Some(sender)) => {
            check_not_blocked(c, &NamedBy { named: id.clone(), by: sender.to_owned() })
        }
        _ => Ok(()),
    }
}

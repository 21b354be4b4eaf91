//! The loads that the examples of the OpenAPI document name, for the setting `server.demo_data`.

use common::{Caller, Error};
use database::{AnyConnection, Database, Id};
use serde_json::json;

use super::collection::CollectionForm;
use super::form::{CarrierForm, LoadForm, OrganiserForm};
use super::history::{self, Change, Changes, EventType, NewEvent};
use super::life::Status;
use super::members::changes;
use super::model::Load;
use super::party::{Creator, Party};
use super::proof::ProofOfDelivery;
use super::store::{self, NewProof, Update};
use crate::commodities::Catalogue;
use crate::examples::{
    COMPLETED_LOAD, DRIVER, LOAD, LOAD_TO_ACCEPT, LOAD_TO_CANCEL, LOAD_TO_COLLECT, LOAD_TO_PROVE,
    LOAD_TO_REJECT, LOAD_TO_REOPEN, NOTIFICATION,
};
use crate::notifications::{self, Event, NewNotification, Recipients};

/// Creates the loads that do not exist yet.
///
/// # Errors
/// Fails if the table of commodities has no feed barley under the number of the embedded one.
pub(crate) async fn create_demo_data(db: &Database, commodities: &Catalogue) -> Result<(), Error> {
    let (carys, ruth) = (carys(), ruth());
    let mut loads = Vec::new();
    for (id, reference) in [
        (LOAD, "PB-2026-0311"),
        (LOAD_TO_PROVE, "PB-2026-0312"),
        (LOAD_TO_CANCEL, "PB-2026-0313"),
        (COMPLETED_LOAD, "PB-2026-0315"),
        (LOAD_TO_COLLECT, "PB-2026-0316"),
        (LOAD_TO_REJECT, "PB-2026-0317"),
        (LOAD_TO_REOPEN, "PB-2026-0318"),
    ] {
        let carrier = Party { id: Some("hereford-haulage".into()), name: "Hereford Haulage".into() };
        let load = organised(reference)?.into_load(commodities, &carys, Vec::new())?;
        loads.push(Load { id: parse(id)?, carrier: Some(carrier), ..load });
    }
    let load = entered_by_carrier()?.into_load(commodities, &ruth, Vec::new())?;
    let entered = Load { id: parse(LOAD_TO_ACCEPT)?, ..load };
    db.write(move |c| {
        for load in &loads {
            create(c, load, &carys)?;
        }
        create(c, &entered, &ruth)
    })
    .await
}

/// The user of the examples.
fn carys() -> Caller {
    Caller::sample(["carys", "Carys", "penybont-farm", "Penybont Farm"])
}

/// A user of the carrier.
fn ruth() -> Caller {
    Caller::sample(["ruth", "Ruth", "hereford-haulage", "Hereford Haulage"])
}

fn organised(reference: &str) -> Result<OrganiserForm, Error> {
    Ok(serde_json::from_value(json!({
        "organiserId": "penybont-farm", "organiserName": "Penybont Farm", "commodityId": 10,
        "reference": reference, "deliveryDateISO": "2026-03-11", "weight": 29,
        "vehicleRegistration": "VX21 ABC", "pickupPostcode": "LD3 7HR", "dropoffPostcode": "HR4 9AR",
        "tags": ["spring"],
    }))?)
}

fn entered_by_carrier() -> Result<CarrierForm, Error> {
    Ok(serde_json::from_value(json!({
        "organisationId": "penybont-farm", "organisationName": "Penybont Farm",
        "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage", "commodityId": 10,
        "reference": "HH-2026-0314", "deliveryDateISO": "2026-03-11", "weight": 28, "tags": [],
    }))?)
}

fn parse(id: &str) -> Result<Id, Error> {
    Id::parse(id).ok_or_else(|| Error::Internal(anyhow::anyhow!("{id} is not an id")))
}

/// Creates a load unless it exists, and what the examples expect of it.
fn create(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
    if store::exists(c, load.id)? {
        return Ok(());
    }
    store::create(c, load, &Creator::of(caller))?;
    match load.id.to_string().as_str() {
        LOAD => send_to_driver(c, load, caller),
        COMPLETED_LOAD => {
            send_to_driver(c, load, caller)?;
            notify_driver(c, load)?;
            complete(c, load, caller)
        }
        LOAD_TO_REJECT => {
            let form: CollectionForm = serde_json::from_value(json!({ "weightNet": 29 }))?;
            let collection = Some(form.collection(Vec::new(), load.created_at)?);
            let collected = Load { status: Status::Collected, collection, ..load.clone() };
            change(c, load, &collected, NewEvent::new(load.id, EventType::Collected, caller))
        }
        LOAD_TO_REOPEN => {
            let cancelled = Load { status: Status::Cancelled, ..load.clone() };
            change(c, load, &cancelled, NewEvent::new(load.id, EventType::Cancelled, caller))
        }
        _ => Ok(()),
    }
}

fn send_to_driver(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
    store::add_driver(c, load.id, DRIVER)?;
    let changes = Changes::from([("driverId", Change::new(None, Some(json!(DRIVER))))]);
    history::record(c, &NewEvent { changes, ..NewEvent::new(load.id, EventType::SentToDriver, caller) })
}

fn notify_driver(c: &mut AnyConnection, load: &Load) -> Result<(), Error> {
    let notification = NewNotification {
        sender_id: "penybont-farm",
        event: Event::SentToDriver,
        load_id: load.id,
        load,
        recipients: Recipients::One(DRIVER),
    };
    notifications::create_with_id(c, parse(NOTIFICATION)?, &notification).map(drop)
}

/// Stores the first change of a load.
fn change(c: &mut AnyConnection, before: &Load, load: &Load, event: NewEvent<'_>) -> Result<(), Error> {
    let event = NewEvent { changes: changes(before, load), ..event };
    let mut load = load.clone();
    load.revise();
    store::update(c, &Update { load: &load, event, proof: None }).map(drop)
}

/// Proves the delivery of a load.
fn complete(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
    let form: ProofOfDelivery = serde_json::from_value(json!({
        "weightNet": 29.1, "ticketNumber": "48215", "vehicleRegistration": "VX21 ABC",
        "capturedAtUTC": "2026-03-11T14:30:00Z",
    }))?;
    let (proof, stored) = (form.delivery.proof()?, store::find_stored(c, caller, load.id)?);
    let mut completed = stored.load.clone();
    proof.complete(&mut completed, &[], form.delivery.captured_at().unwrap_or(load.created_at));
    completed.revise();
    let changes = changes(&stored.load, &completed);
    let event = NewEvent { changes, ..NewEvent::new(load.id, EventType::Completed, caller) };
    let proof = Some(NewProof::Original { proof: &proof, before: &stored.load });
    store::update(c, &Update { load: &completed, event, proof }).map(drop)
}

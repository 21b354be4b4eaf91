//! The loads that the examples of the OpenAPI document name, for the setting `server.demo_data`, and the samples of
//! events that test webhooks.

use common::{Caller, Error};
use database::{AnyConnection, Database, Id};
use serde_json::{Value, json};
use webhooks::EventDetails;

use super::collection::CollectionForm;
use super::form::{CarrierForm, LoadForm, OrganiserForm};
use super::history::{self, Change, Changes, EventType, NewEvent};
use super::members::changes;
use super::model::Load;
use super::party::{Creator, Party, PartyNames};
use super::proof::{Proof, ProofOfDelivery};
use super::rejection::RejectionForm;
use super::status::Status;
use super::store::{self, NewProof, StoredBatch, Update};
use crate::commodities::Catalogue;
use crate::examples::{
    BATCH, COMPLETED_LOAD, DRIVER, LOAD, LOAD_OF_BATCH, LOAD_TO_ACCEPT, LOAD_TO_CANCEL, LOAD_TO_COLLECT,
    LOAD_TO_PROVE, LOAD_TO_REJECT, LOAD_TO_REOPEN, NOTIFICATION,
};
use crate::notifications::{self, Event, NewNotification, Recipients};

/// The number of a commodity of the embedded table.
const FEED_BARLEY: i32 = 10;

/// Creates the loads that do not exist yet.
///
/// # Errors
/// Fails if the table of commodities has no feed barley under the number of the embedded one.
pub(crate) async fn create_demo_data(db: &Database, commodities: &Catalogue) -> Result<(), Error> {
    let loads = loads(commodities)?;
    db.write(move |c| loads.iter().try_for_each(|(load, creator)| create(c, load, creator))).await
}

/// Returns the loads, each with the user who creates it.
fn loads(commodities: &Catalogue) -> Result<Vec<(Load, Caller)>, Error> {
    let (mut loads, names) = (Vec::new(), PartyNames::of(&carys()));
    for (id, reference) in [
        (LOAD, "PB-2026-0311"),
        (LOAD_TO_PROVE, "PB-2026-0312"),
        (LOAD_TO_CANCEL, "PB-2026-0313"),
        (COMPLETED_LOAD, "PB-2026-0315"),
        (LOAD_TO_COLLECT, "PB-2026-0316"),
        (LOAD_TO_REJECT, "PB-2026-0317"),
        (LOAD_TO_REOPEN, "PB-2026-0318"),
        (LOAD_OF_BATCH, "PB-2026-0319"),
    ] {
        let load = organised(reference, FEED_BARLEY)?.into_load(commodities, &carys(), &names, Vec::new())?;
        let batch_id = if id == LOAD_OF_BATCH { Some(parse(BATCH)?) } else { None };
        loads.push((Load { id: parse(id)?, batch_id, carrier: Some(carrier()), ..load }, carys()));
    }
    let load = entered_by_carrier(FEED_BARLEY)?.into_load(
        commodities,
        &ruth(),
        &PartyNames::of(&ruth()),
        Vec::new(),
    )?;
    loads.push((Load { id: parse(LOAD_TO_ACCEPT)?, ..load }, ruth()));
    Ok(loads)
}

/// The user of the examples.
fn carys() -> Caller {
    Caller::sample(["carys", "Carys", "penybont-farm", "Penybont Farm"])
}

/// A user of the carrier.
fn ruth() -> Caller {
    Caller::sample(["ruth", "Ruth", "hereford-haulage", "Hereford Haulage"])
}

fn carrier() -> Party {
    Party { id: Some("hereford-haulage".into()), name: "Hereford Haulage".into() }
}

fn organised(reference: &str, commodity: i32) -> Result<OrganiserForm, Error> {
    Ok(serde_json::from_value(json!({
        "organiserId": "penybont-farm", "organiserName": "Penybont Farm", "commodityId": commodity,
        "reference": reference, "deliveryDateISO": "2026-03-11", "weight": 29,
        "vehicleRegistration": "VX21 ABC", "pickupPostcode": "LD3 7HR", "dropoffPostcode": "HR4 9AR",
        "tags": ["spring"],
    }))?)
}

fn entered_by_carrier(commodity: i32) -> Result<CarrierForm, Error> {
    Ok(serde_json::from_value(json!({
        "organisationId": "penybont-farm", "organisationName": "Penybont Farm",
        "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage", "commodityId": commodity,
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
            change(c, load, &collected(load)?, NewEvent::new(load.id, EventType::Collected, caller))
        }
        LOAD_OF_BATCH => store::keep_batch(c, caller, &batch(load)?),
        LOAD_TO_REOPEN => {
            let cancelled = Load { status: Status::Cancelled, ..load.clone() };
            change(c, load, &cancelled, NewEvent::new(load.id, EventType::Cancelled, caller))
        }
        _ => Ok(()),
    }
}

/// Returns the batch that created a load.
fn batch(load: &Load) -> Result<StoredBatch, Error> {
    let (carys, id) = (carys(), parse(BATCH)?);
    Ok(StoredBatch {
        id,
        files: vec!["loads.csv".to_owned()],
        created_at: load.created_at,
        user_id: carys.user_id,
        user_name: carys.user_name,
        count: 1,
        updated: 0,
    })
}

fn send_to_driver(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
    store::add_driver(c, load.id, DRIVER)?;
    let changes = Changes::from([("driverId", Change::new(None, Some(json!(DRIVER))))]);
    let event = NewEvent { changes, ..NewEvent::new(load.id, EventType::SentToDriver, caller) };
    history::record(c, &event).map(drop)
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

/// Returns the load with a collection.
fn collected(load: &Load) -> Result<Load, Error> {
    let form: CollectionForm = serde_json::from_value(json!({ "weightNet": 29 }))?;
    let collection = Some(Box::new(form.collection(Vec::new(), load.created_at)?));
    Ok(Load { status: Status::Collected, collection, ..load.clone() })
}

/// Stores the first change of a load.
fn change(c: &mut AnyConnection, before: &Load, load: &Load, event: NewEvent<'_>) -> Result<(), Error> {
    let event = NewEvent { changes: changes(before, load), ..event };
    let mut load = load.clone();
    load.revise();
    store::update(c, &Update { load: &load, event, proof: None }).map(drop)
}

/// Returns `data` of a realistic event of this name.
///
/// # Errors
/// Fails if there are no commodities.
pub(crate) fn sample_event(name: &str, commodities: &Catalogue) -> Result<Value, Error> {
    let (carys, ruth) = (carys(), ruth());
    let commodity = commodities.find(FEED_BARLEY.into()).or_else(|| commodities.entries().next());
    let commodity = commodity.map_or(FEED_BARLEY, |entry| entry.id);
    let is_entered = name == "load.accepted";
    let load = if is_entered {
        entered_by_carrier(commodity)?.into_load(commodities, &ruth, &PartyNames::of(&ruth), Vec::new())?
    } else {
        organised("PB-2026-0311", commodity)?.into_load(
            commodities,
            &carys,
            &PartyNames::of(&carys),
            Vec::new(),
        )?
    };
    let (created_at, mut before) = (load.created_at, Load { carrier: Some(carrier()), ..load });
    match name {
        "load.corrected" => proof()?.complete(&mut before, &[], created_at),
        "load.reopened" => before.status = Status::Cancelled,
        _ => {}
    }
    if before.status != Status::Upcoming {
        before.revise();
    }
    let mut after = before.clone();
    match name {
        "load.updated" => after.ticket_number = Some("48215".into()),
        "load.cancelled" => after.status = Status::Cancelled,
        "load.collected" => after = collected(&before)?,
        "load.completed" => proof()?.complete(&mut after, &[], created_at),
        "load.rejected" => {
            let form: RejectionForm =
                serde_json::from_value(json!({ "reason": "quality", "note": "Too wet" }))?;
            after.status = Status::Rejected;
            after.rejection = Some(Box::new(form.rejection(Vec::new(), created_at)));
        }
        "load.reopened" => after.status = Status::Upcoming,
        "load.corrected" => after.ticket_number = Some("48216".into()),
        _ => {}
    }
    if !["load.created", "load.noted", "load.sent_to_driver", "load.sent_to_carrier"].contains(&name) {
        after.revise();
    }
    if name == "load.released" {
        return Ok(json!({ "load": { "id": after.id, "reference": after.reference } }));
    }
    let driver = Some(json!(DRIVER));
    let changes = match name {
        "load.sent_to_driver" => Changes::from([("driverId", Change::new(None, driver))]),
        "load.driver_revoked" => Changes::from([("driverId", Change::new(driver, None))]),
        _ => changes(&before, &after),
    };
    let details = EventDetails {
        user_id: Some(&carys.user_id),
        organisation_id: carys.organisation.as_ref().map(|own| own.id.as_str()),
        driver_id: changes.contains_key("driverId").then_some(DRIVER),
        carrier_id: after.carrier_id().filter(|_| name == "load.sent_to_carrier"),
        text: (name == "load.noted").then_some("The gate is locked: ring the farm first"),
        changes: (!changes.is_empty()).then(|| json!(changes)),
    };
    let mut data = serde_json::to_value(&details)?;
    data["load"] = serde_json::to_value(&after)?;
    Ok(data)
}

fn proof() -> Result<Proof, Error> {
    delivered()?.delivery.proof()
}

fn delivered() -> Result<ProofOfDelivery, Error> {
    Ok(serde_json::from_value(json!({
        "weightNet": 29.1, "ticketNumber": "48215", "vehicleRegistration": "VX21 ABC",
        "capturedAtUTC": "2026-03-11T14:30:00Z",
    }))?)
}

/// Proves the delivery of a load.
fn complete(c: &mut AnyConnection, load: &Load, caller: &Caller) -> Result<(), Error> {
    let form = delivered()?;
    let (proof, stored) = (form.delivery.proof()?, store::find_stored(c, caller, load.id)?);
    let mut completed = stored.load.clone();
    proof.complete(&mut completed, &[], form.delivery.captured_at().unwrap_or(load.created_at));
    completed.revise();
    let changes = changes(&stored.load, &completed);
    let event = NewEvent { changes, ..NewEvent::new(load.id, EventType::Completed, caller) };
    let proof = Some(NewProof::Original { proof: &proof, before: &stored.load });
    store::update(c, &Update { load: &completed, event, proof }).map(drop)
}

//! The drivers to whom loads were sent.

use std::collections::HashMap;
use std::time::Duration;

use common::{Caller, Error, PageRequest, Reason};
use database::{AnyConnection, Id, Timestamp, shared_now};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde::Serialize;
use utoipa::ToSchema;

use super::rate::Rate;
use crate::loads::model::Load;
use crate::schema::load_drivers::dsl as d;

/// Maximum number of drivers of a load.
const MAX_DRIVERS: i64 = 20;
/// The limit on the notifications to drivers, and on repeated ones to carriers, that an organisation sends.
const SENDINGS: Rate = Rate {
    table: "driver_sendings",
    actor: "organisation_id",
    maximum: 600,
    period: Duration::from_secs(600),
};

/// The condition that a load was sent to a driver after it got its carrier.
const SENT_SINCE_CARRIER: &str = "NOT EXISTS (SELECT 1 FROM load_events \
     WHERE load_events.load_id = load_drivers.load_id AND (sent_at IS NULL OR load_events.at > sent_at) \
     AND (changes -> 'carrierId') IS NOT NULL)";

/// A driver to whom a load was sent.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LoadDriver)]
pub(crate) struct Driver {
    /// Claim `sub` of the driver's token.
    driver_id: String,
    /// The last time that the load was sent to the driver. If an earlier release sent it and its notification was
    /// deleted since: when the load was created.
    #[serde(rename = "sentAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    sent_at: Timestamp,
}

/// Records that a load was sent to a driver, who may then read it and prove its delivery.
///
/// # Errors
/// 409 if the load has [`MAX_DRIVERS`] others.
pub(crate) fn add_driver(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<(), Error> {
    let all = d::load_drivers.filter(d::load_id.eq(load)).count();
    // Loads of earlier releases may have more, to whom they can be sent again.
    if !is_sent_to(c, load, driver_id)? && all.get_result::<i64>(c)? >= MAX_DRIVERS {
        let message = "This load has 20 drivers already: revoke one first.";
        return Err(Error::conflict(Reason::LimitReached, message));
    }
    let now = shared_now(c)?;
    let row = (d::load_id.eq(load), d::driver_id.eq(driver_id), d::sent_at.eq(now));
    database::dispatch!(c, c => diesel::insert_into(d::load_drivers)
        .values(row)
        .on_conflict((d::load_id, d::driver_id))
        .do_update()
        .set(d::sent_at.eq(now))
        .execute(c))?;
    Ok(())
}

/// Counts a new notification among those that the organisation sent.
///
/// # Errors
/// 429 if the organisation sent 600 others in the last ten minutes.
pub(crate) fn count_sending(c: &mut AnyConnection, organisation_id: &str) -> Result<(), Error> {
    SENDINGS.count(c, organisation_id)
}

/// Returns the ids of the drivers of a load.
pub(crate) fn driver_ids(c: &mut AnyConnection, load: Id) -> Result<Vec<String>, Error> {
    Ok(d::load_drivers.filter(d::load_id.eq(load)).order(d::driver_id).select(d::driver_id).load(c)?)
}

/// Returns the ids of the drivers of loads, by load. With a reader, only of those whom it can list: a carrier does not
/// learn to whom a load was sent before it got the load.
pub(crate) fn drivers_of(
    c: &mut AnyConnection,
    loads: &[Id],
    reader: Option<&Caller>,
) -> Result<HashMap<Id, Vec<String>>, Error> {
    let mut found = d::load_drivers.filter(d::load_id.eq_any(loads)).into_boxed();
    if let Some(caller) = reader.filter(|caller| !caller.admin) {
        let organised =
            sql::<Bool>("EXISTS (SELECT 1 FROM loads WHERE id = load_drivers.load_id AND organiser_id = ");
        let organised = organised.bind::<Text, _>(caller.organisation_id_or_empty()).sql(")");
        found = found.filter(organised.or(sql::<Bool>(SENT_SINCE_CARRIER)));
    }
    let found = found.order((d::load_id, d::driver_id)).select((d::load_id, d::driver_id));
    let mut drivers: HashMap<Id, Vec<String>> = HashMap::new();
    for (load, driver) in found.load::<(Id, String)>(c)? {
        drivers.entry(load).or_default().push(driver);
    }
    Ok(drivers)
}

/// Returns a page of the drivers of a load in the order in which it was sent to them, and the number of all. With
/// `since`, those to whom it was sent from then on.
pub(crate) fn list_drivers(
    c: &mut AnyConnection,
    load: &Load,
    since: Option<Timestamp>,
    page: &PageRequest,
) -> Result<(Vec<Driver>, i64), Error> {
    let of_load = || {
        let all = d::load_drivers.filter(d::load_id.eq(load.id)).into_boxed();
        match since {
            Some(since) => all.filter(d::sent_at.ge(since)),
            None => all,
        }
    };
    // NULL first, on both databases.
    let order = (sql::<Bool>("sent_at IS NOT NULL"), d::sent_at, d::driver_id);
    let rows = of_load().order(order).offset(page.offset).limit(page.fetch());
    let rows: Vec<(String, Option<Timestamp>)> = rows.select((d::driver_id, d::sent_at)).load(c)?;
    let driver = |(driver_id, sent_at): (_, Option<_>)| Driver {
        driver_id,
        sent_at: sent_at.unwrap_or(load.created_at),
    };
    Ok((rows.into_iter().map(driver).collect(), of_load().count().get_result(c)?))
}

/// Returns true if the load was sent to the driver, who was not revoked since.
pub(super) fn is_sent_to(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<bool, Error> {
    let driver = diesel::select(diesel::dsl::exists(d::load_drivers.find((load, driver_id))));
    Ok(driver.get_result(c)?)
}

/// Returns when the load was last sent to the driver, or `None` if the driver has no part in it.
pub(super) fn sent_at(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<Option<Timestamp>, Error> {
    let row = d::load_drivers.find((load, driver_id)).select(d::sent_at);
    let sent: Option<Option<Timestamp>> = row.first(c).optional()?;
    // An older version that stored no time sent the load before there were notes.
    Ok(sent.and_then(|at| at.or(Timestamp::from_millis(0))))
}

/// Removes a driver, who can then neither read the load nor prove its delivery. Returns false if the load was not sent
/// to the driver, or with `since` not from then on.
pub(crate) fn remove_driver(
    c: &mut AnyConnection,
    load: Id,
    driver_id: &str,
    since: Option<Timestamp>,
) -> Result<bool, Error> {
    let driver = d::load_drivers.filter(d::load_id.eq(load)).filter(d::driver_id.eq(driver_id));
    Ok(match since {
        Some(since) => diesel::delete(driver.filter(d::sent_at.ge(since))).execute(c)?,
        None => diesel::delete(driver).execute(c)?,
    } > 0)
}

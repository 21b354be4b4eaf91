//! The drivers to whom loads were sent.

use common::Error;
use database::{AnyConnection, Id, Timestamp};
use diesel::prelude::*;
use serde::Serialize;
use utoipa::ToSchema;

use crate::loads::model::Load;
use crate::schema::load_drivers::dsl as d;

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
pub(crate) fn add_driver(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<(), Error> {
    let now = Timestamp::now();
    let row = (d::load_id.eq(load), d::driver_id.eq(driver_id), d::sent_at.eq(now));
    database::dispatch!(c, c => diesel::insert_into(d::load_drivers)
        .values(row)
        .on_conflict((d::load_id, d::driver_id))
        .do_update()
        .set(d::sent_at.eq(now))
        .execute(c))?;
    Ok(())
}

/// Returns the drivers of a load, in the order in which it was sent to them.
pub(crate) fn list_drivers(c: &mut AnyConnection, load: &Load) -> Result<Vec<Driver>, Error> {
    let of_load = d::load_drivers.filter(d::load_id.eq(load.id)).select((d::driver_id, d::sent_at));
    let rows: Vec<(String, Option<Timestamp>)> = of_load.load(c)?;
    let driver = |(driver_id, sent_at): (_, Option<_>)| Driver {
        driver_id,
        sent_at: sent_at.unwrap_or(load.created_at),
    };
    let mut drivers: Vec<_> = rows.into_iter().map(driver).collect();
    drivers.sort_by(|a, b| (a.sent_at, &a.driver_id).cmp(&(b.sent_at, &b.driver_id)));
    Ok(drivers)
}

/// Returns true if the load was sent to the driver, who was not revoked since.
pub(super) fn is_sent_to(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<bool, Error> {
    let driver = diesel::select(diesel::dsl::exists(d::load_drivers.find((load, driver_id))));
    Ok(driver.get_result(c)?)
}

/// Removes a driver, who can then neither read the load nor prove its delivery. Returns false if the load was not sent
/// to the driver.
pub(crate) fn remove_driver(c: &mut AnyConnection, load: Id, driver_id: &str) -> Result<bool, Error> {
    Ok(diesel::delete(d::load_drivers.find((load, driver_id))).execute(c)? > 0)
}

//! The loads that a caller may see, as conditions of queries.

use common::{Caller, Error};
use database::{AnyConnection, Id, MultiBackend};
use diesel::dsl::{AsExprOf, sql};
use diesel::expression::{SqlLiteral, UncheckedBind};
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};

use super::staged::NotStaged;
use crate::schema::load_drivers::dsl as d;
use crate::schema::loads::{self, dsl as l};

/// A query on loads, which callers limit further.
pub(in crate::loads) type LoadQuery<'a> = loads::BoxedQuery<'a, MultiBackend>;

/// A condition with the id of a driver.
type SentTo<'a> = SqlLiteral<Bool, UncheckedBind<SqlLiteral<Bool>, AsExprOf<&'a str, Text>>>;

/// The role in which the caller's organisation sees a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::loads) enum Role {
    /// Organiser or carrier. For an `admin`: all loads.
    Any,
    Organiser,
    /// Carrier, but not organiser as well.
    Carrier,
    /// The caller is the driver, whatever the organisation.
    Driver,
}

/// Selects the loads that the caller may see in this role.
pub(in crate::loads) fn visible(caller: &Caller, role: Role) -> LoadQuery<'_> {
    in_role(caller, role).filter(NotStaged)
}

fn in_role(caller: &Caller, role: Role) -> LoadQuery<'_> {
    let all = loads::table.into_boxed();
    let org = caller.organisation_id_or_empty();
    match role {
        Role::Any if caller.admin => all,
        Role::Any => all.filter(l::organiser_id.eq(org).or(l::carrier_id.eq(org))),
        Role::Organiser => all.filter(l::organiser_id.eq(org)),
        Role::Carrier => {
            let not_organiser = l::organiser_id.is_null().or(l::organiser_id.ne(org));
            all.filter(l::carrier_id.eq(org).and(not_organiser))
        }
        Role::Driver => all.filter(sent_to(&caller.user_id)),
    }
}

/// The condition for loads that were sent to this driver.
pub(in crate::loads) fn sent_to(driver_id: &str) -> SentTo<'_> {
    sql::<Bool>("loads.id IN (SELECT load_id FROM load_drivers WHERE driver_id = ")
        .bind::<Text, _>(driver_id)
        .sql(")")
}

/// The condition for loads that were sent to this driver before they got their carrier, which does not learn it.
pub(in crate::loads) fn sent_before_carrier(driver_id: &str) -> SentTo<'_> {
    sql::<Bool>(
        "EXISTS (SELECT 1 FROM load_drivers d JOIN load_events ON load_events.load_id = d.load_id \
         WHERE d.load_id = loads.id AND (d.sent_at IS NULL OR load_events.at > d.sent_at) \
         AND (load_events.changes -> 'carrierId') IS NOT NULL AND d.driver_id = ",
    )
    .bind::<Text, _>(driver_id)
    .sql(")")
}

/// Selects the loads that the caller may read by id: the visible ones, those that the caller's organisation created,
/// and those that were sent to the caller as driver.
pub(super) fn readable(caller: &Caller) -> LoadQuery<'_> {
    if caller.admin {
        return visible(caller, Role::Any);
    }
    let sent = d::load_drivers.filter(d::load_id.eq(l::id)).filter(d::driver_id.eq(&caller.user_id));
    let readable = in_role(caller, Role::Any).or_filter(diesel::dsl::exists(sent));
    let readable = match &caller.organisation {
        Some(own) => readable.or_filter(l::created_by.eq(&own.id)),
        None => readable,
    };
    readable.filter(NotStaged)
}

/// Returns true if there is a load with this id.
pub(in crate::loads) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    let found = loads::table.into_boxed().filter(l::id.eq(id)).filter(NotStaged).select(l::id);
    Ok(found.first::<Id>(c).optional()?.is_some())
}

/// Returns the error for a load that the caller cannot see.
pub(super) fn not_visible(c: &mut AnyConnection, id: Id) -> Error {
    let message = "This load belongs to another organisation.";
    exists(c, id).map_or_else(|error| error, |exists| Error::forbidden_or_not_found(exists, message))
}

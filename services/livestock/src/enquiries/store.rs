//! Queries on enquiries.

use std::time::Duration;

use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordQuery};
use common::{Caller, Error, PageRequest, Reason, ResultPage};
use database::feed::SQLITE_POSITION;
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp, shared_now};
use diesel::prelude::*;
use webhooks::{Event, Subject};

use super::model::EnquiryForm;
use crate::listings::{self, Listing, Status, take_event_numbers};
use crate::listings::{Enquiry, EnquiryStatus};
use crate::organisations::{check_not_suspended, is_suspended};
use crate::schema::enquiries::{self, dsl as q};
use crate::webhook_events::ENQUIRY;

/// Enquiries of a user in a day.
const MAX_OF_DAY: i64 = 20;
/// What the message becomes when its sender is erased.
const ERASED_MESSAGE: &str = "erased";
const DAY_MS: i64 = 24 * 3_600 * 1_000;
/// Enquiries that one transaction deletes.
const PRUNE_BATCH_SIZE: i64 = 1_000;

/// A new enquiry: its row without the place in the feed.
#[derive(Debug, Insertable)]
#[diesel(table_name = enquiries)]
pub(super) struct NewEnquiry<'a> {
    pub(super) id: Id,
    pub(super) listing_id: Id,
    pub(super) organisation_id: &'a str,
    pub(super) revision: i64,
    pub(super) user_id: &'a str,
    pub(super) day: i64,
    pub(super) slot: i64,
    pub(super) message: &'a str,
    pub(super) name: &'a str,
    pub(super) phone: Option<&'a str>,
    pub(super) email: Option<&'a str>,
    pub(super) status: &'a str,
    pub(super) created_at: Timestamp,
}

/// Inserts a row. Returns their number. Of two enquiries of a user at the same time, PostgreSQL makes the second wait
/// for the first and run again.
pub(super) fn insert(c: &mut AnyConnection, enquiry: &NewEnquiry<'_>) -> Result<usize, Error> {
    Ok(match c {
        AnyConnection::Postgres(c) => {
            diesel::insert_into(enquiries::table).values(enquiry).on_conflict_do_nothing().execute(c)?
        }
        AnyConnection::Sqlite(_) => {
            let place = (q::n.eq(take_event_numbers(c, 1)?), q::position.eq(SQLITE_POSITION));
            diesel::insert_into(enquiries::table).values((place, enquiry)).execute(c)?
        }
    })
}

/// Returns true if there is an enquiry with this id.
pub(super) fn exists(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(diesel::dsl::exists(q::enquiries.filter(q::id.eq(id)))).get_result(c)?)
}

/// Stores an enquiry about a listing, and the deliveries to the webhooks of its organisation. Returns its id.
///
/// # Errors
/// As [`listings::find`]; 403 if the caller's organisation is suspended; 409 if the listing is not active or its
/// organisation is suspended, if it belongs to the caller's organisation, or the caller has
/// enquired about it today; 429 if the caller has enquired 20 times today.
pub(super) fn create(
    c: &mut AnyConnection,
    caller: &Caller,
    listing_id: Id,
    form: &EnquiryForm,
) -> Result<Id, Error> {
    if let Some(own) = &caller.organisation {
        check_not_suspended(c, &own.id)?;
    }
    let suspended = || Error::conflict(Reason::ListingClosed, "This listing is not offered at the moment.");
    let document = match listings::find(c, caller, listing_id) {
        Err(Error::NotFound) if listings::is_of_suspended(c, listing_id)? => return Err(suspended()),
        found => found?,
    };
    let listing: Listing = document.parse()?;
    if caller.acts_for(&listing.organisation_id) {
        return Err(Error::conflict(Reason::OwnListing, "This listing is your own organisation's."));
    }
    match listing.status {
        Status::Active if is_suspended(c, &listing.organisation_id)? => return Err(suspended()),
        Status::Active => {}
        Status::Draft => return Err(Error::conflict(Reason::ListingDraft, "This listing is a draft.")),
        _ => return Err(Error::conflict(Reason::ListingClosed, "This listing is closed.")),
    }
    let (now, id) = (Timestamp::now(), Id::new());
    let day = now.millis().div_euclid(DAY_MS);
    let of_day = || q::enquiries.filter(q::user_id.eq(&caller.user_id)).filter(q::day.eq(day));
    let about = of_day().filter(q::listing_id.eq(listing_id));
    if diesel::select(diesel::dsl::exists(about)).get_result(c)? {
        let message = "You have enquired about this listing today: try again tomorrow.";
        return Err(Error::conflict(Reason::LimitReached, message));
    }
    let sent: i64 = of_day().count().get_result(c)?;
    if sent >= MAX_OF_DAY {
        let message = "You have sent 20 enquiries today, which is the most: try again tomorrow.";
        let left = (day + 1) * DAY_MS - now.millis();
        return Err(Error::TooOften(message, u64::try_from(left / 1000).unwrap_or_default() + 1));
    }
    let enquiry = NewEnquiry {
        id,
        listing_id,
        organisation_id: &listing.organisation_id,
        revision: listing.revision,
        user_id: &caller.user_id,
        day,
        slot: sent + 1,
        message: &form.message,
        name: &form.name,
        phone: form.phone(),
        email: form.email(),
        status: EnquiryStatus::Open.as_str(),
        created_at: now,
    };
    let stored = insert(c, &enquiry)?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a free slot of an enquiry was used")));
    }
    let enquiry: Enquiry = q::enquiries.filter(q::id.eq(id)).select(Enquiry::as_select()).first(c)?;
    let subject = Subject {
        organisations: [&listing.organisation_id, ""],
        reaches_all: true,
        cause: caller.organisation_id_or_empty(),
        id: listing_id,
        document: &document,
        details: &format!("\"enquiry\":{},", Json::of(&enquiry)?.0),
        users: &[&caller.user_id],
    };
    webhooks::emit(c, Event { name: ENQUIRY, member: "listing", subject })?;
    Ok(id)
}

/// The filters of a list. `None` is no filter.
#[derive(Clone, Debug, Default)]
pub(super) struct EnquirySearch {
    /// Those that the caller sent, not those that the caller's organisation received.
    pub(super) is_sent: bool,
    pub(super) listing: Option<Id>,
    pub(super) status: Option<String>,
}

fn matches<'a>(search: &'a EnquirySearch, caller: &'a Caller) -> enquiries::BoxedQuery<'a, MultiBackend> {
    let mut query = enquiries::table.into_boxed();
    if search.is_sent {
        query = query.filter(q::user_id.eq(&caller.user_id));
    } else if !caller.admin {
        // No enquiry has an empty organisation.
        query = query.filter(q::organisation_id.eq(caller.organisation_id_or_empty()));
    }
    if let Some(listing) = search.listing {
        query = query.filter(q::listing_id.eq(listing));
    }
    if let Some(status) = &search.status {
        query = query.filter(q::status.eq(status));
    }
    query
}

/// Returns a page of enquiries, newest first, and the number of all if `count` is true.
pub(super) fn list(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &EnquirySearch,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let mut query = matches(search, caller);
    if let Some((_, last)) = page.position() {
        query = query.filter(q::id.lt(last));
    }
    let query = query.order(q::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<Enquiry> = query.select(Enquiry::as_select()).load(c)?;
    let total = count.then(|| matches(search, caller).count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.into_iter().map(|row| Ok((row.id, row))), page, total)
}

/// Marks an enquiry as answered.
///
/// # Errors
/// 404 if there is no such enquiry, 403 if it is about another organisation's listing.
pub(super) fn mark_answered(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    let seller = q::enquiries.filter(q::id.eq(id)).select(q::organisation_id);
    let seller: String = seller.first(c).optional()?.ok_or(Error::NotFound)?;
    if !caller.admin && !caller.acts_for(&seller) {
        return Err(Error::Forbidden("This enquiry is about another organisation's listing."));
    }
    let open = q::enquiries.filter(q::id.eq(id)).filter(q::status.eq(EnquiryStatus::Open.as_str()));
    let answered = (q::status.eq(EnquiryStatus::Answered.as_str()), q::answered_at.eq(Timestamp::now()));
    diesel::update(open).set(answered).execute(c)?;
    Ok(())
}

/// Deletes up to 1,000 enquiries that are older than this number of days. Returns true if there may be more.
pub(super) fn prune(c: &mut AnyConnection, days: u32) -> Result<bool, Error> {
    let retention = Duration::from_secs(u64::from(days) * 24 * 3_600);
    let now = shared_now(c)?;
    let oldest = q::enquiries.order(q::n).limit(PRUNE_BATCH_SIZE).select((q::n, q::created_at));
    let oldest: Vec<(i64, Timestamp)> = oldest.load(c)?;
    let old = oldest.into_iter().filter(|(_, at)| at.until(now) > retention);
    let old: Vec<i64> = old.map(|(n, _)| n).collect();
    diesel::delete(q::enquiries.filter(q::n.eq_any(&old))).execute(c)?;
    Ok(i64::try_from(old.len()).is_ok_and(|count| count == PRUNE_BATCH_SIZE))
}

/// Lists enquiries that the user sent.
pub(crate) fn list_of_user(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let rows: Vec<Enquiry> = q::enquiries
        .filter(q::user_id.eq(&query.user_id))
        .filter(q::id.gt(query.after_id()))
        .order(q::id)
        .limit(query.limit)
        .select(Enquiry::as_select())
        .load(c)?;
    rows.iter().map(|enquiry| Record::new(enquiry.id, enquiry)).collect()
}

/// Empties contact and user of some enquiries that the user sent. Returns their number.
pub(crate) fn erase_user(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let of_user = q::enquiries.filter(q::user_id.eq(&erasure.user_id)).order(q::id);
    let ids: Vec<Id> = of_user.limit(DOCUMENT_BATCH_SIZE).select(q::id).load(c)?;
    let nothing = None::<String>;
    let erased = (
        q::user_id.eq(""),
        q::name.eq(""),
        q::phone.eq(&nothing),
        q::email.eq(&nothing),
        q::message.eq(ERASED_MESSAGE),
    );
    Ok(diesel::update(q::enquiries.filter(q::id.eq_any(ids))).set(erased).execute(c)?)
}

//! Queries on due shares.

use std::time::Duration;

use database::{AnyConnection, Id, Json, Timestamp, shared_now};
use diesel::prelude::*;

use super::model::{DueShare, Sharing};
use crate::Error;
use crate::schema::due_shares::{self, dsl as s};
use crate::schema::file_uploaders::{self, dsl as u};
use crate::wire::FileReference;

/// The lease of an attempt, which includes recording its result. After it ends, the attempt is made again.
pub(super) const LEASE: Duration = Duration::from_secs(5);

/// Maximum number of files that [`files_of`] returns.
const MAX_FILES: i64 = 1_000;

/// Stores a share in the transaction of its load or listing. The request itself makes the first attempt: the share is
/// leased, so that no background task makes one before. If an attempt of an earlier share that it contradicts may be
/// running, it is due after that attempt instead, because the later of the two calls would win.
///
/// # Errors
/// Fails if the database fails.
pub fn record_share(c: &mut AnyConnection, share: Option<&DueShare>) -> Result<(), Error> {
    let Some(share) = share else { return Ok(()) };
    let at = shared_now(c)?;
    let running_until = replace_earlier(c, share)?.filter(|until| *until > at);
    let row = (
        s::id.eq(share.id),
        s::subject_id.eq(share.subject),
        s::tenant.eq(&share.tenant),
        s::file_ids.eq(Json::of(&share.files)?),
        s::organisations.eq(Json::of(&share.sharing)?),
        s::token.eq(share.token()),
        s::token_expires_at.eq(share.expires_at),
        s::created_at.eq(at),
        // System may work on a call for a moment longer than its client waits.
        s::due_at.eq(running_until.map_or(at, |until| until.after(LEASE))),
        s::claimed_until.eq(running_until.is_none().then(|| at.after(LEASE))),
        s::attempts.eq(share.attempts - i32::from(running_until.is_some())),
        s::user_id.eq(&share.user_id),
    );
    diesel::insert_into(due_shares::table).values(row).execute(c)?;
    Ok(())
}

/// Removes what earlier shares of the load or listing contradict, so that no retry of them undoes the new one. Returns
/// until when attempts of them may be running.
fn replace_earlier(c: &mut AnyConnection, share: &DueShare) -> Result<Option<Timestamp>, Error> {
    let columns = (s::id, s::organisations, s::claimed_until);
    let earlier = s::due_shares.filter(s::subject_id.eq(share.subject)).select(columns);
    let mut running_until = None;
    for (id, sharing, claimed_until) in earlier.load::<(Id, Json, Option<Timestamp>)>(c)? {
        let sharing: Sharing = sharing.parse()?;
        let left = sharing.before(&share.sharing);
        if left.as_ref() == Some(&sharing) {
            continue;
        }
        running_until = running_until.max(claimed_until);
        match left {
            None => drop(remove(c, id)?),
            Some(left) => database::with_secure_delete(c, |c| {
                let row = s::due_shares.find(id);
                diesel::update(row).set(s::organisations.eq(Json::of(&left)?)).execute(c)?;
                Ok::<_, Error>(())
            })?,
        }
    }
    Ok(running_until)
}

/// Returns how long the lease of a share's attempt lasts, or `None` if nobody may attempt it: a later one replaced it,
/// or it waits for an attempt of an earlier one.
pub(super) fn lease(c: &mut AnyConnection, id: Id) -> Result<Option<Duration>, Error> {
    let claimed_until: Option<Option<Timestamp>> =
        s::due_shares.find(id).select(s::claimed_until).first(c).optional()?;
    let Some(until) = claimed_until.flatten() else { return Ok(None) };
    Ok(Some(shared_now(c)?.until(until)).filter(|lease| !lease.is_zero()))
}

/// Records who uploaded the files of a load or listing, in the transaction that stores it. An erasure finds their names
/// in its document by this (docs/api/personal-data.md). Only files that the request [looked
/// up](super::SystemClient::look_up) are recorded, because the others are already.
///
/// # Errors
/// Fails if the database fails.
pub fn record_uploaders<'a>(
    c: &mut AnyConnection,
    subject: Id,
    files: impl IntoIterator<Item = &'a FileReference>,
) -> Result<(), Error> {
    for file in files.into_iter().filter(|file| !file.user_id.is_empty()) {
        let Some(file_id) = Id::parse(&file.id) else { continue };
        let row = (u::user_id.eq(&file.user_id), u::subject_id.eq(subject), u::file_id.eq(file_id));
        database::dispatch!(c, c => diesel::insert_into(file_uploaders::table)
            .values(row)
            .on_conflict_do_nothing()
            .execute(c))?;
    }
    Ok(())
}

/// Returns the files that a load or listing has, or had, as far as requests looked them up: at most [`MAX_FILES`].
///
/// # Errors
/// Fails if the database fails.
pub fn files_of(c: &mut AnyConnection, subject: Id) -> Result<Vec<Id>, Error> {
    let files = u::file_uploaders.filter(u::subject_id.eq(subject));
    Ok(files.select(u::file_id).distinct().limit(MAX_FILES).load(c)?)
}

/// Returns up to `limit` loads or listings that have, or had, a file: those with the first ids.
///
/// # Errors
/// Fails if the database fails.
pub fn subjects_of(c: &mut AnyConnection, file: Id, limit: usize) -> Result<Vec<Id>, Error> {
    let of_file = u::file_uploaders.filter(u::file_id.eq(file));
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    Ok(of_file.order(u::subject_id).limit(limit).select(u::subject_id).load(c)?)
}

/// Deletes a share that is done or cannot succeed, and overwrites its token. Returns whether it still existed.
pub(super) fn remove(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    database::with_secure_delete(c, |c| Ok(diesel::delete(s::due_shares.find(id)).execute(c)? > 0))
}

/// Ends the lease of a failed attempt. The next attempt is due after the backoff. Does nothing if another attempt has
/// begun since.
pub(super) fn postpone(c: &mut AnyConnection, id: Id, attempts: i32, backoff: Duration) -> Result<(), Error> {
    let due = shared_now(c)?.after(backoff);
    let row = s::due_shares.find(id).filter(s::attempts.eq(attempts));
    let free = (s::due_at.eq(due), s::claimed_until.eq(None::<Timestamp>));
    // An updated row may move within the file, and its old place still has the token.
    database::with_secure_delete(c, |c| {
        diesel::update(row).set(free).execute(c)?;
        Ok(())
    })
}

/// Returns how long until the next share is due, zero if one is due now, or `None` if there is none. Claims nothing.
pub(super) fn next_due_in(c: &mut AnyConnection) -> Result<Option<Duration>, Error> {
    let now = shared_now(c)?;
    let free = s::claimed_until.is_null().or(s::claimed_until.le(now));
    let next =
        s::due_shares.filter(free).order(s::due_at).select(s::due_at).first::<Timestamp>(c).optional()?;
    Ok(next.map(|due| now.until(due)))
}

/// Returns the number of shares that wait for a retry, without those whose first attempt runs.
pub(super) fn count_waiting(c: &mut AnyConnection) -> Result<i64, Error> {
    let waiting = s::due_shares.filter(s::claimed_until.is_null().or(s::attempts.gt(1)));
    Ok(waiting.count().get_result(c)?)
}

/// Columns of a claimed row.
type DueShareRow = (Id, Id, String, Json, Json, String, Timestamp, i32);

/// Claims up to `max` due shares. Tenants take turns, starting after the tenant `last`, which becomes the tenant of the
/// last claimed share. On PostgreSQL several replicas can claim at once.
pub(super) fn claim(c: &mut AnyConnection, max: usize, last: &mut String) -> Result<Vec<DueShare>, Error> {
    let now = shared_now(c)?;
    let mut claimed = Vec::new();
    while claimed.len() < max {
        let Some(row) = first_due(c, now, last)? else {
            if last.is_empty() {
                break;
            }
            last.clear();
            continue;
        };
        let (id, subject, tenant, files, sharing, token, expires_at, attempts) = row;
        let attempts = attempts.saturating_add(1);
        let leased = (s::claimed_until.eq(now.after(LEASE)), s::attempts.eq(attempts));
        database::with_secure_delete(c, |c| {
            diesel::update(s::due_shares.find(id)).set(leased).execute(c)?;
            Ok::<_, Error>(())
        })?;
        last.clone_from(&tenant);
        claimed.push(DueShare {
            id,
            subject,
            tenant,
            user_id: None,
            files: files.parse()?,
            sharing: sharing.parse()?,
            token: token.into(),
            expires_at,
            attempts,
            request_id: id.to_string(),
            traceparent: None,
        });
    }
    Ok(claimed)
}

/// Returns the share of the first tenant after this one that has been due for the longest time.
fn first_due(c: &mut AnyConnection, now: Timestamp, after: &str) -> Result<Option<DueShareRow>, Error> {
    let columns = (
        s::id,
        s::subject_id,
        s::tenant,
        s::file_ids,
        s::organisations,
        s::token,
        s::token_expires_at,
        s::attempts,
    );
    let due = s::due_shares
        .filter(s::tenant.gt(after))
        .filter(s::due_at.le(now))
        .filter(s::claimed_until.is_null().or(s::claimed_until.le(now)))
        .order((s::tenant, s::due_at))
        .limit(1)
        .select(columns);
    Ok(match c {
        AnyConnection::Postgres(c) => due.for_update().skip_locked().first(c).optional()?,
        AnyConnection::Sqlite(c) => due.first(c).optional()?,
    })
}

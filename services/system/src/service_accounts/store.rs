//! The queries on service accounts. Every row that a caller reads by id is checked with `is_managed_by`.

use std::collections::BTreeSet;

use chrono::TimeDelta;
use common::{Caller, Error, Organisation, PageRequest, Reason, ResultPage, Role};
use database::{AnyConnection, Id, Json, MultiBackend, Timestamp};
use diesel::dsl::exists;
use diesel::prelude::*;
use secrecy::SecretString;

use super::model::{AccountRow, ServiceAccount, StoredSecret};
use crate::schema::service_accounts::{self, dsl as a};

/// The most service accounts of an organisation, those that have expired included.
const MAX_ACCOUNTS: i32 = 20;
/// `last_used_at` is written at most this often, so that each token is not a write.
const LAST_USED_INTERVAL: TimeDelta = TimeDelta::minutes(1);

/// A service account to store.
#[derive(Clone, Debug)]
pub(super) struct NewAccount {
    pub(super) id: Id,
    pub(super) organisation: Organisation,
    pub(super) name: String,
    pub(super) roles: Vec<Role>,
    pub(super) expires_at: Option<Timestamp>,
    pub(super) secret: SecretString,
}

/// Stores a service account. Returns it without its secret.
///
/// # Errors
/// 409 `limit_reached` if the organisation has 20 service accounts.
pub(super) fn create(c: &mut AnyConnection, new: &NewAccount) -> Result<ServiceAccount, Error> {
    let own = a::service_accounts.filter(a::organisation_id.eq(&new.organisation.id));
    let used: BTreeSet<i32> = own.select(a::slot).load(c)?.into_iter().collect();
    let Some(slot) = (1..=MAX_ACCOUNTS).find(|slot| !used.contains(slot)) else {
        return Err(Error::conflict(
            Reason::LimitReached,
            format!(
                "The organisation has {MAX_ACCOUNTS} service accounts, which is the most: delete one first."
            ),
        ));
    };
    let row = (
        a::id.eq(new.id),
        a::organisation_id.eq(&new.organisation.id),
        a::organisation_name.eq(&new.organisation.name),
        a::slot.eq(slot),
        a::name.eq(&new.name),
        a::roles.eq(Json::of(&new.roles)?.0),
        a::secrets.eq(Json::of(&[StoredSecret::of(&new.secret)])?.0),
        a::expires_at.eq(new.expires_at),
        a::created_at.eq(Timestamp::now()),
    );
    // Of two concurrent inserts into a slot, PostgreSQL makes the second wait for the first and run again: it then
    // finds that slot used.
    let stored = database::dispatch!(c, c => diesel::insert_into(a::service_accounts)
        .values(row)
        .on_conflict_do_nothing()
        .execute(c))?;
    if stored == 0 {
        return Err(Error::Internal(anyhow::anyhow!("a free slot of a service account was used")));
    }
    find_row(c, new.id)?.ok_or(Error::NotFound)?.account()
}

/// Returns true if there is a service account with this id.
pub(super) fn is_stored(c: &mut AnyConnection, id: Id) -> Result<bool, Error> {
    Ok(diesel::select(exists(a::service_accounts.find(id))).get_result(c)?)
}

/// Returns the service account with this id, whoever asks.
pub(super) fn find_row(c: &mut AnyConnection, id: Id) -> Result<Option<AccountRow>, Error> {
    Ok(a::service_accounts.find(id).select(AccountRow::as_select()).first(c).optional()?)
}

/// Returns a service account that the caller may manage.
///
/// # Errors
/// 404 if there is no such account, 403 if it is another organisation's.
fn find_managed(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<AccountRow, Error> {
    let row = find_row(c, id)?.ok_or(Error::NotFound)?;
    if row.is_managed_by(caller) {
        Ok(row)
    } else {
        Err(Error::Forbidden("This service account is another organisation's."))
    }
}

/// Returns a service account that the caller may read.
///
/// # Errors
/// 404 if there is no such account, 403 if it is another organisation's.
pub(super) fn find(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<ServiceAccount, Error> {
    find_managed(c, caller, id)?.account()
}

/// Selects the accounts that the caller may read: those of its organisation, for `admin` all.
fn visible(caller: &Caller) -> service_accounts::BoxedQuery<'_, MultiBackend> {
    let all = service_accounts::table.into_boxed();
    if caller.admin { all } else { all.filter(a::organisation_id.eq(caller.organisation_id_or_empty())) }
}

/// Returns a page of the service accounts that the caller may read, newest first, and the number of all if `count` is
/// true.
pub(super) fn list(
    c: &mut AnyConnection,
    caller: &Caller,
    page: &PageRequest,
    count: bool,
) -> Result<ResultPage, Error> {
    let mut query = visible(caller);
    if let Some((_, last)) = page.position() {
        query = query.filter(a::id.lt(last));
    }
    let query = query.order(a::id.desc()).offset(page.offset).limit(page.fetch());
    let rows: Vec<AccountRow> = query.select(AccountRow::as_select()).load(c)?;
    let total = count.then(|| visible(caller).count().get_result(c)).transpose()?;
    ResultPage::newest_first(rows.into_iter().map(|row| Ok((row.id, row.account()?))), page, total)
}

/// Changes the name and the roles of a service account, where they are given. Returns the account.
///
/// # Errors
/// 404 if there is no such account, 403 if it is another organisation's.
pub(super) fn update(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    name: Option<&str>,
    roles: Option<&[Role]>,
) -> Result<ServiceAccount, Error> {
    let row = find_managed(c, caller, id)?;
    let changes = (
        a::name.eq(name.unwrap_or(&row.name)),
        a::roles.eq(Json::of(roles.unwrap_or(&row.roles()?))?.0),
        a::organisation_name.eq(organisation_name(caller, &row)),
    );
    diesel::update(a::service_accounts.find(id)).set(changes).execute(c)?;
    find(c, caller, id)
}

/// Returns the name of the organisation that tokens of the account get: the one that its members have in theirs.
fn organisation_name<'a>(caller: &'a Caller, row: &'a AccountRow) -> Option<&'a str> {
    caller.own_organisation_name(&row.organisation_id).or(row.organisation_name.as_deref())
}

/// Replaces the secret of a service account. The present one works for another day. Returns the account without its
/// secret.
///
/// # Errors
/// 404 if there is no such account, 403 if it is another organisation's.
pub(super) fn rotate_secret(
    c: &mut AnyConnection,
    caller: &Caller,
    id: Id,
    secret: &SecretString,
) -> Result<ServiceAccount, Error> {
    let row = find_managed(c, caller, id)?;
    let secrets = StoredSecret::rotated(row.secrets()?, secret, Timestamp::now());
    let changes =
        (a::secrets.eq(Json::of(&secrets)?.0), a::organisation_name.eq(organisation_name(caller, &row)));
    diesel::update(a::service_accounts.find(id)).set(changes).execute(c)?;
    row.account()
}

/// Deletes a service account. It gets no more tokens.
///
/// # Errors
/// 404 if there is no such account, 403 if it is another organisation's.
pub(super) fn delete(c: &mut AnyConnection, caller: &Caller, id: Id) -> Result<(), Error> {
    find_managed(c, caller, id)?;
    database::with_secure_delete(c, |c| {
        diesel::delete(a::service_accounts.find(id)).execute(c)?;
        Ok(())
    })
}

/// Returns true if the use of a secret is due to be stored.
///
/// # Errors
/// If the stored secrets cannot be read.
pub(super) fn is_use_due(row: &AccountRow, secret: &SecretString, now: Timestamp) -> Result<bool, Error> {
    let is_first = StoredSecret::mark_as_used(&mut row.secrets()?, secret, now);
    Ok(is_first || row.last_used_at.is_none_or(|at| at.plus(LAST_USED_INTERVAL) <= now))
}

/// Stores that a service account got a token with a secret. Returns true if it is the first one with that secret, and
/// false if the account was deleted meanwhile.
pub(super) fn record_use(
    c: &mut AnyConnection,
    id: Id,
    secret: &SecretString,
    now: Timestamp,
) -> Result<bool, Error> {
    let Some(row) = find_row(c, id)? else { return Ok(false) };
    let mut secrets = row.secrets()?;
    let is_first = StoredSecret::mark_as_used(&mut secrets, secret, now);
    let marked = is_first.then(|| Json::of(&secrets)).transpose()?;
    let changes = (a::last_used_at.eq(now), marked.map(|secrets| a::secrets.eq(secrets.0)));
    diesel::update(a::service_accounts.find(id)).set(changes).execute(c)?;
    Ok(is_first)
}

//! The address book of an organisation: what forms suggest, and whom somebody means who types a name.

use actix_web::http::StatusCode;
use common::wire::fold;
use futures_util::future::try_join_all;
use serde::de::DeserializeOwned;

use crate::api::model::{KnownDriver, Party};
use crate::api::{CallError, Caller, FieldError, Reply, Service};
use crate::fields::Fields;
use crate::loads::{Kind, ListQuery, sure};

/// An id and a name.
pub(super) type Entry = (String, String);

async fn read<T: DeserializeOwned>(
    caller: &Caller<'_>,
    path: &str,
    query: Option<&str>,
) -> Result<Reply<Vec<T>>, CallError> {
    let parameters: Vec<_> =
        [("limit", "100")].into_iter().chain(query.map(|query| ("query", query))).collect();
    caller.get(Service::Logistics, path, &parameters).await
}

/// Returns the ids and names of organisations in the address book; none for people who have none.
pub(super) async fn find_organisations(caller: &Caller<'_>, is_driver: bool) -> Vec<Entry> {
    if is_driver {
        return Vec::new();
    }
    list_organisations(caller, None).await.unwrap_or_default()
}

async fn list_organisations(caller: &Caller<'_>, query: Option<&str>) -> Result<Vec<Entry>, CallError> {
    let found = read::<Party>(caller, "/v1/organisations", query).await?;
    Ok(found.value.into_iter().filter_map(|party| Some((party.id?, party.name))).collect())
}

/// Returns the ids and names of drivers in the address book, if they are wanted.
pub(super) async fn find_drivers(caller: &Caller<'_>, are_wanted: bool) -> Vec<Entry> {
    if !are_wanted {
        return Vec::new();
    }
    list_drivers(caller, None).await.map(|reply| reply.value).unwrap_or_default()
}

/// Returns the ids and names of drivers in the address book, perhaps those that a query finds.
pub(super) async fn list_drivers(
    caller: &Caller<'_>,
    query: Option<&str>,
) -> Result<Reply<Vec<Entry>>, CallError> {
    let found = read::<KnownDriver>(caller, "/v1/drivers", query).await?;
    let named = |driver: KnownDriver| {
        let name = driver.name.unwrap_or_else(|| driver.driver_id.clone());
        (driver.driver_id, name)
    };
    let value = found.value.into_iter().map(named).collect();
    Ok(Reply { value, total: found.total, next: found.next })
}

/// Finds the entry for a typed id or name. Returns `None` if no entry or several match: a name that was once sent as an
/// id has an entry of its own.
async fn find_entry(caller: &Caller<'_>, kind: Kind, typed: &str) -> Result<Option<Entry>, CallError> {
    let found = match kind {
        Kind::Driver => list_drivers(caller, Some(typed)).await.map(|reply| reply.value),
        _ => list_organisations(caller, Some(typed)).await,
    };
    let entries = match found {
        Ok(entries) => entries,
        // Whoever has no address book types ids.
        Err(CallError::Refused(refusal)) if refusal.status_code() == StatusCode::FORBIDDEN => {
            return Ok(Some((typed.to_owned(), typed.to_owned())));
        }
        Err(CallError::Refused(_)) => Vec::new(),
        Err(error) => return Err(error),
    };
    let folded = fold(typed);
    let mut same = entries.into_iter().filter(|(id, name)| id == typed || fold(name) == folded);
    Ok(same.next().filter(|_| same.next().is_none()))
}

/// Replaces names by ids in the fields of `named`. Leaves a field as it is if it is empty, unchanged, or confirmed as
/// an id (see [`sure`]).
///
/// # Errors
/// The fields that name nobody or several, or the address book cannot be read.
pub(super) async fn with_ids(
    caller: &Caller<'_>,
    fields: &Fields,
    named: &[(&'static str, Kind)],
) -> Result<Result<Fields, Vec<FieldError>>, CallError> {
    let is_open = |(name, _): &&(&'static str, Kind)| {
        let typed = fields.get(name);
        !typed.is_empty() && fields.get(&sure(name)) != typed && fields.get(&format!("was.{name}")) != typed
    };
    let entries = try_join_all(named.iter().filter(is_open).map(async |(name, kind)| {
        Ok::<_, CallError>((*name, find_entry(caller, *kind, fields.get(name)).await?))
    }));
    let (mut replaced, mut errors) = (fields.clone(), Vec::new());
    for (name, entry) in entries.await? {
        match entry {
            Some((id, _)) => {
                let fields = replaced.0.iter_mut().filter(|(own, _)| own == name);
                fields.for_each(|(_, value)| value.clone_from(&id));
            }
            None => errors.push(FieldError::nobody(name)),
        }
    }
    Ok(if errors.is_empty() { Ok(replaced) } else { Err(errors) })
}

/// Returns a list with the ids of whom its filters name, and these ids with their names. What names nobody stays.
pub(super) async fn with_ids_in_list(
    caller: &Caller<'_>,
    query: &ListQuery,
) -> Result<(ListQuery, Vec<Entry>), CallError> {
    let entries = query.named().map(async |(name, typed)| {
        let kind = if name == "driver" { Kind::Driver } else { Kind::Organisation };
        Ok::<_, CallError>(find_entry(caller, kind, typed).await?.map(|entry| (typed.to_owned(), entry)))
    });
    let found: Vec<_> = try_join_all(entries).await?.into_iter().flatten().collect();
    let id_of = |typed: &str| found.iter().find(|(own, _)| own == typed).map(|(_, (id, _))| id.clone());
    Ok((query.with_ids(id_of), found.into_iter().map(|(_, entry)| entry).collect()))
}

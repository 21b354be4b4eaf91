//! The queries on contacts and on who has called this service.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use common::feed::Place;
use common::personal_data::{Erasure, Record, RecordQuery};
use common::{Error, PageRequest};
use database::search::words::HasWord;
use database::{AnyConnection, Json, Timestamp, TimestampSql, feed as positions, prepared};
use diesel::dsl::{count_star, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Nullable, Text};
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{ContactKind, SeenCaller, name_key, words};
use crate::loads::feed::{NewEvent, has_events_of, new_events};
use crate::loads::history::{EventType, names_driver};
use crate::loads::party::{KnownParty, Party};
use crate::loads::store::{NotStaged, newest_of_organisation, newest_of_pair};
use crate::schema::contacts::{self, dsl as k};
use crate::schema::contacts_position::dsl as p;
use crate::schema::known_callers::{self, dsl as s};
use crate::schema::load_events::dsl as e;
use crate::schema::loads::dsl as l;

/// The number of events from which one transaction takes contacts.
const EVENTS_AT_ONCE: usize = 500;
/// The most names that suggestions are chosen from.
const MAX_CANDIDATES: i64 = 2_000;
/// The most organisations with one name that are looked at.
const MAX_NAMESAKES: i64 = 2;

type Kind = &'static str;

/// Returns those callers of whom the table lacks something that may be written today.
pub(super) fn only_new(
    c: &mut AnyConnection,
    mut callers: Vec<SeenCaller>,
) -> Result<Vec<SeenCaller>, Error> {
    let mut known: HashMap<(String, String), (Option<String>, i32)> = HashMap::new();
    for kind in [ContactKind::Organisation, ContactKind::Driver] {
        let ids: Vec<&str> = callers.iter().filter(|seen| seen.kind == kind).map(|seen| &*seen.id).collect();
        let of_kind = s::known_callers.filter(s::kind.eq(Kind::from(kind)));
        let of_kind = of_kind.filter(prepared::has_text(c, "known_callers.id", &ids));
        let rows: Vec<(String, String, Option<String>, i32)> =
            of_kind.select((s::kind, s::id, s::name, s::written_on)).load(c)?;
        known.extend(rows.into_iter().map(|(kind, id, name, day)| ((kind, id), (name, day))));
    }
    callers.retain(|seen| match known.get(&(Kind::from(seen.kind).to_owned(), seen.id.clone())) {
        None => true,
        Some((None, _)) => seen.name.is_some(),
        Some((name, day)) => seen.name.is_some() && *name != seen.name && *day < seen.day,
    });
    Ok(callers)
}

/// Writes callers, with their names in the address books.
pub(super) fn write_callers(c: &mut AnyConnection, callers: &[SeenCaller]) -> Result<(), Error> {
    for SeenCaller { kind, id, name, day } in callers {
        let kind = Kind::from(*kind);
        let row = (s::kind.eq(kind), s::id.eq(id), s::name.eq(name), s::written_on.eq(day));
        database::dispatch!(c, c => diesel::insert_into(known_callers::table)
            .values(row)
            .on_conflict((s::kind, s::id))
            .do_update()
            .set((s::name.eq(name), s::written_on.eq(day)))
            .execute(c))?;
        if let Some(name) = name {
            let of_caller = k::contacts.filter(k::contact_id.eq(id)).filter(k::kind.eq(kind));
            let named = of_caller.filter(k::name.is_null().or(k::name.ne(name)));
            let changes =
                (k::name.eq(name), k::name_key.eq(name_key(name)), k::words.eq(words(Some(name), id)));
            diesel::update(named).set(changes).execute(c)?;
        }
    }
    Ok(())
}

/// Returns those of these callers who have called this service, with their names.
pub(super) fn known(
    c: &mut AnyConnection,
    kind: ContactKind,
    ids: &[String],
) -> Result<HashMap<String, Option<String>>, Error> {
    let of_kind = s::known_callers.filter(s::kind.eq(Kind::from(kind)));
    let of_kind = of_kind.filter(prepared::has_text(c, "known_callers.id", ids));
    Ok(of_kind.select((s::id, s::name)).load::<(String, Option<String>)>(c)?.into_iter().collect())
}

/// Returns what is known of organisations that an organisation names.
pub(super) fn parties(
    c: &mut AnyConnection,
    organisation: &str,
    ids: &[String],
) -> Result<HashMap<String, KnownParty>, Error> {
    let mut known = known(c, ContactKind::Organisation, ids)?;
    let contacts = of_organisation(organisation, ContactKind::Organisation);
    let contacts = contacts.filter(prepared::has_text(c, "contacts.contact_id", ids));
    let names: Vec<(String, Option<String>)> = contacts.select((k::contact_id, k::name)).load(c)?;
    let mut names: HashMap<String, Option<String>> = names.into_iter().collect();
    let party = |id: &String| {
        let (name, contact_name) = (known.remove(id), names.remove(id).flatten());
        (id.clone(), KnownParty { is_known: name.is_some(), name: name.flatten(), contact_name })
    };
    Ok(ids.iter().map(party).collect())
}

type OfOrganisation<'a> = contacts::BoxedQuery<'a, database::MultiBackend>;

fn of_organisation(organisation: &str, kind: ContactKind) -> OfOrganisation<'_> {
    let all = contacts::table.into_boxed();
    all.filter(k::organisation_id.eq(organisation)).filter(k::kind.eq(Kind::from(kind)))
}

/// Returns the ids of up to two organisations of an address book with this name.
pub(super) fn namesakes(c: &mut AnyConnection, organisation: &str, name: &str) -> Result<Vec<String>, Error> {
    let named =
        of_organisation(organisation, ContactKind::Organisation).filter(k::name_key.eq(name_key(name)));
    Ok(named.order(k::contact_id).limit(MAX_NAMESAKES).select(k::contact_id).load(c)?)
}

/// Returns the names of an address book from which suggestions for a name are chosen: those that begin with the same
/// letter first.
pub(super) fn candidates(
    c: &mut AnyConnection,
    organisation: &str,
    name: &str,
) -> Result<Vec<String>, Error> {
    let initial: String = name_key(name).chars().take(1).collect();
    let names =
        || of_organisation(organisation, ContactKind::Organisation).select(k::name).order(k::name_key);
    let after = names().filter(k::name_key.ge(&initial)).limit(MAX_CANDIDATES);
    let mut found: Vec<Option<String>> = after.load(c)?;
    let before = names().filter(k::name_key.lt(&initial)).limit(MAX_CANDIDATES);
    found.extend(before.load::<Option<String>>(c)?);
    let mut found: Vec<String> = found.into_iter().flatten().collect();
    // Organisations of one name stand together.
    found.dedup();
    Ok(found)
}

/// A page of contacts, their ids with their names, and the number of all.
pub(super) type ContactRows = (Vec<(String, Option<String>)>, i64);

/// Returns a page of the contacts whose texts have all of these words, in the order of their names.
pub(super) fn list(
    c: &mut AnyConnection,
    organisation: &str,
    kind: ContactKind,
    query: &[String],
    page: &PageRequest,
    count: bool,
) -> Result<ContactRows, Error> {
    let matching = || {
        let has_words = query.iter().map(|word| HasWord::new("contacts.words", word));
        has_words.fold(of_organisation(organisation, kind), QueryDsl::filter)
    };
    let rows = matching().order((k::name_key, k::contact_id)).offset(page.offset).limit(page.fetch());
    let rows = rows.select((k::contact_id, k::name)).load(c)?;
    let total = if count { matching().count().get_result(c)? } else { 0 };
    Ok((rows, total))
}

/// The number of loads of a contact, and when the last one was created or sent.
pub(super) type Use = (i64, Option<Timestamp>);

/// Returns the loads that an organisation has with each of these organisations, itself included.
pub(super) fn uses_of_organisations(
    c: &mut AnyConnection,
    organisation: &str,
    ids: &[String],
) -> Result<HashMap<String, Use>, Error> {
    let mut uses: HashMap<String, Use> = HashMap::new();
    let mut add = |id: Option<String>, (loads, last): Use| {
        let sum = uses.entry(id.unwrap_or_default()).or_default();
        *sum = (sum.0 + loads, sum.1.max(last));
    };
    let others: Vec<&str> = ids.iter().map(String::as_str).filter(|id| *id != organisation).collect();
    let (number, last) = (count_star(), || sql::<Nullable<TimestampSql>>("max(created_at)"));
    let loads = || l::loads.filter(NotStaged);
    let carried = loads().filter(l::organiser_id.eq(organisation)).filter(l::carrier_id.eq_any(&others));
    let carried = carried.group_by(l::carrier_id).select((l::carrier_id, (number, last())));
    carried.load::<(Option<String>, Use)>(c)?.into_iter().for_each(|(id, used)| add(id, used));
    let organised = loads().filter(l::carrier_id.eq(organisation)).filter(l::organiser_id.eq_any(&others));
    let organised = organised.group_by(l::organiser_id).select((l::organiser_id, (number, last())));
    organised.load::<(Option<String>, Use)>(c)?.into_iter().for_each(|(id, used)| add(id, used));
    if others.len() < ids.len() {
        let own = || Some(organisation.to_owned());
        let organised = loads().filter(l::organiser_id.eq(organisation));
        add(own(), organised.select((number, last())).get_result(c)?);
        let for_others = l::organiser_id.is_null().or(l::organiser_id.ne(organisation));
        let carried = loads().filter(l::carrier_id.eq(organisation)).filter(for_others);
        add(own(), carried.select((number, last())).get_result(c)?);
    }
    Ok(uses)
}

/// Returns the loads that an organisation has sent to a driver.
pub(super) fn use_of_driver(c: &mut AnyConnection, organisation: &str, driver: &str) -> Result<Use, Error> {
    let sent: Kind = EventType::SentToDriver.into();
    let of_driver = sql::<Bool>(names_driver(c)).bind::<Text, _>(driver);
    let sendings = e::load_events.filter(of_driver).filter(e::organisation_id.eq(organisation));
    let (loads, last) = (sql::<BigInt>("count(DISTINCT load_id)"), sql::<Nullable<TimestampSql>>("max(at)"));
    Ok(sendings.filter(e::event_type.eq(sent)).select((loads, last)).get_result(c)?)
}

fn position(c: &mut AnyConnection) -> Result<Place, Error> {
    let (position, n) = p::contacts_position.select((p::position, p::n)).first(c)?;
    Ok(Place { position, n })
}

/// Returns true if there are events from which no contacts were taken yet; with an organisation, among those that it
/// reads.
pub(super) fn has_news(c: &mut AnyConnection, organisation: Option<&str>) -> Result<bool, Error> {
    let after = position(c)?;
    has_events_of(c, organisation, after)
}

/// Takes contacts from the next events. Returns true if there may be more.
///
/// Events that were recorded while others are still to come are taken too, and again later.
pub(super) fn take_contacts(c: &mut AnyConnection) -> Result<bool, Error> {
    let after = position(c)?;
    // Of two replicas, the second one waits for the first and runs again.
    diesel::update(p::contacts_position).set(p::position.eq(p::position)).execute(c)?;
    let settled = positions::settled_position(c)?;
    let events = new_events(c, after, EVENTS_AT_ONCE)?;
    let named = Named::of(&events)?;
    named.store(c)?;
    let last = events.iter().take_while(|event| event.place.position < settled).last();
    if let Some(NewEvent { place, .. }) = last {
        let place = (p::position.eq(place.position), p::n.eq(place.n));
        diesel::update(p::contacts_position).set(place).execute(c)?;
    }
    Ok(events.len() >= EVENTS_AT_ONCE && last.is_some())
}

/// Whom events name.
#[derive(Default)]
struct Named {
    organisations: BTreeSet<String>,
    /// Organisers and carriers.
    pairs: BTreeSet<(String, String)>,
    /// Organisations, and the drivers to whom they sent a load.
    drivers: BTreeSet<(String, String)>,
}

impl Named {
    fn of(events: &[NewEvent]) -> Result<Self, Error> {
        let mut named = Self::default();
        for event in events {
            let recorded: Value = event.changes.as_ref().map(Json::parse).transpose()?.unwrap_or_default();
            let (organiser, carrier) = (&event.organiser, &event.carrier);
            named.organisations.extend([organiser, carrier].into_iter().flatten().cloned());
            let changed = ["from", "to"].map(|side| recorded["carrierId"][side].as_str().map(str::to_owned));
            for carrier in changed.into_iter().flatten().chain(carrier.clone()) {
                let organiser = organiser.clone().filter(|organiser| *organiser != carrier);
                named.pairs.extend(organiser.map(|organiser| (organiser, carrier.clone())));
                named.organisations.insert(carrier);
            }
            let driver = recorded["driverId"]["to"].as_str();
            if let (Some(sender), Some(driver)) = (&event.sender, driver) {
                named.drivers.insert((sender.clone(), driver.to_owned()));
            }
        }
        Ok(named)
    }

    /// Stores the contacts as the loads are now.
    fn store(&self, c: &mut AnyConnection) -> Result<(), Error> {
        let mut contacts: BTreeMap<(&str, &str), Option<String>> = BTreeMap::new();
        for (organiser, carrier) in &self.pairs {
            let newest = newest_of_pair(c, organiser, carrier)?;
            let names = newest.as_ref().map(names_of).transpose()?;
            if names.is_none() {
                remove(c, organiser, carrier)?;
                remove(c, carrier, organiser)?;
            }
            let (organiser_name, carrier_name) = names.unwrap_or_default();
            if newest.is_some() {
                contacts.insert((organiser, carrier), carrier_name);
                contacts.insert((carrier, organiser), organiser_name);
            }
        }
        for organisation in &self.organisations {
            let newest = newest_of_organisation(c, organisation)?;
            let Some(load) = newest.as_ref().map(Json::parse::<Parties>).transpose()? else { continue };
            let parties = [load.organiser, load.carrier].into_iter().flatten();
            let name = parties.into_iter().find(|party| party.id.as_ref() == Some(organisation));
            contacts.insert((organisation, organisation), name.map(|party| party.name));
        }
        let ids: BTreeSet<&str> = contacts.keys().map(|(_, contact)| *contact).collect();
        let ids: Vec<String> = ids.into_iter().map(str::to_owned).collect();
        let names = known(c, ContactKind::Organisation, &ids)?;
        for ((organisation, contact), name) in contacts {
            let name = names.get(contact).cloned().flatten().or(name);
            add(c, organisation, ContactKind::Organisation, contact, name.as_deref())?;
        }
        let drivers: BTreeSet<&String> = self.drivers.iter().map(|(_, driver)| driver).collect();
        let drivers: Vec<String> = drivers.into_iter().cloned().collect();
        let names = known(c, ContactKind::Driver, &drivers)?;
        for (organisation, driver) in &self.drivers {
            let name = names.get(driver).cloned().flatten();
            add(c, organisation, ContactKind::Driver, driver, name.as_deref())?;
        }
        Ok(())
    }
}

/// The parties of the document of a load.
#[derive(Deserialize)]
struct Parties {
    organiser: Option<Party>,
    carrier: Option<Party>,
}

/// Returns the names of the organiser and the carrier of a load.
fn names_of(document: &Json) -> Result<(Option<String>, Option<String>), Error> {
    let load: Parties = document.parse()?;
    Ok((load.organiser.map(|party| party.name), load.carrier.map(|party| party.name)))
}

fn add(
    c: &mut AnyConnection,
    organisation: &str,
    kind: ContactKind,
    contact: &str,
    name: Option<&str>,
) -> Result<(), Error> {
    let (key, text) = (name_key(name.unwrap_or(contact)), words(name, contact));
    let found = contacts::table.find((organisation, Kind::from(kind), contact));
    let stored: Option<Option<String>> = found.select(k::name).first(c).optional()?;
    if stored.as_ref().is_some_and(|stored| stored.as_deref() == name) {
        return Ok(());
    }
    let values = (k::name.eq(name), k::name_key.eq(&key), k::words.eq(&text));
    if stored.is_some() {
        diesel::update(found).set(values).execute(c)?;
        return Ok(());
    }
    let ids = (k::organisation_id.eq(organisation), k::kind.eq(Kind::from(kind)), k::contact_id.eq(contact));
    diesel::insert_into(contacts::table).values((ids, values)).execute(c)?;
    Ok(())
}

fn remove(c: &mut AnyConnection, organisation: &str, contact: &str) -> Result<(), Error> {
    let kind = Kind::from(ContactKind::Organisation);
    diesel::delete(contacts::table.find((organisation, kind, contact))).execute(c)?;
    Ok(())
}

/// Lists the user as a caller.
pub(crate) fn list_caller(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    let user = known_callers::table.find((Kind::from(ContactKind::Driver), &query.user_id));
    let name: Option<Option<String>> = match query.after {
        None => user.select(s::name).first(c).optional()?,
        Some(_) => None,
    };
    let record = |name| Record::new("", &json!({ "userId": query.user_id, "userName": name }));
    name.map(record).into_iter().collect()
}

/// Deletes the user as a caller.
pub(crate) fn erase_caller(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let user = known_callers::table.find((Kind::from(ContactKind::Driver), &erasure.user_id));
    Ok(diesel::delete(user).execute(c)?)
}

/// Lists the address books that have the user as a driver.
pub(crate) fn list_contacts_of_user(
    c: &mut AnyConnection,
    query: &RecordQuery,
) -> Result<Vec<Record>, Error> {
    let after = query.after.clone().unwrap_or_default();
    let of_user = k::contacts
        .filter(k::contact_id.eq(&query.user_id))
        .filter(k::kind.eq(Kind::from(ContactKind::Driver)))
        .filter(k::organisation_id.gt(after));
    let rows: Vec<(String, Option<String>)> =
        of_user.order(k::organisation_id).limit(query.limit).select((k::organisation_id, k::name)).load(c)?;
    let record = |(organisation, name): (String, Option<String>)| {
        let contact = json!({ "organisationId": organisation, "driverId": query.user_id, "name": name });
        Record::new(organisation, &contact)
    };
    rows.into_iter().map(record).collect()
}

/// Deletes the user from address books.
pub(crate) fn delete_contacts_of_user(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let of_user = k::contacts
        .filter(k::contact_id.eq(&erasure.user_id))
        .filter(k::kind.eq(Kind::from(ContactKind::Driver)));
    Ok(diesel::delete(of_user).execute(c)?)
}

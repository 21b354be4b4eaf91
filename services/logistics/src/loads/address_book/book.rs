//! What requests look up in the address book.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use common::wire::Warning;
use common::{Caller, Error, PageRequest, backfill};
use database::Database;
use moka::future::Cache;

use super::callers::KnownCallers;
use super::model::{ContactKind, DriverContact, OrganisationContact};
use super::store;
use crate::commodities::{Spelling, near_names};
use crate::loads::party::{KnownParty, PartyNames};

/// The most transactions that take contacts from events before a request reads them.
const MAX_TURNS: usize = 10;

/// How long a replica remembers what it read of an organisation. Meanwhile, the organisation may call another replica.
const REMEMBERED_FOR: Duration = Duration::from_secs(10);
/// The most organisations of which a replica remembers this.
const MAX_REMEMBERED: u64 = 10_000;

/// The address books of organisations.
#[derive(Clone)]
pub(crate) struct AddressBook {
    db: Database,
    callers: Arc<KnownCallers>,
    /// What was read of organisations in the last [`REMEMBERED_FOR`], without what only the caller's address book says.
    read: Cache<String, KnownParty>,
}

impl AddressBook {
    /// Creates the address book of this database.
    pub(crate) fn new(db: &Database, callers: &Arc<KnownCallers>) -> Self {
        let read = Cache::builder().max_capacity(MAX_REMEMBERED).time_to_live(REMEMBERED_FOR).build();
        Self { db: db.clone(), callers: callers.clone(), read }
    }

    /// Returns the names of these organisations. Most of them are remembered. `lacks_names`: the request does not name
    /// all of them, so that the address book may have to.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn names(
        &self,
        caller: &Caller,
        ids: Vec<String>,
        lacks_names: bool,
    ) -> Result<PartyNames, Error> {
        let mut names = PartyNames::of(caller);
        if lacks_names
            && let Some(own) = &caller.organisation
            && !ids.iter().all(|id| names.contains(id))
        {
            self.update(&own.id).await?;
        }
        self.add_names(caller, ids, lacks_names, &mut names).await?;
        Ok(names)
    }

    /// Adds the names of organisations.
    async fn add_names(
        &self,
        caller: &Caller,
        mut ids: Vec<String>,
        lacks_names: bool,
        names: &mut PartyNames,
    ) -> Result<(), Error> {
        ids.retain(|id| !names.contains(id));
        let mut found = HashMap::new();
        if !lacks_names {
            for id in &ids {
                if let Some(name) = self.callers.name_of(ContactKind::Organisation, id) {
                    found.insert(
                        id.clone(),
                        KnownParty { is_known: true, name: Some(name), contact_name: None },
                    );
                } else if let Some(party) = self.read.get(id).await {
                    found.insert(id.clone(), party);
                }
            }
            ids.retain(|id| !found.contains_key(id));
        }
        if !ids.is_empty() {
            let own = caller.organisation_id_or_empty().to_owned();
            for (id, party) in self.db.read(move |c| store::parties(c, &own, &ids)).await? {
                self.read.insert(id.clone(), KnownParty { contact_name: None, ..party.clone() }).await;
                found.insert(id, party);
            }
        }
        for (id, party) in &mut found {
            // Seen, and perhaps not written yet.
            party.is_known |= self.callers.has_seen(ContactKind::Organisation, id);
            let name = self.callers.name_of(ContactKind::Organisation, id);
            party.name = name.or_else(|| party.name.take());
        }
        names.add(found);
        Ok(())
    }

    /// Returns the only organisation of an address book with this name.
    async fn find_by_name(&self, own: &str, name: &str) -> Result<Option<String>, Error> {
        let (own, name) = (own.to_owned(), name.to_owned());
        let found = self.db.read(move |c| store::namesakes(c, &own, &name)).await?;
        let [only] = &found[..] else { return Ok(None) };
        Ok(Some(only.clone()))
    }

    /// Returns up to three names of the caller's address book that are near this one.
    async fn suggestions(&self, caller: &Caller, name: &str) -> Result<Vec<String>, Error> {
        let (own, text) = (caller.organisation_id_or_empty().to_owned(), name.to_owned());
        let names = self.db.read(move |c| store::candidates(c, &own, &text)).await?;
        let spellings: Vec<[Spelling; 1]> = names.iter().map(|name| [Spelling::of(name)]).collect();
        let known = names.iter().zip(&spellings).map(|(name, spelling)| (name.as_str(), &spelling[..]));
        Ok(near_names(name, known).into_iter().map(str::to_owned).collect())
    }

    /// Returns the warning for a driver who has never called this service.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn warning_of_driver(&self, id: &str) -> Result<Option<Warning>, Error> {
        if self.callers.has_seen(ContactKind::Driver, id) {
            return Ok(None);
        }
        let ids = [id.to_owned()];
        let known = self.db.read(move |c| store::known(c, ContactKind::Driver, &ids)).await?;
        let message = "names a driver who has never used this service: is the id right?";
        Ok(known.is_empty().then(|| Warning::new("driverId", "unknown_driver", message)))
    }

    /// Returns a page of the organisations in the address book of an organisation, and the number of all if `count` is
    /// true.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn organisations(
        &self,
        own: &str,
        query: Vec<String>,
        page: PageRequest,
        count: bool,
    ) -> Result<(Vec<OrganisationContact>, i64), Error> {
        self.update(own).await?;
        let (own, kind) = (own.to_owned(), ContactKind::Organisation);
        let read = move |c: &mut _| {
            let (rows, total) = store::list(c, &own, kind, &query, &page, count)?;
            let ids: Vec<String> = rows.iter().map(|(id, _)| id.clone()).collect();
            let uses = store::uses_of_organisations(c, &own, &ids)?;
            Ok::<_, Error>((rows, total, uses, store::known(c, kind, &ids)?))
        };
        let (rows, total, mut uses, known) = self.db.read(read).await?;
        let contact = |(id, name): (String, Option<String>)| {
            let (loads, last_used) = uses.remove(&id)?;
            let is_known = known.contains_key(&id) || self.callers.has_seen(kind, &id);
            let name = name.unwrap_or_else(|| id.clone());
            Some(OrganisationContact { name, loads, last_used: last_used?, is_known, id })
        };
        Ok((rows.into_iter().filter_map(contact).collect(), total))
    }

    /// Returns a page of the drivers in the address book of an organisation, and the number of all if `count` is true.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) async fn drivers(
        &self,
        own: &str,
        query: Vec<String>,
        page: PageRequest,
        count: bool,
    ) -> Result<(Vec<DriverContact>, i64), Error> {
        self.update(own).await?;
        let own = own.to_owned();
        let read = move |c: &mut _| {
            let (rows, total) = store::list(c, &own, ContactKind::Driver, &query, &page, count)?;
            let mut drivers = Vec::new();
            for (driver_id, name) in rows {
                if let (loads, Some(last_used)) = store::use_of_driver(c, &own, &driver_id)? {
                    drivers.push(DriverContact { driver_id, name, loads, last_used });
                }
            }
            Ok::<_, Error>((drivers, total))
        };
        self.db.read(read).await
    }

    /// Takes contacts from the latest events of an organisation, unless there are very many.
    async fn update(&self, own: &str) -> Result<(), Error> {
        for _ in 0..MAX_TURNS {
            let own = own.to_owned();
            let has_news = self.db.read(move |c| store::has_news(c, Some(&own))).await?;
            if !has_news || !self.db.write(store::take_contacts).await? {
                break;
            }
        }
        Ok(())
    }
}

/// Takes contacts from events as long as the service runs.
pub(crate) async fn run(db: &Database) {
    let take = || async {
        let has_news = db.read(|c| store::has_news(c, None)).await?;
        Ok(has_news && db.write(store::take_contacts).await?)
    };
    backfill::run("the address book", 3, take).await;
}

/// What is known of the parties of the rows of a batch. Its methods block the thread.
pub(crate) struct BatchNames<'a> {
    book: &'a AddressBook,
    caller: &'a Caller,
    pub(crate) names: PartyNames,
    /// The organisations with the names that rows have without an id.
    by_name: HashMap<String, Option<String>>,
    suggestions: HashMap<String, Vec<String>>,
    runtime: tokio::runtime::Handle,
}

impl<'a> BatchNames<'a> {
    /// Creates it without names. Call it on a thread of the runtime.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn new(book: &'a AddressBook, caller: &'a Caller) -> Result<Self, Error> {
        let runtime = tokio::runtime::Handle::current();
        if let Some(own) = &caller.organisation {
            runtime.block_on(book.update(&own.id))?;
        }
        Ok(Self {
            book,
            caller,
            names: PartyNames::of(caller),
            by_name: HashMap::new(),
            suggestions: HashMap::new(),
            runtime,
        })
    }

    /// Adds the name of an organisation.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn add(&mut self, id: &str) -> Result<(), Error> {
        if self.names.contains(id) {
            return Ok(());
        }
        let found = self.book.add_names(self.caller, vec![id.to_owned()], true, &mut self.names);
        self.runtime.block_on(found)
    }

    /// Returns the only organisation of the address book with this name.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn find(&mut self, name: &str) -> Result<Option<String>, Error> {
        if let Some(found) = self.by_name.get(name) {
            return Ok(found.clone());
        }
        let Some(own) = self.caller.organisation.as_ref() else { return Ok(None) };
        let found = self.runtime.block_on(self.book.find_by_name(&own.id, name))?;
        self.by_name.insert(name.to_owned(), found.clone());
        Ok(found)
    }

    /// Returns names of the address book that are near this one.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn suggestions(&mut self, name: &str) -> Result<Vec<String>, Error> {
        if let Some(found) = self.suggestions.get(name) {
            return Ok(found.clone());
        }
        let found = self.runtime.block_on(self.book.suggestions(self.caller, name))?;
        self.suggestions.insert(name.to_owned(), found.clone());
        Ok(found)
    }
}

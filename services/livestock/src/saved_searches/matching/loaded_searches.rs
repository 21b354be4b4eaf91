//! The searches that the replica with the lease holds.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Instant;

use common::Error;
use database::{Database, Id, Timestamp};
use tokio::task::spawn_blocking;

use super::index::{NewSearch, SearchIndex};
use super::model::{EventRow, ListingMatches, SearchChanges, SearchToMatch};
use super::{metrics, store};
use crate::listings::{MAX_LIST_VALUES, Status};
use crate::saved_searches::model::stored_point;
use crate::saved_searches::parameters::ParameterRules;

/// The most changes that are remembered while an older transaction is open. Further ones are applied again by each
/// refresh.
const MAX_SEEN: usize = 100_000;

/// All searches with `notify`, up to a position of their changes.
pub(super) struct LoadedSearches {
    db: Database,
    rules: Arc<ParameterRules>,
    /// `None` while a thread works on it, and after that thread has panicked.
    index: Option<SearchIndex>,
    /// The index has all changes before this position.
    pub(super) position: i64,
    /// The numbers of later changes that the index has too.
    seen: HashSet<i64>,
}

impl LoadedSearches {
    /// Reads all searches.
    ///
    /// # Errors
    /// If the database fails.
    pub(super) async fn load(db: &Database, rules: &Arc<ParameterRules>) -> Result<Self, Error> {
        let started = Instant::now();
        let position = db.read(store::changes_position).await?;
        let index = Some(SearchIndex::default());
        let (db, rules) = (db.clone(), rules.clone());
        let mut loaded = Self { db, rules, index, position, seen: HashSet::new() };
        let mut after = None;
        loop {
            let page = loaded.db.read(move |c| store::list_after(c, after)).await?;
            let Some(last) = page.last() else { break };
            after = Some(last.id);
            loaded.apply(Vec::new(), page).await?;
        }
        loaded.report();
        let (searches, seconds) = (loaded.len(), started.elapsed().as_secs_f64());
        tracing::info!(searches, seconds, "this replica matches listings with saved searches");
        Ok(loaded)
    }

    /// Reads the changes that were committed before this call. Returns `false` if the database was moved to a server
    /// with smaller positions: then all searches must be loaded again.
    ///
    /// # Errors
    /// If the database fails.
    pub(super) async fn refresh(&mut self) -> Result<bool, Error> {
        let since = self.position;
        let SearchChanges { position, changes } =
            self.db.read(move |c| store::changes_since(c, since)).await?;
        if position < since {
            return Ok(false);
        }
        let new = changes.iter().filter(|(n, _)| !self.seen.contains(n)).map(|(_, id)| *id);
        let new: Vec<Id> = new.collect::<BTreeSet<_>>().into_iter().collect();
        self.reload(&new).await?;
        self.position = position;
        self.seen = changes.into_iter().map(|(n, _)| n).take(MAX_SEEN).collect();
        Ok(true)
    }

    /// Reads searches again.
    ///
    /// # Errors
    /// If the database fails.
    pub(super) async fn reload(&mut self, ids: &[Id]) -> Result<(), Error> {
        for ids in ids.chunks(MAX_LIST_VALUES) {
            let (ids, page) = (ids.to_vec(), ids.to_vec());
            let searches = self.db.read(move |c| store::list_by_ids(c, &page)).await?;
            self.apply(ids, searches).await?;
        }
        if !ids.is_empty() {
            self.report();
        }
        Ok(())
    }

    /// Removes searches, and adds or replaces others.
    async fn apply(&mut self, removed: Vec<Id>, searches: Vec<SearchToMatch>) -> Result<(), Error> {
        let rules = self.rules.clone();
        let apply = move |index: &mut SearchIndex| {
            for id in removed {
                index.remove(id);
            }
            for search in &searches {
                insert(index, search, &rules);
            }
        };
        self.run(apply).await
    }

    /// Calls a closure with the index on a blocking thread.
    async fn run<T: Send + 'static>(
        &mut self,
        work: impl FnOnce(&mut SearchIndex) -> T + Send + 'static,
    ) -> Result<T, Error> {
        let Some(mut index) = self.index.take() else {
            return Err(Error::Internal(anyhow::anyhow!("the index of saved searches was lost")));
        };
        let worked = spawn_blocking(move || {
            let result = work(&mut index);
            (index, result)
        });
        let (index, result) = worked.await.map_err(|e| Error::Internal(e.into()))?;
        self.index = Some(index);
        Ok(result)
    }

    /// Returns true if the index is there.
    pub(super) fn is_usable(&self) -> bool {
        self.index.is_some()
    }

    fn len(&self) -> usize {
        self.index.as_ref().map_or(0, SearchIndex::len)
    }

    #[allow(clippy::cast_precision_loss, reason = "a gauge is a float")]
    fn report(&self) {
        metrics::loaded().set(self.len() as f64);
    }

    /// Returns the active listings of events with the searches that find them.
    ///
    /// # Errors
    /// If the database fails.
    pub(super) async fn find(&mut self, events: &[EventRow]) -> Result<Vec<ListingMatches>, Error> {
        let active = events.iter().filter(|event| event.to_status == Status::Active.as_str());
        let positions: BTreeMap<Id, i64> = active.map(|event| (event.listing_id, event.position)).collect();
        if positions.is_empty() || self.len() == 0 && self.is_usable() {
            return Ok(Vec::new());
        }
        let ids: Vec<Id> = positions.keys().copied().collect();
        let listings = self.db.read(move |c| store::list_active(c, &ids)).await?;
        let find = move |index: &mut SearchIndex| {
            index.set_now(Timestamp::now());
            let matches = listings.into_iter().map(|listing| {
                let (started, listing_id) = (Instant::now(), listing.columns.id);
                let position = positions.get(&listing_id).copied().unwrap_or_default();
                let searches = index.matches(&listing, position);
                metrics::match_seconds().record(started.elapsed());
                ListingMatches {
                    listing_id,
                    organisation_id: listing.columns.organisation_id,
                    document: listing.document,
                    searches,
                }
            });
            matches.collect::<Vec<_>>()
        };
        let mut found = self.run(find).await?;
        for listing in &mut found {
            self.apply_wishlists(listing).await?;
        }
        Ok(found)
    }

    /// Removes searches that are limited to a wishlist that does not have the listing.
    async fn apply_wishlists(&self, listing: &mut ListingMatches) -> Result<(), Error> {
        let users = listing.searches.iter().filter_map(|found| found.wishlist_of.as_deref());
        let users: Vec<String> = users.map(str::to_owned).collect();
        if users.is_empty() {
            return Ok(());
        }
        let id = listing.listing_id;
        let wishing = self.db.read(move |c| store::wishing_users(c, id, &users)).await?;
        listing
            .searches
            .retain(|found| found.wishlist_of.as_deref().is_none_or(|user| wishing.contains(user)));
        Ok(())
    }
}

/// Adds a search to the index. A search that cannot be read is left out: another version of the service stored it.
fn insert(index: &mut SearchIndex, row: &SearchToMatch, rules: &ParameterRules) {
    let near = stored_point(row.near_lat, row.near_lon);
    let read = row.parameters.parse().map(|parameters| rules.search(&parameters, near, &[]));
    let Ok(Ok(search)) = read else {
        tracing::error!(search = %row.id, "the parameters of a saved search are invalid; it matches nothing");
        index.remove(row.id);
        return;
    };
    let SearchToMatch { id, version, matches_from, .. } = *row;
    index.insert(&NewSearch { id, user_id: &row.user_id, version, matches_from, search: &search });
}

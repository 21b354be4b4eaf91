//! What each filter of a search may be set to, and how many listings that would leave: counted in memory, over a table
//! of what searches compare. It follows the listings' events, which are asked for before each answer: so an answer has
//! every change that was stored when its request came, whichever replica stored it.

mod count;
mod index;
mod store;
mod terms;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use common::{Caller, Error};
use database::Database;
use serde::Serialize;
use utoipa::ToSchema;

use super::search::Search;
use crate::categories::Categories;
use count::Counts;
use index::Index;

/// Nobody waits longer for those who read before.
const PATIENCE: Duration = Duration::from_secs(5);
/// A filter names at most so many values, the commonest.
const MOST_VALUES: usize = 10_000;

/// What the filters of a search may be set to (contract, section 5, `docs=false`).
#[derive(Debug, Serialize, ToSchema)]
pub struct Facets {
    /// For each filter its values with what they would leave under all the other filters, commonest first: at most
    /// 10,000 of them, and none that would leave nothing.
    filters: BTreeMap<&'static str, Vec<Facet>>,
    /// How many listings the search finds.
    total: u32,
}

/// A value of a filter.
#[derive(Debug, Serialize, ToSchema)]
struct Facet {
    /// As the filter takes it; one with a comma it cannot be asked for.
    value: String,
    /// How many listings it would leave.
    count: u32,
}

/// The table, and who brings it up to date.
#[derive(Default)]
pub struct Follower {
    index: RwLock<Index>,
    /// Readings that were begun.
    begun: AtomicU64,
    /// The last one that succeeded; held while one is under way.
    done: tokio::sync::Mutex<u64>,
}

impl Follower {
    /// Counts what a search finds.
    pub async fn count(
        self: Arc<Self>,
        db: &Database,
        categories: &Categories,
        caller: Caller,
        search: Search,
    ) -> Result<Facets, Error> {
        self.follow(db).await?;
        let wishlist =
            if search.wishlisted { Some(db.read(move |c| store::wishlist(c, &caller)).await?) } else { None };
        let counted = tokio::task::spawn_blocking(move || {
            let index = self.index.read().unwrap_or_else(PoisonError::into_inner);
            let counts = index.count(&search, wishlist.as_deref());
            (counts.breeds(&index), counts.societies(&index), counts)
        });
        let (breeds, societies, counts) = counted.await.map_err(|e| Error::Internal(e.into()))?;
        Ok(Facets::of(&counts, breeds, societies, categories))
    }

    /// Reads what changed. Those who come while others read wait for one reading more, all for the same.
    pub async fn follow(self: &Arc<Self>, db: &Database) -> Result<(), Error> {
        let came = self.begun.load(Ordering::SeqCst);
        let waited = tokio::time::timeout(PATIENCE, self.done.lock()).await;
        let slow = |_| Error::Unavailable(anyhow::anyhow!("the events are not read in time"), "The database");
        let mut done = waited.map_err(slow)?;
        if *done > came {
            return Ok(());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let place = self.index.read().unwrap_or_else(PoisonError::into_inner).place().clone();
        let first = place.position == 0;
        let changes = if first { None } else { Some(db.read(move |c| store::changes(c, &place)).await?) };
        match changes {
            Some(changes) if changes.position >= changes.since => {
                let index = self.clone();
                let applied = tokio::task::spawn_blocking(move || index.write().apply(changes));
                applied.await.map_err(|e| Error::Internal(e.into()))?;
            }
            // Or a replica of the database that had not seen everything has taken over.
            _ => self.read_all(db).await?,
        }
        *done = number;
        Ok(())
    }

    /// From nothing, some thousands at a time: it may be many.
    async fn read_all(&self, db: &Database) -> Result<(), Error> {
        let (mut index, mut after) = (Index::default(), None);
        let position = db.read(store::position).await?;
        loop {
            let rows = db.read(move |c| store::some(c, after)).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            index.insert(rows);
        }
        index.spell(db.read(store::spellings).await?);
        index.reach(position);
        *self.write() = index;
        Ok(())
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Facets {
    fn of(
        counts: &Counts,
        breeds: Vec<(String, u32)>,
        societies: Vec<(String, u32)>,
        categories: &Categories,
    ) -> Self {
        let named = |counts: Vec<(&str, u32)>| {
            values(counts.into_iter().map(|(value, count)| (value.to_owned(), count)).collect())
        };
        let kinds = counts.categories().filter_map(|(id, count)| Some((categories.main_name(&[id])?, count)));
        let filters = BTreeMap::from([
            ("f:status", named(counts.statuses().collect())),
            ("f:commodityType", named(kinds.collect())),
            ("f:commodityBreed", values(breeds)),
            ("f:commodityBreedSociety", values(societies)),
            ("f:commoditySexes", named(counts.sexes().collect())),
            ("f:commodityAdditionalInfo", named(counts.additional_info().collect())),
        ]);
        Self { filters, total: counts.total }
    }
}

fn values(mut counts: Vec<(String, u32)>) -> Vec<Facet> {
    counts.retain(|(_, count)| *count > 0);
    counts.sort_by(|(a, m), (b, n)| n.cmp(m).then_with(|| a.cmp(b)));
    counts.truncate(MOST_VALUES);
    counts.into_iter().map(|(value, count)| Facet { value, count }).collect()
}

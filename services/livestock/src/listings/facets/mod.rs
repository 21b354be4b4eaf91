//! What each filter of a search may be set to, and how many listings that would leave: counted in memory, over a table
//! of what searches compare. It follows the listings' events, which are asked for before each answer: so an answer has
//! every change that was stored when its request came, whichever replica stored it.

mod beyond;
mod count;
mod exact;
mod index;
mod kept;
mod numbers;
mod spelling;
mod store;
mod terms;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::{Duration, Instant};

use actix_web::web::Data;
use common::{Caller, Error, JsonResponse};
use database::Database;
use serde::Serialize;
use utoipa::ToSchema;

use super::search::Search;
use crate::Livestock;
use crate::categories::Categories;
use count::{Counts, TermCounts};
use exact::{Masks, Viewer};
use index::Index;
use store::{Changes, Place};

/// Nobody waits longer for those who read before.
const PATIENCE: Duration = Duration::from_secs(5);
/// Who waited longer for a reading that failed does not try another.
const ENOUGH: Duration = Duration::from_secs(1);
/// Values listed of a filter, the most frequent.
const MAX_VALUES: usize = 500;
/// Characters of a value that is listed: those of a breed. Older listings may have longer ones.
const MAX_VALUE_CHARS: usize = 60;

/// What the filters of a search may be set to (contract, section 5, `docs=false`). At most 300 kB: breeds and societies
/// have up to 500 values of 60 characters each, the other filters have fixed ones.
#[derive(Debug, Serialize, ToSchema)]
pub struct Facets<'a> {
    /// For each filter the values that it may be set to, each with the number of listings that it would leave under all
    /// the other filters: the 500 most frequent values, the most frequent first. Drafts and cancelled listings have no
    /// value of `f:status`; the other filters count them where the search finds them.
    filters: BTreeMap<&'static str, Vec<Facet<'a>>>,
    /// The number of listings that the same search finds.
    total: u32,
    /// `true` if a filter has more values than are listed; else absent.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    #[schema(required = false)]
    truncated: bool,
}

/// A value of a filter.
#[derive(Debug, Serialize, ToSchema)]
struct Facet<'a> {
    /// As the filter takes it.
    value: Cow<'a, str>,
    /// How many listings it would leave.
    count: u32,
}

/// The table, and who brings it up to date.
#[derive(Default)]
pub struct FacetService {
    index: RwLock<Index>,
    /// Up to where the table has the events; taken before the table is.
    place: Mutex<Place>,
    /// Readings that were begun.
    begun: AtomicU64,
    /// Held while one is under way.
    done: tokio::sync::Mutex<Done>,
}

/// How readings went.
#[derive(Default)]
struct Done {
    /// The last one that succeeded.
    number: u64,
    /// The last one did not.
    failed: bool,
}

impl FacetService {
    /// What the filters of a search may be set to.
    pub async fn facets(app: Data<Livestock>, caller: Caller, search: Search) -> Result<JsonResponse, Error> {
        app.follower.follow(&app.db).await?;
        // What counts or writes to the table may take long, and is waited for elsewhere.
        if let Ok(index) = app.follower.index.try_read()
            && let Some(known) = index.known(Viewer::from(&caller), &search, &app.categories)?
        {
            return Ok(JsonResponse::raw(known));
        }
        let wishlist = if search.wishlisted {
            let caller = caller.clone();
            Some(app.db.read(move |c| store::wishlist(c, &caller)).await?)
        } else {
            None
        };
        let counted = tokio::task::spawn_blocking(move || {
            let index = app.follower.index.read().unwrap_or_else(PoisonError::into_inner);
            index.facets(Viewer::from(&caller), &search, wishlist.as_deref(), &app.categories)
        });
        counted.await.map_err(|e| Error::Internal(e.into()))?.map(JsonResponse::raw)
    }

    /// Reads what changed. Those who come while others read wait for one reading more, all for the same.
    pub async fn follow(self: &Arc<Self>, db: &Database) -> Result<(), Error> {
        let (came, at) = (self.begun.load(Ordering::SeqCst), Instant::now());
        let waited = tokio::time::timeout(PATIENCE, self.done.lock()).await;
        let slow = || Error::Unavailable(anyhow::anyhow!("the events are not read in time"), "The database");
        let mut done = waited.map_err(|_| slow())?;
        if done.number > came {
            return Ok(());
        }
        if done.failed && at.elapsed() > ENOUGH {
            return Err(slow());
        }
        let number = self.begun.fetch_add(1, Ordering::SeqCst) + 1;
        let read = self.read(number, db).await;
        done.failed = read.is_err();
        if !done.failed {
            done.number = number;
        }
        read
    }

    async fn read(self: &Arc<Self>, number: u64, db: &Database) -> Result<(), Error> {
        let place = self.place().clone();
        let since = place.position;
        let changes =
            if since == 0 { None } else { Some(db.read(move |c| store::changes(c, &place)).await?) };
        match changes {
            Some(changes) if changes.position >= since && changes.rows.is_empty() => {
                self.apply(number, changes);
            }
            Some(changes) if changes.position >= since => {
                let follower = self.clone();
                let applied = tokio::task::spawn_blocking(move || follower.apply(number, changes));
                applied.await.map_err(|e| Error::Internal(e.into()))?;
            }
            // Or a replica of the database that had not seen everything has taken over.
            _ => self.read_all(number, db).await?,
        }
        Ok(())
    }

    /// Takes what a reading found; unless a later one has been taken meanwhile, when the request that asked was given up.
    fn apply(&self, reading: u64, changes: Changes) {
        let mut place = self.place();
        if reading < place.reading {
            return;
        }
        if !changes.rows.is_empty() {
            place.note(&changes.rows);
            let mut index = self.write();
            index.insert(&changes.rows);
            index.spell(changes.spellings);
            index.spell_privately(changes.private_spellings);
        }
        let (position, known) = (changes.position, changes.known);
        *place = Place { reading, position, known, stale: std::mem::take(&mut place.stale) };
    }

    /// From nothing, some thousands at a time: it may be many.
    async fn read_all(&self, reading: u64, db: &Database) -> Result<(), Error> {
        let (mut index, mut after) = (Index::default(), None);
        let position = db.read(store::position).await?;
        let mut place = Place { reading, position, ..Place::default() };
        loop {
            let (rows, spellings) = db.read(move |c| store::some(c, after)).await?;
            let Some(last) = rows.last() else { break };
            after = Some(last.id);
            place.note(&rows);
            index.insert(&rows);
            index.spell_privately(spellings);
        }
        let mut term = String::new();
        loop {
            let after = term.clone();
            let spellings = db.read(move |c| store::spellings(c, &after)).await?;
            let Some((last, _)) = spellings.last() else { break };
            term.clone_from(last);
            index.spell(spellings);
        }
        let mut current = self.place();
        *self.write() = index;
        *current = place;
        Ok(())
    }

    fn place(&self) -> MutexGuard<'_, Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> std::sync::RwLockWriteGuard<'_, Index> {
        self.index.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Facets<'a> {
    fn of(
        counts: &Counts<impl TermCounts>,
        masks: &Masks,
        index: &'a Index,
        categories: &'a Categories,
    ) -> Self {
        let spelled = |(term, count)| Some((index.spelling(term, masks.private_to())?, count));
        let kinds = counts.categories().filter(|(_, count)| *count > 0);
        let kinds = kinds.filter_map(|(id, count)| Some((categories.main_name(&[id])?, count)));
        let filters = [
            ("f:status", most_frequent(counts.statuses())),
            ("f:commodityType", most_frequent(kinds)),
            ("f:commodityBreed", most_frequent(counts.breeds.counted().filter_map(spelled))),
            ("f:commodityBreedSociety", most_frequent(counts.societies.counted().filter_map(spelled))),
            ("f:commoditySexes", most_frequent(counts.sexes())),
            ("f:commodityAdditionalInfo", most_frequent(counts.additional_info())),
        ];
        let truncated = filters.iter().any(|(_, (_, all))| !all);
        let filters = filters.into_iter().map(|(filter, (values, _))| (filter, values)).collect();
        Self { filters, total: counts.total, truncated }
    }

    fn json(&self) -> Result<String, Error> {
        Ok(serde_json::to_string(self)?)
    }
}

/// The values to list, and whether those are all: the most frequent ones that are short enough and have no comma.
fn most_frequent<'a, V: Into<Cow<'a, str>>>(
    counts: impl Iterator<Item = (V, u32)>,
) -> (Vec<Facet<'a>>, bool) {
    let mut all = true;
    let mut values = Vec::new();
    for (value, count) in counts.filter(|(_, count)| *count > 0) {
        let value = value.into();
        // A filter separates values by commas: it cannot name one that has a comma.
        let is_short = value.len() <= MAX_VALUE_CHARS || value.chars().count() <= MAX_VALUE_CHARS;
        if is_short && !value.contains(',') {
            values.push(Facet { value, count });
        } else {
            all = false;
        }
    }
    let order = |a: &Facet<'_>, b: &Facet<'_>| b.count.cmp(&a.count).then_with(|| a.value.cmp(&b.value));
    if values.len() > MAX_VALUES {
        values.select_nth_unstable_by(MAX_VALUES, order);
        values.truncate(MAX_VALUES);
        all = false;
    }
    values.sort_unstable_by(order);
    (values, all)
}

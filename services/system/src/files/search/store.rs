//! The queries of the file search. Each begins from [`visible`].

use common::{Caller, Error, backfill};
use database::search::words::HasWord;
use database::search::{Column, MergedQuery, SortKey, SortOrder, words};
use database::{AnyConnection, Database, Id, MultiBackend};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use strum::VariantNames;

use super::{FileSearch, Scope, order};
use crate::files::model::{Bucket, name_key};
use crate::files::responses::FileStatus;
use crate::schema::files::{self, dsl as f};

type FileQuery<'a> = files::BoxedQuery<'a, MultiBackend>;

/// Files whose names are put into lower case in one transaction.
pub(super) const NAME_BATCH_SIZE: usize = 1_000;

/// How SQLite finds the matches. PostgreSQL decides by its statistics.
struct SearchPlan {
    /// The query on trigrams that the search begins with.
    fulltext: Option<String>,
    /// The column of the sort key. With a leading `+` SQLite uses no index for it.
    key: Column,
}

impl SearchPlan {
    fn new(c: &mut AnyConnection, search: &FileSearch) -> Result<Self, Error> {
        let fulltext = words::selective_query(c, "files_fts", &search.words)?;
        let key = Column(if fulltext.is_some() { "+created_at" } else { "created_at" });
        Ok(Self { fulltext, key })
    }

    fn order(&self) -> SortOrder<Column> {
        order().order(self.key)
    }
}

/// Returns the ids of the page, and one more if there is a next page.
pub(super) fn find_ids(
    c: &mut AnyConnection,
    caller: &Caller,
    search: &FileSearch,
) -> Result<Vec<Id>, Error> {
    let plan = SearchPlan::new(c, search)?;
    let page = &search.page;
    let after = || page.position().and_then(|position| plan.order().after(position));
    let branches = branches(caller, search, &plan).into_iter().map(|branch| {
        let branch = match after() {
            Some(rows_after) => branch.filter(rows_after),
            None => branch,
        };
        branch.select((f::id, SortKey(plan.key)))
    });
    let branches: Vec<_> = branches.collect();
    if branches.is_empty() {
        return Ok(Vec::new());
    }
    let query = MergedQuery::new(branches, &plan.order(), page.fetch(), page.offset);
    Ok(query.cache_statement(search.words.is_empty()).load_ids(c)?.0)
}

/// Counts the matches of the search.
pub(super) fn count(c: &mut AnyConnection, caller: &Caller, search: &FileSearch) -> Result<i64, Error> {
    let plan = SearchPlan::new(c, search)?;
    let mut total = 0;
    for branch in branches(caller, search, &plan) {
        total += branch.count().get_result::<i64>(c)?;
    }
    Ok(total)
}

/// Returns queries that together have the matches, each once.
///
/// Each index has a bucket before the order, and either active or archived files. So a search without these filters has
/// a branch for each bucket and status, and each branch is read from an index in order.
fn branches<'a>(caller: &Caller, search: &'a FileSearch, plan: &'a SearchPlan) -> Vec<FileQuery<'a>> {
    let scope = search.scope(caller);
    if scope == Scope::Nobody {
        return Vec::new();
    }
    // These read few rows, and sort them.
    if plan.fulltext.is_some() || matches!(scope, Scope::User(_)) {
        let bucket = search.bucket.map(|bucket| bucket.to_string());
        return vec![matches(&scope, bucket, search.status, search, plan)];
    }
    let buckets: Vec<_> = match search.bucket {
        Some(bucket) => vec![bucket.to_string()],
        None => Bucket::VARIANTS.iter().map(ToString::to_string).collect(),
    };
    let statuses = match search.status {
        Some(status) => vec![status],
        None => vec![FileStatus::Active, FileStatus::Archived],
    };
    let pairs = buckets.iter().flat_map(|bucket| statuses.iter().map(move |status| (bucket, status)));
    pairs.map(|(bucket, status)| matches(&scope, Some(bucket.clone()), Some(*status), search, plan)).collect()
}

/// Selects the files in a scope.
fn visible<'a>(scope: &Scope, plan: &SearchPlan) -> FileQuery<'a> {
    let query = f::files.into_boxed();
    match scope {
        Scope::Everybody => query,
        Scope::Organisation(id) if plan.fulltext.is_some() => {
            query.filter(sql::<Bool>("+organisation_id = ").bind::<Text, _>(id.clone()))
        }
        Scope::Organisation(id) => query.filter(f::organisation_id.eq(id.clone())),
        Scope::User(id) => query.filter(f::organisation_id.is_null()).filter(f::user_id.eq(id.clone())),
        Scope::Nobody => query.filter(sql::<Bool>("1 = 0")),
    }
}

/// Selects the files in a scope that pass all filters.
fn matches<'a>(
    scope: &Scope,
    bucket: Option<String>,
    status: Option<FileStatus>,
    search: &'a FileSearch,
    plan: &'a SearchPlan,
) -> FileQuery<'a> {
    let mut query = visible(scope, plan);
    if let Some(fulltext) = &plan.fulltext {
        let indexed = sql::<Bool>("id IN (SELECT file_id FROM files_fts WHERE files_fts MATCH ");
        query = query.filter(indexed.bind::<Text, _>(fulltext).sql(")"));
    }
    if let Some(kind) = search.kind {
        query = match &plan.fulltext {
            Some(_) => query.filter(sql::<Bool>("+kind = ").bind::<Text, _>(kind.to_string())),
            None => query.filter(f::kind.eq(kind.to_string())),
        };
    }
    if let Some(bucket) = bucket {
        query = match &plan.fulltext {
            Some(_) => query.filter(sql::<Bool>("+bucket = ").bind::<Text, _>(bucket)),
            None => query.filter(f::bucket.eq(bucket)),
        };
    }
    query = match status {
        Some(FileStatus::Active) => query.filter(f::archived_at.is_null()),
        Some(FileStatus::Archived) => query.filter(f::archived_at.is_not_null()),
        None => query,
    };
    for word in &search.words {
        query = query.filter(HasWord::new("files.name_key", word));
    }
    query
}

/// Returns a batch of files whose names are not folded yet.
pub(super) fn find_without_name_key(c: &mut AnyConnection) -> Result<Vec<(Id, String)>, Error> {
    // The condition of the partial index on these files.
    let is_unfolded = match c {
        AnyConnection::Sqlite(_) => "coalesce(instr(name_key, char(1)), 0) = 0",
        AnyConnection::Postgres(_) => "coalesce(strpos(name_key, chr(1)), 0) = 0",
    };
    let rows = f::files.filter(sql::<Bool>(is_unfolded)).order(f::id).select((f::id, f::name));
    Ok(rows.limit(i64::try_from(NAME_BATCH_SIZE).unwrap_or(i64::MAX)).load(c)?)
}

/// Stores the folded names.
pub(super) fn set_name_keys(c: &mut AnyConnection, keys: &[(Id, String)]) -> Result<(), Error> {
    for (id, key) in keys {
        diesel::update(f::files.find(id)).set(f::name_key.eq(key)).execute(c)?;
    }
    Ok(())
}

/// Fills in names for up to two seconds. [`run_name_key_backfill`] fills in the rest.
///
/// # Errors
/// If the database fails.
pub(crate) async fn fill_name_keys_at_start(db: &Database) -> Result<(), Error> {
    backfill::run_at_start(|| fill_batch(db)).await
}

/// Fills in names as long as the service runs.
pub(crate) async fn run_name_key_backfill(db: &Database) {
    backfill::run("the names of older files for searches", 1, || fill_batch(db)).await;
}

/// Fills in one batch. Returns true if there may be more.
async fn fill_batch(db: &Database) -> Result<bool, Error> {
    let files = db.read(find_without_name_key).await?;
    if files.is_empty() {
        return Ok(false);
    }
    let is_full = files.len() == NAME_BATCH_SIZE;
    let keys: Vec<_> = files.into_iter().map(|(id, name)| (id, name_key(&name))).collect();
    db.write(move |c| set_name_keys(c, &keys)).await?;
    Ok(is_full)
}

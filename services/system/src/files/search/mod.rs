//! The search for files (`docs/api/files.md`, "List"): its parameters, and the call that lists a page.

mod store;

use std::sync::Arc;

use common::validation::ValidationErrors;
use common::wire::QueryText;
use common::{
    Caller, Error, ListParams, PageRequest, ResultPage, SortDefinition, Sorting, parse_words, text_choice,
};
use database::search::{Nulls, SortType, SortValue};
use database::{AnyConnection, Database, Json};
use serde::Deserialize;
use strum::VariantNames;
use utoipa::IntoParams;
use utoipa::openapi::schema::Object;

pub(crate) use store::{fill_name_keys_at_start, run_name_key_backfill};

use super::limits::{LargeResponses, ResponsePermit};
use super::model::{Bucket, FileType};
use super::responses::{FileStatus, FileView};
use super::store::{find_all, organisations_size};

/// The order of lists, newest first.
static CREATED_AT: SortDefinition<()> =
    SortDefinition { name: "createdAt", key: (), sort_type: SortType::Timestamp, nulls: Nulls::Never };

/// Returns the order of lists.
fn order() -> Sorting<()> {
    Sorting::new(&CREATED_AT, true)
}

/// Query parameters of the list, besides [`ListParams`].
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub(crate) struct FileListParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: ListParams,
    /// The id of the owner. By default the caller's organisation; `admin` sees all files.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
    /// What the files are used for.
    #[serde(rename = "f:type")]
    #[param(schema_with = kinds)]
    kind: Option<FileType>,
    /// `images` or `files`.
    #[serde(rename = "f:bucket")]
    #[param(schema_with = buckets)]
    bucket: Option<Bucket>,
    /// `active` or `archived`; by default both.
    #[serde(rename = "f:status")]
    #[param(schema_with = statuses)]
    status: Option<FileStatus>,
    /// At most 16 words that must all occur in the name.
    #[param(example = "ticket")]
    query: Option<QueryText>,
}

fn kinds() -> Object {
    text_choice(FileType::VARIANTS)
}

fn buckets() -> Object {
    text_choice(Bucket::VARIANTS)
}

fn statuses() -> Object {
    text_choice(&["active", "archived"])
}

impl FileListParams {
    /// Returns the search, and adds invalid parameters to `errors`.
    pub(crate) fn parse(&self, errors: &mut ValidationErrors) -> FileSearch {
        FileSearch {
            organisation_id: self.organisation_id.as_ref().map(|id| id.0.clone()),
            kind: self.kind,
            bucket: self.bucket,
            status: self.status,
            words: parse_words(self.query.as_ref(), errors),
            page: self.page.parse(&order(), errors),
            count: self.page.count,
        }
    }
}

/// A search for files: filters that a file must all pass, and a page. `None` and empty lists are no filters.
#[derive(Debug)]
pub(crate) struct FileSearch {
    /// The owner.
    organisation_id: Option<String>,
    kind: Option<FileType>,
    bucket: Option<Bucket>,
    status: Option<FileStatus>,
    /// Words that a name must all contain, in lower case.
    words: Vec<String>,
    /// The page to return.
    page: PageRequest,
    /// True if the number of matches was requested.
    count: bool,
}

/// Whose files a search looks at.
#[derive(Debug, PartialEq, Eq)]
enum Scope {
    /// All files.
    Everybody,
    /// The files of an organisation.
    Organisation(String),
    /// The files of a user alone.
    User(String),
    /// No file.
    Nobody,
}

impl FileSearch {
    /// Returns whose files the caller's search looks at: those of its own organisation. `admin` sees all files.
    fn scope(&self, caller: &Caller) -> Scope {
        let requested = self.organisation_id.clone();
        match (requested, &caller.organisation) {
            (Some(id), _) if caller.admin || caller.acts_for(&id) => Scope::Organisation(id),
            (Some(_), _) => Scope::Nobody,
            (None, _) if caller.admin => Scope::Everybody,
            (None, Some(own)) => Scope::Organisation(own.id.clone()),
            (None, None) => Scope::User(caller.user_id.clone()),
        }
    }
}

/// A call to list files.
pub(crate) struct ListJob {
    search: FileSearch,
    view: FileView,
}

impl ListJob {
    /// Creates the job for a request.
    pub(crate) fn new(search: FileSearch, view: FileView) -> Self {
        Self { search, view }
    }

    /// Returns the page that is listed.
    pub(crate) fn page(&self) -> &PageRequest {
        &self.search.page
    }

    /// Returns the page, and its permit if it is large.
    ///
    /// # Errors
    /// 429 and 503 if no permit for a large response becomes free.
    pub(crate) async fn run(
        self: Arc<Self>,
        db: &Database,
        large: &LargeResponses,
    ) -> Result<(ResultPage, Option<ResponsePermit>), Error> {
        let tenant = self.view.caller.tenant();
        large
            .run(&tenant, async |permit| {
                let (job, large) = (self.clone(), large.clone());
                db.read(move |c| job.read(c, &large, permit.clone())).await
            })
            .await
    }

    /// Reads the page. Queries the size of its organisations first: if it is large and no permit is free, loads no
    /// files.
    fn read(
        &self,
        c: &mut AnyConnection,
        large: &LargeResponses,
        mut permit: Option<ResponsePermit>,
    ) -> Result<(ResultPage, Option<ResponsePermit>), Error> {
        let Self { search, view } = self;
        let ids = store::find_ids(c, &view.caller, search)?;
        if view.may_be_large(&ids) {
            let bytes = organisations_size(c, &ids)?;
            permit = large.try_permit(&view.caller.tenant(), bytes, permit.as_ref())?.or(permit);
        }
        let files = find_all(c, &ids)?;
        let positions: Vec<_> =
            files.iter().map(|file| (Some(SortValue::Integer(file.created_at.millis())), file.id)).collect();
        let (infos, permit) = view.infos(files, large, permit.as_ref())?;
        let rows = infos.iter().zip(positions).map(|(info, position)| Ok((Json::of(info)?, position)));
        let mut page = ResultPage::new(rows.collect::<Result<_, Error>>()?, &search.page, &order());
        if search.count {
            page.total = Some(store::count(c, &view.caller, search)?);
        }
        Ok((page, permit))
    }
}

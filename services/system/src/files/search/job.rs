//! Listing files in one database call.

use std::sync::Arc;

use common::{Error, PageRequest, ResultPage};
use database::search::SortValue;
use database::{AnyConnection, Database, Json};

use super::{FileSearch, order, store};
use crate::files::limits::{LargeResponses, Permit};
use crate::files::responses::FileView;
use crate::files::store::{find_all, organisations_size};

/// A call to list files.
pub(in crate::files) struct ListJob {
    search: FileSearch,
    view: FileView,
}

impl ListJob {
    /// Creates the job for a request.
    pub(in crate::files) fn new(search: FileSearch, view: FileView) -> Self {
        Self { search, view }
    }

    /// Returns the page that is listed.
    pub(in crate::files) fn page(&self) -> &PageRequest {
        &self.search.page
    }

    /// Returns the page, and its permit if it is large.
    ///
    /// # Errors
    /// 429 and 503 if no permit for a large response becomes free.
    pub(in crate::files) async fn run(
        self: Arc<Self>,
        db: &Database,
        large: &LargeResponses,
    ) -> Result<(ResultPage, Option<Permit>), Error> {
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
        mut permit: Option<Permit>,
    ) -> Result<(ResultPage, Option<Permit>), Error> {
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

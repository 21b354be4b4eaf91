//! The requests for events, which are the same in all services.

use std::sync::Arc;
use std::time::Duration;

use actix_web::HttpRequest;
use database::Database;
use serde::Deserialize;
use utoipa::{IntoParams, ToSchema};

use super::{EventStream, Feed, FeedPage, FeedSearch, Place};
use crate::validation::{Code, ValidationErrors};
use crate::wire::QueryText;
use crate::{Caller, Error, JsonResponse};

/// Query parameters of the feed and its stream.
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct FeedParams {
    /// The `cursor` of an earlier response. `now`: the place after all events. Absent: the feed begins with the oldest
    /// event, a stream with the next one.
    #[param(example = "now")]
    after: Option<QueryText>,
    /// `resource`: each event has its load or listing as it is now, if the caller may still read it.
    #[param(inline)]
    include: Option<Include>,
    /// The events of this organisation. Only `admin` finds those of others.
    #[serde(rename = "f:organisationId")]
    #[param(example = "penybont-farm")]
    organisation_id: Option<QueryText>,
}

#[derive(Clone, Copy, Debug, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
enum Include {
    Resource,
}

/// The parameters that only the feed has.
#[derive(Clone, Copy, Debug, Deserialize, IntoParams)]
#[serde(default)]
#[into_params(parameter_in = Query)]
pub struct PagingParams {
    /// The most events of the page.
    #[param(minimum = 1, maximum = 500, default = 100)]
    limit: usize,
    /// With no event yet, the response waits up to so many seconds for one.
    #[param(minimum = 0, maximum = 30, default = 0)]
    wait: u64,
}

impl Default for PagingParams {
    fn default() -> Self {
        Self { limit: 100, wait: 0 }
    }
}

/// Where a request begins to read.
#[derive(Clone, Copy, Debug)]
pub enum Start {
    /// With the oldest event.
    Oldest,
    /// With the next event.
    Now,
    /// After this place.
    After(Place),
}

impl FeedParams {
    /// Returns whether events have their load or listing.
    pub fn includes_resource(&self) -> bool {
        self.include.is_some()
    }

    /// Returns the organisation whose events are requested.
    pub fn organisation_id(&self) -> Option<&str> {
        self.organisation_id.as_ref().map(|id| &*id.0)
    }

    /// Returns where a page begins, and adds an invalid cursor to `errors`.
    pub fn page_start(&self, errors: &mut ValidationErrors) -> Start {
        self.start(errors).unwrap_or(Start::Oldest)
    }

    /// Returns where a stream begins, and adds an invalid cursor to `errors`.
    pub fn stream_start(&self, request: &HttpRequest, errors: &mut ValidationErrors) -> Start {
        let last = request.headers().get("Last-Event-ID").map(|value| value.to_str().unwrap_or("invalid"));
        let Some(last) = last.filter(|last| !last.is_empty()) else {
            return self.start(errors).unwrap_or(Start::Now);
        };
        let place = Place::decode(last);
        if place.is_none() {
            errors.push("Last-Event-ID", Code::Format, "must be a cursor of this feed");
        }
        place.map_or(Start::Now, Start::After)
    }

    fn start(&self, errors: &mut ValidationErrors) -> Option<Start> {
        let after = &*self.after.as_ref()?.0;
        if after == "now" {
            return Some(Start::Now);
        }
        let place = Place::decode(after);
        if place.is_none() {
            errors.push("after", Code::Format, "must be a cursor of this feed, or now");
        }
        place.map(Start::After)
    }
}

impl Feed {
    /// Answers a request for a page.
    ///
    /// # Errors
    /// 410 if the cursor is of a newer database; 429 if 500 requests of the organisation wait, 503 if 2,000 of this
    /// replica do; and those of the database.
    pub async fn answer<S: FeedSearch>(
        &self,
        db: &Database,
        request: &HttpRequest,
        caller: &Caller,
        search: &S,
        (start, paging): (Start, PagingParams),
    ) -> Result<JsonResponse, Error> {
        let after = match start {
            Start::Oldest => Place::START,
            Start::After(place) => place,
            Start::Now => {
                let end = db.read(S::end).await?;
                return Ok(JsonResponse::raw(FeedPage::empty(end).into_document()));
            }
        };
        let read = |after| {
            let (search, caller) = (search.clone(), caller.clone());
            db.read(move |c| search.page(c, &caller, after, paging.limit))
        };
        let wait = (after, Duration::from_secs(paging.wait));
        let page = self.wait(request, (caller, &search.readers()), wait, read).await?;
        Ok(JsonResponse::raw(page.into_document()))
    }

    /// Answers a request for a stream.
    ///
    /// # Errors
    /// 410 if the cursor is of a newer database; 429 if the user has 5 streams or the organisation has 50, 503 if the
    /// replica has 2,000; and those of the database.
    pub async fn follow<S: FeedSearch>(
        self: &Arc<Self>,
        db: &Database,
        request: &HttpRequest,
        caller: &Caller,
        search: S,
        start: Start,
    ) -> Result<EventStream, Error> {
        let after = match start {
            Start::After(place) => place,
            Start::Now | Start::Oldest => db.read(S::end).await?,
        };
        let (db, reader, of) = (db.clone(), search.readers(), caller.clone());
        let read = move |after, limit| {
            let (search, caller, db) = (search.clone(), of.clone(), db.clone());
            async move { db.read(move |c| search.page(c, &caller, after, limit)).await }
        };
        self.stream(request, caller, reader, after, read).await
    }
}

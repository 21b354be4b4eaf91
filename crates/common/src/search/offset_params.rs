//! Lists that are paged by limit and offset only.

use actix_web::HttpRequest;
use serde::{Deserialize, Serialize};
use utoipa::IntoParams;

use super::links::offset_links;
use super::page::{DEFAULT_LIMIT, PageRequest};
use crate::Error;
use crate::response::json::JsonResponse;

/// Query parameters of a list that is paged by limit and offset only, as JSON only (docs/api/lists.md).
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct OffsetParams {
    /// Entries on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Entries to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// `true`: count all entries, in `X-Total-Count`.
    count: bool,
}

impl OffsetParams {
    /// Returns the page.
    pub fn page(&self) -> PageRequest {
        PageRequest {
            limit: self.limit.unwrap_or(DEFAULT_LIMIT),
            offset: self.offset.unwrap_or(0),
            after: None,
        }
    }

    /// Makes the response of the rows that were [fetched](PageRequest::fetch); `total` is the number of all entries.
    ///
    /// # Errors
    /// Fails if an entry cannot be serialized.
    pub fn response<T: Serialize>(
        &self,
        request: &HttpRequest,
        public_url: &str,
        mut rows: Vec<T>,
        total: i64,
    ) -> Result<JsonResponse, Error> {
        let page = self.page();
        let limit = usize::try_from(page.limit).unwrap_or(0);
        let links = offset_links(request, public_url, &page, rows.len() > limit);
        rows.truncate(limit);
        let response = JsonResponse::json(&rows)?.links(links);
        Ok(if self.count { response.header("X-Total-Count", total.to_string()) } else { response })
    }
}

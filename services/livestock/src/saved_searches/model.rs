//! A saved search.

use common::wire::Warning;
use common::{Caller, Error};
use database::{Id, Json, Timestamp, TimestampSql};
use diesel::dsl::sql;
use diesel::expression::SqlLiteral;
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Nullable};
use serde::Serialize;
use utoipa::ToSchema;

use super::parameters::{Parameters, texts};
use crate::listings::{Point, Status};
use crate::schema::saved_searches;

/// A search for listings that a user saved.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SavedSearch {
    /// UUID.
    #[schema(value_type = String, format = Uuid)]
    pub(crate) id: Id,
    /// A name for people.
    pub(crate) name: String,
    /// The query parameters of the search: texts, or arrays of texts for repeated ones.
    #[schema(value_type = Object)]
    pub(crate) parameters: Parameters,
    /// The point that the parameter `near` names.
    #[serde(skip)]
    pub(crate) near: Option<Point>,
    /// Whether listings that match are counted and reported to webhooks.
    pub(crate) notify: bool,
    /// The number of listings that matched since the listings of the search were read.
    pub(crate) new_matches: i64,
    /// When the search was saved.
    #[serde(rename = "createdAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) created_at: Timestamp,
    /// The number of the revision, as in `ETag`: 1, and more with each change, match and reading of the listings.
    pub(crate) revision: i64,
    /// When this revision was stored.
    #[serde(rename = "updatedAtUTC")]
    #[schema(value_type = String, format = DateTime)]
    pub(crate) updated_at: Timestamp,
    /// Why `notify` has no effect: `never_matches` if the search finds no active listing, `no_webhook` if no webhook
    /// gets its matches, because the user acted for no organisation. Absent without a reason.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    pub(crate) warnings: Vec<Warning>,
}

impl SavedSearch {
    /// Sets the warnings of the search. `has_receivers` is true if webhooks can get its matches.
    pub(super) fn set_warnings(&mut self, has_receivers: bool) {
        let status = self.parameters.get("f:status").into_iter().flat_map(texts).next_back();
        let finds_active = status.is_none_or(|status| status.starts_with(Status::Active.as_str()));
        let never_matches = (!finds_active).then(|| {
            let message = "matches no listing: only active ones are matched";
            Warning::new("parameters.f:status", "never_matches", message)
        });
        let no_webhook = (!has_receivers).then(|| {
            let message = "reports to no webhook: the user who saved the search acted for no organisation";
            Warning::new("notify", "no_webhook", message)
        });
        let all = never_matches.into_iter().chain(no_webhook);
        self.warnings = all.filter(|_| self.notify).collect();
    }
}

/// A stored saved search.
#[derive(Clone, Debug, Queryable, Selectable)]
#[diesel(table_name = saved_searches)]
pub(super) struct SavedSearchRow {
    pub(super) id: Id,
    pub(super) user_id: String,
    pub(super) organisation_id: String,
    pub(super) name: String,
    pub(super) parameters: Json,
    pub(super) notify: bool,
    pub(super) version: i64,
    #[diesel(select_expression = with_count("revision"), select_expression_type = SqlLiteral<BigInt>)]
    pub(super) revision: i64,
    #[diesel(select_expression = with_count("matched"), select_expression_type = SqlLiteral<BigInt>)]
    pub(super) matched: i64,
    pub(super) seen: i64,
    pub(super) created_at: Timestamp,
    pub(super) updated_at: Option<Timestamp>,
    pub(super) near_lat: Option<f64>,
    pub(super) near_lon: Option<f64>,
    #[diesel(select_expression = matched_at(), select_expression_type = SqlLiteral<Nullable<TimestampSql>>)]
    pub(super) matched_at: Option<Timestamp>,
}

/// Returns the sum of a column and the matches of `saved_search_counts`. Releases before 1.2 count in the columns.
fn with_count(column: &str) -> SqlLiteral<BigInt> {
    let count = "SELECT matched FROM saved_search_counts WHERE search_id = saved_searches.id";
    sql(&format!("saved_searches.{column} + COALESCE(({count}), 0)"))
}

/// Returns the time of the last match in `saved_search_counts`.
fn matched_at() -> SqlLiteral<Nullable<TimestampSql>> {
    sql("(SELECT updated_at FROM saved_search_counts WHERE search_id = saved_searches.id)")
}

impl SavedSearchRow {
    /// Returns the saved search. `is_reported_to_all` is true if a webhook gets the matches of all users.
    pub(super) fn saved_search(self, is_reported_to_all: bool) -> Result<SavedSearch, Error> {
        let (has_receivers, near) = (self.has_receivers(is_reported_to_all), self.near());
        let mut search = SavedSearch {
            id: self.id,
            name: self.name,
            near,
            parameters: self.parameters.parse()?,
            notify: self.notify,
            new_matches: (self.matched - self.seen).max(0),
            created_at: self.created_at,
            revision: self.revision,
            updated_at: [self.updated_at, self.matched_at]
                .into_iter()
                .flatten()
                .fold(self.created_at, Timestamp::max),
            warnings: Vec::new(),
        };
        search.set_warnings(has_receivers);
        Ok(search)
    }

    /// Returns the point that the parameter `near` names.
    pub(super) fn near(&self) -> Option<Point> {
        stored_point(self.near_lat, self.near_lon)
    }

    /// Returns true if webhooks can get the matches: those of the organisation that the user acted for.
    pub(super) fn has_receivers(&self, is_reported_to_all: bool) -> bool {
        !self.organisation_id.is_empty() || is_reported_to_all
    }

    /// Returns true if the caller saved the search. `admin` has no further rights.
    pub(super) fn is_saved_by(&self, caller: &Caller) -> bool {
        self.user_id == caller.user_id
    }
}

/// Returns the point of the columns `near_lat` and `near_lon`.
pub(super) fn stored_point(lat: Option<f64>, lon: Option<f64>) -> Option<Point> {
    Some(Point { lat: lat?, lon: lon? })
}

/// A search to save.
#[derive(Clone, Debug)]
pub(crate) struct NewSavedSearch {
    pub(crate) id: Id,
    pub(crate) user_id: String,
    /// The organisation that the user acts for, or an empty text.
    pub(crate) organisation_id: String,
    pub(crate) name: String,
    pub(crate) parameters: Parameters,
    /// The point that the parameter `near` names.
    pub(crate) near: Option<Point>,
    pub(crate) notify: bool,
}

/// What is needed to read the listings of a saved search.
#[derive(Clone, Debug)]
pub(crate) struct StoredParameters {
    pub(crate) parameters: Parameters,
    /// The point that the parameter `near` names.
    pub(crate) near: Option<Point>,
    /// The number of listings that matched until now.
    pub(crate) matched: i64,
    /// True if some of them were not read.
    pub(crate) has_new: bool,
}

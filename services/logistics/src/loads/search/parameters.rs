//! The query parameters of the load search.

use chrono::{NaiveTime, Utc};
use chrono_tz::Europe::London;
use common::validation::ValidationErrors;
use common::wire::{DateOrDateTime, ListedId, QueryText};
use common::{Format, PageParams, Sorting, parse_words};
use database::{Id, Timestamp};
use serde::Deserialize;
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::{ArrayBuilder, KnownFormat, Object, ObjectBuilder, Schema, SchemaFormat, Type};
use utoipa::{IntoParams, ToSchema};

use super::sorts::SORTS;
use super::{DriverFilter, LoadSearch, TimeRange};
use crate::examples;
use crate::loads::members::COLUMNS;
use crate::loads::status::Status;

/// Query parameters of the search, besides [`PageParams`] and [`LoadFilters`] (docs/api/loads.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct LoadSearchParams {
    #[serde(flatten)]
    #[param(ignore)]
    page: PageParams,
    /// One of `deliveryDateISO`, `createdAt`, `reference`, `status`, `organiser`, `carrier`, `commodity`, `weight`,
    /// `weightNet`; by default newest first.
    #[param(schema_with = sort_by)]
    sort_by: Option<String>,
    /// What each load has besides, in JSON; repeated or comma-separated. `newestNote`: the newest note that the caller
    /// can read. `driverIds`: the drivers to whom it was sent; not with `f:driverId=me`.
    #[param(inline)]
    include: Vec<Include>,
    /// The columns of CSV and XLSX, in this order; by default all. Repeated or comma-separated.
    #[param(schema_with = columns)]
    columns: Vec<String>,
    #[serde(flatten)]
    #[param(ignore)]
    filters: LoadFilters,
}

// What a search adds to each load. The parameter describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) enum Include {
    NewestNote,
    DriverIds,
}

/// The filters of the search (docs/api/loads.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub(crate) struct LoadFilters {
    /// The first delivery date.
    #[serde(rename = "startDateISO")]
    #[param(example = "2026-03-01")]
    start_date: Option<DateOrDateTime>,
    /// The last delivery date; a date covers the whole day.
    #[serde(rename = "endDateISO")]
    #[param(example = "2026-03-31")]
    end_date: Option<DateOrDateTime>,
    /// The id of the organiser.
    #[serde(rename = "f:organiserId")]
    #[param(example = "penybont-farm")]
    organiser_id: Option<QueryText>,
    /// The id of the carrier.
    #[serde(rename = "f:carrierId")]
    #[param(example = "hereford-haulage")]
    carrier_id: Option<QueryText>,
    /// By default all but `cancelled`; repeated or comma-separated.
    #[serde(rename = "f:status")]
    #[param(inline)]
    statuses: Vec<Status>,
    /// The ids of commodities, any of which the load has.
    #[serde(rename = "f:commodityId")]
    #[param(schema_with = commodity_ids)]
    commodity_ids: Vec<i32>,
    /// The ids of loads; repeated or comma-separated.
    #[serde(rename = "f:id")]
    #[param(max_items = 200, example = json!([examples::LOAD]))]
    ids: Vec<ListedId>,
    /// A tag, in the letters in which the load has it.
    #[serde(rename = "f:tag")]
    #[param(example = "spring")]
    tag: Option<QueryText>,
    /// The id of the organisation that created the load. `own`: the caller's.
    #[serde(rename = "f:createdBy")]
    #[param(example = "own")]
    created_by: Option<QueryText>,
    /// The id of the batch that created the load.
    #[serde(rename = "f:batchId")]
    #[param(example = json!(examples::BATCH))]
    batch_id: Option<QueryText>,
    /// The id of a file that the load, its collection or its rejection has.
    #[serde(rename = "f:fileId")]
    #[param(example = json!(examples::FILE))]
    file_id: Option<QueryText>,
    /// `true`: upcoming and collected loads with a delivery date before today in Europe/London.
    overdue: bool,
    /// `true`: loads that the caller's organisation has not accepted yet.
    awaits_acceptance: bool,
    /// Completed loads whose net weight differs by more than this from the net weight of the collection, or else from
    /// the agreed weight, in per cent of it.
    #[param(minimum = 0, maximum = 1000, example = 2)]
    weight_differs_by_percent: Option<u32>,
    /// The claim `sub` of a driver to whom the load was sent. `me`: the caller, also without an organisation.
    #[serde(rename = "f:driverId")]
    #[param(example = json!(examples::DRIVER))]
    driver_id: Option<QueryText>,
    /// At most 16 words that must all occur in reference, ticket number, registration, parties, commodity, postcodes
    /// or tags.
    query: Option<QueryText>,
}

fn sort_by() -> Object {
    Sorting::parameter(&SORTS, &[])
}

fn columns() -> RefOr<Schema> {
    let column = ObjectBuilder::new().schema_type(Type::String).enum_values(Some(COLUMNS.iter().copied()));
    ArrayBuilder::new().items(column).max_items(Some(COLUMNS.len())).into()
}

/// The most commodities of a search.
const MAX_COMMODITIES: usize = 50;

fn commodity_ids() -> RefOr<Schema> {
    let id = ObjectBuilder::new()
        .schema_type(Type::Integer)
        .format(Some(SchemaFormat::KnownFormat(KnownFormat::Int32)))
        .minimum(Some(i32::MIN))
        .maximum(Some(i32::MAX));
    let description =
        "The commodity has any of these ids (`GET /v1/commodities`); repeated or comma-separated.";
    let ids = ArrayBuilder::new().items(id).max_items(Some(MAX_COMMODITIES));
    ids.description(Some(description)).into()
}

/// Returns an id. A text that is none matches nothing.
fn parse_id(text: &str) -> Id {
    Id::parse(text).unwrap_or(Id::NIL)
}

/// Returns when the day began in Europe/London.
fn start_of_today() -> Timestamp {
    let today = Utc::now().with_timezone(&London).date_naive();
    let start = today.and_time(NaiveTime::MIN).and_local_timezone(London).earliest();
    start.and_then(|start| Timestamp::from_millis(start.timestamp_millis())).unwrap_or_else(Timestamp::now)
}

impl LoadSearchParams {
    /// Returns the search, and adds invalid parameters to `errors`. `accepted` is the format that the `Accept` header
    /// prefers.
    pub(crate) fn parse(&self, accepted: Format, errors: &mut ValidationErrors) -> LoadSearch {
        let sorting = Sorting::from_params(self.sort_by.as_deref(), self.page.sort_desc, &SORTS);
        let (format, page) = self.page.parse(accepted, &sorting, errors);
        let filters = self.filters.parse(format, errors);
        LoadSearch {
            include: self.include.clone(),
            columns: self.columns.clone(),
            sorting,
            page,
            count: self.page.count,
            ..filters
        }
    }
}

impl LoadFilters {
    /// Returns the search for all matches, newest first, and adds invalid parameters to `errors`.
    pub(crate) fn parse(&self, format: Format, errors: &mut ValidationErrors) -> LoadSearch {
        let delivery = TimeRange::new(self.start_date.as_ref(), self.end_date.as_ref(), errors);
        let words = parse_words(self.query.as_ref(), errors);
        let text = |parameter: &Option<QueryText>| parameter.as_ref().map(|text| text.0.clone());
        LoadSearch {
            organiser_id: text(&self.organiser_id),
            carrier_id: text(&self.carrier_id),
            statuses: self.statuses.clone(),
            tag: text(&self.tag),
            created_by: text(&self.created_by),
            ids: self.ids.iter().map(|id| parse_id(id)).collect(),
            batch_id: self.batch_id.as_deref().map(parse_id),
            file_id: self.file_id.as_deref().map(parse_id),
            overdue_at: self.overdue.then(start_of_today),
            awaits_acceptance: self.awaits_acceptance,
            weight_differs_by_percent: self.weight_differs_by_percent.map(i64::from),
            commodity_ids: self.commodity_ids.clone(),
            driver: self.driver_id.as_ref().map(|id| match &*id.0 {
                "me" => DriverFilter::Caller,
                other => DriverFilter::User(other.to_owned()),
            }),
            delivery,
            words,
            ..LoadSearch::all(Sorting::from_params(None, None, &SORTS), format)
        }
    }
}

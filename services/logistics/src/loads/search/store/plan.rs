//! How a database finds the matches of a search, and the conditions for them.

use common::{Caller, Error};
use database::search::words::HasWord;
use database::search::{Column, SortOrder, words};
use database::{AnyConnection, Id, IdSql, Timestamp, TimestampSql};
use diesel::dsl::{not, sql};
use diesel::prelude::*;
use diesel::sql_types::{BigInt, Bool, Text};

use crate::loads::search::{DriverFilter, LoadSearch, TimeRange};
use crate::loads::status::Status;
use crate::loads::store::{LoadQuery, Role, has_unknown_commodities, sent_before_carrier, sent_to, visible};
use crate::schema::loads::dsl as l;

/// How a database finds the matches of a search.
#[derive(Clone, Debug)]
pub(super) struct SearchPlan {
    /// The full-text query that the search begins with.
    pub(super) fulltext: Option<String>,
    /// The column of the sort key. With a leading `+` SQLite uses no index for it.
    pub(super) key: Column,
    /// On SQLite: reads the loads in their order of creation, and skips those of other delivery dates.
    pub(super) skips_dates: bool,
    /// On SQLite: the matches are sorted, since no index has their order.
    pub(super) is_sorted: bool,
    /// The condition that leaves out cancelled loads.
    pub(super) not_cancelled: &'static str,
    /// The ids of the commodities, separated by commas. `None` without a filter by commodity.
    pub(super) commodity_ids: Option<String>,
    /// The condition that the load has a tag: the SQL after it.
    pub(super) has_tag: &'static str,
    /// The net weight of the collection as SQL, in ten-thousandths of a tonne.
    pub(super) collected_weight: &'static str,
    /// The condition that the commodity is one of `commodity_ids`: the SQL before and after them.
    pub(super) has_commodity: [&'static str; 2],
}

/// Without statistics on the parameters of prepared statements, PostgreSQL estimates a literal better.
const NOT_CANCELLED_POSTGRES: &str = "loads.status <> 'cancelled'";
/// Reads a small partial index instead of the rows of loads, whose indexes have no status. While there are no cancelled
/// loads at all, SQLite evaluates this once for each statement.
const NOT_CANCELLED_SQLITE: &str = "(NOT EXISTS (SELECT 1 FROM loads AS any_cancelled INDEXED BY loads_cancelled \
     WHERE any_cancelled.status = 'cancelled') OR NOT EXISTS (SELECT 1 FROM loads AS cancelled INDEXED BY \
     loads_cancelled WHERE cancelled.status = 'cancelled' AND cancelled.id = loads.id))";

/// The commodity of a load as SQL.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommoditySql {
    pub(super) id: &'static str,
    /// The condition that it is one of several, separated by commas: the SQL before and after them. The text is the
    /// same for any number of ids, so that its statement is prepared once.
    is_one_of: [&'static str; 2],
}

impl CommoditySql {
    const SQLITE: Self = Self {
        id: "loads.commodity_id",
        is_one_of: ["loads.commodity_id IN (SELECT value FROM json_each('[' || ", " || ']'))"],
    };
    const POSTGRES: Self = Self {
        id: "loads.commodity_id",
        is_one_of: ["loads.commodity_id = ANY (CAST(string_to_array(", ", ',') AS INTEGER[]))"],
    };
    /// While older loads have no commodity in the column.
    const IN_DOCUMENT_SQLITE: Self = Self {
        id: "json_extract(loads.document, '$.commodity.id')",
        is_one_of: [
            "json_extract(loads.document, '$.commodity.id') IN (SELECT value FROM json_each('[' || ",
            " || ']'))",
        ],
    };
    /// As [`Self::IN_DOCUMENT_SQLITE`].
    const IN_DOCUMENT_POSTGRES: Self = Self {
        id: "CAST(loads.document #>> '{commodity,id}' AS INTEGER)",
        is_one_of: ["(loads.document #>> '{commodity,id}') = ANY (string_to_array(", ", ','))"],
    };

    /// Returns the SQL that finds the commodities of all loads.
    pub(super) fn new(c: &mut AnyConnection) -> Result<Self, Error> {
        let is_known = !has_unknown_commodities(c)?;
        Ok(match (c, is_known) {
            (AnyConnection::Sqlite(_), true) => Self::SQLITE,
            (AnyConnection::Sqlite(_), false) => Self::IN_DOCUMENT_SQLITE,
            (AnyConnection::Postgres(_), true) => Self::POSTGRES,
            (AnyConnection::Postgres(_), false) => Self::IN_DOCUMENT_POSTGRES,
        })
    }
}

const HAS_TAG_POSTGRES: &str = " IN (SELECT json_array_elements_text(loads.document -> 'tags'))";
const HAS_TAG_SQLITE: &str = " IN (SELECT value FROM json_each(loads.document, '$.tags'))";

const COLLECTED_WEIGHT_POSTGRES: &str =
    "CAST(CAST(loads.document #>> '{collection,weightNet,weight}' AS NUMERIC) * 10000 AS BIGINT)";
/// SQLite reads the number as a float, which rounding makes exact again.
const COLLECTED_WEIGHT_SQLITE: &str =
    "CAST(round(json_extract(loads.document, '$.collection.weightNet.weight') * 10000) AS INTEGER)";

/// With more matches than this in a range of dates, SQLite reads the loads in their order of creation and skips other
/// dates. With fewer it is cheaper to read all matches and to sort them. SQLite itself has no statistics to decide by.
const MAX_SORTED_MATCHES: i64 = 300;

impl SearchPlan {
    pub(super) fn new(c: &mut AnyConnection, caller: &Caller, search: &LoadSearch) -> Result<Self, Error> {
        let fulltext = words::selective_query(c, "loads_fts", &search.words)?;
        let key = search.sorting.by.key.column;
        let is_sqlite = matches!(c, AnyConnection::Sqlite(_));
        let is_sorted = is_sqlite && !search.has_ordered_index(caller);
        let not_cancelled = if is_sqlite { NOT_CANCELLED_SQLITE } else { NOT_CANCELLED_POSTGRES };
        let key = if is_sqlite && search.has_own_index() { without_index(key) } else { key };
        let ids: Vec<_> = search.commodity_ids.iter().map(ToString::to_string).collect();
        let commodity_ids = (!ids.is_empty()).then(|| ids.join(","));
        let has_commodity = match commodity_ids {
            Some(_) => CommoditySql::new(c)?.is_one_of,
            None => [""; 2],
        };
        let plan = Self {
            fulltext,
            key,
            skips_dates: false,
            is_sorted,
            not_cancelled,
            commodity_ids,
            has_commodity,
            has_tag: if is_sqlite { HAS_TAG_SQLITE } else { HAS_TAG_POSTGRES },
            collected_weight: if is_sqlite { COLLECTED_WEIGHT_SQLITE } else { COLLECTED_WEIGHT_POSTGRES },
        };
        if !is_sqlite || !search.is_by_creation_and_date(caller) {
            return Ok(plan);
        }
        for role in roles(caller, search) {
            let last = matches(caller, *role, search, &plan).select(l::id).offset(MAX_SORTED_MATCHES);
            if last.first::<Id>(c).optional()?.is_some() {
                return Ok(Self { skips_dates: true, is_sorted: false, ..plan });
            }
        }
        Ok(Self { key: without_index(key), ..plan })
    }

    /// Returns the order of the search: the column of its sort key, then the id.
    pub(super) fn sort_order(&self, search: &LoadSearch) -> SortOrder<Column> {
        search.sorting.order(self.key)
    }
}

/// Returns the column so that SQLite uses no index for its order.
fn without_index(key: Column) -> Column {
    match key.0 {
        "created_at" => Column("+created_at"),
        "delivery_at" => Column("+delivery_at"),
        _ => key,
    }
}

/// Returns the roles in which the caller can have matches. One role wherever the filters allow it: a database reads a
/// branch without matches to its end.
pub(super) fn roles(caller: &Caller, search: &LoadSearch) -> &'static [Role] {
    let (organiser, carrier) = (search.organiser_id.as_deref(), search.carrier_id.as_deref());
    let own = |id: Option<&str>| id.is_some_and(|id| caller.acts_for(id));
    if let Some(roles) = search.roles {
        roles
    } else if search.driver == Some(DriverFilter::Caller) {
        &[Role::Driver]
    } else if caller.admin || own(organiser) || own(carrier) {
        &[Role::Any]
    } else if organiser.is_some() {
        &[Role::Carrier]
    } else if carrier.is_some() {
        &[Role::Organiser]
    } else {
        &[Role::Organiser, Role::Carrier]
    }
}

/// Selects the loads that the caller sees in this role and that pass all filters.
pub(super) fn matches<'a>(
    caller: &'a Caller,
    role: Role,
    search: &'a LoadSearch,
    plan: &'a SearchPlan,
) -> LoadQuery<'a> {
    let mut query = visible(caller, role);
    if let Some(fulltext) = &plan.fulltext {
        let indexed = sql::<Bool>("n IN (SELECT rowid FROM loads_fts WHERE loads_fts MATCH ");
        query =
            query.filter(indexed.bind::<Text, _>(fulltext).sql(" UNION ALL SELECT n FROM loads_unindexed)"));
    }
    if !search.ids.is_empty() {
        query = query.filter(l::id.eq_any(&search.ids));
    }
    if let Some(id) = &search.organiser_id {
        query = query.filter(l::organiser_id.eq(id));
    }
    if let Some(id) = &search.carrier_id {
        query = query.filter(l::carrier_id.eq(id));
    }
    if let Some(DriverFilter::User(id)) = &search.driver {
        query = query.filter(sent_to(id));
        if !caller.admin && role != Role::Organiser {
            let organised = l::organiser_id.eq(caller.organisation_id_or_empty());
            query = query.filter(organised.or(not(sent_before_carrier(id))));
        }
    }
    if let [status] = &search.statuses[..] {
        query = query.filter(l::status.eq(status.as_str()));
    } else if !search.statuses.is_empty() {
        query = query.filter(l::status.eq_any(search.statuses.iter().map(|status| status.as_str())));
    } else if search.completed.is_none() {
        query = query.filter(sql::<Bool>(plan.not_cancelled));
    }
    if let Some(ids) = &plan.commodity_ids {
        let [before, after] = plan.has_commodity;
        query = query.filter(sql::<Bool>(before).bind::<Text, _>(ids).sql(after));
    }
    if let Some(tag) = &search.tag {
        query = query.filter(sql::<Bool>("").bind::<Text, _>(tag).sql(plan.has_tag));
    }
    if let Some(creator) = &search.created_by {
        let creator = if creator == "own" { caller.organisation_id_or_empty() } else { creator };
        // Loads of an `admin` without an organisation have the empty text.
        query = query.filter(l::created_by.eq(creator).and(l::created_by.ne("")));
    }
    if let Some(batch) = search.batch_id {
        query = query.filter(l::batch_id.eq(batch));
    }
    if let Some(file) = search.file_id {
        let had = sql::<Bool>("loads.id IN (SELECT subject_id FROM file_uploaders WHERE file_id = ");
        query = query.filter(had.bind::<IdSql, _>(file).sql(")"));
        // The index also has loads that had the file before.
        let has = sql::<Bool>("CAST(loads.document AS TEXT) LIKE ").bind::<Text, _>(format!("%{file}%"));
        query = query.filter(has);
    }
    if let Some(today) = search.overdue_at {
        let has_not_ended = l::status.eq_any([Status::Upcoming.as_str(), Status::Collected.as_str()]);
        query = query.filter(has_not_ended).filter(l::delivery_at.lt(today));
    }
    if search.awaits_acceptance {
        let own = l::organiser_id.eq(caller.organisation_id_or_empty());
        let can_be_accepted = [Status::Upcoming, Status::Collected, Status::Completed].map(Status::as_str);
        query =
            query.filter(l::awaits_acceptance.eq(true)).filter(own).filter(l::status.eq_any(can_be_accepted));
    }
    if let Some(percent) = search.weight_differs_by_percent {
        let weight = format!("coalesce({}, loads.weight)", plan.collected_weight);
        let differs = sql::<Bool>(&format!("abs(loads.weight_net - {weight}) * 100 > {weight} * "));
        query = query.filter(l::status.eq(Status::Completed.as_str()));
        query = query.filter(differs.bind::<BigInt, _>(percent));
    }
    if plan.skips_dates {
        // SQLite uses no index for a condition on `+delivery_at`. Only searches without times of completion skip dates.
        let TimeRange { start, end } = search.delivery;
        let compare =
            |condition: &'static str, at: Timestamp| sql::<Bool>(condition).bind::<TimestampSql, _>(at);
        query = start.into_iter().fold(query, |query, at| query.filter(compare("+delivery_at >= ", at)));
        query = end.into_iter().fold(query, |query, at| query.filter(compare("+delivery_at <= ", at)));
    } else {
        query = at_dates(query, search);
    }
    if search.completed.is_some() {
        // An organiser's export leaves out loads that others entered until the organiser accepts them.
        let is_accepted = l::awaits_acceptance.is_null();
        query = match role {
            Role::Organiser => query.filter(is_accepted),
            Role::Any if !caller.admin => {
                query.filter(is_accepted.or(l::carrier_id.eq(caller.organisation_id_or_empty())))
            }
            Role::Any | Role::Carrier | Role::Driver => query,
        };
    }
    for word in &search.words {
        query = query.filter(HasWord::new("loads.search_text", word));
    }
    query
}
/// Limits a query to the delivery dates and the times of completion of a search.
pub(super) fn at_dates<'a>(mut query: LoadQuery<'a>, search: &LoadSearch) -> LoadQuery<'a> {
    let TimeRange { start, end } = search.delivery;
    query = start.into_iter().fold(query, |query, at| query.filter(l::delivery_at.ge(at)));
    query = end.into_iter().fold(query, |query, at| query.filter(l::delivery_at.le(at)));
    let Some(TimeRange { start, end }) = search.completed else { return query };
    query = query.filter(l::completed_at.is_not_null());
    query = start.into_iter().fold(query, |query, at| query.filter(l::completed_at.ge(at)));
    end.into_iter().fold(query, |query, at| query.filter(l::completed_at.le(at)))
}

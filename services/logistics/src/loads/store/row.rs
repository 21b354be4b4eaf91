//! The rows of `loads`.

use common::Error;
use common::wire::{WeightMeasure, sort_key};
use database::{Id, IdSql, Json, JsonSql, Timestamp, TimestampSql};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{BigInt, Bool, HasSqlType, Integer, Nullable, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use webhooks::{EventDetails, Subject};

use crate::loads::model::Load;
use crate::loads::party::{Creator, Party};
use crate::loads::reference::similarity_key;
use crate::schema::loads;

/// A row of `loads`: the document, and the columns that are derived from it for searching and sorting.
#[derive(Insertable, AsChangeset)]
#[diesel(table_name = loads, treat_none_as_default_value = false, treat_none_as_null = true)]
pub struct LoadRow {
    id: Id,
    organiser_id: Option<String>,
    carrier_id: Option<String>,
    status: &'static str,
    delivery_at: Timestamp,
    created_at: Timestamp,
    completed_at: Option<Timestamp>,
    reference_key: String,
    similarity_key: String,
    organiser_key: Option<String>,
    carrier_key: Option<String>,
    commodity_key: String,
    commodity_id: i32,
    weight: Option<i64>,
    weight_net: Option<i64>,
    search_text: String,
    pub(super) document: Json,
    #[diesel(skip_update)]
    pub(super) created_by: String,
    #[diesel(skip_update)]
    awaits_acceptance: Option<bool>,
    #[diesel(skip_update)]
    creator_id: Option<String>,
    #[diesel(skip_update)]
    creator_name: Option<String>,
    #[diesel(skip_update)]
    batch_id: Option<Id>,
}

/// The columns of texts.
#[derive(AsChangeset)]
#[diesel(table_name = loads, treat_none_as_null = true)]
pub(super) struct LoadTexts {
    reference_key: String,
    organiser_key: Option<String>,
    carrier_key: Option<String>,
    commodity_key: String,
    search_text: String,
}

impl LoadRow {
    /// Returns the columns of texts.
    pub(super) fn texts(self) -> LoadTexts {
        let Self { reference_key, organiser_key, carrier_key, commodity_key, search_text, .. } = self;
        LoadTexts { reference_key, organiser_key, carrier_key, commodity_key, search_text }
    }

    /// Derives the row from the load. Updates skip the creator, the batch and `awaits_acceptance`.
    ///
    /// # Errors
    /// 500 if the load cannot be serialized.
    pub fn new(load: &Load) -> Result<Self, Error> {
        Ok(Self::with_document(load, Json::of(load)?))
    }

    /// Derives the row from the load and its document.
    pub(crate) fn with_document(load: &Load, document: Json) -> Self {
        let name = |party: &Option<Party>| Some(sort_key(&party.as_ref()?.name));
        let weight = |weight: &Option<WeightMeasure>| Some(weight.as_ref()?.weight.scaled());
        Self {
            id: load.id,
            organiser_id: load.organiser.as_ref().and_then(|p| p.id.clone()),
            carrier_id: load.carrier.as_ref().and_then(|p| p.id.clone()),
            status: load.status.as_str(),
            delivery_at: load.delivery_date,
            created_at: load.created_at,
            completed_at: load.completed_at,
            reference_key: sort_key(&load.reference),
            similarity_key: similarity_key(&load.reference),
            organiser_key: name(&load.organiser),
            carrier_key: name(&load.carrier),
            commodity_key: sort_key(&load.commodity.name),
            commodity_id: load.commodity.id,
            weight: weight(&load.weight),
            weight_net: weight(&load.weight_net),
            search_text: load.search_text(),
            document,
            created_by: load.created_by.as_ref().map_or_else(String::new, |by| by.organisation_id.clone()),
            awaits_acceptance: load.needs_acceptance().then_some(true),
            creator_id: None,
            creator_name: None,
            batch_id: load.batch_id,
        }
    }

    /// Derives the row from the load without its document, to compare the other columns.
    pub(super) fn without_document(load: &Load) -> Self {
        Self::with_document(load, Json(String::new()))
    }

    /// Returns the ids of the organiser and the carrier, whose webhooks get the events of the load. An empty text is
    /// none.
    pub(super) fn organisations(&self) -> [&str; 2] {
        [&self.organiser_id, &self.carrier_id].map(|id| id.as_deref().unwrap_or_default())
    }

    /// Returns the creation of the load, to report it to webhooks.
    pub(super) fn creation(&self) -> Result<Creation<'_>, Error> {
        Creation::new(
            (self.id, &self.document, self.organisations()),
            &self.created_by,
            self.creator_id.as_deref(),
        )
    }

    /// Returns the id of the load.
    pub(super) fn id(&self) -> Id {
        self.id
    }

    /// Sets the user who creates the load.
    #[must_use]
    pub(crate) fn created_by(mut self, creator: &Creator) -> Self {
        self.creator_id = Some(creator.user_id.clone());
        self.creator_name = Some(creator.user_name.clone());
        self
    }
}

/// The creation of a load, as webhooks get it.
pub(super) struct Creation<'a> {
    id: Id,
    document: &'a Json,
    organisations: [&'a str; 2],
    /// The organisation that created it. An empty text is none.
    cause: &'a str,
    users: Vec<&'a str>,
    details: String,
}

impl<'a> Creation<'a> {
    pub(super) fn new(
        (id, document, organisations): (Id, &'a Json, [&'a str; 2]),
        cause: &'a str,
        user_id: Option<&'a str>,
    ) -> Result<Self, Error> {
        let organisation_id = Some(cause).filter(|id| !id.is_empty());
        let details = EventDetails { user_id, organisation_id, ..EventDetails::default() }.members()?;
        Ok(Self { id, document, organisations, cause, users: user_id.into_iter().collect(), details })
    }

    /// Returns the subject of the event.
    pub(super) fn subject(&self) -> Subject<'_> {
        Subject {
            organisations: self.organisations,
            reaches_all: true,
            cause: self.cause,
            id: self.id,
            document: self.document,
            details: &self.details,
            users: &self.users,
        }
    }
}

/// Inserts a load on SQLite, with one text for all loads, which is prepared once.
///
/// `OR FAIL` does not undo what a failed statement changed, which its transaction does. Otherwise SQLite saves about
/// ten pages before each statement, because the table has triggers; this costs a third of the time of an import. For
/// the same reason, the indexes of the table have no functions.
pub(super) struct InsertLoad<'a>(pub(super) &'a LoadRow);

impl QueryId for InsertLoad<'_> {
    type QueryId = InsertLoad<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<SqliteConnection> for InsertLoad<'_> {}

impl QueryFragment<Sqlite> for InsertLoad<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        fn bind<'b, T, U>(out: &mut AstPass<'_, 'b, Sqlite>, value: &'b U) -> QueryResult<()>
        where
            U: ToSql<T, Sqlite>,
            Sqlite: HasSqlType<T>,
        {
            out.push_sql(", ");
            out.push_bind_param::<T, U>(value)
        }
        let row = self.0;
        out.push_sql(
            "INSERT OR FAIL INTO loads (id, organiser_id, carrier_id, status, delivery_at, created_at, \
             completed_at, reference_key, organiser_key, carrier_key, commodity_key, weight, weight_net, \
             search_text, document, created_by, awaits_acceptance, creator_id, creator_name, similarity_key, batch_id, \
             commodity_id, is_stale) VALUES (",
        );
        out.push_bind_param::<IdSql, _>(&row.id)?;
        bind::<Nullable<Text>, _>(&mut out, &row.organiser_id)?;
        bind::<Nullable<Text>, _>(&mut out, &row.carrier_id)?;
        bind::<Text, _>(&mut out, &row.status)?;
        bind::<TimestampSql, _>(&mut out, &row.delivery_at)?;
        bind::<TimestampSql, _>(&mut out, &row.created_at)?;
        bind::<Nullable<TimestampSql>, _>(&mut out, &row.completed_at)?;
        bind::<Text, _>(&mut out, &row.reference_key)?;
        bind::<Nullable<Text>, _>(&mut out, &row.organiser_key)?;
        bind::<Nullable<Text>, _>(&mut out, &row.carrier_key)?;
        bind::<Text, _>(&mut out, &row.commodity_key)?;
        bind::<Nullable<BigInt>, _>(&mut out, &row.weight)?;
        bind::<Nullable<BigInt>, _>(&mut out, &row.weight_net)?;
        bind::<Text, _>(&mut out, &row.search_text)?;
        bind::<JsonSql, _>(&mut out, &row.document)?;
        bind::<Text, _>(&mut out, &row.created_by)?;
        bind::<Nullable<Bool>, _>(&mut out, &row.awaits_acceptance)?;
        bind::<Nullable<Text>, _>(&mut out, &row.creator_id)?;
        bind::<Nullable<Text>, _>(&mut out, &row.creator_name)?;
        bind::<Text, _>(&mut out, &row.similarity_key)?;
        bind::<Nullable<IdSql>, _>(&mut out, &row.batch_id)?;
        bind::<Integer, _>(&mut out, &row.commodity_id)?;
        out.push_sql(", 0)");
        Ok(())
    }
}

/// Stores the next revision of a load on SQLite. Sets only the columns that differ, because SQLite changes the indexes
/// of all columns that a statement sets. Statements with the same columns are prepared once.
pub(super) struct UpdateLoad<'a> {
    pub(super) before: LoadRow,
    pub(super) row: &'a LoadRow,
    pub(super) revision: i64,
}

impl QueryId for UpdateLoad<'_> {
    type QueryId = ();
    const HAS_STATIC_QUERY_ID: bool = false;
}

impl RunQueryDsl<SqliteConnection> for UpdateLoad<'_> {}

impl QueryFragment<Sqlite> for UpdateLoad<'_> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
        fn set<'b, T, U>(
            out: &mut AstPass<'_, 'b, Sqlite>,
            column: &str,
            before: &U,
            after: &'b U,
        ) -> QueryResult<()>
        where
            U: ToSql<T, Sqlite> + PartialEq,
            Sqlite: HasSqlType<T>,
        {
            if before != after {
                out.push_sql(", ");
                out.push_sql(column);
                out.push_sql(" = ");
                out.push_bind_param::<T, U>(after)?;
            }
            Ok(())
        }
        let (before, row) = (&self.before, self.row);
        out.push_sql("UPDATE OR FAIL loads SET document = ");
        out.push_bind_param::<JsonSql, _>(&row.document)?;
        out.push_sql(", revision = ");
        out.push_bind_param::<BigInt, _>(&self.revision)?;
        set::<Nullable<Text>, _>(&mut out, "organiser_id", &before.organiser_id, &row.organiser_id)?;
        set::<Nullable<Text>, _>(&mut out, "carrier_id", &before.carrier_id, &row.carrier_id)?;
        set::<Text, _>(&mut out, "status", &before.status, &row.status)?;
        set::<TimestampSql, _>(&mut out, "delivery_at", &before.delivery_at, &row.delivery_at)?;
        set::<Nullable<TimestampSql>, _>(&mut out, "completed_at", &before.completed_at, &row.completed_at)?;
        set::<Text, _>(&mut out, "reference_key", &before.reference_key, &row.reference_key)?;
        set::<Text, _>(&mut out, "similarity_key", &before.similarity_key, &row.similarity_key)?;
        set::<Nullable<Text>, _>(&mut out, "organiser_key", &before.organiser_key, &row.organiser_key)?;
        set::<Nullable<Text>, _>(&mut out, "carrier_key", &before.carrier_key, &row.carrier_key)?;
        set::<Text, _>(&mut out, "commodity_key", &before.commodity_key, &row.commodity_key)?;
        set::<Integer, _>(&mut out, "commodity_id", &before.commodity_id, &row.commodity_id)?;
        set::<Nullable<BigInt>, _>(&mut out, "weight", &before.weight, &row.weight)?;
        set::<Nullable<BigInt>, _>(&mut out, "weight_net", &before.weight_net, &row.weight_net)?;
        set::<Text, _>(&mut out, "search_text", &before.search_text, &row.search_text)?;
        out.push_sql(" WHERE id = ");
        out.push_bind_param::<IdSql, _>(&row.id)
    }
}

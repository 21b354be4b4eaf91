//! The statements that store deliveries. Which webhooks get an event is read by the same statement, so that no copy of
//! them can be stale.

use std::collections::BTreeSet;

use common::Error;
use database::{AnyConnection, Id, IdSql, Timestamp, TimestampSql};
use diesel::backend::Backend;
use diesel::dsl::exists;
use diesel::pg::{Pg, PgConnection};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{HasSqlType, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};

use super::model::{Event, NewMessage, Subject};
use crate::outbox::Status;
use crate::schema::webhook_deliveries::{self, dsl as d};
use crate::schema::webhooks::dsl as w;

/// Stores a delivery of the event for each webhook that subscribed to it. Returns their number.
///
/// # Errors
/// If the database fails.
pub fn emit(c: &mut AnyConnection, event: Event<'_>) -> Result<usize, Error> {
    let looks_first = c.is_spread() || matches!(c, AnyConnection::Sqlite(_));
    if looks_first && !has_webhook(c, &event.subject)? {
        return Ok(0);
    }
    let insert = InsertDeliveries { message: NewMessage::new(event), document: Document::Bound };
    Ok(database::dispatch!(c, c => insert.execute(c))?)
}

/// Returns true if one of the organisations has a webhook.
///
/// On SQLite, whose writer calls this in its transaction, this costs a fraction of the statement that stores
/// deliveries. With Citus, that statement needs two phases to commit, even if it stores none.
///
/// # Errors
/// If the database fails.
pub fn has_webhook(c: &mut AnyConnection, subject: &Subject<'_>) -> QueryResult<bool> {
    let of = |organisation| exists(w::webhooks.filter(w::organisation_id.eq(organisation)));
    let [first, second] = subject.organisations;
    // Two look-ups. SQLite would put the values of one condition with OR into a table of its own.
    diesel::select(of(first).or(of(second))).get_result(c)
}

/// Stores deliveries of an event for each of many resources, one message for each. Returns their number.
///
/// # Errors
/// If the database fails.
pub fn emit_many(
    c: &mut AnyConnection,
    name: &'static str,
    member: &'static str,
    subjects: &[Subject<'_>],
) -> Result<usize, Error> {
    let organisations: BTreeSet<&str> = subjects.iter().flat_map(|subject| subject.organisations).collect();
    let subscribed: Vec<(String, String, String)> = w::webhooks
        .filter(w::organisation_id.eq_any(organisations))
        .filter(w::status.eq("active"))
        .select((w::organisation_id, w::id, w::events))
        .load(c)?;
    let quoted_name = format!("\"{name}\"");
    let subscribed: Vec<_> =
        subscribed.into_iter().filter(|(.., events)| events.contains(&quoted_name)).collect();
    if subscribed.is_empty() {
        return Ok(0);
    }
    let now = database::shared_now(c)?;
    let mut rows = Vec::new();
    for subject in subjects {
        let message = NewMessage::new(Event { name, member, subject: *subject });
        let of_subject = subscribed
            .iter()
            .filter(|(organisation, ..)| subject.organisations.contains(&organisation.as_str()));
        for (_, webhook, _) in of_subject {
            rows.push((
                d::id.eq(message.id),
                d::webhook_id.eq(webhook),
                d::event.eq(name),
                d::status.eq(Status::Pending.into_str()),
                d::attempts.eq(0),
                d::created_at.eq(message.at),
                d::pending_since.eq(now),
                d::due_at.eq(now),
                d::body.eq(message.body()),
            ));
        }
    }
    let count = rows.len();
    match c {
        AnyConnection::Postgres(c) => {
            diesel::copy_from(webhook_deliveries::table).from_insertable(rows).execute(c)?;
        }
        AnyConnection::Sqlite(c) => {
            for row in rows {
                diesel::insert_into(webhook_deliveries::table).values(row).execute(c)?;
            }
        }
    }
    Ok(count)
}

/// A statement that changes a table and stores the deliveries of the event that reports the change: one round trip on
/// PostgreSQL. `change` is an INSERT or UPDATE without RETURNING of one row, whose column `document` is the resource.
pub struct WithDeliveries<'a, S> {
    change: S,
    deliveries: InsertDeliveries<'a>,
}

impl<'a, S> WithDeliveries<'a, S> {
    /// Adds the deliveries of an event to a change.
    pub fn new(change: S, event: Event<'a>) -> Self {
        let deliveries = InsertDeliveries { message: NewMessage::new(event), document: Document::Returned };
        Self { change, deliveries }
    }
}

impl<S: QueryFragment<Pg>> QueryFragment<Pg> for WithDeliveries<'_, S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("WITH stored AS (");
        self.change.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING document) ");
        self.deliveries.walk_ast(out)
    }
}

impl<S: QueryId> QueryId for WithDeliveries<'_, S> {
    type QueryId = WithDeliveries<'static, S::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = S::HAS_STATIC_QUERY_ID;
}

impl<S> RunQueryDsl<PgConnection> for WithDeliveries<'_, S> {}

/// Where the statement takes the resource from.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Document {
    /// A parameter.
    Bound,
    /// The change that [`WithDeliveries`] makes, which has the document as a parameter already.
    Returned,
}

/// Inserts a delivery for each subscribed webhook. The body is put together only if there is one.
struct InsertDeliveries<'a> {
    message: NewMessage<'a>,
    document: Document,
}

/// The SQL that differs between the databases.
trait Dialect {
    /// The function that returns the position of a text in another, or 0.
    const POSITION: &'static str;
    /// The type of JSON columns.
    const JSON: &'static str;
    /// The time of the shared clock; `None`: that of this process.
    const NOW: Option<&'static str>;
}

impl Dialect for Pg {
    const POSITION: &'static str = "strpos";
    const JSON: &'static str = "JSON";
    const NOW: Option<&'static str> = Some("date_trunc('milliseconds', clock_timestamp())");
}

impl Dialect for Sqlite {
    const POSITION: &'static str = "instr";
    const JSON: &'static str = "TEXT";
    const NOW: Option<&'static str> = None;
}

impl<DB> QueryFragment<DB> for InsertDeliveries<'_>
where
    DB: Backend + Dialect + HasSqlType<IdSql> + HasSqlType<TimestampSql>,
    Id: ToSql<IdSql, DB>,
    Timestamp: ToSql<TimestampSql, DB>,
    str: ToSql<Text, DB>,
    String: ToSql<Text, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        let NewMessage { id, at, event, head, quoted_name } = &self.message;
        out.push_sql(
            "INSERT INTO webhook_deliveries \
             (id, webhook_id, event, status, attempts, created_at, pending_since, due_at, body) SELECT ",
        );
        out.push_bind_param::<IdSql, _>(id)?;
        out.push_sql(", webhooks.id, ");
        out.push_bind_param::<Text, str>(event.name)?;
        out.push_sql(", 'pending', 0, ");
        out.push_bind_param::<TimestampSql, _>(at)?;
        for _ in ["pending_since", "due_at"] {
            out.push_sql(", ");
            match DB::NOW {
                Some(now) => out.push_sql(now),
                None => out.push_bind_param::<TimestampSql, _>(at)?,
            }
        }
        out.push_sql(", CAST(");
        out.push_bind_param::<Text, String>(head)?;
        out.push_sql(" || ");
        match self.document {
            Document::Bound => out.push_bind_param::<Text, String>(&event.subject.document.0)?,
            Document::Returned => out.push_sql("stored.document::text"),
        }
        out.push_sql(" || '");
        out.push_sql(NewMessage::TAIL);
        out.push_sql("' AS ");
        out.push_sql(DB::JSON);
        out.push_sql(") FROM webhooks");
        if self.document == Document::Returned {
            out.push_sql(", stored");
        }
        out.push_sql(" WHERE organisation_id IN (");
        out.push_bind_param::<Text, str>(event.subject.organisations[0])?;
        out.push_sql(", ");
        out.push_bind_param::<Text, str>(event.subject.organisations[1])?;
        out.push_sql(") AND webhooks.status = 'active' AND ");
        out.push_sql(DB::POSITION);
        out.push_sql("(events, ");
        out.push_bind_param::<Text, String>(quoted_name)?;
        out.push_sql(") > 0");
        Ok(())
    }
}

impl QueryId for InsertDeliveries<'_> {
    type QueryId = InsertDeliveries<'static>;
    // The text depends on a value only in `WithDeliveries`, whose id differs.
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<PgConnection> for InsertDeliveries<'_> {}
impl RunQueryDsl<SqliteConnection> for InsertDeliveries<'_> {}

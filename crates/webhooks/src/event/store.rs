//! The statements that store messages and deliveries. [`emit`] reads the subscribers in its statement, [`emit_many`] in
//! its transaction, so that no copy of them can be stale.

use std::collections::{BTreeSet, HashMap};

use common::Error;
use database::{AnyConnection, Id, IdSql, Json, Timestamp, TimestampSql};
use diesel::backend::Backend;
use diesel::dsl::{Eq, sql};
use diesel::expression::SqlLiteral;
use diesel::pg::{Pg, PgConnection};
use diesel::prelude::*;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::serialize::ToSql;
use diesel::sql_types::{Array, BigInt, Bool, HasSqlType, Text};
use diesel::sqlite::{Sqlite, SqliteConnection};
use outbox::Status;

use super::{Event, NewMessage, Subject, stored_elsewhere};
use crate::schema::webhook_deliveries::{self, dsl as d};
use crate::schema::webhook_message_users::{self, dsl as u};
use crate::schema::webhook_messages::{self, dsl as m};
use crate::schema::webhooks::dsl as w;

/// The most deliveries that [`emit_many`] stores, which takes about 50 ms on SQLite, while other writes wait.
pub const MAX_DELIVERIES: usize = 2_000;

/// Stores the message of the event, and a delivery for each webhook that subscribed to it. Returns their number.
///
/// # Errors
/// If the database fails.
pub fn emit(c: &mut AnyConnection, event: Event<'_>) -> Result<usize, Error> {
    let looks_first = c.is_distributed() || matches!(c, AnyConnection::Sqlite(_));
    if looks_first && !has_webhook(c, &event.subject)? {
        return Ok(0);
    }
    let message = NewMessage::new(event);
    let insert = InsertDeliveries { message: &message };
    let count = database::dispatch!(c, c => insert.execute(c))?;
    if count > 0 {
        diesel::insert_into(m::webhook_messages).values(message_row(&message)).execute(c)?;
        for row in user_rows(&message) {
            diesel::insert_into(u::webhook_message_users).values(row).execute(c)?;
        }
    }
    Ok(count)
}

/// A row of the messages.
type MessageRow = (Eq<m::id, Id>, Eq<m::subject_id, Id>, Eq<m::body, Json>);

fn message_row(message: &NewMessage<'_>) -> MessageRow {
    (m::id.eq(message.id), m::subject_id.eq(message.event.subject.id), m::body.eq(message.body()))
}

/// A row of the users of messages.
type UserRow<'a> = (Eq<u::message_id, Id>, Eq<u::user_id, &'a str>);

fn user_rows<'a>(message: &NewMessage<'a>) -> impl Iterator<Item = UserRow<'a>> + use<'a> {
    let id = message.id;
    message.event.subject.users.iter().map(move |user| (u::message_id.eq(id), u::user_id.eq(*user)))
}

/// The condition for webhooks for the events of all organisations. A literal, because SQLite does not use a partial
/// index with a bound value.
fn is_of_all() -> SqlLiteral<Bool> {
    sql("webhooks.scope = 'all'")
}

/// Returns true if one of the organisations has a webhook, or if there is one for the events of all.
///
/// On SQLite, whose writer calls this in its transaction, this costs a fraction of the statement that stores
/// deliveries. With Citus, that statement needs two phases to commit, even if it stores none.
///
/// # Errors
/// If the database fails.
pub fn has_webhook(c: &mut AnyConnection, subject: &Subject<'_>) -> QueryResult<bool> {
    database::dispatch!(c, c => HasWebhook(&subject.organisations).get_result(c))
}

/// The statement of [`has_webhook`], which each connection prepares once. It looks each value up: SQLite would put the
/// values of one condition with OR into a table of its own.
struct HasWebhook<'a>(&'a [&'a str; 2]);

impl<DB: Backend> QueryFragment<DB> for HasWebhook<'_>
where
    str: ToSql<Text, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        out.push_sql("SELECT EXISTS (SELECT 1 FROM webhooks WHERE scope = 'all')");
        for organisation in self.0 {
            out.push_sql(" OR EXISTS (SELECT 1 FROM webhooks WHERE organisation_id = ");
            out.push_bind_param::<Text, str>(organisation)?;
            out.push_sql(")");
        }
        Ok(())
    }
}

impl Query for HasWebhook<'_> {
    type SqlType = Bool;
}

impl QueryId for HasWebhook<'_> {
    type QueryId = HasWebhook<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<PgConnection> for HasWebhook<'_> {}
impl RunQueryDsl<SqliteConnection> for HasWebhook<'_> {}

/// Returns true if a webhook gets these events of all organisations.
///
/// # Errors
/// If the database fails.
pub fn has_webhook_of_all(c: &mut AnyConnection, event: &str) -> Result<bool, Error> {
    let active = w::webhooks.filter(is_of_all()).filter(w::status.eq("active"));
    let events: Vec<String> = active.select(w::events).load(c)?;
    Ok(events.iter().any(|events| events.contains(&format!("\"{event}\""))))
}

/// What [`emit_many`] stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Emitted {
    /// The number of resources whose events are stored: the first ones.
    pub subjects: usize,
    /// The number of deliveries.
    pub deliveries: usize,
}

/// Stores deliveries of an event for the first of many resources, one message for each: at most [`MAX_DELIVERIES`], but
/// all those of the first resource.
///
/// # Errors
/// If the database fails.
pub fn emit_many(
    c: &mut AnyConnection,
    name: &'static str,
    member: &'static str,
    subjects: &[Subject<'_>],
) -> Result<Emitted, Error> {
    let organisations: BTreeSet<&str> = subjects.iter().flat_map(|subject| subject.organisations).collect();
    let reached = w::webhooks.filter(w::organisation_id.eq_any(organisations).or(is_of_all()));
    let subscribed: Vec<(String, String, String, String)> = reached
        .filter(w::status.eq("active"))
        .select((w::organisation_id, w::id, w::events, w::scope))
        .load(c)?;
    let quoted_name = format!("\"{name}\"");
    let (mut webhooks_of, mut webhooks_of_all) = (HashMap::<&str, Vec<&str>>::new(), Vec::<&str>::new());
    for (organisation, webhook, events, scope) in &subscribed {
        if events.contains(&quoted_name) {
            match scope.as_str() {
                "all" => webhooks_of_all.push(webhook),
                _ => webhooks_of.entry(organisation).or_default().push(webhook),
            }
        }
    }
    if webhooks_of.is_empty() && webhooks_of_all.is_empty() {
        return Ok(Emitted { subjects: subjects.len(), deliveries: 0 });
    }
    let now = database::shared_now(c)?;
    let (mut rows, mut messages, mut users) = (Vec::new(), Vec::new(), Vec::new());
    let mut emitted = Emitted { subjects: 0, deliveries: 0 };
    for subject in subjects {
        let organisations: BTreeSet<&str> = subject.organisations.into_iter().collect();
        let own = organisations.into_iter().filter_map(|id| webhooks_of.get(id)).flatten();
        let of_all = webhooks_of_all.iter().filter(|_| subject.reaches_all);
        let of_subject: Vec<&str> = own.chain(of_all).copied().collect();
        if emitted.subjects > 0 && emitted.deliveries + of_subject.len() > MAX_DELIVERIES {
            break;
        }
        emitted.subjects += 1;
        emitted.deliveries += of_subject.len();
        if of_subject.is_empty() {
            continue;
        }
        let message = NewMessage::new(Event { name, member, subject: *subject });
        messages.push(message_row(&message));
        users.extend(user_rows(&message));
        let row = |webhook| {
            (
                d::id.eq(message.id),
                d::webhook_id.eq(webhook),
                d::event.eq(name),
                d::status.eq(Status::Pending.into_str()),
                d::attempts.eq(0),
                d::created_at.eq(message.at),
                d::pending_since.eq(now),
                d::due_at.eq(now),
                d::claimed_until.eq(message.unclaimed),
                d::body.eq(stored_elsewhere()),
                d::cause_id.eq(subject.cause),
                d::subject_id.eq(subject.id),
                d::bytes.eq(message.bytes),
            )
        };
        rows.extend(of_subject.into_iter().map(row));
    }
    if rows.is_empty() {
        return Ok(emitted);
    }
    match c {
        AnyConnection::Postgres(c) => {
            diesel::copy_from(webhook_deliveries::table).from_insertable(rows).execute(c)?;
            diesel::copy_from(webhook_messages::table).from_insertable(messages).execute(c)?;
            if !users.is_empty() {
                diesel::copy_from(webhook_message_users::table).from_insertable(users).execute(c)?;
            }
        }
        AnyConnection::Sqlite(c) => {
            for row in rows {
                diesel::insert_into(webhook_deliveries::table).values(row).execute(c)?;
            }
            for row in messages {
                diesel::insert_into(webhook_messages::table).values(row).execute(c)?;
            }
            for row in users {
                diesel::insert_into(webhook_message_users::table).values(row).execute(c)?;
            }
        }
    }
    Ok(emitted)
}

/// A statement that changes a table and stores the message and the deliveries of the event that reports the change: one
/// round trip on PostgreSQL. `change` is an INSERT or UPDATE without RETURNING of one row, whose column `document` is
/// the resource. Its result is 1 if there are deliveries, otherwise 0.
pub struct WithDeliveries<'a, S> {
    change: S,
    message: NewMessage<'a>,
}

impl<'a, S> WithDeliveries<'a, S> {
    /// Adds the deliveries of an event to a change.
    pub fn new(change: S, event: Event<'a>) -> Self {
        Self { change, message: NewMessage::new(event) }
    }
}

impl<S: QueryFragment<Pg>> QueryFragment<Pg> for WithDeliveries<'_, S> {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        let NewMessage { id, event, head, .. } = &self.message;
        out.push_sql("WITH stored AS (");
        self.change.walk_ast(out.reborrow())?;
        out.push_sql(" RETURNING document), deliveries AS (");
        push_deliveries(&self.message, &mut out)?;
        out.push_sql(
            " RETURNING 1), users AS (INSERT INTO webhook_message_users (message_id, user_id) SELECT ",
        );
        out.push_bind_param::<IdSql, _>(id)?;
        out.push_sql(", user_id FROM unnest(");
        out.push_bind_param::<Array<Text>, [&str]>(event.subject.users)?;
        out.push_sql(
            ") AS named (user_id) WHERE EXISTS (SELECT 1 FROM deliveries)) \
             INSERT INTO webhook_messages (id, subject_id, body) SELECT ",
        );
        out.push_bind_param::<IdSql, _>(id)?;
        out.push_sql(", ");
        out.push_bind_param::<IdSql, _>(&event.subject.id)?;
        out.push_sql(", CAST(");
        out.push_bind_param::<Text, String>(head)?;
        // The change has the document as a parameter already.
        out.push_sql(" || stored.document::text || '");
        out.push_sql(NewMessage::TAIL);
        out.push_sql("' AS JSON) FROM stored WHERE EXISTS (SELECT 1 FROM deliveries)");
        Ok(())
    }
}

impl<S: QueryId> QueryId for WithDeliveries<'_, S> {
    type QueryId = WithDeliveries<'static, S::QueryId>;
    const HAS_STATIC_QUERY_ID: bool = S::HAS_STATIC_QUERY_ID;
}

impl<S> RunQueryDsl<PgConnection> for WithDeliveries<'_, S> {}

/// Inserts a delivery for each subscribed webhook.
struct InsertDeliveries<'a> {
    message: &'a NewMessage<'a>,
}

/// The SQL that differs between the databases.
trait Dialect {
    /// The function that returns the position of a text in another, or 0.
    const POSITION: &'static str;
    /// The time of the shared clock; `None`: that of this process.
    const NOW: Option<&'static str>;
}

impl Dialect for Pg {
    const POSITION: &'static str = "strpos";
    const NOW: Option<&'static str> = Some(database::SERVER_NOW);
}

impl Dialect for Sqlite {
    const POSITION: &'static str = "instr";
    const NOW: Option<&'static str> = None;
}

impl<DB> QueryFragment<DB> for InsertDeliveries<'_>
where
    DB: Backend + Dialect + HasSqlType<IdSql> + HasSqlType<TimestampSql> + HasSqlType<Bool>,
    Id: ToSql<IdSql, DB>,
    Timestamp: ToSql<TimestampSql, DB>,
    str: ToSql<Text, DB>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    bool: ToSql<Bool, DB>,
{
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, DB>) -> QueryResult<()> {
        push_deliveries(self.message, &mut out)
    }
}

fn push_deliveries<'b, DB>(message: &'b NewMessage<'_>, out: &mut AstPass<'_, 'b, DB>) -> QueryResult<()>
where
    DB: Backend + Dialect + HasSqlType<IdSql> + HasSqlType<TimestampSql> + HasSqlType<Bool>,
    Id: ToSql<IdSql, DB>,
    Timestamp: ToSql<TimestampSql, DB>,
    str: ToSql<Text, DB>,
    String: ToSql<Text, DB>,
    i64: ToSql<BigInt, DB>,
    bool: ToSql<Bool, DB>,
{
    let NewMessage { id, at, event, quoted_name, unclaimed, bytes, .. } = message;
    out.push_sql(
        "INSERT INTO webhook_deliveries (id, webhook_id, event, status, attempts, created_at, pending_since, due_at, \
         claimed_until, cause_id, subject_id, bytes, body) SELECT ",
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
    out.push_sql(", ");
    out.push_bind_param::<TimestampSql, _>(unclaimed)?;
    out.push_sql(", ");
    out.push_bind_param::<Text, str>(event.subject.cause)?;
    out.push_sql(", ");
    out.push_bind_param::<IdSql, _>(&event.subject.id)?;
    out.push_sql(", ");
    out.push_bind_param::<BigInt, _>(bytes)?;
    out.push_sql(", 'null' FROM webhooks WHERE (webhooks.scope = 'own' AND organisation_id IN (");
    out.push_bind_param::<Text, str>(event.subject.organisations[0])?;
    out.push_sql(", ");
    out.push_bind_param::<Text, str>(event.subject.organisations[1])?;
    out.push_sql(") OR webhooks.scope = 'all' AND ");
    out.push_bind_param::<Bool, bool>(&event.subject.reaches_all)?;
    out.push_sql(") AND webhooks.status = 'active' AND ");
    out.push_sql(DB::POSITION);
    out.push_sql("(events, ");
    out.push_bind_param::<Text, String>(quoted_name)?;
    out.push_sql(") > 0");
    Ok(())
}

impl QueryId for InsertDeliveries<'_> {
    type QueryId = InsertDeliveries<'static>;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl RunQueryDsl<PgConnection> for InsertDeliveries<'_> {}
impl RunQueryDsl<SqliteConnection> for InsertDeliveries<'_> {}

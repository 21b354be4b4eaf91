//! The personal data in deliveries: copies of loads and listings, and of saved searches of users.
//!
//! A listing may have tens of thousands of deliveries. The transaction that erases a user in a load or listing only
//! records that its deliveries have to be rewritten ([`queue_erasure`]). Later transactions of the same erasure rewrite
//! some of them each ([`DELIVERY_COPIES`]).

use std::collections::BTreeSet;

use common::Error;
use common::personal_data::{DOCUMENT_BATCH_SIZE, Erasure, Record, RecordKind, RecordQuery, erase_in};
use database::{AnyConnection, Id, Json, Timestamp};
use diesel::dsl::sql;
use diesel::prelude::*;
use diesel::sql_types::{Bool, Text};
use serde_json::{Value, json};

use crate::schema::delivery_erasures::dsl as q;
use crate::schema::webhook_deliveries::dsl as d;
use crate::schema::webhook_message_users::dsl as u;
use crate::schema::webhook_messages::dsl as m;

/// The deliveries about saved searches of a user.
pub const DELIVERY_RECORDS: RecordKind =
    RecordKind { name: "webhookDeliveries", list: list_deliveries, erase: erase_deliveries };

/// The deliveries about loads and listings in which the user was erased. A service lists them after the kinds that call
/// [`queue_erasure`].
pub const DELIVERY_COPIES: RecordKind = RecordKind::copies(erase_queued);

/// What stands for a webhook in the keys of records that are messages: greater than every id.
const MESSAGES: &str = "~";

/// The primary key of a delivery and its message. The messages that are stored once have an empty webhook.
type DeliveryRow = (String, Id, Json);

/// A load or listing whose deliveries still have to be rewritten.
#[derive(Queryable)]
struct QueuedErasure {
    id: Id,
    subject_id: Id,
    file_ids: Json,
    /// The last delivery that was rewritten, with `delivery_id`.
    webhook_id: String,
    delivery_id: Id,
}

/// Records that the user has to be erased in the deliveries about a load or listing, also as the uploader of these
/// files, whose ids are in lower case. Called in the transaction that erases the user in the load or listing itself, so
/// that deliveries of later transactions do not mention the user.
///
/// # Errors
/// If the database fails.
pub fn queue_erasure(
    c: &mut AnyConnection,
    subject: Id,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    let about = sql::<Bool>(is_about(c)).bind::<Text, _>(subject.to_string());
    let message = m::webhook_messages.filter(m::subject_id.eq(subject)).select(m::id);
    let message: Option<Id> = message.first(c).optional()?;
    let delivery: Option<Id> = d::webhook_deliveries.filter(about).select(d::id).first(c).optional()?;
    if message.or(delivery).is_some() {
        let row = (
            q::erased_id.eq(&erasure.erased_id),
            q::id.eq(Id::new()),
            q::subject_id.eq(subject),
            q::file_ids.eq(Json::of(files)?),
            q::webhook_id.eq(""),
            q::delivery_id.eq(Id::NIL),
        );
        diesel::insert_into(q::delivery_erasures).values(row).execute(c)?;
    }
    Ok(())
}

/// Erases the user in up to 100 deliveries about queued loads and listings. Returns 0 if none is queued.
fn erase_queued(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let queued: Vec<QueuedErasure> = q::delivery_erasures
        .filter(q::erased_id.eq(&erasure.erased_id))
        .order(q::id)
        .limit(DOCUMENT_BATCH_SIZE)
        .select((q::id, q::subject_id, q::file_ids, q::webhook_id, q::delivery_id))
        .load(c)?;
    let mut left = DOCUMENT_BATCH_SIZE;
    for row in &queued {
        let files: BTreeSet<String> = row.file_ids.parse()?;
        let deliveries = list_about(c, row, left)?;
        left -= i64::try_from(deliveries.len()).unwrap_or(left);
        let last = deliveries.last().map(|(webhook, id, _)| (webhook.clone(), *id));
        erase_in_rows(c, deliveries, erasure, &files)?;
        let found = q::delivery_erasures.find((&erasure.erased_id, row.id));
        match last {
            Some((webhook, id)) if left == 0 => {
                let position = (q::webhook_id.eq(webhook), q::delivery_id.eq(id));
                diesel::update(found).set(position).execute(c)?;
                break;
            }
            _ => {
                diesel::delete(found).execute(c)?;
            }
        }
    }
    Ok(queued.len())
}

/// Returns the next messages about a queued load or listing, then the next deliveries with messages of their own.
fn list_about(c: &mut AnyConnection, row: &QueuedErasure, limit: i64) -> Result<Vec<DeliveryRow>, Error> {
    let mut found: Vec<DeliveryRow> = Vec::new();
    if row.webhook_id.is_empty() {
        let messages =
            m::webhook_messages.filter(m::subject_id.eq(row.subject_id)).filter(m::id.gt(row.delivery_id));
        let messages = messages.order(m::id).limit(limit).select((m::id, m::body));
        let messages: Vec<(Id, Json)> = messages.load(c)?;
        found.extend(messages.into_iter().map(|(id, body)| (String::new(), id, body)));
    }
    let rows = d::webhook_deliveries
        .filter(sql::<Bool>(is_about(c)).bind::<Text, _>(row.subject_id.to_string()))
        .filter(d::webhook_id.ge(&row.webhook_id))
        .filter(d::webhook_id.gt(&row.webhook_id).or(d::id.gt(row.delivery_id)))
        .order((d::webhook_id, d::id))
        .limit(limit - i64::try_from(found.len()).unwrap_or(limit))
        .select((d::webhook_id, d::id, d::body));
    found.extend(rows.load::<DeliveryRow>(c)?);
    Ok(found)
}

fn erase_in_rows(
    c: &mut AnyConnection,
    rows: Vec<DeliveryRow>,
    erasure: &Erasure,
    files: &BTreeSet<String>,
) -> Result<(), Error> {
    for (webhook, id, body) in rows {
        let mut body: Value = body.parse()?;
        if erase_in(&mut body, erasure, files) {
            let body = Json::of(&body)?;
            if webhook.is_empty() {
                diesel::update(m::webhook_messages.find(id)).set(m::body.eq(body)).execute(c)?;
            } else {
                let row = d::webhook_deliveries.find((webhook, id));
                diesel::update(row).set(d::body.eq(body)).execute(c)?;
            }
        }
    }
    Ok(())
}

/// Returns the condition for deliveries about a load or listing, up to its bound id.
fn is_about(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => {
            "COALESCE(json_extract(body, '$.data.load.id'), json_extract(body, '$.data.listing.id')) = "
        }
        AnyConnection::Postgres(_) => "COALESCE(body #>> '{data,load,id}', body #>> '{data,listing,id}') = ",
    }
}

/// Returns the condition for deliveries about saved searches of a user, up to the bound user id.
fn is_of_user(c: &AnyConnection) -> &'static str {
    match c {
        AnyConnection::Sqlite(_) => "event = 'listing.matched' AND json_extract(body, '$.data.userId') = ",
        AnyConnection::Postgres(_) => "event = 'listing.matched' AND body #>> '{data,userId}' = ",
    }
}

fn list_deliveries(c: &mut AnyConnection, query: &RecordQuery) -> Result<Vec<Record>, Error> {
    // An event has a delivery for each webhook.
    let (webhook, id) = query.after.as_deref().and_then(|key| key.split_once(' ')).unwrap_or_default();
    let after_id = Id::parse(id).unwrap_or(Id::NIL);
    let rows: Vec<(String, Id, Timestamp, Json)> = d::webhook_deliveries
        .filter(sql::<Bool>(is_of_user(c)).bind::<Text, _>(&query.user_id))
        .filter(d::webhook_id.ge(webhook))
        .filter(d::webhook_id.gt(webhook).or(d::id.gt(after_id)))
        .order((d::webhook_id, d::id))
        .limit(query.limit)
        .select((d::webhook_id, d::id, d::created_at, d::body))
        .load(c)?;
    let record = |(webhook, id, at, body): (String, Id, Timestamp, Json)| {
        let body: Value = body.parse()?;
        let delivery = json!({ "webhookId": webhook, "id": id, "createdAtUTC": at, "body": body });
        Record::new(format!("{webhook} {id}"), &delivery)
    };
    let mut records: Vec<Record> = rows.into_iter().map(record).collect::<Result<_, Error>>()?;
    let of_user = u::webhook_message_users.filter(u::user_id.eq(&query.user_id));
    let of_user = of_user.filter(u::message_id.gt(if webhook == MESSAGES { after_id } else { Id::NIL }));
    let left = query.limit - i64::try_from(records.len()).unwrap_or(query.limit);
    let ids: Vec<Id> = of_user.order(u::message_id).limit(left).select(u::message_id).load(c)?;
    let mut bodies = super::store::bodies(c, &ids)?;
    for id in ids {
        let Some(body) = bodies.remove(&id) else { continue };
        let body = of_one_user(body.parse()?, &query.user_id);
        let message = json!({ "id": id, "createdAtUTC": body["timestamp"], "body": body });
        records.push(Record::new(format!("{MESSAGES} {id}"), &message)?);
    }
    Ok(records)
}

/// Returns a message without the saved searches of other users.
fn of_one_user(mut message: Value, user_id: &str) -> Value {
    let data = &mut message["data"];
    let Some(matches) = data["matches"].as_array_mut() else { return message };
    matches.retain(|found| found["userId"] == user_id);
    if let Some(Value::Object(first)) = matches.first().cloned() {
        for (name, value) in first {
            data[name] = value;
        }
    }
    message
}

fn erase_deliveries(c: &mut AnyConnection, erasure: &Erasure) -> Result<usize, Error> {
    let rows: Vec<DeliveryRow> = d::webhook_deliveries
        .filter(sql::<Bool>(is_of_user(c)).bind::<Text, _>(&erasure.user_id))
        .limit(DOCUMENT_BATCH_SIZE)
        .select((d::webhook_id, d::id, d::body))
        .load(c)?;
    let of_user = u::webhook_message_users.filter(u::user_id.eq(&erasure.user_id));
    let ids: Vec<Id> = of_user.limit(DOCUMENT_BATCH_SIZE).select(u::message_id).load(c)?;
    let count = rows.len() + ids.len();
    erase_in_rows(c, rows, erasure, &BTreeSet::new())?;
    if !ids.is_empty() {
        let mut bodies = super::store::bodies(c, &ids)?;
        for (id, body) in &mut bodies {
            if erase_enquiry(body)? {
                diesel::update(m::webhook_messages.find(id)).set(m::body.eq(&*body)).execute(c)?;
            }
        }
        let bodies = bodies.into_iter().map(|(id, body)| (String::new(), id, body)).collect();
        erase_in_rows(c, bodies, erasure, &BTreeSet::new())?;
        diesel::delete(of_user.filter(u::message_id.eq_any(ids))).execute(c)?;
    }
    Ok(count)
}

/// Empties the contact of whoever sent an enquiry in a message, which names no other user. Returns whether there is
/// one.
fn erase_enquiry(body: &mut Json) -> Result<bool, Error> {
    let mut message: Value = body.parse()?;
    let Some(enquiry) = message.pointer_mut("/data/enquiry").and_then(Value::as_object_mut) else {
        return Ok(false);
    };
    enquiry.retain(|member, _| member != "phone" && member != "email");
    enquiry.insert("name".to_owned(), json!(""));
    enquiry.insert("message".to_owned(), json!("erased"));
    *body = Json::of(&message)?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use database::Database;
    use testkit::TestDatabase;

    use super::*;
    use outbox::Status;

    async fn open(test: &TestDatabase) -> Database {
        let options = testkit::options(&test.url, "webhooks");
        Database::open(options, || vec![crate::migrations()]).await.unwrap()
    }

    /// Stores this many deliveries about a listing of `ann`, who uploaded the file `F`, to each of two webhooks.
    fn insert(c: &mut AnyConnection, listing: Id, count: usize) -> Result<(), Error> {
        let message = json!({"data": {"listing": {
            "id": listing, "userId": "ann", "files": [{"id": "F", "userName": "Ann"}, {"id": "g", "userName": "Ben"}],
        }}});
        for webhook in ["w1", "w2"] {
            for _ in 0..count {
                let row = (
                    d::id.eq(Id::new()),
                    d::webhook_id.eq(webhook),
                    d::event.eq("listing.updated"),
                    d::status.eq(Status::Delivered.into_str()),
                    d::attempts.eq(1),
                    d::created_at.eq(Timestamp::now()),
                    d::pending_since.eq(Timestamp::now()),
                    d::body.eq(Json::of(&message)?),
                );
                diesel::insert_into(d::webhook_deliveries).values(row).execute(c)?;
            }
        }
        Ok(())
    }

    /// Returns the number of deliveries about a listing that have the text.
    async fn count(db: &Database, listing: Id, text: &'static str) -> usize {
        let bodies = db.read(move |c| {
            let about = sql::<Bool>(is_about(c)).bind::<Text, _>(listing.to_string());
            Ok::<Vec<Json>, Error>(d::webhook_deliveries.filter(about).select(d::body).load(c)?)
        });
        bodies.await.unwrap().iter().filter(|body| body.0.contains(text)).count()
    }

    testkit::on_both! {
        async fn deliveries_are_rewritten_some_in_each_transaction(backend) {
            let test = TestDatabase::empty(backend).await;
            let db = open(&test).await;
            let [large, small, other, without] = [Id::new(), Id::new(), Id::new(), Id::new()];
            db.write(move |c| {
                insert(c, large, 130)?;
                insert(c, small, 2)?;
                insert(c, other, 1)
            }).await.unwrap();
            let erasure = Erasure { user_id: "ann".into(), erased_id: "erased-1".into() };
            let queue = {
                let erasure = erasure.clone();
                move |c: &mut AnyConnection| {
                    for listing in [large, small, without] {
                        queue_erasure(c, listing, &erasure, &BTreeSet::from(["f".to_owned()]))?;
                    }
                    Ok::<_, Error>(())
                }
            };
            db.write(queue).await.unwrap();
            let erase = async || {
                let erasure = erasure.clone();
                let queued = db.write(move |c| erase_queued(c, &erasure)).await.unwrap();
                (queued, count(&db, large, "erased-1").await, count(&db, small, "erased-1").await)
            };
            assert_eq!(erase().await, (2, 100, 0));
            assert_eq!(erase().await, (2, 200, 0));
            // A delivery of a transaction that did not see the erasure.
            db.write(move |c| insert(c, small, 1)).await.unwrap();
            assert_eq!(erase().await, (2, 260, 6));
            assert_eq!(erase().await, (0, 260, 6));
            assert_eq!((count(&db, large, "ann").await, count(&db, large, "Ann").await), (0, 0));
            assert_eq!((count(&db, large, "Ben").await, count(&db, other, "erased").await), (260, 0));
        }

        async fn an_erasure_rewrites_only_what_it_queued(backend) {
            let test = TestDatabase::empty(backend).await;
            let db = open(&test).await;
            let listing = Id::new();
            db.write(move |c| insert(c, listing, 50)).await.unwrap();
            for (user_id, expected) in [("ben", 0), ("ann", 100)] {
                let erasure = Erasure { user_id: user_id.into(), erased_id: format!("erased-{user_id}") };
                let run = move |c: &mut AnyConnection| {
                    queue_erasure(c, listing, &erasure, &BTreeSet::new())?;
                    // Exactly as many as one transaction rewrites: the next one finds no more.
                    Ok::<_, Error>([erase_queued(c, &erasure)?, erase_queued(c, &erasure)?, erase_queued(c, &erasure)?])
                };
                assert_eq!(db.write(run).await.unwrap(), [1, 1, 0]);
                assert_eq!(count(&db, listing, "erased-").await, expected);
            }
        }
    }
}

//! Creation of loads: requests that arrive together share a transaction, as in logistics.

use std::path::Path;
use std::sync::mpsc;
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::rt::System;
use actix_web::{App, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::sqlite;

/// Maximum number of loads of a transaction.
const MAX_GROUP: usize = 64;

/// A load to insert. The reply is its document, or an error.
struct Insert {
    load: Value,
    reply: oneshot::Sender<Result<String, String>>,
}

/// Serves `POST /v1/loads/organiser` until the process is killed. Columns that no search of the bench needs are copied
/// from an existing load.
pub fn serve(database: &Path, port: u16) -> Result<()> {
    let connection = sqlite::open(database)?;
    let (sender, receiver) = mpsc::channel();
    let mut writer = Writer::new(connection)?;
    thread::spawn(move || {
        while let Ok(first) = receiver.recv() {
            let group: Vec<Insert> =
                std::iter::once(first).chain(receiver.try_iter().take(MAX_GROUP - 1)).collect();
            writer.insert(group);
        }
    });
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::Data::new(sender.clone()))
            .route("/v1/loads/organiser", web::post().to(create))
    });
    System::new().block_on(server.bind(("127.0.0.1", port))?.run())?;
    Ok(())
}

async fn create(
    sender: web::Data<mpsc::Sender<Insert>>,
    body: web::Bytes,
) -> actix_web::Result<HttpResponse> {
    let load = serde_json::from_slice(&body).map_err(ErrorBadRequest)?;
    let (reply, result) = oneshot::channel();
    sender.send(Insert { load, reply }).map_err(|error| ErrorInternalServerError(error.to_string()))?;
    let document = result.await.map_err(ErrorInternalServerError)?.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().content_type("application/json").body(document))
}

/// The only writer of the database.
struct Writer {
    connection: Connection,
    sql: String,
    columns: Vec<String>,
    template: Vec<Cell>,
    number: u64,
}

impl Writer {
    fn new(connection: Connection) -> Result<Self> {
        let (columns, templates) = sqlite::templates(&connection, "loads")?;
        let placeholders = vec!["?"; columns.len()].join(", ");
        let sql = format!("INSERT INTO loads ({}) VALUES ({placeholders})", columns.join(", "));
        let template = templates.into_iter().next().context("the database has no loads")?;
        Ok(Self { connection, sql, columns, template, number: 0 })
    }

    /// Inserts loads in one transaction and replies after its commit.
    fn insert(&mut self, group: Vec<Insert>) {
        let (loads, replies): (Vec<_>, Vec<_>) = group.into_iter().map(|one| (one.load, one.reply)).unzip();
        let documents = self.commit(loads).map_err(|error| format!("{error:#}"));
        for (number, reply) in replies.into_iter().enumerate() {
            // A client that has gone needs no reply.
            let _ = reply.send(documents.as_ref().map(|all| all[number].clone()).map_err(Clone::clone));
        }
    }

    fn commit(&mut self, loads: Vec<Value>) -> Result<Vec<String>> {
        let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let mut documents = Vec::with_capacity(loads.len());
        for mut load in loads {
            self.number += 1;
            let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis();
            let id = sqlite::uuid(now, self.number);
            load["id"] = json!(hyphenated(&id)?);
            load["status"] = json!("upcoming");
            let document = load.to_string();
            let text = |name: &str| Cell::Text(load[name].as_str().unwrap_or_default().to_owned());
            let row =
                self.columns.iter().zip(&self.template).map(|(column, template)| match column.as_str() {
                    "id" => Cell::Blob(id.clone()),
                    "created_at" => Cell::Integer(i64::try_from(now).unwrap_or_default()),
                    "organiser_id" => text("organiserId"),
                    "carrier_id" => text("carrierId"),
                    "reference_key" => text("reference"),
                    "document" => Cell::Text(document.clone()),
                    _ => template.clone(),
                });
            transaction.prepare_cached(&self.sql)?.execute(params_from_iter(row))?;
            documents.push(document);
        }
        transaction.commit()?;
        Ok(documents)
    }
}

/// Formats a UUID.
fn hyphenated(id: &[u8]) -> Result<String> {
    let hex = format!("{:032x}", u128::from_be_bytes(id.try_into()?));
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_a_group_in_one_transaction() {
        let folder = tempfile::tempdir().unwrap();
        let connection = sqlite::open(&folder.path().join("loads.sqlite")).unwrap();
        connection
            .execute_batch(
                "CREATE TABLE loads (n INTEGER PRIMARY KEY, id BLOB UNIQUE, organiser_id TEXT, status TEXT, \
                 document TEXT); INSERT INTO loads VALUES (1, x'00', 'org-9', 'upcoming', '{}')",
            )
            .unwrap();
        let mut writer = Writer::new(connection).unwrap();
        let loads = (0..3).map(|number| json!({"organiserId": "org-1", "reference": number})).collect();
        let documents = writer.commit(loads).unwrap();
        assert_eq!(documents.len(), 3);
        let id = serde_json::from_str::<Value>(&documents[2]).unwrap()["id"].as_str().unwrap().to_owned();
        assert_eq!((id.len(), &id[14..15]), (36, "7"));
        let count = "SELECT count(*) FROM loads WHERE organiser_id = 'org-1' AND status = 'upcoming'";
        assert_eq!(writer.connection.query_row(count, [], |row| row.get::<_, i64>(0)), Ok(3));
    }
}

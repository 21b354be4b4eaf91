//! The floor: the least that a request can cost with actix and SQLite, without authorization, validation, parsing or
//! log lines. As in the services, no statement runs on a worker, and loads that arrive together share a transaction.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Sender};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::rt::System;
use actix_web::{App, HttpRequest, HttpResponse, HttpServer, web};
use anyhow::{Context, Result};
use rusqlite::types::Value as Cell;
use rusqlite::{Connection, TransactionBehavior, params_from_iter};
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::sqlite;

/// Maximum number of loads of a transaction.
const MAX_GROUP: usize = 64;

thread_local! {
    /// The connection of a blocking thread.
    static CONNECTION: RefCell<Option<Connection>> = const { RefCell::new(None) };
}

/// What the handlers share.
struct Floor {
    database: PathBuf,
    statements: HashMap<String, String>,
}

/// A load to insert. The reply is its document, or an error.
struct Insert {
    load: Value,
    reply: oneshot::Sender<Result<String, String>>,
}

/// Serves the paths of a file and `POST /v1/loads/organiser` until the process is killed.
pub fn serve(database: &Path, port: u16, statements: &Path) -> Result<()> {
    let connection = sqlite::open(database)?;
    let mut by_path = HashMap::new();
    for line in sqlite::read(statements)?.lines() {
        match line.split_once('\t').context("a line has no tab")? {
            ("", statement) => connection.execute_batch(statement)?,
            (path, statement) => drop(by_path.insert(path.to_owned(), statement.to_owned())),
        }
    }
    let floor = web::Data::new(Floor { database: database.to_owned(), statements: by_path });
    let (sender, receiver) = mpsc::channel::<Insert>();
    if connection.table_exists(None, "loads")? {
        let mut writer = Writer::new(connection)?;
        thread::spawn(move || {
            while let Ok(first) = receiver.recv() {
                writer
                    .insert(std::iter::once(first).chain(receiver.try_iter().take(MAX_GROUP - 1)).collect());
            }
        });
    }
    let server = HttpServer::new(move || {
        App::new()
            .app_data(floor.clone())
            .app_data(web::Data::new(sender.clone()))
            .route("/v1/loads/organiser", web::post().to(create))
            .default_service(web::get().to(get))
    });
    Ok(System::new().block_on(server.bind(("127.0.0.1", port))?.run())?)
}

async fn get(floor: web::Data<Floor>, request: HttpRequest) -> actix_web::Result<HttpResponse> {
    let path = request.uri().to_string();
    let read = move || {
        let sql = floor.statements.get(&path).with_context(|| format!("no statement for {path}"))?;
        CONNECTION.with_borrow_mut(|kept| {
            let connection = match kept.take() {
                Some(connection) => connection,
                None => sqlite::open(&floor.database)?,
            };
            connection.set_prepared_statement_cache_capacity(floor.statements.len());
            rows(kept.insert(connection), sql)
        })
    };
    let body = web::block(read).await?.map_err(|error| ErrorInternalServerError(format!("{error:#}")))?;
    Ok(HttpResponse::Ok().content_type("application/json").body(body))
}

/// Returns the first column of all rows, which are JSON documents, as a JSON array.
fn rows(connection: &Connection, sql: &str) -> Result<String> {
    let mut statement = connection.prepare_cached(sql)?;
    let (mut rows, mut body) = (statement.query([])?, "[".to_owned());
    while let Some(row) = rows.next()? {
        if body.len() > 1 {
            body.push(',');
        }
        body.push_str(row.get_ref(0)?.as_str()?);
    }
    body.push(']');
    Ok(body)
}

async fn create(sender: web::Data<Sender<Insert>>, body: web::Bytes) -> actix_web::Result<HttpResponse> {
    let load = serde_json::from_slice(&body).map_err(ErrorBadRequest)?;
    let (reply, result) = oneshot::channel();
    sender.send(Insert { load, reply }).map_err(|error| ErrorInternalServerError(error.to_string()))?;
    let document = result.await.map_err(ErrorInternalServerError)?.map_err(ErrorInternalServerError)?;
    Ok(HttpResponse::Ok().content_type("application/json").body(document))
}

/// The only writer of the database. Columns that no request has are those of an existing load.
struct Writer {
    connection: Connection,
    sql: String,
    columns: Vec<String>,
    template: Vec<Cell>,
}

impl Writer {
    fn new(connection: Connection) -> Result<Self> {
        // SQLite assigns an `INTEGER PRIMARY KEY` itself.
        let columns: Vec<String> = connection
            .prepare("SELECT name FROM pragma_table_info('loads') WHERE NOT (pk = 1 AND type = 'INTEGER')")?
            .query_map([], |row| row.get(0))?
            .collect::<Result<_, _>>()?;
        let (names, places) = (columns.join(", "), vec!["?"; columns.len()].join(", "));
        let template = connection
            .query_row(&format!("SELECT {names} FROM loads"), [], |row| {
                (0..columns.len()).map(|i| row.get(i)).collect()
            })
            .context("the database has no loads")?;
        let sql = format!("INSERT INTO loads ({names}) VALUES ({places})");
        Ok(Self { connection, sql, columns, template })
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
            let id = uuid::Uuid::now_v7();
            load["id"] = json!(id.to_string());
            load["status"] = json!("upcoming");
            let document = load.to_string();
            let now = i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH)?.as_millis())?;
            let text = |name: &str| Cell::Text(load[name].as_str().unwrap_or_default().to_owned());
            let row = self.columns.iter().zip(&self.template).map(|(column, other)| match column.as_str() {
                "id" => Cell::Blob(id.as_bytes().to_vec()),
                "created_at" => Cell::Integer(now),
                "organiser_id" => text("organiserId"),
                "carrier_id" => text("carrierId"),
                "reference_key" => text("reference"),
                "document" => Cell::Text(document.clone()),
                _ => other.clone(),
            });
            transaction.prepare_cached(&self.sql)?.execute(params_from_iter(row))?;
            documents.push(document);
        }
        transaction.commit()?;
        Ok(documents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inserts_a_group_in_one_transaction_and_reads_it() {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch(
                "CREATE TABLE loads (n INTEGER PRIMARY KEY, id BLOB UNIQUE, organiser_id TEXT, status TEXT, \
                 document TEXT); INSERT INTO loads VALUES (1, x'00', 'org-9', 'upcoming', '{}')",
            )
            .unwrap();
        let mut writer = Writer::new(connection).unwrap();
        let loads = (0..3).map(|number| json!({"organiserId": "org-1", "reference": number})).collect();
        let documents = writer.commit(loads).unwrap();
        let sql =
            "SELECT document FROM loads WHERE organiser_id = 'org-1' AND status = 'upcoming' ORDER BY n";
        assert_eq!(rows(&writer.connection, sql).unwrap(), format!("[{}]", documents.join(",")));
        assert_eq!(documents.len(), 3);
    }
}

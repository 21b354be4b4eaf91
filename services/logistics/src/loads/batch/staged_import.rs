//! The valid loads of a batch in a temporary file, and how they are stored.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};
use std::sync::mpsc::sync_channel;

use common::{Error, JsonResponse};
use database::{AnyConnection, Id, Json};

use super::disk::disk_error;
use super::model::{BatchResult, Import};
use super::store::{record, refuse_repeat};
use crate::loads::model::Load;
use crate::loads::party::Creator;
use crate::loads::store::{LoadRow, create_many};

/// The number of rows that the second thread prepares at a time. Up to three times as many are in memory.
const ROWS_PER_CHUNK: usize = 500;
const BUFFER_BYTES: usize = 64 << 10;

/// The valid loads of a batch.
pub(crate) struct StagedImport {
    import: Import,
    creator: Creator,
    dry_run: bool,
    ids: Vec<Id>,
    /// The documents, one per line.
    documents: BufWriter<File>,
}

impl StagedImport {
    /// Returns an import without loads.
    ///
    /// # Errors
    /// 503 if the temporary folder is full or missing.
    pub(crate) fn new(import: Import, creator: Creator, dry_run: bool) -> Result<Self, Error> {
        let documents = BufWriter::with_capacity(BUFFER_BYTES, tempfile::tempfile().map_err(disk_error)?);
        Ok(Self { import, creator, dry_run, ids: Vec::new(), documents })
    }

    /// Adds a load.
    ///
    /// # Errors
    /// 503 if the temporary folder is full.
    pub(crate) fn add(&mut self, load: &Load) -> Result<(), Error> {
        self.ids.push(load.id);
        let mut line = serde_json::to_vec(load)?;
        line.push(b'\n');
        self.documents.write_all(&line).map_err(disk_error)
    }

    /// Stores all loads, unless this is a dry run. Can be called again if the transaction is retried.
    ///
    /// # Errors
    /// 409 if a content was imported before.
    pub(crate) fn commit(&mut self, c: &mut AnyConnection) -> Result<JsonResponse, Error> {
        refuse_repeat(c, &self.import)?;
        if self.dry_run {
            return JsonResponse::json(&BatchResult::dry_run(self.ids.len()));
        }
        record(c, &self.import)?;
        self.insert(c)?;
        JsonResponse::json(&BatchResult::created(self.ids.clone()))
    }

    /// Inserts all loads. A second thread prepares the next rows meanwhile, since on SQLite other writes wait for the
    /// transaction.
    fn insert(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        self.documents.flush().map_err(disk_error)?;
        let (file, creator) = (self.documents.get_mut(), &self.creator);
        file.rewind().map_err(disk_error)?;
        let mut lines = BufReader::with_capacity(BUFFER_BYTES, file).lines();
        let (sender, receiver) = sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                loop {
                    let rows = lines.by_ref().take(ROWS_PER_CHUNK).map(|line| parse_row(line, creator));
                    let rows = rows.collect::<Result<Vec<_>, Error>>();
                    // The receiver is gone if a statement failed.
                    if rows.as_ref().is_ok_and(Vec::is_empty) || sender.send(rows).is_err() {
                        return;
                    }
                }
            });
            for rows in receiver {
                create_many(c, &rows?)?;
            }
            Ok(())
        })
    }
}

fn parse_row(line: std::io::Result<String>, creator: &Creator) -> Result<LoadRow, Error> {
    let document = line.map_err(disk_error)?;
    let load = serde_json::from_str(&document)?;
    Ok(LoadRow::with_document(&load, Json(document)).created_by(creator))
}

//! A batch that is good: its loads, written down one a line, and how they are stored.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Seek, Write};

use common::{Error, JsonResponse};
use database::{AnyConnection, Id};
use serde::Serialize;
use sha2::{Digest, Sha256};
use utoipa::ToSchema;

use super::store as imports;
use super::upload::disk;
use crate::loads::model::{Creator, NewLoad};
use crate::loads::store::{self, Row};

/// So many loads are in a statement, 17 values of each, of which SQLite takes 32,766; three times as many are in memory.
const CHUNK: usize = 1900;

/// The answer to a batch.
#[derive(Debug, Serialize, ToSchema)]
pub struct BatchResult {
    /// One sentence for a person.
    message: String,
    /// Always `success`.
    #[schema(value_type = String)]
    status: &'static str,
    /// How many loads were stored; how many would be, if this was a dry run.
    count: usize,
    /// Their ids, in the order of the rows; none of a dry run.
    #[schema(value_type = Vec<String>)]
    ids: Vec<Id>,
}

/// The files that a batch imports for an organisation, each once.
pub struct Import {
    /// Empty for an `admin` who acts for none.
    pub organisation_id: String,
    /// In the order of the request.
    pub files: Vec<ImportedFile>,
    /// All files as one content, in whatever order: older versions recorded batches of several files so.
    pub combined_hash: String,
    /// They may have been imported before.
    pub repeat: bool,
}

/// A file of a batch, by its content.
pub struct ImportedFile {
    /// SHA-256 in hex of the SHA-256 of the content. Batches of one file were always recorded so.
    pub content_hash: String,
    /// The name it came with.
    pub name: String,
}

impl ImportedFile {
    fn new(hash: &[u8; 32], name: Option<&str>) -> Self {
        let content_hash = base16ct::lower::encode_string(&Sha256::digest(hash));
        Self { content_hash, name: name.unwrap_or_default().to_owned() }
    }
}

impl Import {
    pub fn new<'a>(
        organisation_id: &str,
        files: impl Iterator<Item = (&'a [u8; 32], Option<&'a str>)>,
        repeat: bool,
    ) -> Self {
        let (mut hashes, names): (Vec<_>, Vec<_>) = files.unzip();
        let files = hashes.iter().zip(names).map(|(hash, name)| ImportedFile::new(hash, name)).collect();
        hashes.sort_unstable();
        let combined_hash = base16ct::lower::encode_string(&Sha256::digest(hashes.concat()));
        Self { organisation_id: organisation_id.to_owned(), files, combined_hash, repeat }
    }
}

/// What will be stored.
pub struct StagedImport {
    import: Import,
    creator: Creator,
    dry_run: bool,
    ids: Vec<Id>,
    /// A JSON document a line.
    loads: BufWriter<File>,
}

impl StagedImport {
    pub fn new(import: Import, creator: Creator, dry_run: bool) -> Result<Self, Error> {
        let loads = BufWriter::with_capacity(64 << 10, tempfile::tempfile().map_err(disk)?);
        Ok(Self { import, creator, dry_run, ids: Vec::new(), loads })
    }

    pub fn add(&mut self, new: NewLoad) -> Result<(), Error> {
        let load = new.into_load(&self.creator, Vec::new());
        self.ids.push(load.id);
        let mut line = serde_json::to_vec(&load)?;
        line.push(b'\n');
        self.loads.write_all(&line).map_err(disk)
    }

    /// Stores all loads. It may run again, if another transaction was in the way.
    ///
    /// # Errors
    /// 409 if the content was imported before.
    pub fn commit(&mut self, c: &mut AnyConnection) -> Result<JsonResponse, Error> {
        imports::refuse_repeat(c, &self.import)?;
        let (count, mut ids) = (self.ids.len(), Vec::new());
        let (loads, are) = if count == 1 { ("load", "is") } else { ("loads", "are") };
        let mut message = format!("{count} {loads} would be created: this was a dry run, nothing is stored.");
        if !self.dry_run {
            imports::record(c, &self.import)?;
            self.store(c)?;
            ids.clone_from(&self.ids);
            message = format!("{count} {loads} {are} created.");
        }
        JsonResponse::json(&BatchResult { message, status: "success", count, ids })
    }

    /// While some are stored the next are read and made ready, on a thread of their own: on SQLite others wait.
    fn store(&mut self, c: &mut AnyConnection) -> Result<(), Error> {
        self.loads.flush().map_err(disk)?;
        let (file, creator) = (self.loads.get_mut(), &self.creator);
        file.rewind().map_err(disk)?;
        let mut lines = BufReader::with_capacity(64 << 10, file).lines();
        let (send, ready) = std::sync::mpsc::sync_channel(1);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                loop {
                    let row = |line| row(line, creator);
                    let rows = lines.by_ref().take(CHUNK).map(row).collect::<Result<Vec<_>, Error>>();
                    // Nobody takes them any more once something went wrong.
                    if rows.as_ref().is_ok_and(Vec::is_empty) || send.send(rows).is_err() {
                        return;
                    }
                }
            });
            for rows in ready {
                store::create_many(c, &rows?)?;
            }
            Ok(())
        })
    }
}

fn row(line: std::io::Result<String>, creator: &Creator) -> Result<Row, Error> {
    Row::new(&serde_json::from_str(&line.map_err(disk)?)?, creator)
}

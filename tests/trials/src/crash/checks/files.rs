//! Files: every record has its content, and `sweep-files` removes contents without a record.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde_json::json;

use crate::crash::client::Caller::{Admin, Owner};
use crate::crash::client::{Client, SYSTEM, is_repeated, settle};
use crate::crash::findings::{Findings, WriteKind};
use crate::crash::fixture::{PARTNER, sha256};
use crate::crash::records::{FileRecord, Records, Write};
use crate::crash::services::Services;
use crate::ledger::{Ledger, WriteState};

/// Time within which system removes old uploads after its start.
const CLEANUP_TIMEOUT: Duration = Duration::from_secs(30);
/// Older than system keeps uploads in progress, and contents without a record.
const OLD: Duration = Duration::from_secs(3600);

/// A row of the table of files.
#[derive(Debug)]
struct StoredFile {
    /// 32 hex digits.
    id: String,
    hash: String,
}

/// All records of files and all contents.
#[derive(Debug)]
pub struct StoredFiles {
    by_name: HashMap<String, Vec<StoredFile>>,
    /// Number of contents without a record.
    pub orphans: usize,
}

impl StoredFiles {
    /// Reads the database and the folder of contents, and verifies the hash of each content that is not in `verified`.
    pub fn read(
        services: &Services<'_>,
        verified: &mut BTreeSet<String>,
        ledger: &mut Ledger,
    ) -> Result<Self> {
        let sql = format!("SELECT {} || ' ' || hash || ' ' || name FROM files", services.hex("id"));
        let (mut by_name, mut hashes) = (HashMap::<_, Vec<_>>::new(), BTreeSet::new());
        for row in services.query(SYSTEM, &sql)? {
            let mut columns = row.split(' ').map(str::to_owned);
            let [id, hash, name] = [(); 3].map(|()| columns.next().unwrap_or_default());
            hashes.insert(hash.clone());
            by_name.entry(name).or_default().push(StoredFile { id, hash });
        }
        let used = services.query(SYSTEM, "SELECT name FROM contents")?;
        let mut contents = read_contents(services, verified, ledger)?;
        for name in &used {
            hashes.remove(&name[..64.min(name.len())]);
            if !contents.remove(name) {
                ledger.lost(&format!("content {name}, which has a record"));
            }
        }
        for hash in hashes {
            ledger.lost(&format!("the content of a file with hash {hash}"));
        }
        Ok(Self { by_name, orphans: contents.len() })
    }

    fn of(&self, file: &FileRecord) -> &[StoredFile] {
        self.by_name.get(&file.name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Compares the stored files with the records of all rounds.
    pub fn compare(&self, rounds: &[Records], ledger: &mut Ledger) {
        let mut expected = 0;
        for file in rounds.iter().flat_map(|records| &records.files) {
            let (name, stored) = (&file.name, self.of(file));
            expected += stored.len();
            ledger.check_count(&file.upload.state, stored.len(), &format!("file {name}"));
            for StoredFile { id, hash } in stored {
                ledger.check_content(*hash == file.hash, || format!("file {name} has another hash"));
                if file.upload.id().is_some_and(|acknowledged| acknowledged.replace('-', "") != *id) {
                    ledger.lost(&format!("file {name} has another id"));
                }
            }
        }
        let stored: usize = self.by_name.values().map(Vec::len).sum();
        if stored > expected {
            ledger.duplicated(&format!("{} files were never uploaded", stored - expected));
        }
    }

    /// Settles the unknown outcomes of a round, and repeats some acknowledged uploads.
    pub fn settle(&self, client: &Client<'_>, records: &mut Records, findings: &mut Findings) -> Result<()> {
        for file in &mut records.files {
            let stored = self.of(file).first().map(|stored| hyphenate(&stored.id));
            findings.count(WriteKind::Upload, &file.upload.state, stored.is_some());
            let (request, state, ledger) = (file.request(), &file.upload.state, &mut findings.ledger);
            let (settled, _) =
                settle(client, &request, state, stored.as_deref(), is_repeated(&file.name), ledger)?;
            file.upload.state = settled;
            let Some(id) = file.upload.id().map(str::to_owned) else { continue };
            for write in [&file.archive, &file.share].into_iter().flatten() {
                findings.count(WriteKind::Other, &write.state, true);
            }
            if let Some(archive) = file.archive.as_mut().filter(|write| write.is_unknown()) {
                let info = client.get(SYSTEM, &format!("/v1/files/{id}/info"), Owner)?.json;
                let expected = if info["status"] == "archived" { 409 } else { 200 };
                let status = client.send_until_answered(&FileRecord::archive_request(&id))?.status;
                findings.ledger.check_content(status == expected, || {
                    format!("file {}: a second archiving returned {status}", file.name)
                });
                archive.state = WriteState::Acknowledged(String::new());
            }
            if let Some(share) = file.share.as_mut().filter(|write| write.is_unknown()) {
                client.send_until_answered(&FileRecord::share_request(&id))?;
                share.state = WriteState::Acknowledged(String::new());
            }
        }
        Ok(())
    }
}

/// Downloads the acknowledged files of some rounds and checks their status and shares.
pub fn check_reads(client: &Client<'_>, rounds: &[Records], ledger: &mut Ledger) -> Result<()> {
    for file in rounds.iter().flat_map(|records| &records.files) {
        let (Some(id), name) = (file.upload.id(), &file.name) else { continue };
        match client.get(SYSTEM, &format!("/v1/files/{id}"), Admin) {
            Ok(response) => ledger.check_content(sha256(&response.bytes) == file.hash, || {
                format!("file {name} downloads other content")
            }),
            Err(error) => ledger.lost(&format!("file {name}: {error:#}")),
        }
        let info = client.get(SYSTEM, &format!("/v1/files/{id}/info"), Owner)?.json;
        let is_archived = info["status"] == "archived";
        let is_shared = info["organisations"].as_array().is_some_and(|all| all.contains(&json!(PARTNER.id)));
        for (write, is_stored, change) in
            [(&file.archive, is_archived, "archiving"), (&file.share, is_shared, "sharing")]
        {
            if let Some(Write { state, .. }) = write {
                ledger.check_count(state, usize::from(is_stored), &format!("{change} of file {name}"));
            }
        }
    }
    Ok(())
}

/// Makes the uploads that a kill interrupted old, so that system removes them at its start. Returns their number.
pub fn age_staged_uploads(services: &Services<'_>) -> Result<usize> {
    let folder = services.staging();
    let names = file_names(&folder)?;
    names.iter().try_for_each(|name| age(&folder.join(name)))?;
    Ok(names.len())
}

/// Waits until system has removed the old uploads.
pub fn wait_staging_empty(services: &Services<'_>) -> Result<()> {
    let is_empty = || Ok(file_names(&services.staging())?.is_empty());
    services.trial.wait_for("system removes interrupted uploads", CLEANUP_TIMEOUT, is_empty)?;
    Ok(())
}

/// Makes all contents old and runs `sweep-files`, which must remove all without a record. Returns their number.
pub fn sweep(services: &mut Services<'_>, ledger: &mut Ledger) -> Result<usize> {
    services.kill(&[SYSTEM])?; // it would sweep by itself
    let orphans = StoredFiles::read(services, &mut BTreeSet::new(), ledger)?.orphans;
    let folder = services.contents();
    for shard in file_names(&folder)? {
        for name in file_names(&folder.join(&shard))? {
            age(&folder.join(&shard).join(name))?;
        }
    }
    let output = services.sweep_files()?;
    services.restart(&[SYSTEM])?;
    services.wait_ready(&[SYSTEM])?;
    let left = StoredFiles::read(services, &mut BTreeSet::new(), ledger)?.orphans;
    let is_reported = output.contains(&format!(" {orphans} of them removed"));
    ledger.check_content(is_reported && left == 0, || {
        format!("{left} of {orphans} contents without a record are left: {}", output.trim())
    });
    Ok(orphans)
}

/// The names of all contents. Verifies the hash of each that is not in `verified`.
fn read_contents(
    services: &Services<'_>,
    verified: &mut BTreeSet<String>,
    ledger: &mut Ledger,
) -> Result<BTreeSet<String>> {
    let (folder, mut contents) = (services.contents(), BTreeSet::new());
    for shard in file_names(&folder)?.iter().filter(|shard| shard.len() == 2) {
        for name in file_names(&folder.join(shard))? {
            if !verified.contains(&name) {
                let content = match fs::read(folder.join(shard).join(&name)) {
                    Err(error) if error.kind() == ErrorKind::NotFound => continue, // the sweep removed it
                    content => content?,
                };
                ledger.check_content(name.starts_with(&sha256(&content)), || {
                    format!("content {name} has another hash")
                });
                verified.insert(name.clone());
            }
            contents.insert(name);
        }
    }
    Ok(contents)
}

fn age(path: &Path) -> Result<()> {
    let file = fs::File::options().append(true).open(path)?;
    Ok(file.set_modified(SystemTime::now() - OLD)?)
}

fn file_names(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

/// A UUID of 32 hex digits in the spelling of the services.
fn hyphenate(id: &str) -> String {
    let groups = [(0, 8), (8, 12), (12, 16), (16, 20), (20, 32)];
    groups.map(|(start, end)| id.get(start..end).unwrap_or_default()).join("-")
}

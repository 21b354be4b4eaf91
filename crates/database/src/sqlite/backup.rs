//! Online backup of a SQLite database: a consistent copy of one moment while others write.
//!
//! SQLite's backup API copies pages unchanged, so rows keep the rowids that indexes refer to. A backup restarts when
//! another connection writes, unless the source is read within a transaction. In WAL mode such a transaction does not
//! block writers.

use std::fs::File;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::{DatabaseUrl, Error};

/// Pages copied between two reports of progress: 4 MiB with SQLite's default page size.
const PAGES_PER_STEP: i32 = 1024;

/// The progress of a backup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackupProgress {
    /// Pages are being copied.
    Copying {
        /// Pages copied so far.
        copied: i32,
        /// All pages of the database.
        total: i32,
    },
    /// All pages are copied, and SQLite checks the copy.
    Checking,
}

/// Copies the database to a new file. The file gets its name once it is complete, checked and synced.
pub(crate) fn run(
    url: &DatabaseUrl,
    to: &Path,
    mut on_progress: impl FnMut(BackupProgress),
) -> Result<(), Error> {
    let DatabaseUrl::Sqlite(from) = url else {
        let how = "back it up with pg_dump: see docs/operations/backup.md";
        return Err(Error::Setup(format!(
            "database.url names a PostgreSQL server, not a SQLite file: {how}"
        )));
    };
    if !from.exists() {
        return Err(Error::Setup(format!("the database {} does not exist", from.display())));
    }
    if to.symlink_metadata().is_ok() {
        return Err(Error::Setup(format!("{} already exists: name a new file", to.display())));
    }
    let failed = |e: &dyn std::fmt::Display| {
        Error::Setup(format!("{} cannot be copied to {}: {e}", from.display(), to.display()))
    };
    let folder = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let temporary = tempfile::Builder::new().prefix(".backup-").suffix(".part").tempfile_in(folder);
    let temporary = temporary.map_err(|e| failed(&e))?;
    copy(from, temporary.path(), &mut on_progress).map_err(|e| failed(&e))?;
    on_progress(BackupProgress::Checking);
    let defects = find_defects(temporary.path()).map_err(|e| failed(&e))?;
    if !defects.is_empty() {
        let defects = defects.join("; ");
        return Err(failed(&format!("the copy is damaged, and the database may be damaged too: {defects}")));
    }
    persist(temporary, to, folder).map_err(|e| failed(&e))
}

fn copy(from: &Path, to: &Path, on_progress: &mut impl FnMut(BackupProgress)) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (source, mut copy) =
        (Connection::open_with_flags(from, flags)?, Connection::open_with_flags(to, flags)?);
    // The copy needs no journal: it is synced when it is complete and discarded otherwise.
    copy.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")?;
    source.execute_batch("PRAGMA query_only=ON; BEGIN")?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&source, &mut copy)?;
    loop {
        match backup.step(PAGES_PER_STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {
                let progress = backup.progress();
                let (copied, total) = (progress.pagecount - progress.remaining, progress.pagecount);
                on_progress(BackupProgress::Copying { copied, total });
            }
            // Busy or locked. Not expected: no other connection has the copy, and nothing locks out readers.
            _ => {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                    None,
                ));
            }
        }
    }
}

/// Checks the integrity and the foreign keys of a database and describes what is wrong. Opens the file as immutable, so
/// SQLite creates no other files next to it.
fn find_defects(file: &Path) -> Result<Vec<String>, rusqlite::Error> {
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?;
    copy.execute_batch("PRAGMA cache_size=-65536")?;
    let query = |statement: &str| {
        let mut statement = copy.prepare(statement)?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.map(|line| Ok(line?.replace('\n', " "))).collect::<Result<Vec<_>, rusqlite::Error>>()
    };
    let mut defects = query("PRAGMA integrity_check(5)")?;
    defects.retain(|line| line != "ok");
    let violations = query("PRAGMA foreign_key_check")?;
    defects.extend(violations.iter().map(|table| format!("a row of {table} violates a foreign key")));
    Ok(defects)
}

/// Syncs the file, moves it to its name and syncs the folder.
fn persist(file: NamedTempFile, to: &Path, folder: &Path) -> std::io::Result<()> {
    file.as_file().sync_all()?;
    file.persist_noclobber(to)?;
    File::open(folder)?.sync_all()
}

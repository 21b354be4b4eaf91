//! A copy of a SQLite database that is in use: all of it as it was at one moment, whoever writes meanwhile.
//!
//! SQLite's own backup copies pages as they are, so that rows keep the numbers that indexes know them by. It begins anew
//! whenever somebody else writes, unless what it reads stays as it is: so the source is read within a transaction, which
//! in WAL mode keeps nobody from writing.

use std::fs::File;
use std::path::Path;

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};
use tempfile::NamedTempFile;

use crate::{Error, Target};

/// So many pages are copied between two tellings of how far it is: some MiB.
const PAGES_PER_STEP: i32 = 1024;

/// What a backup is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// So many of all its pages are copied.
    Copied(i32, i32),
    /// All are; now SQLite looks at each, in the copy.
    Checking,
}

/// Copies the database to a new file, which appears under its name when it is whole, checked and on the disk.
pub(crate) fn run(target: &Target, to: &Path, mut tell: impl FnMut(Progress)) -> Result<(), Error> {
    let Target::Sqlite(from) = target else {
        let how = "back it up with pg_dump: see \"Back up\" in docs/operations.md";
        return Err(Error::Setup(format!(
            "database.url names a PostgreSQL server, not a SQLite file: {how}"
        )));
    };
    if !from.exists() {
        return Err(Error::Setup(format!("there is no database {}", from.display())));
    }
    if to.symlink_metadata().is_ok() {
        return Err(Error::Setup(format!("{} is there already: name a new file", to.display())));
    }
    let failed = |e: &dyn std::fmt::Display| {
        Error::Setup(format!("{} cannot be copied to {}: {e}", from.display(), to.display()))
    };
    let folder = to.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let part = tempfile::Builder::new().prefix(".backup-").suffix(".part").tempfile_in(folder);
    let part = part.map_err(|e| failed(&e))?;
    copy(from, part.path(), &mut tell).map_err(|e| failed(&e))?;
    tell(Progress::Checking);
    let damage = damage(part.path()).map_err(|e| failed(&e))?;
    if !damage.is_empty() {
        return Err(failed(&format!("the copy is damaged, as the database may be: {}", damage.join("; "))));
    }
    keep(part, to, folder).map_err(|e| failed(&e))
}

fn copy(from: &Path, part: &Path, tell: &mut impl FnMut(Progress)) -> Result<(), rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let (source, mut copy) =
        (Connection::open_with_flags(from, flags)?, Connection::open_with_flags(part, flags)?);
    // The copy is synced when it is whole, and is nothing until then.
    copy.execute_batch("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF")?;
    source.execute_batch("PRAGMA query_only=ON; BEGIN")?;
    source.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    let backup = Backup::new(&source, &mut copy)?;
    loop {
        match backup.step(PAGES_PER_STEP)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {
                let now = backup.progress();
                tell(Progress::Copied(now.pagecount - now.remaining, now.pagecount));
            }
            // Nobody else has the copy, and nothing locks out those who read.
            _ => {
                return Err(rusqlite::Error::SqliteFailure(
                    rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_BUSY),
                    None,
                ));
            }
        }
    }
}

/// What SQLite finds wrong with a file that nobody changes; it leaves no others beside it.
fn damage(file: &Path) -> Result<Vec<String>, rusqlite::Error> {
    let path = file.to_string_lossy().replace('%', "%25").replace('?', "%3f").replace('#', "%23");
    let flags =
        OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(format!("file:{path}?immutable=1"), flags)?;
    copy.execute_batch("PRAGMA cache_size=-65536")?;
    let ask = |statement: &str| {
        let mut statement = copy.prepare(statement)?;
        let lines = statement.query_map([], |row| row.get::<_, String>(0))?;
        lines.map(|line| Ok(line?.replace('\n', " "))).collect::<Result<Vec<_>, rusqlite::Error>>()
    };
    let mut said = ask("PRAGMA integrity_check(5)")?;
    said.retain(|line| line != "ok");
    said.extend(
        ask("PRAGMA foreign_key_check")?.iter().map(|table| format!("a row of {table} refers to none")),
    );
    Ok(said)
}

fn keep(part: NamedTempFile, to: &Path, folder: &Path) -> std::io::Result<()> {
    part.as_file().sync_all()?;
    part.persist_noclobber(to)?;
    File::open(folder)?.sync_all()
}

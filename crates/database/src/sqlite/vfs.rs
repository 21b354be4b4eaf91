//! The VFS of a service's connections to SQLite. It is SQLite's own VFS "unix" with two differences.
//!
//! A memory map survives commits. When a reader sees a commit of another connection, SQLite asks the VFS to unmap the
//! database file: by POSIX, a mapping may be invalid after another process truncated the file and extended it again.
//! The next statements then fault in thousands of pages, and readers beside 20 commits a second are three times slower.
//! On Linux, a shared mapping of a file always shows the file's current contents, so the mapping can stay. SQLite keeps
//! no pointer into it beyond a transaction, and asks for each page again. It never asks for a page beyond the end of
//! the database. The mapping is replaced when the file has grown by a 32nd, and when it has become smaller. Until then
//! pages beyond the mapping are read with `pread`.
//!
//! What a transaction adds to the write-ahead log waits in memory, up to 120 KiB, and is written in one call when
//! SQLite reads the log or syncs it to commit. SQLite itself makes two calls for each page, which takes a third
//! longer. Nobody else misses the bytes: other connections read from the log only what is committed. When a
//! transaction ends, the bytes that still wait are discarded before another process can write to the log. This relies
//! on `synchronous=FULL` and `locking_mode=NORMAL`, and on SQLite writing nothing to the log after the sync of a
//! commit, as it would with `psow=0`.
#![allow(unsafe_code, reason = "a VFS is a table of C functions; no other module has unsafe code")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::slice;
use std::sync::OnceLock;

use libsqlite3_sys::{
    SQLITE_CANTOPEN, SQLITE_IOERR, SQLITE_OK, SQLITE_OPEN_MAIN_DB, SQLITE_OPEN_WAL, SQLITE_SHM_UNLOCK,
    sqlite3_database_file_object, sqlite3_file, sqlite3_filename, sqlite3_int64, sqlite3_io_methods,
    sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

/// Maximum size of a memory map in bytes. The rest of a larger file is read with `pread`.
pub(crate) const MAX_MAPPED_BYTES: i64 = 256 << 20;
/// The mapping is replaced once the file has grown by this fraction.
const GROWTH_DIVISOR: i64 = 32;
/// The most bytes of the log that wait to be written. The VFS "unix" can write less than 128 KiB in one call.
const MAX_WAITING_BYTES: usize = 120 << 10;
/// The lock of a database's shared memory that a transaction holds while it writes to the log.
const WRITE_LOCK: c_int = 0;
const NAME: &CStr = c"drover";

/// SQLite's VFS, which does all the work.
struct Unix {
    vfs: *mut sqlite3_vfs,
    /// Where a file's object ends and [`Kept`] begins.
    file_bytes: usize,
}

// SAFETY: the VFS "unix" is never changed or freed, and SQLite uses it from all threads.
unsafe impl Send for Unix {}
// SAFETY: as above.
unsafe impl Sync for Unix {}

/// What we keep of a file.
struct Kept {
    /// The size of the mapping of a database.
    mapped_bytes: i64,
    /// Of a log, and of the database that it belongs to: what waits to be written to the log. Null for a database whose
    /// log is not open.
    waiting: *mut Waiting,
}

/// Bytes of a log that are not written yet, and where they begin.
struct Waiting {
    database: *mut sqlite3_file,
    offset: sqlite3_int64,
    bytes: Vec<u8>,
    /// The code of a write of this transaction that failed. Until the transaction ends, the log is neither written nor
    /// read, because bytes are missing.
    failure: c_int,
}

/// The methods of a kind of SQLite's files, and ours.
struct Methods {
    unix: &'static sqlite3_io_methods,
    ours: sqlite3_io_methods,
}

static UNIX: OnceLock<Option<Unix>> = OnceLock::new();
static OF_DATABASES: OnceLock<Methods> = OnceLock::new();
static OF_LOGS: OnceLock<Methods> = OnceLock::new();

/// Registers the VFS, once, and returns its name. Returns `None` on systems whose mappings may become invalid.
pub(crate) fn name() -> Option<&'static str> {
    if !cfg!(target_os = "linux") {
        return None;
    }
    UNIX.get_or_init(register).as_ref().and_then(|_| NAME.to_str().ok())
}

fn register() -> Option<Unix> {
    // SAFETY: `sqlite3_vfs_find` initializes SQLite. Its result is null or lives as long as the program.
    let vfs = unsafe { sqlite3_vfs_find(c"unix".as_ptr()) };
    // SAFETY: as above.
    let unix = unsafe { vfs.as_ref() }?;
    let file_bytes = usize::try_from(unix.szOsFile).ok()?.next_multiple_of(align_of::<Kept>());
    let ours = sqlite3_vfs {
        szOsFile: c_int::try_from(file_bytes + size_of::<Kept>()).ok()?,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        ..*unix
    };
    // SAFETY: the VFS and its name live as long as the program. It is registered once, and not as the default.
    let code = unsafe { sqlite3_vfs_register(Box::leak(Box::new(ours)), 0) };
    (code == SQLITE_OK).then_some(Unix { vfs, file_bytes })
}

/// `xOpen`: opens a file with SQLite's VFS and replaces the methods of a database file or a write-ahead log.
unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    let Some(Some(unix)) = UNIX.get() else { return SQLITE_CANTOPEN };
    // SAFETY: SQLite's own arguments. `file` has more bytes than the VFS "unix" asks for.
    let code = unsafe {
        match (*unix.vfs).xOpen {
            Some(open) => open(unix.vfs, name, file, flags, out_flags),
            None => SQLITE_CANTOPEN,
        }
    };
    if code == SQLITE_OK {
        // SAFETY: the file is open, and no other thread has it yet. It is an object that SQLite allocated with the size
        // of our VFS. The name of a log is a string of SQLite's pager.
        unsafe {
            if flags & SQLITE_OPEN_MAIN_DB != 0 && replace_methods(file, &OF_DATABASES, of_database) {
                kept(file, unix).write(Kept { mapped_bytes: 0, waiting: ptr::null_mut() });
            } else if flags & SQLITE_OPEN_WAL != 0 {
                open_log(file, sqlite3_database_file_object(name), unix);
            }
        }
    }
    code
}

/// Replaces the methods of a log, if those of its database are replaced.
unsafe fn open_log(file: *mut sqlite3_file, database: *mut sqlite3_file, unix: &Unix) {
    // SAFETY: SQLite closes the database after its log.
    unsafe {
        let is_ours = OF_DATABASES.get().is_some_and(|of| ptr::eq((*database).pMethods, &raw const of.ours));
        if is_ours && replace_methods(file, &OF_LOGS, of_log) {
            let waiting = Waiting { database, offset: 0, bytes: Vec::new(), failure: SQLITE_OK };
            let waiting = Box::into_raw(Box::new(waiting));
            kept(file, unix).write(Kept { mapped_bytes: 0, waiting });
            (*kept(database, unix)).waiting = waiting;
        }
    }
}

fn of_database(unix: &sqlite3_io_methods) -> sqlite3_io_methods {
    sqlite3_io_methods { xUnfetch: Some(unfetch), xShmLock: Some(lock), ..*unix }
}

fn of_log(unix: &sqlite3_io_methods) -> sqlite3_io_methods {
    sqlite3_io_methods {
        xClose: Some(close_log),
        xRead: Some(read_log),
        xWrite: Some(write_log),
        xTruncate: Some(truncate_log),
        xSync: Some(sync_log),
        xFileSize: Some(size_of_log),
        ..*unix
    }
}

/// Replaces the methods of an open file. Returns false for a file whose methods are not those of the first file of its
/// kind, or are too old; it keeps them.
unsafe fn replace_methods(
    file: *mut sqlite3_file,
    methods: &'static OnceLock<Methods>,
    ours: fn(&sqlite3_io_methods) -> sqlite3_io_methods,
) -> bool {
    // SAFETY: the methods of files of the VFS "unix" are constants of the program.
    let Some(original) = (unsafe { (*file).pMethods.as_ref::<'static>() }) else { return false };
    let methods = methods.get_or_init(|| Methods { unix: original, ours: ours(original) });
    // Methods of version 3 have `xUnfetch`.
    let can_be_replaced = ptr::eq(original, methods.unix) && original.iVersion >= 3;
    if can_be_replaced {
        // SAFETY: as above.
        unsafe { (*file).pMethods = &raw const methods.ours };
    }
    can_be_replaced
}

/// Returns where [`Kept`] of a file is stored: behind its object.
unsafe fn kept(file: *mut sqlite3_file, unix: &Unix) -> *mut Kept {
    // SAFETY: the file's object is aligned to 8 bytes, and our VFS asks for so many more bytes.
    unsafe { file.byte_add(unix.file_bytes).cast() }
}

/// `xUnfetch`: releases a page, or unmaps the file if `page` is null and the mapping does not fit any more.
unsafe extern "C" fn unfetch(file: *mut sqlite3_file, offset: sqlite3_int64, page: *mut c_void) -> c_int {
    let (Some(methods), Some(Some(unix))) = (OF_DATABASES.get(), UNIX.get()) else { return SQLITE_OK };
    // SAFETY: SQLite's own arguments, for a file that `replace_methods` has changed.
    unsafe {
        match methods.unix.xUnfetch {
            Some(unfetch) if !page.is_null() || !fits(file, methods, unix) => unfetch(file, offset, page),
            _ => SQLITE_OK,
        }
    }
}

/// Returns true if the file's mapping can stay. Otherwise, it is replaced by one of the file's current size.
unsafe fn fits(file: *mut sqlite3_file, methods: &Methods, unix: &Unix) -> bool {
    let mut size = 0;
    // SAFETY: an open file of the VFS "unix", which only this thread uses.
    unsafe {
        let Some(file_size) = methods.unix.xFileSize else { return false };
        if file_size(file, &raw mut size) != SQLITE_OK {
            return false;
        }
        let mapped_bytes = &mut (*kept(file, unix)).mapped_bytes;
        let mapped = *mapped_bytes;
        let growth = size.min(MAX_MAPPED_BYTES) - mapped;
        let fits = mapped > 0 && (0..=mapped / GROWTH_DIVISOR).contains(&growth);
        if !fits {
            *mapped_bytes = size.min(MAX_MAPPED_BYTES);
        }
        fits
    }
}

/// `xShmLock`: when a transaction ends, discards what it has not written to the log. A commit has written all.
unsafe extern "C" fn lock(file: *mut sqlite3_file, first: c_int, count: c_int, flags: c_int) -> c_int {
    let (Some(methods), Some(Some(unix))) = (OF_DATABASES.get(), UNIX.get()) else { return SQLITE_IOERR };
    // SAFETY: SQLite's own arguments. The pointer is null or that of an open log, and one thread at a time uses both.
    unsafe {
        if first == WRITE_LOCK
            && flags & SQLITE_SHM_UNLOCK != 0
            && let Some(waiting) = (*kept(file, unix)).waiting.as_mut()
        {
            waiting.bytes.clear();
            waiting.failure = SQLITE_OK;
        }
        methods.unix.xShmLock.map_or(SQLITE_IOERR, |lock| lock(file, first, count, flags))
    }
}

/// An open log.
struct Log<'a> {
    file: *mut sqlite3_file,
    unix: &'static sqlite3_io_methods,
    waiting: &'a mut Waiting,
}

impl Log<'_> {
    /// Returns the log of a file whose methods are those of [`of_log`].
    unsafe fn of(file: *mut sqlite3_file) -> Option<Self> {
        let (Some(methods), Some(Some(unix))) = (OF_LOGS.get(), UNIX.get()) else { return None };
        // SAFETY: `open_log` has stored the pointer, and one thread at a time uses the connection.
        let waiting = unsafe { (*kept(file, unix)).waiting.as_mut()? };
        Some(Self { file, unix: methods.unix, waiting })
    }

    /// Adds bytes, which are written later: at once with those before them.
    fn add(&mut self, bytes: &[u8], offset: sqlite3_int64) -> c_int {
        let end = i64::try_from(self.waiting.bytes.len()).map(|length| self.waiting.offset + length);
        if end != Ok(offset) || self.waiting.bytes.len() + bytes.len() > MAX_WAITING_BYTES {
            self.write();
            self.waiting.offset = offset;
        }
        if self.waiting.failure == SQLITE_OK {
            self.waiting.bytes.extend_from_slice(bytes);
        }
        self.waiting.failure
    }

    /// Writes the waiting bytes. Returns the code of the first failure of the transaction.
    fn write(&mut self) -> c_int {
        let Waiting { offset, bytes, failure, .. } = &mut *self.waiting;
        let code = match (self.unix.xWrite, c_int::try_from(bytes.len())) {
            (_, Ok(0)) => SQLITE_OK,
            // SAFETY: SQLite's own file, and bytes that live until the call returns.
            (Some(write), Ok(length)) => unsafe { write(self.file, bytes.as_ptr().cast(), length, *offset) },
            _ => SQLITE_IOERR,
        };
        bytes.clear();
        if code != SQLITE_OK {
            *failure = code;
        }
        *failure
    }
}

/// Writes the waiting bytes of a log, and calls the method of the VFS "unix".
unsafe fn after_write<F>(
    file: *mut sqlite3_file,
    method: fn(&sqlite3_io_methods) -> Option<F>,
    call: impl FnOnce(F) -> c_int,
) -> c_int {
    // SAFETY: a file of `of_log`.
    let Some(mut log) = (unsafe { Log::of(file) }) else { return SQLITE_IOERR };
    match (log.write(), method(log.unix)) {
        (SQLITE_OK, Some(method)) => call(method),
        (SQLITE_OK, None) => SQLITE_IOERR,
        (code, _) => code,
    }
}

/// `xWrite`.
unsafe extern "C" fn write_log(
    file: *mut sqlite3_file,
    data: *const c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: a file of `of_log`.
    let log = unsafe { Log::of(file) };
    let (Some(mut log), Ok(length)) = (log, usize::try_from(length)) else { return SQLITE_IOERR };
    // SAFETY: SQLite's own arguments.
    log.add(unsafe { slice::from_raw_parts(data.cast(), length) }, offset)
}

/// `xRead`.
unsafe extern "C" fn read_log(
    file: *mut sqlite3_file,
    data: *mut c_void,
    length: c_int,
    offset: sqlite3_int64,
) -> c_int {
    // SAFETY: SQLite's own arguments.
    unsafe { after_write(file, |unix| unix.xRead, |read| read(file, data, length, offset)) }
}

/// `xTruncate`.
unsafe extern "C" fn truncate_log(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    // SAFETY: SQLite's own arguments.
    unsafe { after_write(file, |unix| unix.xTruncate, |truncate| truncate(file, size)) }
}

/// `xSync`.
unsafe extern "C" fn sync_log(file: *mut sqlite3_file, flags: c_int) -> c_int {
    // SAFETY: SQLite's own arguments.
    unsafe { after_write(file, |unix| unix.xSync, |sync| sync(file, flags)) }
}

/// `xFileSize`.
unsafe extern "C" fn size_of_log(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    // SAFETY: SQLite's own arguments.
    unsafe { after_write(file, |unix| unix.xFileSize, |size_of| size_of(file, size)) }
}

/// `xClose`. What still waits belongs to no commit.
unsafe extern "C" fn close_log(file: *mut sqlite3_file) -> c_int {
    let (Some(methods), Some(Some(unix))) = (OF_LOGS.get(), UNIX.get()) else { return SQLITE_IOERR };
    // SAFETY: SQLite's own argument. The pointer is of `Box::into_raw`, and only the open database has it too.
    unsafe {
        let waiting = Box::from_raw((*kept(file, unix)).waiting);
        (*kept(waiting.database, unix)).waiting = ptr::null_mut();
        methods.unix.xClose.map_or(SQLITE_OK, |close| close(file))
    }
}

#[cfg(test)]
mod tests {
    use libsqlite3_sys::SQLITE_FULL;

    use super::*;

    /// The method `xWrite` of a full disk.
    unsafe extern "C" fn write_nothing(
        _: *mut sqlite3_file,
        _: *const c_void,
        _: c_int,
        _: sqlite3_int64,
    ) -> c_int {
        SQLITE_FULL
    }

    #[test]
    fn after_a_failed_write_nothing_is_added_or_written() {
        // SAFETY: a table without methods but `xWrite`.
        let none: sqlite3_io_methods = unsafe { std::mem::zeroed() };
        let unix = Box::leak(Box::new(sqlite3_io_methods { xWrite: Some(write_nothing), ..none }));
        let mut waiting =
            Waiting { database: ptr::null_mut(), offset: 0, bytes: Vec::new(), failure: SQLITE_OK };
        let mut log = Log { file: ptr::null_mut(), unix, waiting: &mut waiting };
        assert_eq!(log.write(), SQLITE_OK, "nothing waits");
        assert_eq!((log.add(b"ab", 32), log.add(b"cd", 34)), (SQLITE_OK, SQLITE_OK));
        assert_eq!(log.waiting.bytes, b"abcd");
        // Elsewhere, so that what waits is written.
        assert_eq!(log.add(b"ef", 90), SQLITE_FULL);
        assert_eq!((log.add(b"gh", 92), log.write()), (SQLITE_FULL, SQLITE_FULL));
        assert!(log.waiting.bytes.is_empty());
    }
}

//! The VFS of SQLite's readers. It is SQLite's own VFS "unix", except that a memory map survives commits.
//!
//! When a reader sees a commit of another connection, SQLite asks the VFS to unmap the database file: by POSIX, a
//! mapping may be invalid after another process truncated the file and extended it again. The next statements then
//! fault in thousands of pages, and readers beside 20 commits a second are three times slower. On Linux, a shared
//! mapping of a file always shows the file's current contents, so the mapping can stay. SQLite keeps no pointer into it
//! beyond a transaction, and asks for each page again. It never asks for a page beyond the end of the database.
//!
//! The mapping is replaced when the file has grown by a 32nd, and when it has become smaller. Until then pages beyond
//! the mapping are read with `pread`.
#![allow(unsafe_code, reason = "a VFS is a table of C functions; no other module has unsafe code")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::OnceLock;

use libsqlite3_sys::{
    SQLITE_CANTOPEN, SQLITE_OK, SQLITE_OPEN_MAIN_DB, sqlite3_file, sqlite3_filename, sqlite3_int64,
    sqlite3_io_methods, sqlite3_vfs, sqlite3_vfs_find, sqlite3_vfs_register,
};

/// Maximum size of a memory map in bytes. The rest of a larger file is read with `pread`.
pub(crate) const MAX_MAPPED_BYTES: i64 = 256 << 20;
/// The mapping is replaced once the file has grown by this fraction.
const GROWTH_DIVISOR: i64 = 32;
const NAME: &CStr = c"drover-mapped";

/// SQLite's VFS, which does all the work.
struct Unix {
    vfs: *mut sqlite3_vfs,
    /// Where a file's object ends and its [`mapped_bytes`] begin.
    file_bytes: usize,
}

// SAFETY: the VFS "unix" is never changed or freed, and SQLite uses it from all threads.
unsafe impl Send for Unix {}
// SAFETY: as above.
unsafe impl Sync for Unix {}

/// The methods of SQLite's files, and ours.
struct Methods {
    unix: &'static sqlite3_io_methods,
    mapped: sqlite3_io_methods,
}

static UNIX: OnceLock<Option<Unix>> = OnceLock::new();
static METHODS: OnceLock<Methods> = OnceLock::new();

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
    let file_bytes = usize::try_from(unix.szOsFile).ok()?.next_multiple_of(align_of::<i64>());
    let mapped = sqlite3_vfs {
        szOsFile: c_int::try_from(file_bytes + size_of::<i64>()).ok()?,
        pNext: ptr::null_mut(),
        zName: NAME.as_ptr(),
        xOpen: Some(open),
        ..*unix
    };
    // SAFETY: the VFS and its name live as long as the program. It is registered once, and not as the default.
    let code = unsafe { sqlite3_vfs_register(Box::leak(Box::new(mapped)), 0) };
    (code == SQLITE_OK).then_some(Unix { vfs, file_bytes })
}

/// `xOpen`: opens a file with SQLite's VFS and replaces the methods of a database file.
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
    if code == SQLITE_OK && flags & SQLITE_OPEN_MAIN_DB != 0 {
        // SAFETY: the file is open, and no other thread has it yet.
        unsafe { replace_methods(file, unix) };
    }
    code
}

/// Replaces the methods of an open file. A file with other methods than the first one keeps them.
unsafe fn replace_methods(file: *mut sqlite3_file, unix: &Unix) {
    // SAFETY: the methods of files of the VFS "unix" are constants of the program.
    let Some(original) = (unsafe { (*file).pMethods.as_ref::<'static>() }) else { return };
    let methods = METHODS.get_or_init(|| Methods {
        unix: original,
        mapped: sqlite3_io_methods { xUnfetch: Some(unfetch), ..*original },
    });
    // Methods of version 3 have `xUnfetch`.
    if ptr::eq(original, methods.unix) && original.iVersion >= 3 {
        // SAFETY: `file` is the object that SQLite allocated with the size of our VFS.
        unsafe {
            mapped_bytes(file, unix).write(0);
            (*file).pMethods = &raw const methods.mapped;
        }
    }
}

/// Returns where the size of a file's mapping is stored: behind its object.
unsafe fn mapped_bytes(file: *mut sqlite3_file, unix: &Unix) -> *mut i64 {
    // SAFETY: the file's object is aligned to 8 bytes and has `file_bytes + 8` of them.
    unsafe { file.byte_add(unix.file_bytes).cast() }
}

/// `xUnfetch`: releases a page, or unmaps the file if `page` is null and the mapping does not fit any more.
unsafe extern "C" fn unfetch(file: *mut sqlite3_file, offset: sqlite3_int64, page: *mut c_void) -> c_int {
    let (Some(methods), Some(Some(unix))) = (METHODS.get(), UNIX.get()) else { return SQLITE_OK };
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
        let mapped_bytes = mapped_bytes(file, unix);
        let mapped = mapped_bytes.read();
        let growth = size.min(MAX_MAPPED_BYTES) - mapped;
        let fits = mapped > 0 && (0..=mapped / GROWTH_DIVISOR).contains(&growth);
        if !fits {
            mapped_bytes.write(size.min(MAX_MAPPED_BYTES));
        }
        fits
    }
}

//! A disk that records the operations on it: a file system in the memory of this program, mounted through FUSE.
//!
//! The kernel passes every operation on, however a program calls it, and none is answered before it is recorded. So
//! the order of the log is that in which programs can see operations happen.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use fuser::{
    BackgroundSession, BsdFileFlags, Errno, FileAttr, FileHandle, FileType, Filesystem, FopenFlags,
    Generation, INodeNo, LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData,
    ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use parking_lot::Mutex;

use super::tree::{Inode, Op, Place, Tree};

/// Time for which the kernel may keep names and attributes, which nothing else changes.
const TTL: Duration = Duration::from_secs(3600);
const BLOCK: u32 = 4096;

/// A mounted disk.
pub struct Disk {
    state: Arc<Mutex<State>>,
    session: BackgroundSession,
}

impl Disk {
    /// Mounts a disk with these files. `clock` is the number of recorded operations.
    ///
    /// # Errors
    /// This program may not mount file systems.
    pub fn mount(folder: &Path, tree: Tree, clock: Arc<AtomicUsize>) -> io::Result<Self> {
        clock.store(0, Ordering::SeqCst);
        let next_inode = tree.unused();
        let state = State { tree, next_inode, log: Vec::new(), clock, modified: HashMap::new() };
        let state = Arc::new(Mutex::new(state));
        let session = fuser::spawn_mount(Recorder(state.clone()), folder, &fuser::Config::default())?;
        Ok(Self { state, session })
    }

    /// Unmounts the disk, which nothing may use any more, and returns the log.
    pub fn unmount(self) -> Result<Vec<Op>> {
        self.session.umount_and_join().context("cannot unmount the disk")?;
        Ok(std::mem::take(&mut self.state.lock().log))
    }
}

/// The files as programs see them, and the log.
struct State {
    tree: Tree,
    next_inode: Inode,
    log: Vec<Op>,
    clock: Arc<AtomicUsize>,
    /// Times of the last changes. A loss of power does not keep them.
    modified: HashMap<Inode, SystemTime>,
}

impl State {
    fn execute(&mut self, op: Op) {
        if let Op::Write { inode, .. } | Op::Resize { inode, .. } = op {
            self.modified.insert(inode, SystemTime::now());
        }
        self.tree.apply(&op);
        self.log.push(op);
        self.clock.store(self.log.len(), Ordering::SeqCst);
    }

    fn create(&mut self, place: Place, is_folder: bool) -> Result<FileAttr, Errno> {
        if self.tree.find(place.0, &place.1).is_some() {
            return Err(Errno::EEXIST);
        }
        let inode = self.next_inode;
        self.next_inode += 1;
        self.execute(Op::Create { inode, is_folder, place });
        self.attributes(inode)
    }

    fn remove(&mut self, place: Place) -> Result<(), Errno> {
        let inode = self.tree.find(place.0, &place.1).ok_or(Errno::ENOENT)?;
        if self.tree.folder(inode).is_some_and(|names| !names.is_empty()) {
            return Err(Errno::ENOTEMPTY);
        }
        self.execute(Op::Remove { place });
        Ok(())
    }

    fn rename(&mut self, from: Place, to: Place, flags: RenameFlags) -> Result<(), Errno> {
        let inode = self.tree.find(from.0, &from.1).ok_or(Errno::ENOENT)?;
        if flags.contains(RenameFlags::RENAME_NOREPLACE) && self.tree.find(to.0, &to.1).is_some() {
            return Err(Errno::EEXIST);
        }
        self.execute(Op::Rename { inode, from, to });
        Ok(())
    }

    fn sync(&mut self, inode: Inode) {
        // A file without a name is lost anyway.
        if let Some(path) = self.tree.path(inode) {
            self.execute(Op::Sync { inode, path });
        }
    }

    fn attributes(&self, inode: Inode) -> Result<FileAttr, Errno> {
        let (kind, perm, size) = match self.tree.file(inode) {
            Some(content) => (FileType::RegularFile, 0o600, content.len() as u64),
            None => (FileType::Directory, 0o700, 0),
        };
        self.tree.folder(inode).map(drop).or(self.tree.file(inode).map(drop)).ok_or(Errno::ENOENT)?;
        let modified = self.modified.get(&inode).copied().unwrap_or(SystemTime::UNIX_EPOCH);
        Ok(FileAttr {
            ino: INodeNo(inode),
            size,
            blocks: size.div_ceil(512),
            atime: modified,
            mtime: modified,
            ctime: modified,
            crtime: modified,
            kind,
            perm,
            nlink: self.tree.path(inode).is_some().into(),
            uid: rustix::process::getuid().as_raw(),
            gid: rustix::process::getgid().as_raw(),
            rdev: 0,
            blksize: BLOCK,
            flags: 0,
        })
    }
}

/// Answers the kernel.
struct Recorder(Arc<Mutex<State>>);

fn place(folder: INodeNo, name: &OsStr) -> Place {
    (folder.0, name.to_owned())
}

fn reply_empty(result: Result<(), Errno>, reply: ReplyEmpty) {
    match result {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error),
    }
}

fn reply_entry(result: Result<FileAttr, Errno>, reply: ReplyEntry) {
    match result {
        Ok(attributes) => reply.entry(&TTL, &attributes, Generation(0)),
        Err(error) => reply.error(error),
    }
}

fn reply_attr(result: Result<FileAttr, Errno>, reply: ReplyAttr) {
    match result {
        Ok(attributes) => reply.attr(&TTL, &attributes),
        Err(error) => reply.error(error),
    }
}

fn index(offset: u64) -> usize {
    usize::try_from(offset).unwrap_or(usize::MAX)
}

impl Filesystem for Recorder {
    fn lookup(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let state = self.0.lock();
        let found = state.tree.find(folder.0, name).ok_or(Errno::ENOENT);
        reply_entry(found.and_then(|inode| state.attributes(inode)), reply);
    }

    fn getattr(&self, _: &Request, inode: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        reply_attr(self.0.lock().attributes(inode.0), reply);
    }

    fn setattr(
        &self,
        _: &Request,
        INodeNo(inode): INodeNo,
        _mode: Option<u32>,
        _uid: Option<u32>,
        _gid: Option<u32>,
        size: Option<u64>,
        _accessed: Option<TimeOrNow>,
        modified: Option<TimeOrNow>,
        _changed: Option<SystemTime>,
        _: Option<FileHandle>,
        _created: Option<SystemTime>,
        _mode_changed: Option<SystemTime>,
        _backed_up: Option<SystemTime>,
        _flags: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        let mut state = self.0.lock();
        if let Some(size) = size {
            state.execute(Op::Resize { inode, size: index(size) });
        }
        if let Some(time) = modified {
            let time = if let TimeOrNow::SpecificTime(time) = time { time } else { SystemTime::now() };
            state.modified.insert(inode, time);
        }
        reply_attr(state.attributes(inode), reply);
    }

    fn mkdir(&self, _: &Request, folder: INodeNo, name: &OsStr, _mode: u32, _umask: u32, reply: ReplyEntry) {
        reply_entry(self.0.lock().create(place(folder, name), true), reply);
    }

    fn create(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        _mode: u32,
        _umask: u32,
        _flags: i32,
        reply: ReplyCreate,
    ) {
        match self.0.lock().create(place(folder, name), false) {
            Ok(attributes) => {
                reply.created(&TTL, &attributes, Generation(0), FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
            }
            Err(error) => reply.error(error),
        }
    }

    fn unlink(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.0.lock().remove(place(folder, name)), reply);
    }

    fn rmdir(&self, _: &Request, folder: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        reply_empty(self.0.lock().remove(place(folder, name)), reply);
    }

    fn rename(
        &self,
        _: &Request,
        folder: INodeNo,
        name: &OsStr,
        new_folder: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        let (from, to) = (place(folder, name), place(new_folder, new_name));
        reply_empty(self.0.lock().rename(from, to, flags), reply);
    }

    fn open(&self, _: &Request, _: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        reply.opened(FileHandle(0), FopenFlags::FOPEN_KEEP_CACHE);
    }

    fn read(
        &self,
        _: &Request,
        inode: INodeNo,
        _: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        let state = self.0.lock();
        let Some(content) = state.tree.file(inode.0) else { return reply.error(Errno::ENOENT) };
        let start = index(offset).min(content.len());
        let end = start.saturating_add(index(size.into())).min(content.len());
        reply.data(&content[start..end]);
    }

    fn write(
        &self,
        _: &Request,
        INodeNo(inode): INodeNo,
        _: FileHandle,
        offset: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        let op = Op::Write { inode, offset: index(offset), data: data.to_vec() };
        self.0.lock().execute(op);
        reply.written(u32::try_from(data.len()).unwrap_or_default());
    }

    fn fsync(&self, _: &Request, inode: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        self.0.lock().sync(inode.0);
        reply.ok();
    }

    fn fsyncdir(&self, _: &Request, folder: INodeNo, _: FileHandle, _data_only: bool, reply: ReplyEmpty) {
        self.0.lock().sync(folder.0);
        reply.ok();
    }

    fn readdir(&self, _: &Request, folder: INodeNo, _: FileHandle, offset: u64, mut reply: ReplyDirectory) {
        let state = self.0.lock();
        let Some(names) = state.tree.folder(folder.0) else { return reply.error(Errno::ENOTDIR) };
        for (position, (name, inode)) in (0_u64..).zip(names).skip(index(offset)) {
            let is_folder = state.tree.folder(*inode).is_some();
            let kind = if is_folder { FileType::Directory } else { FileType::RegularFile };
            if reply.add(INodeNo(*inode), position + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }
}

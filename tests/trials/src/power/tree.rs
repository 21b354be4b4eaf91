//! Files and folders in memory, and the operations that change them.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::Arc;

/// Number of a file or folder.
pub type Inode = u64;
/// The top folder.
pub const ROOT: Inode = 1;
/// A name in a folder.
pub type Place = (Inode, OsString);

/// An operation on a file system.
#[derive(Debug)]
pub enum Op {
    /// Makes an empty file or folder.
    Create {
        inode: Inode,
        is_folder: bool,
        place: Place,
    },
    Rename {
        inode: Inode,
        from: Place,
        to: Place,
    },
    Remove {
        place: Place,
    },
    Write {
        inode: Inode,
        offset: usize,
        data: Vec<u8>,
    },
    Resize {
        inode: Inode,
        size: usize,
    },
    /// Syncs the content of a file, or the names in a folder. `path` begins below the root.
    Sync {
        inode: Inode,
        path: PathBuf,
    },
}

#[derive(Debug, Clone)]
enum Node {
    /// Trees share contents until one of them changes its own.
    File(Arc<Vec<u8>>),
    Folder(BTreeMap<OsString, Inode>),
}

/// Files and folders.
#[derive(Debug, Clone)]
pub struct Tree(BTreeMap<Inode, Node>);

impl Tree {
    /// An empty root with empty folders.
    pub fn with_folders(names: &[&str]) -> Self {
        let mut tree = Self(BTreeMap::from([(ROOT, Node::Folder(BTreeMap::new()))]));
        for name in names {
            let (inode, place) = (tree.unused(), (ROOT, name.into()));
            tree.apply(&Op::Create { inode, is_folder: true, place });
        }
        tree
    }

    /// The number for a new file or folder.
    pub fn unused(&self) -> Inode {
        self.0.last_key_value().map_or(ROOT, |(inode, _)| inode + 1)
    }

    /// The content of a file, or `None` if there is no such file.
    pub fn file(&self, inode: Inode) -> Option<&[u8]> {
        match self.0.get(&inode)? {
            Node::File(content) => Some(content),
            Node::Folder(_) => None,
        }
    }

    /// The names in a folder, or `None` if there is no such folder.
    pub fn folder(&self, inode: Inode) -> Option<&BTreeMap<OsString, Inode>> {
        match self.0.get(&inode)? {
            Node::File(_) => None,
            Node::Folder(names) => Some(names),
        }
    }

    /// What a name in a folder leads to.
    pub fn find(&self, folder: Inode, name: &OsStr) -> Option<Inode> {
        self.folder(folder)?.get(name).copied()
    }

    /// Path below the root, or `None` if no name leads there.
    pub fn path(&self, inode: Inode) -> Option<PathBuf> {
        if inode == ROOT {
            return Some(PathBuf::new());
        }
        let mut names = self
            .0
            .keys()
            .flat_map(|folder| self.folder(*folder).into_iter().flatten().map(move |entry| (folder, entry)));
        let (folder, (name, _)) = names.find(|(_, (_, found))| **found == inode)?;
        Some(self.path(*folder)?.join(name))
    }

    /// Executes an operation.
    pub fn apply(&mut self, op: &Op) {
        match op {
            Op::Create { inode, is_folder, place } => {
                self.add(*inode, *is_folder);
                self.name(place, *inode);
            }
            Op::Rename { inode, from, to } => {
                if self.find(from.0, &from.1) == Some(*inode) {
                    self.forget(from);
                }
                self.name(to, *inode);
            }
            Op::Remove { place } => self.forget(place),
            Op::Write { inode, offset, data } => {
                let Some(content) = self.content(*inode) else { return };
                let end = offset + data.len();
                content.resize(content.len().max(end), 0);
                content[*offset..end].copy_from_slice(data);
            }
            Op::Resize { inode, size } => {
                if let Some(content) = self.content(*inode) {
                    content.resize(*size, 0);
                }
            }
            Op::Sync { .. } => {}
        }
    }

    /// Makes an empty file or folder without a name, unless it exists.
    pub fn add(&mut self, inode: Inode, is_folder: bool) {
        let empty = if is_folder { Node::Folder(BTreeMap::new()) } else { Node::File(Arc::default()) };
        self.0.entry(inode).or_insert(empty);
    }

    /// The content of a file, to be changed.
    pub fn content(&mut self, inode: Inode) -> Option<&mut Vec<u8>> {
        match self.0.get_mut(&inode)? {
            Node::File(content) => Some(Arc::make_mut(content)),
            Node::Folder(_) => None,
        }
    }

    /// Removes what no name leads to.
    pub fn prune(&mut self) {
        let (mut reachable, mut folders) = (BTreeMap::new(), vec![ROOT]);
        while let Some(inode) = folders.pop() {
            folders.extend(self.folder(inode).into_iter().flat_map(|names| names.values()));
            reachable.extend(self.0.remove_entry(&inode));
        }
        self.0 = reachable;
    }

    fn name(&mut self, (folder, name): &Place, inode: Inode) {
        if let Some(Node::Folder(names)) = self.0.get_mut(folder) {
            names.insert(name.clone(), inode);
        }
    }

    fn forget(&mut self, (folder, name): &Place) {
        if let Some(Node::Folder(names)) = self.0.get_mut(folder) {
            names.remove(name);
        }
    }
}

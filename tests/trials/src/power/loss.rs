//! What a disk holds after a loss of power: everything that was synced, and of the rest a random choice.
//!
//! - A sync of a file makes its content and size durable, a sync of a folder the names in it.
//! - Of a write that was not synced, each sector holds the old or the new bytes: it was dropped, torn, or made before
//!   an earlier one. A sector never mixes two versions. The size is any that the file had since its last sync. A file
//!   becomes shorter completely or not at all: file systems release the blocks by their journal.
//! - A change of a name was made or not, in any order. A rename is made completely, and durable with the folder that it
//!   leads to.

use std::collections::{BTreeMap, HashSet};
use std::mem::take;
use std::ops::Range;
use std::path::Path;

use testkit::market::random::Random;

use super::tree::{Inode, Op, Place, Tree};
use crate::crash::services::CONTENTS;

/// Bytes that a disk writes completely or not at all.
const SECTOR: usize = 512;

/// Stands for the size of a file where the number of a sector does. No file is that large.
const SIZE: usize = 1 << 40;

/// A sync that a service forgets. The disk makes it by itself: it ignores these syncs.
#[derive(Debug, Clone, Copy)]
pub enum Defect {
    Content,
    Folder,
    Log,
    Checkpoint,
}

impl Defect {
    /// All defects.
    pub const ALL: [Self; 4] = [Self::Log, Self::Content, Self::Folder, Self::Checkpoint];

    /// What the service does.
    pub fn name(self) -> &'static str {
        match self {
            Self::Content => "contents are not synced",
            Self::Folder => "folders of contents are not synced",
            Self::Log => "the database's log is not synced",
            Self::Checkpoint => "the database is not synced at a checkpoint",
        }
    }

    fn ignores(self, path: &Path, is_folder: bool) -> bool {
        let is_content = path.starts_with(CONTENTS);
        let ends_with = |end: &str| path.to_string_lossy().ends_with(end);
        match self {
            Self::Content => is_content && !is_folder,
            Self::Folder => is_content && is_folder,
            Self::Log => ends_with(".sqlite-wal"),
            Self::Checkpoint => ends_with(".sqlite"),
        }
    }
}

/// How much of what was not synced is lost.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Extent {
    All,
    Nothing,
    Some,
}

/// What is durable after some operations, and the others of them.
#[derive(Debug)]
pub struct Durable<'a> {
    tree: Tree,
    /// Writes and sizes of each file since its last sync.
    contents: BTreeMap<Inode, Vec<&'a Op>>,
    /// Changes of names whose folders were not synced since.
    names: Vec<&'a Op>,
    defect: Option<Defect>,
}

impl<'a> Durable<'a> {
    /// A disk that holds a tree.
    pub fn new(tree: Tree, defect: Option<Defect>) -> Self {
        Self { tree, contents: BTreeMap::new(), names: Vec::new(), defect }
    }

    /// Executes an operation.
    pub fn apply(&mut self, op: &'a Op) {
        match op {
            Op::Create { inode, is_folder, .. } => {
                self.tree.add(*inode, *is_folder);
                self.names.push(op);
            }
            Op::Rename { .. } | Op::Remove { .. } => self.names.push(op),
            Op::Write { inode, .. } | Op::Resize { inode, .. } => {
                self.contents.entry(*inode).or_default().push(op);
            }
            Op::Sync { inode, path } => {
                let is_folder = self.tree.folder(*inode).is_some();
                if !self.defect.is_some_and(|defect| defect.ignores(path, is_folder)) {
                    self.sync(*inode);
                }
            }
        }
    }

    fn sync(&mut self, synced: Inode) {
        self.contents.remove(&synced).into_iter().flatten().for_each(|op| self.tree.apply(op));
        for op in take(&mut self.names) {
            if places(op).last().is_none_or(|place| place.0 != synced) {
                self.names.push(op);
                continue;
            }
            if let Op::Rename { inode: renamed, .. } = op {
                // Its earlier names are gone, wherever they were.
                self.names.retain(|earlier| {
                    !matches!(earlier, Op::Create { inode, .. } | Op::Rename { inode, .. } if inode == renamed)
                });
            }
            self.tree.apply(op);
        }
    }

    /// Returns the files that were not synced, with the number of their operations and the last one.
    pub fn unsynced(&self) -> String {
        let files = self.contents.iter().filter_map(|(inode, ops)| {
            let last = match ops.last()? {
                Op::Resize { size, .. } => format!("size {size}"),
                Op::Write { offset, data, .. } => format!("{} bytes at {offset}", data.len()),
                _ => return None,
            };
            let path = self.tree.path(*inode)?;
            Some(format!("{} ({} operations, the last: {last})", path.display(), ops.len()))
        });
        files.collect::<Vec<_>>().join(", ")
    }

    /// Chooses what a loss of power leaves.
    pub fn lose(&self, random: &mut Random) -> Tree {
        let extents = [Extent::All, Extent::Nothing, Extent::Some];
        // Half of the losses take some of everything.
        let extent = if random.percent(50) { Extent::Some } else { random.one(&extents) };
        let mut tree = self.tree.clone();
        let mut lost = HashSet::<&Place>::new();
        for op in &self.names {
            let is_kept = extent == Extent::Nothing || (extent == Extent::Some && random.percent(50));
            // Changes of one name are made in order.
            if is_kept && !places(op).any(|place| lost.contains(place)) {
                tree.apply(op);
            } else {
                lost.extend(places(op));
            }
        }
        for (inode, ops) in &self.contents {
            let extent = if extent == Extent::Some { random.one(&extents) } else { extent };
            if let Some(content) = tree.content(*inode) {
                write_in_part(content, ops, extent, random);
            }
        }
        tree.prune();
        tree
    }
}

/// The names that an operation changes. The last is in the folder that makes it durable.
fn places(op: &Op) -> impl Iterator<Item = &Place> {
    let places = match op {
        Op::Create { place, .. } | Op::Remove { place } => [None, Some(place)],
        Op::Rename { from, to, .. } => [Some(from), Some(to)],
        Op::Write { .. } | Op::Resize { .. } | Op::Sync { .. } => [None, None],
    };
    places.into_iter().flatten()
}

/// Executes writes and changes of the size for some sectors. Each sector holds the state after a number of operations.
fn write_in_part(content: &mut Vec<u8>, ops: &[&Op], extent: Extent, random: &mut Random) {
    let seed = random.below(1 << 20);
    let executed = |sector: usize| match extent {
        Extent::All => 0,
        Extent::Nothing => ops.len(),
        Extent::Some => Random::of(seed + sector).below(ops.len() + 1),
    };
    let resized = executed(SIZE);
    let (mut size, mut final_size) = (content.len(), content.len());
    for (index, op) in ops.iter().enumerate() {
        match op {
            Op::Write { offset, data, .. } => {
                let end = offset + data.len();
                for range in sectors(*offset..end).filter(|range| index < executed(range.start / SECTOR)) {
                    content.resize(content.len().max(range.end), 0);
                    content[range.clone()].copy_from_slice(&data[range.start - offset..range.end - offset]);
                }
                size = size.max(end);
            }
            Op::Resize { size: new, .. } => {
                if index < resized {
                    let cut = (*new).min(size).min(content.len())..size.min(content.len());
                    content[cut].fill(0);
                }
                size = *new;
            }
            _ => {}
        }
        if index < resized {
            final_size = size;
        }
    }
    content.resize(final_size, 0);
}

/// Divides a range of bytes at the boundaries of sectors.
fn sectors(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let sectors = range.start / SECTOR..range.end.div_ceil(SECTOR);
    sectors.map(move |sector| (sector * SECTOR).max(range.start)..((sector + 1) * SECTOR).min(range.end))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::power::tree::ROOT;

    const FILE: Inode = 2;
    const FOLDER: Inode = 3;

    fn create(inode: Inode, is_folder: bool, name: &str) -> Op {
        Op::Create { inode, is_folder, place: (ROOT, name.into()) }
    }

    fn write(offset: usize, data: &[u8]) -> Op {
        Op::Write { inode: FILE, offset, data: data.to_vec() }
    }

    fn sync(inode: Inode) -> Op {
        Op::Sync { inode, path: Path::new(CONTENTS).join("f") }
    }

    /// Returns what a disk holds after many losses: the content of the file `f`, and that of `d/g`.
    fn losses(ops: &[Op], defect: Option<Defect>) -> HashSet<[Option<Vec<u8>>; 2]> {
        let mut durable = Durable::new(Tree::with_folders(&[]), defect);
        for op in ops {
            durable.apply(op);
        }
        let trees = (0..300).map(|seed| durable.lose(&mut Random::of(seed)));
        let contents = trees.map(|tree| {
            let moved = tree.find(ROOT, "d".as_ref()).and_then(|folder| tree.find(folder, "g".as_ref()));
            let file = |inode| tree.file(inode).map(<[u8]>::to_vec);
            [tree.find(ROOT, "f".as_ref()).and_then(file), moved.and_then(file)]
        });
        contents.collect()
    }

    /// Contents of `f`, each made of runs of a byte.
    fn contents(all: &[&[(u8, usize)]]) -> HashSet<[Option<Vec<u8>>; 2]> {
        let runs = |runs: &[(u8, usize)]| runs.iter().flat_map(|(byte, count)| vec![*byte; *count]).collect();
        all.iter().map(|content| [Some(runs(content)), None]).collect()
    }

    #[test]
    fn each_sector_is_as_after_some_write_since_the_sync() {
        let mut ops = vec![create(FILE, false, "f"), sync(ROOT), write(0, &[1; 1024])];
        ops.extend([sync(FILE), write(100, &[2; 900]), write(600, &[3; 10])]);
        let left: [&[_]; 2] = [&[(1, 512)], &[(1, 100), (2, 412)]];
        let right: [&[_]; 3] = [&[(1, 512)], &[(2, 488), (1, 24)], &[(2, 88), (3, 10), (2, 390), (1, 24)]];
        let all: Vec<_> =
            left.iter().flat_map(|left| right.iter().map(|right| [*left, *right].concat())).collect();
        assert_eq!(losses(&ops, None), contents(&all.iter().map(Vec::as_slice).collect::<Vec<_>>()));
    }

    #[test]
    fn a_file_has_any_of_its_sizes_since_the_sync() {
        let ops = [create(FILE, false, "f"), sync(ROOT), write(0, &[1; 100]), sync(FILE)];
        let resize = |size| Op::Resize { inode: FILE, size };
        let ops: Vec<_> = ops.into_iter().chain([resize(50), resize(80)]).collect();
        let (old, short, long): (&[_], &[_], &[_]) = (&[(1, 100)], &[(1, 50)], &[(1, 50), (0, 30)]);
        assert_eq!(losses(&ops, None), contents(&[old, short, long]));
    }

    #[test]
    fn names_need_a_sync_of_their_folder() {
        let mut ops = vec![create(FILE, false, "f"), write(0, &[1]), sync(FILE), create(FOLDER, true, "d")];
        let (old, new, none) = ([Some(vec![1]), None], [None, Some(vec![1])], [None, None]);
        assert_eq!(losses(&ops, None), HashSet::from([none.clone(), old.clone()]));
        ops.push(sync(ROOT));
        assert_eq!(losses(&ops, None), HashSet::from([old.clone()]));
        ops.push(Op::Rename { inode: FILE, from: (ROOT, "f".into()), to: (FOLDER, "g".into()) });
        assert_eq!(losses(&ops, None), HashSet::from([old.clone(), new.clone()]));
        ops.push(sync(FOLDER));
        assert_eq!(losses(&ops, None), HashSet::from([new]));
        let torn = [vec![], vec![0], vec![1]].map(|content| [None, Some(content)]);
        assert_eq!(losses(&ops, Some(Defect::Content)), HashSet::from(torn));
        assert!(losses(&ops, Some(Defect::Folder)).contains(&none));
    }
}

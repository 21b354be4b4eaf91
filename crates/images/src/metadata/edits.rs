//! The changes of a content, in the order in which they are found.

use std::io::{Read, Seek};
use std::ops::Range;

use crate::reader::Reader;

/// The most changes of a content. Cameras cause some ten. What follows in a content with more of them is removed, so
/// that crafted content cannot fill the memory.
pub(super) const MAX_EDITS: usize = 10_000;

/// A change of content: the bytes from `start` to `end` are replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The first byte that is replaced.
    pub start: u64,
    /// The byte after the last one that is replaced.
    pub end: u64,
    /// What stands there instead.
    pub replacement: Vec<u8>,
    /// The number of zeros after the replacement.
    pub zeros: u64,
}

/// Changes that do not overlap.
#[derive(Default)]
pub(super) struct Edits(Vec<Edit>);

impl Edits {
    /// Adds a change that removes bytes. Neighbours become one, so that many small segments need little memory.
    pub(super) fn remove(&mut self, start: u64, end: u64) {
        match self.0.last_mut() {
            Some(last) if last.end == start && last.replacement.is_empty() && last.zeros == 0 => {
                last.end = end;
            }
            _ => self.0.push(Edit { start, end, replacement: Vec::new(), zeros: 0 }),
        }
    }

    /// Adds a change that replaces bytes, or removes them if there is no replacement.
    pub(super) fn replace(&mut self, start: u64, end: u64, replacement: Vec<u8>) {
        if replacement.is_empty() {
            self.remove(start, end);
        } else {
            self.0.push(Edit { start, end, replacement, zeros: 0 });
        }
    }

    /// Replaces the part of a text at a position from the first to the last difference from a text of the same length,
    /// except what other changes cover.
    pub(super) fn replace_difference(&mut self, at: u64, before: &[u8], after: &[u8]) {
        let differs = |n: &usize| before[*n] != after[*n];
        let first = (0..before.len()).find(differs).unwrap_or(0);
        let end = (0..before.len()).rfind(differs).map_or(0, |last| last + 1);
        let (from, to) = (at + first as u64, at + end as u64);
        for gap in self.gaps(from, to) {
            let replacement = after[(gap.start - at) as usize..(gap.end - at) as usize].to_vec();
            self.replace(gap.start, gap.end, replacement);
        }
    }

    /// Overwrites bytes with zeros, except those that other changes cover.
    pub(super) fn erase(&mut self, start: u64, end: u64) {
        for Range { start, end } in self.gaps(start, end) {
            self.0.push(Edit { start, end, replacement: Vec::new(), zeros: end - start });
        }
    }

    /// Returns the parts of a range that no change covers.
    fn gaps(&self, start: u64, end: u64) -> Vec<Range<u64>> {
        let covers = |edit: &&Edit| edit.start < end && start < edit.end;
        let mut covered: Vec<_> = self.0.iter().filter(covers).map(|edit| edit.start..edit.end).collect();
        covered.sort_unstable_by_key(|range| range.start);
        let (mut gaps, mut at) = (Vec::new(), start);
        for range in covered {
            if at < range.start {
                gaps.push(at..range.start);
            }
            at = at.max(range.end);
        }
        if at < end {
            gaps.push(at..end);
        }
        gaps
    }

    /// Removes bytes. Changes of them are dropped, or shortened.
    pub(super) fn cut(&mut self, start: u64, end: u64) {
        self.0.retain(|edit| edit.start < start);
        for edit in &mut self.0 {
            let excess = edit.end.saturating_sub(start);
            edit.end -= excess;
            let zeros = edit.zeros.min(excess);
            edit.zeros -= zeros;
            let left = edit.replacement.len().saturating_sub((excess - zeros) as usize);
            edit.replacement.truncate(left);
        }
        self.remove(start, end);
    }

    /// Returns true if there are so many changes that the rest of the content must be removed.
    pub(super) fn is_full(&self) -> bool {
        self.0.len() >= MAX_EDITS
    }

    /// Returns true if a change covers any of these bytes.
    pub(super) fn touches(&self, start: u64, end: u64) -> bool {
        self.0.iter().any(|edit| edit.start < end && start < edit.end)
    }

    /// Returns by how many bytes the changes shorten the content.
    pub(super) fn removed_bytes(&self) -> i64 {
        let removed = |edit: &Edit| {
            (edit.end - edit.start).cast_signed() - (edit.replacement.len() as u64 + edit.zeros).cast_signed()
        };
        self.0.iter().map(removed).sum()
    }

    /// Returns the changes in the order of the content.
    pub(super) fn into_sorted(mut self) -> Vec<Edit> {
        self.0.sort_by_key(|edit| edit.start);
        self.0
    }
}

/// Bytes after the end of an image that stay. Some writers pad their files.
pub(super) const MAX_PADDING_BYTES: u64 = 16;

/// Removes everything from the next byte on, unless it is padding.
pub(super) fn remove_trailing(reader: &Reader<impl Read + Seek>, edits: &mut Edits) {
    let start = reader.position();
    if reader.size - start > MAX_PADDING_BYTES {
        edits.remove(start, reader.size);
    }
}

//! The contents of snapshots: records one after the other, in chunks that can be decoded one by one.

use std::collections::HashSet;

use anyhow::{Result, ensure};
use crc32fast::Hasher;
use database::Id;

use super::model::SnapshotHeader;
use crate::listings::facets::index::FacetIndex;
use crate::listings::facets::record::IndexRecord;

/// A chunk ends after the first record that makes it as long as this, in bytes.
const CHUNK_BYTES: usize = 1_000_000;

/// Encodes records. Returns the chunks, none of which is empty.
pub(crate) fn encode<'a>(
    records: impl Iterator<Item = IndexRecord<'a>>,
) -> impl Iterator<Item = postcard::Result<Vec<u8>>> {
    let mut records = records.peekable();
    std::iter::from_fn(move || {
        records.peek()?;
        let mut bytes = Vec::with_capacity(CHUNK_BYTES + 1_000);
        while bytes.len() < CHUNK_BYTES
            && let Some(record) = records.next()
        {
            match postcard::to_extend(&record, bytes) {
                Ok(extended) => bytes = extended,
                Err(error) => return Some(Err(error)),
            }
        }
        Some(Ok(bytes))
    })
}

/// Decodes the chunks of a snapshot.
#[derive(Debug, Default)]
pub(crate) struct ChunkReader {
    index: FacetIndex,
    stale: HashSet<Id>,
    checksum: Hasher,
}

impl ChunkReader {
    /// Adds the records of the next chunk.
    ///
    /// # Errors
    /// If the chunk is malformed.
    pub(crate) fn add(&mut self, chunk: &[u8]) -> Result<()> {
        self.checksum.update(chunk);
        let mut rest = chunk;
        while !rest.is_empty() {
            let record;
            (record, rest) = postcard::take_from_bytes(rest)?;
            match record {
                IndexRecord::Stale(id) => {
                    self.stale.insert(id);
                }
                record => self.index.restore(record)?,
            }
        }
        Ok(())
    }

    /// Returns the index and the ids of stale listings.
    ///
    /// # Errors
    /// If the chunks are not those of this header.
    pub(crate) fn finish(mut self, header: &SnapshotHeader) -> Result<(FacetIndex, HashSet<Id>)> {
        ensure!(i64::from(self.checksum.finalize()) == header.checksum, "the checksum is wrong");
        ensure!(i64::try_from(self.index.len()) == Ok(header.listings), "the number of listings is wrong");
        self.index.finish_restore();
        Ok((self.index, self.stale))
    }
}

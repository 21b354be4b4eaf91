//! Tests of the contents of snapshots.

use std::collections::HashSet;

use crc32fast::Hasher;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::json;

use super::header;
use crate::listings::facets::caching_index::CachingIndex;
use crate::listings::facets::fixtures::{CATEGORIES, VIEWERS, any_row, any_search, id, row, search, word};
use crate::listings::facets::index::FacetIndex;
use crate::listings::facets::interner::Interners;
use crate::listings::facets::model::{FacetColumns, PrivateSpelling, StoredMatches};
use crate::listings::facets::range_filters::Measures;
use crate::listings::facets::record::IndexRecord;
use crate::listings::facets::row::FacetRow;
use crate::listings::facets::snapshot::chunks::{ChunkReader, encode};
use crate::listings::search::ListingSearch;

/// Encodes an index.
fn chunks_of(index: &FacetIndex) -> Vec<Vec<u8>> {
    let stale = [id(1), id(3)].map(IndexRecord::Stale);
    encode(index.records().chain(stale)).collect::<Result<_, _>>().unwrap()
}

/// Decodes chunks as those of a snapshot of this number of listings. The checksum is right.
fn read(chunks: &[Vec<u8>], listings: usize) -> anyhow::Result<FacetIndex> {
    let (mut reader, mut checksum) = (ChunkReader::default(), Hasher::new());
    for chunk in chunks {
        checksum.update(chunk);
        reader.add(chunk)?;
    }
    let mut header = header(i64::try_from(listings).unwrap());
    header.checksum = checksum.finalize().into();
    Ok(reader.finish(&header)?.0)
}

/// Returns the facets of all searches for all viewers.
fn responses(index: &CachingIndex, searches: &[ListingSearch]) -> Vec<String> {
    let by_all = searches.iter().flat_map(|search| VIEWERS.map(|viewer| (viewer, search)));
    by_all
        .map(|(viewer, search)| index.facets(viewer, search, &StoredMatches::default(), &CATEGORIES).unwrap())
        .collect()
}

fn any_index() -> impl Strategy<Value = CachingIndex> {
    let measures = (prop::option::of(0..90_i64), prop::option::of(0.6..0.7_f64));
    let rows = prop::collection::vec((any_row(), measures), 0..40);
    let spellings = prop::collection::vec((word(), "\\PC{0,12}"), 0..4);
    let private = prop::collection::vec((word(), "\\PC{0,12}"), 0..4);
    (rows, spellings, private).prop_map(|(rows, spellings, private)| {
        let mut index = CachingIndex::default();
        let rows = rows.into_iter().map(|(row, (age, x))| {
            let age = age.map(|months| months * 10_000);
            FacetColumns { min_age: age, max_age: age, x, y: x, z: x.map(|x| x - 0.3), ..row }
        });
        index.insert(&rows.collect::<Vec<_>>());
        index.add_spellings(spellings);
        let private = private.into_iter().map(|(term, spelling)| PrivateSpelling {
            organisation_id: "a".to_owned(),
            term,
            spelling,
        });
        index.add_private_spellings(private.collect());
        index
    })
}

/// Searches with filters of ages, distance and words.
fn range_searches() -> [ListingSearch; 4] {
    let near = json!({"latitude": 25.0, "longitude": 45.0, "distanceKm": 700.0});
    let ages = json!({"minAge": 20.0, "maxAge": 60.0});
    [near, ages, json!({"query": "r"}), json!({"query": "SS ou", "minAge": 20.0})].map(|query| search(&query))
}

proptest! {
    #[test]
    fn a_decoded_index_has_the_facets_of_the_encoded_one(
        index in any_index(),
        searches in prop::collection::vec(any_search(), 1..6),
        later in prop::collection::vec(any_row(), 0..4),
    ) {
        let searches = [searches, range_searches().to_vec()].concat();
        let mut index = index;
        let mut decoded = CachingIndex::from(read(&chunks_of(&index.inner), index.inner.len()).unwrap());
        prop_assert_eq!(responses(&decoded, &searches), responses(&index, &searches));
        for index in [&mut index, &mut decoded] {
            index.insert(&later);
        }
        prop_assert_eq!(responses(&decoded, &searches), responses(&index, &searches));
    }

    /// Also if the checksum is that of the changed bytes, so that only the values of the records are checked.
    #[test]
    fn changed_bytes_lead_to_an_error_or_a_valid_index(
        index in any_index(),
        at in any::<Index>(),
        bytes in prop::collection::vec(any::<u8>(), 0..6),
    ) {
        let mut changed = chunks_of(&index.inner);
        let at = at.index(changed[0].len());
        let end = (at + bytes.len()).min(changed[0].len());
        changed[0].splice(at..end, bytes);
        if let Ok(index) = read(&changed, index.inner.len()) {
            let mut index = CachingIndex::from(index);
            responses(&index, &[search(&json!({}))]);
            index.insert(&[row(id(2), "new")]);
            index.inner.remove_unused_texts();
        }
    }

    #[test]
    fn truncated_chunks_lead_to_an_error(index in any_index(), at in any::<Index>()) {
        let chunks = chunks_of(&index.inner);
        let mut truncated = chunks.clone();
        truncated[0].truncate(at.index(chunks[0].len()));
        let mut reader = ChunkReader::default();
        let mut header = header(i64::try_from(index.inner.len()).unwrap());
        header.checksum = crc32fast::hash(&chunks[0]).into();
        prop_assert!(reader.add(&truncated[0]).and_then(|()| reader.finish(&header)).is_err());
    }
}

#[test]
fn large_indexes_have_several_chunks() {
    let mut index = CachingIndex::default();
    let rows: Vec<_> = (0..30_000).map(|n| row(id(n), &format!("breed {n}"))).collect();
    index.insert(&rows);
    let chunks = chunks_of(&index.inner);
    assert!(chunks.len() > 1 && chunks.iter().all(|chunk| chunk.len() <= 1 << 20), "{}", chunks.len());
    let decoded = CachingIndex::from(read(&chunks, rows.len()).unwrap());
    let searches = [search(&json!({}))];
    assert_eq!(responses(&decoded, &searches), responses(&index, &searches));
}

#[test]
fn records_that_no_index_has_are_refused() {
    let columns = row(id(1), "");
    let listing = |n, term| {
        let row = FacetRow::of(&columns, &mut Interners::default());
        let row = FacetRow { breed: term, organisation: 0, ..row };
        IndexRecord::Listing(id(n), row, Measures::of(&columns), Some(Vec::new()))
    };
    let with_word = |number| match listing(1, 0) {
        IndexRecord::Listing(id, row, measures, _) => {
            IndexRecord::Listing(id, row, measures, Some(vec![number]))
        }
        other => other,
    };
    let types = |hashes: &[u64]| IndexRecord::Types(hashes.to_vec().into());
    for records in [
        vec![IndexRecord::Term("a"), IndexRecord::Term("a")],
        vec![IndexRecord::Term("")],
        vec![IndexRecord::Organisation("")],
        vec![types(&[])],
        vec![types(&[2, 1])],
        vec![types(&[1]), IndexRecord::TypeKey([0, 0])],
        vec![IndexRecord::Spelling(1, "A")],
        vec![IndexRecord::Spelling(0, "A")],
        vec![IndexRecord::PrivateSpelling(1, 1, "A".into())],
        vec![listing(1, 1)],
        vec![listing(1, u32::MAX)],
        vec![listing(2, 0), listing(2, 0)],
        vec![listing(2, 0), listing(1, 0)],
        vec![IndexRecord::Word("a"), IndexRecord::Word("a")],
        vec![IndexRecord::Word("")],
        vec![IndexRecord::Word("a b")],
        vec![with_word(0)],
        vec![IndexRecord::Word("a"), with_word(1)],
    ] {
        let listings = records.iter().filter(|record| matches!(record, IndexRecord::Listing(..))).count();
        let message = format!("{records:?}");
        let chunks: Vec<_> = encode(records.into_iter()).collect::<Result<_, _>>().unwrap();
        assert!(read(&chunks, listings).is_err(), "{message}");
    }
}

/// If this fails, increment `FORMAT`, so that no replica reads a snapshot of another format.
#[test]
fn the_format_has_not_changed() {
    let mut index = FacetIndex::default();
    index.restore(IndexRecord::TypeKey([1, 2])).unwrap();
    index.restore(IndexRecord::Types([3, u64::MAX][..].into())).unwrap();
    let mut columns = row(id(7), "hereford");
    columns.sexes = "\newes\ncows\n".to_owned();
    columns.additional_info = "\norganic\n".to_owned();
    columns.status = "sold".to_owned();
    (columns.min_age, columns.born) = (Some(140_000), Some(774_000));
    (columns.x, columns.y, columns.z) = (Some(0.5), Some(-0.25), Some(0.125));
    let mut index = CachingIndex::from(index);
    index.insert(&[columns]);
    let bytes = chunks_of(&index.inner).concat();
    assert_eq!((bytes.len(), crc32fast::hash(&bytes)), (140, 3_904_480_087), "{bytes:?}");
    let read = read(&[bytes], 1).unwrap();
    assert_eq!(read.records().map(|record| std::mem::discriminant(&record)).collect::<HashSet<_>>().len(), 6);
}

//! Tests of EXIF data, also of data that was made to take long.

use proptest::prelude::*;

use super::personal::MAX_ENTRIES;
use super::*;
use crate::samples::exif_with_position;

fn has(bytes: &[u8], text: &[u8]) -> bool {
    bytes.windows(text.len()).any(|window| window == text)
}

/// Returns an entry of bytes (type 1).
fn entry(tag: u16, count: usize, value: usize) -> Vec<u8> {
    let long = |n: usize| u32::try_from(n).unwrap().to_le_bytes();
    [&tag.to_le_bytes()[..], &[1, 0], &long(count), &long(value)].concat()
}

/// Returns EXIF data with one directory at position 8.
fn data(entries: &[Vec<u8>]) -> Vec<u8> {
    let count = u16::try_from(entries.len()).unwrap().to_le_bytes();
    [&b"II*\0\x08\0\0\0"[..], &count, &entries.concat(), &[0; 4]].concat()
}

#[test]
fn the_position_is_removed_in_place() {
    for is_little_endian in [true, false] {
        let tiff = exif_with_position(6, is_little_endian);
        let Cleaned::Changed(changed) = cleaned(&tiff) else { panic!("{is_little_endian}") };
        assert_eq!(changed.len(), tiff.len());
        assert_eq!(orientation(&changed), Orientation::new(6).unwrap());
        assert!(has(&tiff, b"SECRET-POSITION") && !has(&changed, b"SECRET-POSITION"));
        assert!(has(&changed, b"Camera"), "other tags stay");
        assert_eq!(cleaned(&changed), Cleaned::Unchanged);
    }
}

#[test]
fn minimal_data_states_the_orientation() {
    for tag in 1..=8 {
        let expected = Orientation::new(tag).unwrap();
        let tiff = minimal(expected);
        assert_eq!(orientation(&tiff), expected);
        assert_eq!(cleaned(&tiff), Cleaned::Unchanged);
    }
    assert_eq!(cleaned(b"junk"), Cleaned::Unreadable);
}

/// An entry with the value `SECRET!!`, which is at position 62, for each tag.
#[test]
fn only_known_entries_stay() {
    let with = |tag: u16, next: u32| {
        let mut tiff = data(&[entry(0x010f, 4, 0), entry(tag, 8, 62), entry(0x0112, 1, 1)]);
        tiff.truncate(46);
        tiff.extend(next.to_le_bytes());
        tiff.resize(62, 0);
        [&tiff[..], b"SECRET!!"].concat()
    };
    // Notes of the maker, comments, titles, a unique id, owners, serial numbers, and a tag that is not known.
    for tag in [
        0x927c, 0x9286, 0x9c9b, 0x9c9c, 0x9c9d, 0x9c9e, 0x9c9f, 0xa420, 0xa430, 0xa431, 0xa435, 0xa436,
        0xc4a5,
    ] {
        let Cleaned::Changed(changed) = cleaned(&with(tag, 0)) else { panic!("{tag:x}") };
        assert!(!has(&changed, b"SECRET"), "{tag:x}");
        assert_eq!(changed[8], 2, "the other entries stay");
    }
    for tag in [0x010e, 0x0110, 0x0131, 0x0132, 0x013b, 0x8298, 0x829a, 0x9003, 0x920a, 0xa402, 0xa434] {
        assert_eq!(cleaned(&with(tag, 0)), Cleaned::Unchanged, "{tag:x}");
    }
}

/// What no entry that stays refers to: the content of a directory that is not known, what a maker note refers to
/// outside of itself, and what follows the last value.
#[test]
fn bytes_that_belong_to_nothing_are_erased() {
    let maker_note = entry(0x927c, 8, 80);
    let unknown_directory = entry(0x014a, 1, 100);
    for removed in [None, Some(maker_note), Some(unknown_directory)] {
        let entries: Vec<_> =
            [entry(0x010f, 8, 62), entry(0x0112, 1, 1)].into_iter().chain(removed).collect();
        let mut tiff = data(&entries);
        tiff.resize(62, 0);
        tiff.extend(b"Camera\0\0");
        tiff.resize(110, 0);
        tiff.extend(b"SECRET!!");
        let Cleaned::Changed(changed) = cleaned(&tiff) else { panic!("{entries:?}") };
        assert!(has(&changed, b"Camera") && !has(&changed, b"SECRET"), "{entries:?}");
        assert_eq!(cleaned(&changed), Cleaned::Unchanged);
    }
}

/// The next directory refers to a smaller JPEG, which may have its own metadata.
#[test]
fn the_thumbnail_is_erased() {
    let mut tiff = data(&[entry(0x0112, 1, 1)]);
    tiff.truncate(22);
    tiff.extend(26u32.to_le_bytes());
    let next = data(&[entry(0x0103, 1, 6), entry(0x0201, 1, 80), entry(0x0202, 1, 8)]);
    tiff.extend(&next[8..]);
    tiff.resize(80, 0);
    tiff.extend(b"SECRET!!rest");
    let Cleaned::Changed(changed) = cleaned(&tiff) else { panic!() };
    assert_eq!(changed[80..], [0; 12]);
    let Cleaned::Changed(changed) = cleaned_without_end(&tiff) else { panic!() };
    assert_eq!(&changed[80..], b"\0\0\0\0\0\0\0\0rest");
    assert_eq!(changed[26], 1, "the other entry stays");
}

/// Every second entry is removed, in one pass.
#[test]
fn many_entries_are_removed() {
    let entries = |kept: bool| -> Vec<Vec<u8>> {
        let numbers = 0..MAX_ENTRIES;
        let is_removed = |n: usize| n.is_multiple_of(2);
        let entry = |n: usize| entry(if is_removed(n) { 0x02bc } else { 0x9000 }, 4, n);
        numbers.filter(|n| !kept || !is_removed(*n)).map(entry).collect()
    };
    let tiff = data(&entries(false));
    let Cleaned::Changed(changed) = cleaned(&tiff) else { panic!() };
    let expected = data(&entries(true));
    assert_eq!(changed[..expected.len()], expected);
    assert_eq!(changed.len(), tiff.len());
    assert!(changed[expected.len()..].iter().all(|byte| *byte == 0));
}

/// The cost of these would grow with the square of their length.
#[test]
fn data_with_too_many_entries_is_unreadable() {
    let packets = |count: usize| data(&vec![entry(0x02bc, 4, 0); count]);
    assert!(matches!(cleaned(&packets(MAX_ENTRIES)), Cleaned::Changed(_)));
    assert_eq!(cleaned(&packets(MAX_ENTRIES + 1)), Cleaned::Unreadable);
    assert_eq!(cleaned(&packets(65_535)), Cleaned::Unreadable);
    // Each of these refers to the same directory of positions, which is counted again.
    let mut positions = vec![entry(0x8825, 4, 8); 40];
    assert_eq!(cleaned(&data(&positions)), Cleaned::Unreadable);
    positions.truncate(3);
    assert_eq!(
        personal::find(Tiff::new(&data(&positions)).unwrap()).map(|found| found.is_empty()),
        Some(false)
    );
}

/// Every value is the whole data, and each byte is erased once.
#[test]
fn values_may_overlap() {
    let mut tiff = data(&[entry(0x02bc, 100, 38), entry(0x83bb, 100, 60)]);
    tiff.resize(38, 0);
    tiff.extend([7; 122]);
    tiff.extend(b"rest");
    let Cleaned::Changed(changed) = cleaned_without_end(&tiff) else { panic!() };
    assert_eq!(changed[38..160], [0; 122]);
    assert_eq!(&changed[160..], b"rest");
    // A value that ends after the data.
    let outside = data(&[entry(0x02bc, 100, 38)]);
    assert_eq!(cleaned(&outside), Cleaned::Unreadable);
}

proptest! {
    #[test]
    fn any_data_is_cleaned_or_unreadable(
        bytes in prop::collection::vec(any::<u8>(), 0..80), at in 0usize..200, value: u8,
    ) {
        let mut damaged = exif_with_position(3, true);
        if let Some(byte) = damaged.get_mut(at) {
            *byte = value;
        }
        for tiff in [[&b"II*\0\x08\0\0\0"[..], &bytes].concat(), damaged] {
            if let Cleaned::Changed(changed) = cleaned(&tiff) {
                prop_assert_eq!(changed.len(), tiff.len());
                prop_assert_eq!(cleaned(&changed), Cleaned::Unchanged);
                prop_assert_eq!(orientation(&changed), orientation(&tiff));
            }
        }
    }
}

//! What decoding takes, by the headers alone: these images have no pixels.

use std::io::Cursor;

use super::{MAX_MEMORY_BYTES, Method, Plan};
use crate::samples::{self, CountedContent};
use crate::{Format, ImageError};

const MIB: u64 = 1 << 20;
/// The marker of a frame.
const BASELINE: u8 = 0xc0;
const PROGRESSIVE: u8 = 0xc2;
const LOSSLESS: u8 = 0xc3;
/// The sampling factors of components.
const FULL: [u8; 3] = [0x11; 3];
const HALVED: [u8; 3] = [0x22, 0x11, 0x11];
const FOUR: [u8; 4] = [0x11; 4];

fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 2).unwrap().to_be_bytes();
    [&[0xff, marker], &length[..], payload].concat()
}

/// Returns a JPEG without pixels.
fn jpeg(marker: u8, (width, height): (u16, u16), factors: &[u8], scans: usize) -> Vec<u8> {
    let components = factors.iter().zip(1u8..).flat_map(|(factors, id)| [id, *factors, 0]);
    let frame: Vec<u8> = [8].into_iter().chain(height.to_be_bytes()).chain(width.to_be_bytes()).collect();
    let frame = [frame, vec![factors.len() as u8], components.collect()].concat();
    let scan = [segment(0xda, &[1, 1, 0, 0, 63, 0]), vec![1, 2, 0xff, 0, 3]].concat();
    [&[0xff, 0xd8][..], &segment(marker, &frame), &scan.repeat(scans), &[0xff, 0xd9]].concat()
}

fn plan(content: &[u8], format: Format) -> Result<Plan, ImageError> {
    Plan::new(&mut Cursor::new(content), format, 1280)
}

/// Returns the memory, and the size of the copy.
fn jpeg_plan(content: &[u8]) -> Option<(u64, (u32, u32))> {
    match plan(content, Format::Jpeg) {
        Ok(Plan { method: Method::Jpeg(jpeg), memory_bytes, .. }) => Some((memory_bytes, jpeg.goal.copy)),
        Err(ImageError::Undecodable(_)) => None,
        other => panic!("{other:?}"),
    }
}

#[test]
fn jpegs_of_50_megapixels_fit() {
    let size = (10_000, 5_000);
    for (marker, factors, expected) in [
        (BASELINE, &FULL[..], 120..180),
        (BASELINE, &HALVED, 60..90),
        (BASELINE, &FOUR, 180..230),
        (BASELINE, &FULL[..1], 40..70),
        (PROGRESSIVE, &HALVED, 240..251),
        (PROGRESSIVE, &FULL[..1], 190..210),
    ] {
        let (bytes, copy) = jpeg_plan(&jpeg(marker, size, factors, 1)).unwrap();
        assert!(expected.contains(&(bytes / MIB)), "{marker} {factors:?}: {} MiB", bytes / MIB);
        assert_eq!(copy, (1280, 640));
    }
}

/// The coefficients of a progressive image have two bytes a sample.
#[test]
fn jpegs_that_need_too_much_memory_are_refused() {
    for (marker, size, factors, fits) in [
        (PROGRESSIVE, (10_000, 5_000), &FULL[..], false),
        (PROGRESSIVE, (10_000, 5_000), &FOUR, false),
        (PROGRESSIVE, (7_000, 5_000), &FULL, false),
        (PROGRESSIVE, (6_000, 5_000), &FULL, true),
        (PROGRESSIVE, (7_000, 5_000), &FOUR, false),
        (PROGRESSIVE, (5_000, 5_000), &FOUR, true),
        (LOSSLESS, (100, 100), &FULL, false),
        (0xc9, (100, 100), &FULL, false),
    ] {
        let found = jpeg_plan(&jpeg(marker, size, factors, 1));
        assert_eq!(found.is_some(), fits, "{marker} {size:?} {factors:?}: {found:?}");
        assert!(found.is_none_or(|(bytes, _)| bytes <= MAX_MEMORY_BYTES));
    }
}

/// The pixels of this one take what its coefficients leave, if the decoder reduces it a little more.
#[test]
fn the_copy_is_smaller_if_that_saves_memory_that_is_not_there() {
    let (bytes, _) = jpeg_plan(&jpeg(PROGRESSIVE, (5_000, 5_000), &FOUR, 1)).unwrap();
    assert!(bytes <= MAX_MEMORY_BYTES);
    let Ok(Plan { method: Method::Jpeg(plan), .. }) =
        plan(&jpeg(PROGRESSIVE, (5_000, 5_000), &FOUR, 1), Format::Jpeg)
    else {
        panic!()
    };
    assert!(plan.reduced < plan.goal.copy, "{plan:?}");
}

/// Each scan goes through the whole image.
#[test]
fn the_number_of_scans_is_limited() {
    for (size, scans, fits) in [
        ((4_000, 3_000), 100, true),
        ((4_000, 3_000), 101, false),
        ((10_000, 5_000), 30, true),
        ((10_000, 5_000), 31, false),
        ((8, 8), 5_000, false),
    ] {
        let found = jpeg_plan(&jpeg(PROGRESSIVE, size, &HALVED, scans));
        assert_eq!(found.is_some(), fits, "{size:?} {scans}");
    }
    let mut content = jpeg(BASELINE, (8, 8), &FULL, 1);
    let tables = segment(0xc4, &vec![0; 60_000]).repeat(20);
    content.splice(2..2, tables);
    assert!(jpeg_plan(&content).is_none());
}

/// A file of markers only.
#[test]
fn segments_are_read_once() {
    let content = jpeg(PROGRESSIVE, (8, 8), &FULL, 100_000);
    let size = content.len() as u64;
    let (content, read) = CountedContent::new(content);
    let plan = super::JpegPlan::new(&mut { content }, 160);
    assert!(matches!(plan, Err(ImageError::Undecodable(_))));
    assert!(read.get() <= size, "{} of {size}", read.get());
}

#[test]
fn headers_of_damaged_jpegs_are_refused() {
    let valid = jpeg(BASELINE, (80, 60), &FULL, 1);
    assert!(jpeg_plan(&valid).is_some());
    for end in 0..valid.len() - 20 {
        assert!(jpeg_plan(&valid[..end]).is_none(), "{end}");
    }
    for factors in [&[0x01, 0x11, 0x11][..], &[0x50, 0x11, 0x11], &[0x11; 2], &[0x11; 5], &[]] {
        assert!(jpeg_plan(&jpeg(BASELINE, (80, 60), factors, 1)).is_none(), "{factors:?}");
    }
}

/// Returns a PNG of which only the header exists.
fn png(width: u32, height: u32, is_interlaced: bool) -> Vec<u8> {
    let mut content = samples::png(1, 1, png::ColorType::Rgba)[..33].to_vec();
    content[16..20].copy_from_slice(&width.to_be_bytes());
    content[20..24].copy_from_slice(&height.to_be_bytes());
    content[28] = is_interlaced.into();
    let checksum = crc32fast::hash(&content[12..29]);
    content[29..].copy_from_slice(&checksum.to_be_bytes());
    content
}

#[test]
fn other_formats_of_50_megapixels_fit() {
    let mut gif = samples::gif(1, 1);
    gif[6..8].copy_from_slice(&10_000u16.to_le_bytes());
    gif[8..10].copy_from_slice(&5_000u16.to_le_bytes());
    for (content, format, expected) in [
        (png(10_000, 5_000, false), Format::Png, 1..40),
        (png(10_000, 5_000, true), Format::Png, 190..210),
        (gif, Format::Gif, 45..70),
    ] {
        let bytes = plan(&content, format).unwrap().memory_bytes;
        assert!(expected.contains(&(bytes / MIB)), "{format:?}: {} MiB", bytes / MIB);
    }
}

/// Returns a WebP whose lossless image has no pixels.
fn lossless_webp(width: u32, height: u32, length: usize) -> Vec<u8> {
    let bits = (width - 1) | ((height - 1) << 14);
    let mut content = [&b"RIFF\0\0\0\0WEBPVP8L\x05\0\0\0\x2f"[..], &bits.to_le_bytes()].concat();
    content.resize(length, 0);
    content
}

#[test]
fn the_memory_of_webp_depends_on_its_coding() {
    let lossy = plan(&samples::webp(640, 400, 3), Format::WebP).unwrap();
    assert!(matches!(lossy.method, Method::WebP((640, 400))) && lossy.memory_bytes < 8 * MIB);
    // Alpha is coded without loss, and its tables may need more than there is.
    let alpha = plan(&samples::webp(640, 400, 4), Format::WebP).unwrap();
    assert!(matches!(alpha.method, Method::WebP((640, 400))) && alpha.memory_bytes > lossy.memory_bytes);
    let small = plan(&lossless_webp(100, 100, 2_000), Format::WebP).unwrap();
    assert!(small.memory_bytes < 16 * MIB);
    let large = plan(&lossless_webp(10_000, 5_000, 1 << 20), Format::WebP).unwrap();
    assert_eq!(large.memory_bytes, MAX_MEMORY_BYTES);
    let refused = plan(&lossless_webp(10_001, 5_000, 1 << 20), Format::WebP).unwrap_err();
    assert!(matches!(refused, ImageError::TooManyPixels(_)));
    let none = plan(&lossless_webp(100, 100, 20), Format::WebP).unwrap_err();
    assert!(matches!(none, ImageError::Undecodable(_)));
}

//! What is removed, and that the pixels stay.

use std::io::Cursor;

use proptest::prelude::*;

use super::{MetadataFormat, find_metadata, png};
use crate::Format;
use crate::exif::{self, Orientation};
use crate::samples::{self, decode, exif_with_position, pixels};

const SECRETS: [&[u8]; 4] = [b"SECRET-POSITION", b"SECRET-XMP", b"SECRET-IPTC", b"SECRET-TRAILER"];
const XMP: &[u8] = b"<x:xmpmeta>SECRET-XMP</x:xmpmeta>";

/// Returns the content without its metadata.
pub(super) fn stripped(content: &[u8], format: MetadataFormat) -> Vec<u8> {
    let (mut result, mut position) = (Vec::new(), 0);
    for edit in find_metadata(Cursor::new(content), format).unwrap() {
        assert!(edit.start >= position && edit.end >= edit.start, "edits overlap");
        result.extend(&content[position as usize..edit.start as usize]);
        result.extend(edit.replacement);
        position = edit.end;
    }
    result.extend(&content[position as usize..]);
    result
}

fn has_secret(content: &[u8]) -> bool {
    SECRETS.iter().any(|secret| content.windows(secret.len()).any(|window| window == *secret))
}

pub(super) fn segment(marker: u8, payload: &[u8]) -> Vec<u8> {
    let length = u16::try_from(payload.len() + 2).unwrap();
    [&[0xff, marker][..], &length.to_be_bytes(), payload].concat()
}

/// A JPEG with all kinds of metadata, and a second image after its end.
fn jpeg(orientation: u8, is_progressive: bool) -> Vec<u8> {
    let image = samples::jpeg(48, 30, is_progressive);
    let exif = segment(0xe1, &[b"Exif\0\0", &exif_with_position(orientation, true)[..]].concat());
    let xmp = segment(0xe1, &[b"http://ns.adobe.com/xap/1.0/\0", XMP].concat());
    let iptc = segment(0xed, b"Photoshop 3.0\x008BIM\x04\x04SECRET-IPTC");
    let comment = segment(0xfe, b"a comment");
    let trailer = [&segment(0xe1, b"Exif\0\0SECRET-TRAILER")[..], &image].concat();
    [&image[..2], &exif, &xmp, &iptc, &comment, &image[2..], &trailer].concat()
}

pub(super) fn png_with(chunks: &[([u8; 4], Vec<u8>)]) -> Vec<u8> {
    let image = samples::png(20, 14, ::png::ColorType::Rgba);
    // After the signature and the header.
    let mut content = image[..33].to_vec();
    for (kind, data) in chunks {
        content.extend(png::chunk(*kind, data));
    }
    content.extend(&image[33..]);
    content
}

/// A WebP with flags for EXIF and XMP data.
fn webp(orientation: u8) -> Vec<u8> {
    let image = samples::webp(20, 14, 4);
    // An image with alpha has a VP8X chunk already.
    assert_eq!(&image[12..16], b"VP8X");
    let mut content = image.clone();
    content[20] |= 0x0c;
    for (name, data) in [(b"EXIF", exif_with_position(orientation, false)), (b"XMP ", XMP.to_vec())] {
        content.extend(name);
        content.extend(u32::try_from(data.len()).unwrap().to_le_bytes());
        content.extend(&data);
        content.resize(content.len() + data.len() % 2, 0);
    }
    let length = u32::try_from(content.len() - 8).unwrap();
    content[4..8].copy_from_slice(&length.to_le_bytes());
    content
}

#[test]
fn metadata_of_jpeg_is_removed() {
    for is_progressive in [false, true] {
        let content = jpeg(6, is_progressive);
        let result = stripped(&content, MetadataFormat::Jpeg);
        assert!(has_secret(&content) && !has_secret(&result), "progressive: {is_progressive}");
        let decoded = |content: &[u8]| decode(content, Format::Jpeg, 640).unwrap();
        assert_eq!(decoded(&content), decoded(&result));
        assert_eq!((decoded(&result).width, decoded(&result).height), (30, 48), "the orientation stays");
        let has = |text: &[u8]| result.windows(text.len()).any(|window| window == text);
        assert!(has(b"a comment") && has(b"Camera"));
    }
}

#[test]
fn metadata_of_png_is_removed() {
    let text = |keyword: &str| [keyword.as_bytes(), b"\0SECRET-XMP"].concat();
    let content = png_with(&[
        (*b"eXIf", exif_with_position(8, false)),
        (*b"iTXt", text("XML:com.adobe.xmp")),
        (*b"zTXt", text("Raw profile type iptc")),
        (*b"tEXt", b"Title\0Cow".to_vec()),
    ]);
    let result = stripped(&content, MetadataFormat::Png);
    assert!(has_secret(&content) && !has_secret(&result));
    assert!(result.windows(9).any(|window| window == b"Title\0Cow"));
    let decoded = |content: &[u8]| decode(content, Format::Png, 640).unwrap();
    assert_eq!(decoded(&content), decoded(&result));
    assert_eq!(decoded(&result).width, 14);
}

#[test]
fn metadata_of_webp_is_removed() {
    let content = webp(3);
    let result = stripped(&content, MetadataFormat::WebP);
    assert!(has_secret(&content) && !has_secret(&result));
    assert_eq!(result[20] & 0x0c, 0x08, "the flag of EXIF data stays");
    assert_eq!(u32::from_le_bytes(result[4..8].try_into().unwrap()) as usize, result.len() - 8);
    let decoded = |content: &[u8]| decode(content, Format::WebP, 640).unwrap();
    assert_eq!(decoded(&content), decoded(&result));
    let untouched = decode(&samples::webp(20, 14, 4), Format::WebP, 640).unwrap();
    assert_eq!(decoded(&result), untouched.turned(Orientation::new(3).unwrap()));
}

#[test]
fn metadata_of_gif_is_removed() {
    let image = samples::gif(20, 14);
    let mut extension = b"\x21\xff\x0bXMP DataXMP".to_vec();
    extension.push(u8::try_from(XMP.len()).unwrap());
    extension.extend(XMP);
    extension.push(0);
    // After the signature, the screen and its palette of four colours.
    let content = [&image[..25], &extension, &image[25..]].concat();
    let result = stripped(&content, MetadataFormat::Gif);
    assert_eq!(result, image);
}

#[test]
fn metadata_of_heic_is_overwritten() {
    let tiff = exif_with_position(6, false);
    let content =
        [&b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"[..], &vec![7; 90_000], &tiff, XMP, &[9; 500]].concat();
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(has_secret(&content) && !has_secret(&result));
    assert_eq!(result.len(), content.len());
    let at = content.len() - 500 - XMP.len() - tiff.len();
    assert_eq!(exif::orientation(&result[at..]), Orientation::new(6).unwrap());
}

/// Also EXIF data without a position, which has nothing to remove.
#[test]
fn content_without_metadata_keeps_its_bytes() {
    let exif::Cleaned::Changed(harmless) = exif::cleaned(&exif_with_position(6, true)) else { panic!() };
    let image = samples::jpeg(48, 30, true);
    let exif = segment(0xe1, &[b"Exif\0\0", &harmless[..]].concat());
    let with_exif = [&image[..2], &exif, &image[2..], b"padding"].concat();
    for (content, format) in [
        (image, MetadataFormat::Jpeg),
        (with_exif, MetadataFormat::Jpeg),
        (png_with(&[(*b"eXIf", harmless)]), MetadataFormat::Png),
        (samples::webp(20, 14, 3), MetadataFormat::WebP),
        (samples::gif(20, 14), MetadataFormat::Gif),
    ] {
        assert_eq!(find_metadata(Cursor::new(&content), format).unwrap(), [], "{format:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn pixels_stay(orientation in 1u8..=8, is_progressive: bool) {
        for (content, format, image) in [
            (jpeg(orientation, is_progressive), MetadataFormat::Jpeg, Format::Jpeg),
            (png_with(&[(*b"eXIf", exif_with_position(orientation, true))]), MetadataFormat::Png, Format::Png),
            (webp(orientation), MetadataFormat::WebP, Format::WebP),
        ] {
            let result = stripped(&content, format);
            prop_assert!(!has_secret(&result));
            prop_assert_eq!(stripped(&result, format), result.clone(), "nothing is left to remove");
            let decoded = |content: &[u8]| decode(content, image, 640).unwrap();
            prop_assert_eq!(decoded(&content), decoded(&result));
        }
    }

    #[test]
    fn damaged_content_is_read_to_its_end(
        at in 0usize..4000, value: u8, cut in 0usize..4000, random in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        for (content, format) in [
            (jpeg(6, true), MetadataFormat::Jpeg),
            (png_with(&[(*b"eXIf", exif_with_position(6, true))]), MetadataFormat::Png),
            (webp(6), MetadataFormat::WebP),
            (samples::gif(20, 14), MetadataFormat::Gif),
            (pixels(20, 20, 3), MetadataFormat::Iso),
        ] {
            let mut damaged = content.clone();
            let length = damaged.len();
            damaged[at % length] = value;
            damaged.truncate(cut % length);
            stripped(&damaged, format);
            stripped(&[&content[..content.len().min(40)], &random[..]].concat(), format);
        }
    }
}

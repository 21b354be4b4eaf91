//! What is removed, and that the pixels stay.

use std::io::Cursor;

use proptest::prelude::*;

use super::{MetadataFormat, find_metadata, png};
use crate::Format;
use crate::exif::{self, Orientation};
use crate::samples::{self, decode, exif_with_position, pixels};

const SECRET: &[u8] = b"SECRET";
const XMP: &[u8] = b"<x:xmpmeta>SECRET-XMP</x:xmpmeta>";

/// Returns the content without its metadata.
pub(super) fn stripped(content: &[u8], format: MetadataFormat) -> Vec<u8> {
    let (mut result, mut position) = (Vec::new(), 0);
    for edit in find_metadata(Cursor::new(content), format).unwrap() {
        assert!(edit.start >= position && edit.end >= edit.start, "edits overlap");
        result.extend(&content[position as usize..edit.start as usize]);
        result.extend(edit.replacement);
        result.resize(result.len() + usize::try_from(edit.zeros).unwrap(), 0);
        position = edit.end;
    }
    result.extend(&content[position as usize..]);
    result
}

pub(super) fn has(content: &[u8], text: &[u8]) -> bool {
    content.windows(text.len()).any(|window| window == text)
}

fn has_secret(content: &[u8]) -> bool {
    has(content, SECRET)
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
    let comment = segment(0xfe, b"a comment, SECRET");
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
        assert!(has(&result, b"Camera"), "what the camera says about itself stays");
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
    assert!(has(&result, b"Title\0Cow"));
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

/// Segments whose data begins with these texts go, whatever follows.
#[test]
fn only_known_segments_of_jpeg_stay() {
    let image = samples::jpeg(48, 30, false);
    let with = |marker: u8, data: &[u8]| [&image[..2], &segment(marker, data), &image[2..]].concat();
    for (marker, header) in [
        (0xe0, &b"JFXX\0"[..]),
        (0xe1, b"exif\0\0II*\0"),
        (0xe1, b"Exif\0\xffjunk"),
        (0xe1, b"http://ns.adobe.com/xap/1.0/\0"),
        (0xe1, b"other"),
        (0xe2, b"MPF\0"),
        (0xe2, b"FPXR\0"),
        (0xe3, b"Meta\0\0"),
        (0xeb, b"JP\0\x01\0\0\0\x01"),
        (0xec, b"Ducky"),
        (0xed, b"Photoshop 3.0\0"),
        (0xee, b"other"),
        (0xef, b""),
        (0xf0, b""),
        (0xfe, b""),
    ] {
        let content = with(marker, &[header, SECRET].concat());
        assert_eq!(stripped(&content, MetadataFormat::Jpeg), image, "{marker:x} {header:?}");
    }
    for (marker, data) in [
        (0xe0, &b"JFIF\0\x01\x01\0\0\x01\0\x01\0\0"[..]),
        (0xe2, b"ICC_PROFILE\0\x01\x01profile"),
        (0xee, b"Adobe\0\x64\0\0\0\0\x01"),
    ] {
        let content = with(marker, data);
        assert_eq!(stripped(&content, MetadataFormat::Jpeg), content, "{marker:x}");
        if marker != 0xe2 {
            let longer = with(marker, &[data, SECRET].concat());
            assert_eq!(stripped(&longer, MetadataFormat::Jpeg), content, "what follows goes");
        }
    }
}

/// Browsers read this as EXIF data, so the orientation stays.
#[test]
fn exif_data_after_another_byte_is_cleaned() {
    let image = samples::jpeg(48, 30, false);
    let exif = segment(0xe1, &[b"Exif\0\xff", &exif_with_position(6, true)[..]].concat());
    let content = [&image[..2], &exif, &image[2..]].concat();
    let result = stripped(&content, MetadataFormat::Jpeg);
    assert!(has(&result, b"Exif\0\xff") && !has_secret(&result));
    for content in [content, result] {
        assert_eq!(decode(&content, Format::Jpeg, 640).unwrap().width, 30);
    }
}

#[test]
fn only_known_chunks_of_png_stay() {
    let text = |keyword: &str| [keyword.as_bytes(), b"\0", SECRET].concat();
    for keyword in ["Title", "Author", "Description", "Copyright", "Software", "Creation Time"] {
        for kind in [*b"tEXt", *b"zTXt", *b"iTXt"] {
            let content = png_with(&[(kind, text(keyword))]);
            assert_eq!(stripped(&content, MetadataFormat::Png), content, "{keyword}");
        }
    }
    let image = png_with(&[]);
    for keyword in
        ["Comment", "Source", "Warning", "Disclaimer", "title", "Location", "Raw profile type icc", ""]
    {
        for kind in [*b"tEXt", *b"zTXt", *b"iTXt"] {
            assert_eq!(
                stripped(&png_with(&[(kind, text(keyword))]), MetadataFormat::Png),
                image,
                "{keyword}"
            );
        }
    }
    for kind in [*b"caBX", *b"prVt", *b"meTa", *b"zxIf", *b"iDOT", *b"dSIG"] {
        assert_eq!(stripped(&png_with(&[(kind, SECRET.to_vec())]), MetadataFormat::Png), image, "{kind:?}");
    }
    for kind in [*b"pHYs", *b"gAMA", *b"iCCP", *b"tIME", *b"sRGB"] {
        let content = png_with(&[(kind, SECRET.to_vec())]);
        assert_eq!(stripped(&content, MetadataFormat::Png), content, "{kind:?}");
    }
    assert_eq!(stripped(&[&image[..], b"more than padding SECRET"].concat(), MetadataFormat::Png), image);
}

fn riff_chunk(name: &[u8], data: &[u8]) -> Vec<u8> {
    let length = u32::try_from(data.len()).unwrap().to_le_bytes();
    [name, &length[..], data, &vec![0; data.len() % 2]].concat()
}

fn riff(chunks: &[Vec<u8>]) -> Vec<u8> {
    riff_chunk(b"RIFF", &[b"WEBP".to_vec(), chunks.concat()].concat())
}

#[test]
fn only_known_chunks_of_webp_stay() {
    let image = samples::webp(20, 14, 3);
    let chunks = image[12..].to_vec();
    for name in [b"C2PA", b"META", b"xyzw", b"JUNK"] {
        let content = riff(&[chunks.clone(), riff_chunk(name, b"SECRET!")]);
        assert_eq!(stripped(&content, MetadataFormat::WebP), image, "{name:?}");
    }
    let frame = |more: &[u8]| riff_chunk(b"ANMF", &[&[0; 16][..], &chunks, more].concat());
    let animation = |more: &[u8]| {
        riff(&[
            riff_chunk(b"VP8X", &[2, 0, 0, 0, 19, 0, 0, 13, 0, 0]),
            riff_chunk(b"ANIM", &[0; 6]),
            frame(more),
            frame(&[]),
        ])
    };
    let longer = riff(&[
        riff_chunk(b"VP8X", b"\x02\0\0\0\x13\0\0\x0d\0\0SECRET!"),
        riff_chunk(b"ANIM", b"\0\0\0\0\0\0SECRET"),
        frame(&[]),
        frame(&[]),
    ]);
    assert_eq!(stripped(&longer, MetadataFormat::WebP), animation(&[]), "bytes after the fields");
    let content = animation(&riff_chunk(b"C2PA", b"SECRET!"));
    assert_eq!(stripped(&content, MetadataFormat::WebP), animation(&[]), "chunks of a frame");
}

#[test]
fn only_known_extensions_of_gif_stay() {
    let image = samples::gif(20, 14);
    // After the signature, the screen and its palette of four colours.
    let with = |extension: &[u8]| [&image[..25], extension, &image[25..]].concat();
    for extension in [
        &b"\x21\xff\x0bXMP DataXMP\x06SECRET\0"[..],
        b"\x21\xff\x0bC2PA_GIF\0\0\0\x06SECRET\0",
        b"\x21\xfe\x06SECRET\0",
        b"\x21\x01\x06SECRET\0",
        b"\x21\xce\x06SECRET\0",
    ] {
        assert_eq!(stripped(&with(extension), MetadataFormat::Gif), image, "{extension:?}");
    }
    let repeated = with(b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0");
    assert_eq!(stripped(&repeated, MetadataFormat::Gif), repeated);
    for (kept, more) in [
        (&b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0"[..], &b"\x06SECRET"[..]),
        (b"\x21\xff\x0bANIMEXTS1.0\x03\x01\0\0", b"\x06SECRET\x01x"),
        (b"\x21\xf9\x04\0\0\0\0", b"\x06SECRET"),
    ] {
        let content = with(&[kept, more, b"\0"].concat());
        assert_eq!(stripped(&content, MetadataFormat::Gif), with(&[kept, b"\0"].concat()), "{kept:?}");
    }
    let longer = with(b"\x21\xff\x0bNETSCAPE2.0\x09\x01\0\0SECRET\0");
    assert_eq!(stripped(&longer, MetadataFormat::Gif), image);
}

fn iso_box(name: &[u8], content: &[u8]) -> Vec<u8> {
    let length = u32::try_from(8 + content.len()).unwrap().to_be_bytes();
    [&length[..], name, content].concat()
}

/// Returns an AVIF with items of these types and with this name, and boxes after them.
fn avif(items: &[(&[u8; 4], &[u8])], name: &[u8], property: &[u8], boxes: &[u8]) -> Vec<u8> {
    avif_with(items, name, property, &[], boxes)
}

/// The same with boxes within `meta`.
fn avif_with(
    items: &[(&[u8; 4], &[u8])],
    name: &[u8],
    property: &[u8],
    more: &[u8],
    boxes: &[u8],
) -> Vec<u8> {
    let entries = items.iter().zip(1u8..).map(|((kind, _), id)| {
        iso_box(b"infe", &[&[2, 0, 0, 0, 0, id, 0, 0][..], *kind, name, b"\0"].concat())
    });
    let count = items.len() as u8;
    let iinf = iso_box(b"iinf", &[vec![0, 0, 0, 0, 0, count], entries.collect::<Vec<_>>().concat()].concat());
    let hdlr = iso_box(b"hdlr", &[&[0; 8][..], b"pict", &[0; 12], name, b"\0"].concat());
    let iprp = iso_box(b"iprp", &iso_box(b"ipco", &[&iso_box(b"ispe", &[0; 12])[..], property].concat()));
    let file_type = iso_box(b"ftyp", b"avif\0\0\0\0avifmif1");
    let meta = |data_at: usize| {
        let mut at = data_at;
        let mut iloc = vec![0, 0, 0, 0, 0x44, 0, 0, count];
        for ((_, data), id) in items.iter().zip(1u8..) {
            iloc.extend([0, id, 0, 0, 0, 1]);
            iloc.extend(u32::try_from(at).unwrap().to_be_bytes());
            iloc.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
            at += data.len();
        }
        iso_box(b"meta", &[&[0; 4][..], &hdlr, &iinf, &iso_box(b"iloc", &iloc), &iprp, more].concat())
    };
    let data_at = file_type.len() + meta(0).len() + 8;
    let data: Vec<_> = items.iter().map(|(_, data)| *data).collect();
    [file_type, meta(data_at), iso_box(b"mdat", &data.concat()), boxes.to_vec()].concat()
}

#[test]
fn only_known_boxes_and_images_of_avif_stay() {
    let tiff = exif_with_position(6, false);
    let exif = [&[0; 4][..], &tiff].concat();
    let unreadable = [&[0; 4][..], b"MM\0*\0\0\xff\xffSECRET"].concat();
    let nested = iso_box(b"udes", b"SECRET");
    let last =
        [iso_box(b"uuid", b"SECRET"), iso_box(b"jumb", b"SECRET"), iso_box(b"c2pa", b"SECRET")].concat();
    let movie = iso_box(b"moov", &[iso_box(b"mvhd", &[7; 20]), iso_box(b"udta", b"SECRET")].concat());
    let content = avif(
        &[
            (b"av01", b"PIXELS"),
            (b"Exif", &exif),
            (b"mime", b"SECRET"),
            (b"uri ", b"SECRET"),
            (b"Exif", &unreadable),
        ],
        b"SECRET",
        &nested,
        &[last, movie].concat(),
    );
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(has_secret(&content) && !has_secret(&result));
    assert_eq!(result.len(), content.len());
    for text in [&b"PIXELS"[..], b"Camera", b"free\0\0\0\0\0\0", b"mvhd\x07", b"av01\0", b"pict\0"] {
        assert!(has(&result, text), "{}", String::from_utf8_lossy(text));
    }
    // Free space, and bytes after the boxes that are none.
    let free = [&content[..], &iso_box(b"free", b"SECRET"), &iso_box(b"skip", b"SECRET")].concat();
    let trailing = [&free[..], b"\0\0\0\x03", &b"SECRET".repeat(5)].concat();
    let cut = stripped(&trailing, MetadataFormat::Iso);
    assert!(!has_secret(&cut) && cut.len() == free.len());
    for text in [&b"udes"[..], b"uuid", b"jumb", b"udta"] {
        assert!(!has(&result, text));
    }
    let at = content.windows(tiff.len()).position(|window| window == tiff).unwrap();
    assert_eq!(exif::orientation(&result[at..]), Orientation::new(6).unwrap());
    assert_eq!(stripped(&result, MetadataFormat::Iso), result, "nothing is left to remove");
    let plain = avif(&[(b"av01", b"PIXELS"), (b"grid", b"TILES")], b"", &[], &[]);
    assert_eq!(find_metadata(Cursor::new(&plain), MetadataFormat::Iso).unwrap(), []);
}

/// Items that overlap and items without a length are erased as others are.
#[test]
fn odd_positions_of_items_hide_no_metadata() {
    let exif = [&[0; 4][..], &exif_with_position(6, false)].concat();
    let unreadable = [&[0; 4][..], b"MM\0*\0\0\xff\xffSECRET"].concat();
    let movie = iso_box(b"moov", &iso_box(b"mvhd", &[7; 20]));
    // Returns the content with another start and length of an item: both are after its id and its number of parts.
    let moved = |mut content: Vec<u8>, id: u8, before: u32, length: u32| {
        let entry = [0, id, 0, 0, 0, 1];
        let at = content.windows(6).position(|window| window == entry).unwrap() + 6;
        let start = u32::from_be_bytes(content[at..at + 4].try_into().unwrap()) - before;
        content[at..at + 4].copy_from_slice(&start.to_be_bytes());
        content[at + 4..at + 8].copy_from_slice(&length.to_be_bytes());
        content
    };
    let items: [(&[u8; 4], &[u8]); 3] = [(b"av01", b"PIXELS"), (b"Exif", &exif), (b"mime", b"SECRET")];
    let length = exif.len() as u32;
    let overlapping = moved(avif(&items, b"", &[], &movie), 3, length, length + 6);
    let endless = avif(&[(b"av01", b"PIXELS"), (b"Exif", &unreadable)], b"", &[], &movie);
    for content in [overlapping, moved(endless, 2, 0, 0)] {
        let result = stripped(&content, MetadataFormat::Iso);
        assert!(has_secret(&content) && !has_secret(&result) && has(&result, b"PIXELS"));
    }
}

/// A second list of items does not hide those of the first one.
#[test]
fn a_second_list_of_items_hides_no_metadata() {
    let exif = [&[0; 4][..], b"MM\0*\0\0\xff\xffSECRET"].concat();
    for second in [&b""[..], &[0; 4], &iso_box(b"iinf", &[0; 6])] {
        let content = avif(&[(b"av01", b"PIXELS"), (b"Exif", &exif)], b"", &[], &iso_box(b"meta", second));
        let result = stripped(&content, MetadataFormat::Iso);
        assert!(has_secret(&content) && !has_secret(&result) && has(&result, b"PIXELS"));
        assert_eq!(stripped(&result, MetadataFormat::Iso), result);
    }
}

/// Boxes whose length has eight bytes, or that reach to the end.
#[test]
fn lists_of_items_of_any_length_hide_no_metadata() {
    let exif = [&[0; 4][..], b"MM\0*\0\0\xff\xffSECRET"].concat();
    let plain = avif(&[(b"av01", b"PIXELS"), (b"Exif", &exif)], b"", &[], &iso_box(b"moov", b""));
    let find = |content: &[u8], name: &[u8]| content.windows(4).position(|text| text == name).unwrap() - 4;
    let (hdlr, iinf, meta) = (find(&plain, b"hdlr"), find(&plain, b"iinf"), find(&plain, b"meta"));
    // The handler becomes longer: so do `meta` and the positions in `iloc`.
    let mut content =
        [&plain[..hdlr], b"\0\0\0\x01hdlr\0\0\0\0\0\0\0\x29", &plain[hdlr + 8..iinf], &plain[iinf..]]
            .concat();
    content[meta + 3] += 8;
    let iloc = find(&content, b"iloc") + 16;
    for item in 0..2 {
        let at = iloc + 14 * item + 6;
        content[at + 3] += 8;
    }
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(has_secret(&content) && !has_secret(&result) && has(&result, b"PIXELS"));
}

/// Space that no item refers to, and names of handlers of tracks.
#[test]
fn unused_space_of_avif_is_overwritten() {
    let groups = iso_box(b"grpl", &[iso_box(b"altr", &[1; 12]), iso_box(b"note", SECRET)].concat());
    let meta = [groups, iso_box(b"idat", SECRET)].concat();
    let image = avif_with(&[(b"av01", b"PIXELS")], b"", &[], &meta, &iso_box(b"mdat", SECRET));
    let mut longer = avif(&[(b"av01", b"PIXELS")], b"", &[], &[]);
    let at = longer.len() - 14;
    longer[at + 3] += SECRET.len() as u8;
    longer.extend(SECRET);
    for content in [image.clone(), longer] {
        let result = stripped(&content, MetadataFormat::Iso);
        assert!(has_secret(&content) && !has_secret(&result) && has(&result, b"PIXELS"));
        assert!(!has(&content, b"altr") || has(&result, b"altr\x01"));
        assert_eq!(stripped(&result, MetadataFormat::Iso), result);
    }
    // Samples of tracks are in no item.
    let hdlr = iso_box(b"hdlr", &[&[0; 8][..], b"pict", &[0; 12], SECRET, b"\0"].concat());
    let track = iso_box(b"trak", &iso_box(b"mdia", &[iso_box(b"mdhd", &[7; 20]), hdlr].concat()));
    let content = avif(
        &[(b"av01", b"PIXELS")],
        b"",
        &[],
        &[iso_box(b"mdat", b"SAMPLES"), iso_box(b"moov", &track)].concat(),
    );
    let result = stripped(&content, MetadataFormat::Iso);
    assert!(has_secret(&content) && !has_secret(&result) && has(&result, b"SAMPLES"));
    assert!(has(&result, b"mdhd\x07") && has(&result, b"pict\0"));
}

/// Metadata in boxes that cannot be read is found by how it begins.
#[test]
fn metadata_of_damaged_heic_is_overwritten() {
    let tiff = exif_with_position(6, false);
    let data = [&vec![7; 90_000], &tiff[..], XMP, &[9; 500]].concat();
    let content = [&b"\0\0\0\x18ftypheic\0\0\0\0mif1heic"[..], &iso_box(b"mdat", &data)].concat();
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
            (avif(&[(b"av01", &pixels(20, 20, 3)), (b"Exif", b"\0\0\0\0II*\0"), (b"mime", b"x")], b"", &[], &[]), MetadataFormat::Iso),
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

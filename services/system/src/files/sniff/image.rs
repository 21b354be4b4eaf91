//! Signatures of the images that are served as such. Each is checked whole, with the header that the format begins
//! with: content that merely starts like an image is none.

/// Media types of the images.
pub(in crate::files) const IMAGES: [&str; 6] =
    ["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/heic"];

/// Signature, then the header of the chunk that comes first: 13 bytes of `IHDR`.
const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";
/// The least that an ISO base media file begins with: size, `ftyp`, major brand and minor version.
const MIN_FTYP: usize = 16;
const AVIF_BRANDS: [&[u8; 4]; 2] = [b"avif", b"avis"];
const HEIC_BRANDS: [&[u8; 4]; 8] = [b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"];

/// The media type of an image, from the first bytes of the content; `None` for other content.
pub(in crate::files) fn image(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(PNG) {
        Some("image/png")
    } else if is_jpeg(head) {
        Some("image/jpeg")
    } else if is_gif(head) {
        Some("image/gif")
    } else if is_webp(head) {
        Some("image/webp")
    } else {
        iso_media(head)
    }
}

/// `FF D8`, then a segment: `FF` (more of them may fill in), a marker that may come first, and a length, which counts
/// its own two bytes (content may end before it).
fn is_jpeg(head: &[u8]) -> bool {
    let Some(segment) = head.strip_prefix(b"\xff\xd8\xff") else { return false };
    let fill = segment.iter().take_while(|byte| **byte == 0xff).count();
    let [marker, length @ ..] = &segment[fill..] else { return false };
    // Frames (but for the reserved C8), tables, restart interval, application data, comments.
    let is_marker = matches!(marker, 0xc0..=0xc7 | 0xc9..=0xcf | 0xdb | 0xdd | 0xe0..=0xef | 0xfe);
    is_marker && length.first_chunk().is_none_or(|length| u16::from_be_bytes(*length) >= 2)
}

/// The version, then width and height in two bytes each.
fn is_gif(head: &[u8]) -> bool {
    let screen = head.strip_prefix(b"GIF87a").or_else(|| head.strip_prefix(b"GIF89a"));
    screen.is_some_and(|screen| screen.len() >= 4) && is_binary(head)
}

/// `RIFF`, the size of what follows, `WEBP`, and a chunk of one of three kinds.
fn is_webp(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(b"RIFF").and_then(|rest| rest.get(4..)) else { return false };
    let chunk = rest.strip_prefix(b"WEBP").and_then(|chunk| chunk.get(..4));
    matches!(chunk, Some(b"VP8 " | b"VP8L" | b"VP8X")) && is_binary(head)
}

/// The first brand of an ISO base media file that is one of an image decides; the major brand comes before the
/// compatible ones.
fn iso_media(head: &[u8]) -> Option<&'static str> {
    let size = u32::from_be_bytes(*head.first_chunk()?);
    let box_ = head.get(..usize::try_from(size).ok()?).filter(|found| found.len() >= MIN_FTYP)?;
    let brands = box_[4..].strip_prefix(b"ftyp")?;
    let (words, rest) = brands.as_chunks::<4>();
    // The second word is the minor version.
    let mut brands = words.iter().take(1).chain(words.iter().skip(2)).filter(|_| rest.is_empty());
    brands.find_map(|brand| {
        if AVIF_BRANDS.contains(&brand) {
            Some("image/avif")
        } else {
            HEIC_BRANDS.contains(&brand).then_some("image/heic")
        }
    })
}

/// True if it has control characters that no text has: the signatures of GIF and WebP could be words.
fn is_binary(head: &[u8]) -> bool {
    !super::is_text(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEIC: &[u8] = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";

    #[test]
    fn whole_signatures() {
        for (content, expected) in [
            (PNG, "image/png"),
            (b"\xff\xd8\xff\xe0\0\x10JFIF\0", "image/jpeg"),
            (b"\xff\xd8\xff\xe1\x1c\x45Exif\0", "image/jpeg"),
            (b"\xff\xd8\xff\xdb\0\x43\0", "image/jpeg"),
            (b"\xff\xd8\xff\xff\xff\xfe\0\x04ab", "image/jpeg"),
            (b"GIF87a\x01\0\x01\0\x80\0\0", "image/gif"),
            (b"GIF89a\x01\0\x01\0", "image/gif"),
            (b"RIFF\x24\0\0\0WEBPVP8 ", "image/webp"),
            (b"RIFF\x24\0\0\0WEBPVP8L", "image/webp"),
            (b"RIFF\x24\0\0\0WEBPVP8X\x0a\0\0\0", "image/webp"),
            (HEIC, "image/heic"),
            (b"\0\0\0\x18ftypmif1\0\0\0\0mif1heic", "image/heic"),
            (b"\0\0\0\x10ftyphevc\0\0\0\0", "image/heic"),
            (b"\0\0\0\x1cftypavif\0\0\0\0avifmif1miaf", "image/avif"),
            (b"\0\0\0\x1cftypmif1\0\0\0\0mif1avifmiafmore", "image/avif"),
        ] {
            assert_eq!(image(content), Some(expected), "{}", String::from_utf8_lossy(content));
            // One byte less than the signature has is no image, nor is one that is another.
            let needed = (0..=content.len()).find(|n| image(&content[..*n]).is_some()).unwrap();
            assert!(needed >= 4, "{}: {needed} bytes are enough", String::from_utf8_lossy(content));
            assert!((0..needed).all(|n| image(&content[..n]).is_none()));
        }
    }

    #[test]
    fn what_only_begins_like_an_image() {
        for content in [
            &b"\x89PNG but not really"[..],
            b"\x89PNG\r\n\x1a\n",
            b"\x89PNG\r\n\x1a\nIHDR",
            b"\x89PNG\r\n\x1a\n\0\0\0\x0dIDAT",
            b"\x89PNG\n\x1a\n\0\0\0\rIHDR",
            b"\xff\xd8\xff",
            b"\xff\xd8\xff but not really",
            b"\xff\xd8\xff\xd8\0\x10",
            b"\xff\xd8\xff\xc8\0\x10",
            b"\xff\xd8\xff\xe0\0\x01",
            b"\xff\xd8\xff\xff\xff\xff",
            b"GIFT vouchers",
            b"GIF89a",
            b"GIF89a but not really",
            b"GIF88a\x01\0\x01\0",
            b"GIF89a\x01\0\x01",
            b"RIFF\x24\0\0\0WEBP",
            b"RIFF\x24\0\0\0WEBPVP9 ",
            b"RIFF\x24\0\0\0WAVEfmt ",
            b"RIFF but WEBPVP8 in words",
            b"0000\x24\0\0\0WEBPVP8 ",
            b"\0\0\0\x18ftypheic",
            b"\0\0\0\x19ftypheic\0\0\0\0mif1heic\0",
            b"\0\0\0\x18ftypisom\0\0\0\0isommp42",
            b"\0\0\0\x10ftypmif1heic",
            b"\0\0\0\x18moovheic\0\0\0\0mif1heic",
            b"\0\0\0\0ftypheic\0\0\0\0mif1heic",
            b"\xff\xff\xff\xffftypheic\0\0\0\0mif1heic",
            b"BM\0\0",
            b"<svg xmlns='x'/>",
            b"%PDF-1.7",
            b"",
        ] {
            assert_eq!(image(content), None, "{}", String::from_utf8_lossy(content));
        }
    }
}

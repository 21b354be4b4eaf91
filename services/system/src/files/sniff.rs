//! Detects the media type of content from its first bytes. Each check of an image covers the complete signature and
//! that something follows it, so that content that only starts like an image is not detected as one.

const PDF: &str = "application/pdf";
/// Formats whose beginning may be plain text.
const TEXTUAL: [&str; 3] = [PDF, "application/rtf", "application/postscript"];
const UNKNOWN: &str = "application/octet-stream";
/// Maximum length of a declared media type.
const MAX_TYPE_BYTES: usize = 200;

/// The media types of images.
pub(super) const IMAGES: [&str; 6] =
    ["image/jpeg", "image/png", "image/gif", "image/webp", "image/avif", "image/heic"];

const PNG: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Minimum size of the first box of an ISO base media file: size, `ftyp`, major brand and minor version.
const MIN_FTYP_BYTES: usize = 16;
const AVIF_BRANDS: [&[u8; 4]; 2] = [b"avif", b"avis"];
const HEIC_BRANDS: [&[u8; 4]; 8] = [b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"hevm", b"hevs"];

/// Returns the media type: detected from the content, otherwise as declared, otherwise `application/octet-stream`.
///
/// Ignores a declared type that browsers display inline, since the content would have confirmed it
/// (`docs/api/files.md`, "Upload").
pub(super) fn content_type(head: &[u8], declared: Option<&str>) -> String {
    let detected = image(head).or_else(|| {
        let inferred = infer::get(head)?.mime_type();
        let is_plausible = !is_text(head) || inferred.starts_with("text/") || TEXTUAL.contains(&inferred);
        // `infer` checks only a part of an image's signature.
        let is_image = inferred == "image/heif" || IMAGES.contains(&inferred);
        (is_plausible && !is_image).then_some(inferred)
    });
    let declared = declared.filter(|declared| !is_inline(declared) && declared.len() <= MAX_TYPE_BYTES);
    detected.or(declared).unwrap_or(UNKNOWN).to_owned()
}

/// Returns true if browsers may display content of this type inline. Other content is sent as an attachment.
pub(super) fn is_inline(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    is_pdf(essence) || IMAGES.iter().any(|image| essence.eq_ignore_ascii_case(image))
}

/// Returns true for PDF.
pub(super) fn is_pdf(content_type: &str) -> bool {
    content_type.eq_ignore_ascii_case(PDF)
}

/// Returns true if the bytes are text without control characters except white space. In text, a short signature proves
/// nothing.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // The last character is incomplete.
        Err(e) if e.error_len().is_none() => {
            std::str::from_utf8(&head[..e.valid_up_to()]).unwrap_or_default()
        }
        Err(_) => return false,
    };
    !text.chars().any(|c| c.is_control() && !c.is_whitespace())
}

/// Returns the media type of an image from the first bytes of the content, or `None` for other content.
pub(super) fn image(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(PNG) && head.len() > PNG.len() {
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

/// Checks for `FF D8` and a segment: one or more `FF`, a marker that may come first, and a length, which includes its
/// own two bytes. The content may end before the length.
fn is_jpeg(head: &[u8]) -> bool {
    let Some(segment) = head.strip_prefix(b"\xff\xd8\xff") else { return false };
    let fill = segment.iter().take_while(|byte| **byte == 0xff).count();
    let [marker, length @ ..] = &segment[fill..] else { return false };
    // Frames (except the reserved C8), tables, restart interval, application data, comments.
    let is_marker = matches!(marker, 0xc0..=0xc7 | 0xc9..=0xcf | 0xdb | 0xdd | 0xe0..=0xef | 0xfe);
    is_marker && length.first_chunk().is_none_or(|length| u16::from_be_bytes(*length) >= 2)
}

/// Checks for the version, followed by width and height in two bytes each.
fn is_gif(head: &[u8]) -> bool {
    let screen = head.strip_prefix(b"GIF87a").or_else(|| head.strip_prefix(b"GIF89a"));
    screen.is_some_and(|screen| screen.len() >= 4) && is_binary(head)
}

/// Checks for `RIFF`, a size, `WEBP`, and one of three kinds of chunk.
fn is_webp(head: &[u8]) -> bool {
    let Some(rest) = head.strip_prefix(b"RIFF").and_then(|rest| rest.get(4..)) else { return false };
    let chunk = rest.strip_prefix(b"WEBP").and_then(|chunk| chunk.get(..4));
    matches!(chunk, Some(b"VP8 " | b"VP8L" | b"VP8X")) && is_binary(head)
}

/// Returns the type of the first brand of an ISO base media file that is an image brand. The major brand precedes the
/// compatible brands.
fn iso_media(head: &[u8]) -> Option<&'static str> {
    let size = u32::from_be_bytes(*head.first_chunk()?);
    let box_ = head.get(..usize::try_from(size).ok()?).filter(|box_| box_.len() >= MIN_FTYP_BYTES)?;
    let brands = box_[4..].strip_prefix(b"ftyp")?;
    let (words, rest) = brands.as_chunks::<4>();
    // Skips the second word, the minor version.
    let mut brands = words.iter().take(1).chain(words.iter().skip(2)).filter(|_| rest.is_empty());
    brands.find_map(|brand| {
        if AVIF_BRANDS.contains(&brand) {
            Some("image/avif")
        } else {
            HEIC_BRANDS.contains(&brand).then_some("image/heic")
        }
    })
}

/// Returns true if the bytes are not text. The signatures of GIF and WebP also occur as words in text.
fn is_binary(head: &[u8]) -> bool {
    !is_text(head)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PNG_HEAD: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn content_takes_precedence_over_the_declared_type() {
        assert_eq!(content_type(PNG_HEAD, Some("text/html")), "image/png");
        assert_eq!(content_type(b"%PDF-1.7\nx", None), "application/pdf");
        assert_eq!(content_type(b"BMW,42\n", Some("text/csv")), "text/csv");
        assert_eq!(content_type(b"GIFT", Some("text/plain")), "text/plain");
        for incomplete in [&b"\x89PNG but not really"[..], b"\xff\xd8\xff", b"\0\0\0\x18ftypheic\0\0\0\0"] {
            assert_eq!(content_type(incomplete, None), UNKNOWN);
            assert_eq!(content_type(incomplete, Some("image/png")), UNKNOWN);
            assert_eq!(content_type(incomplete, Some("text/csv")), "text/csv");
        }
        assert_eq!(
            content_type("\u{feff}a,b".as_bytes(), Some("text/csv; charset=utf-8")),
            "text/csv; charset=utf-8"
        );
        assert_eq!(content_type(b"a,b", None), UNKNOWN);
    }

    #[test]
    fn ignores_declared_inline_types() {
        for declared in ["image/png", "IMAGE/PNG; x=y", "application/pdf"] {
            assert_eq!(content_type(b"hello", Some(declared)), UNKNOWN);
        }
        assert!(!is_inline("image/svg+xml") && !is_inline("text/html") && is_inline("image/webp"));
    }

    const HEIC: &[u8] = b"\0\0\0\x18ftypheic\0\0\0\0mif1heic";

    #[test]
    fn detects_complete_signatures() {
        for (content, expected) in [
            (&b"\x89PNG\r\n\x1a\n\0"[..], "image/png"),
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
            // Every shorter prefix is not an image.
            let needed = (0..=content.len()).find(|n| image(&content[..*n]).is_some()).unwrap();
            assert!(needed >= 4, "{}: {needed} bytes are enough", String::from_utf8_lossy(content));
            assert!((0..needed).all(|n| image(&content[..n]).is_none()));
        }
    }

    #[test]
    fn rejects_incomplete_and_wrong_signatures() {
        for content in [
            &b"\x89PNG but not really"[..],
            b"\x89PNG\r\n\x1a\n",
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

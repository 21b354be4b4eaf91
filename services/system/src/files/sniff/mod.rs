//! Detects the media type of content from its first bytes.

mod image;

pub(super) use image::{IMAGES, image};

const PDF: &str = "application/pdf";
/// Formats whose beginning may be plain text.
const TEXTUAL: [&str; 3] = [PDF, "application/rtf", "application/postscript"];
const UNKNOWN: &str = "application/octet-stream";
/// Maximum length of a declared media type.
const MAX_TYPE_BYTES: usize = 200;

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

#[cfg(test)]
mod tests {
    use super::*;

    const PNG: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR";

    #[test]
    fn content_takes_precedence_over_the_declared_type() {
        assert_eq!(content_type(PNG, Some("text/html")), "image/png");
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
}

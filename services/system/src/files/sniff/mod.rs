//! What content is, as far as its first bytes tell.

mod image;

pub(super) use image::{IMAGES, image};

const PDF: &str = "application/pdf";
/// Formats that may look like plain text from their beginning on.
const TEXTUAL: [&str; 3] = [PDF, "application/rtf", "application/postscript"];
const UNKNOWN: &str = "application/octet-stream";

/// The media type from the content, else as declared, else unknown.
///
/// A declared type that browsers would show, which the content does not bear out, is not believed.
pub(super) fn content_type(head: &[u8], declared: Option<&str>) -> String {
    let found = image(head).or_else(|| {
        let found = infer::get(head)?.mime_type();
        let possible = !is_text(head) || found.starts_with("text/") || TEXTUAL.contains(&found);
        // The crate looks at fewer bytes of an image than its signature has.
        let is_image = found == "image/heif" || IMAGES.contains(&found);
        (possible && !is_image).then_some(found)
    });
    let declared = declared.filter(|declared| !is_inline(declared) && declared.len() <= 200);
    found.or(declared).unwrap_or(UNKNOWN).to_owned()
}

/// True for what a browser may show in place; anything else is only ever saved.
pub(super) fn is_inline(content_type: &str) -> bool {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    is_pdf(essence) || IMAGES.iter().any(|image| essence.eq_ignore_ascii_case(image))
}

/// True for PDF.
pub(super) fn is_pdf(content_type: &str) -> bool {
    content_type.eq_ignore_ascii_case(PDF)
}

/// True when nothing of it is binary: a magic of two letters then proves nothing.
fn is_text(head: &[u8]) -> bool {
    let text = match std::str::from_utf8(head) {
        Ok(text) => text,
        // A character that the end of the head cuts in two.
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
    fn the_content_speaks_first() {
        assert_eq!(content_type(PNG, Some("text/html")), "image/png");
        assert_eq!(content_type(b"%PDF-1.7\nx", None), "application/pdf");
        assert_eq!(content_type(b"BMW,42\n", Some("text/csv")), "text/csv");
        assert_eq!(content_type(b"GIFT", Some("text/plain")), "text/plain");
        for begins_so in [&b"\x89PNG but not really"[..], b"\xff\xd8\xff", b"\0\0\0\x18ftypheic\0\0\0\0"] {
            assert_eq!(content_type(begins_so, None), UNKNOWN);
            assert_eq!(content_type(begins_so, Some("image/png")), UNKNOWN);
            assert_eq!(content_type(begins_so, Some("text/csv")), "text/csv");
        }
        assert_eq!(
            content_type("\u{feff}a,b".as_bytes(), Some("text/csv; charset=utf-8")),
            "text/csv; charset=utf-8"
        );
        assert_eq!(content_type(b"a,b", None), UNKNOWN);
    }

    #[test]
    fn a_declared_image_that_is_none_is_not_believed() {
        for declared in ["image/png", "IMAGE/PNG; x=y", "application/pdf"] {
            assert_eq!(content_type(b"hello", Some(declared)), UNKNOWN);
        }
        assert!(!is_inline("image/svg+xml") && !is_inline("text/html") && is_inline("image/webp"));
    }
}

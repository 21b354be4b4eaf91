//! `multipart/form-data` with one file, as a browser sends it (RFC 7578).

use std::borrow::Cow;

const BOUNDARY: &str = "drover-boundary-9f27c1b04e6d4a13";

/// A form: text fields and one file in the part `file`.
#[derive(Debug, Clone)]
pub struct Form {
    /// Names and values.
    pub fields: Vec<(&'static str, String)>,
    /// Name of the file.
    pub file_name: &'static str,
    /// Its media type.
    pub media_type: &'static str,
    /// Content, which must not contain the boundary.
    pub content: Cow<'static, [u8]>,
}

impl Form {
    /// The `Content-Type` of [`Form::encode`].
    pub fn content_type() -> String {
        format!("multipart/form-data; boundary={BOUNDARY}")
    }

    /// Encodes the form.
    pub fn encode(&self) -> Vec<u8> {
        let part = format!("--{BOUNDARY}\r\nContent-Disposition: form-data; name=");
        let fields = self.fields.iter().map(|(name, value)| format!("{part}\"{name}\"\r\n\r\n{value}\r\n"));
        let (file, media) = (self.file_name, self.media_type);
        let head = fields.collect::<String>()
            + &format!("{part}\"file\"; filename=\"{file}\"\r\nContent-Type: {media}\r\n\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.content);
        bytes.extend_from_slice(format!("\r\n--{BOUNDARY}--\r\n").as_bytes());
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_is_its_fields_then_its_file() {
        let form = Form {
            fields: vec![("bucket", "images".into())],
            file_name: "a.jpg",
            media_type: "image/jpeg",
            content: Cow::Borrowed(b"\xff\xd8"),
        };
        let encoded = form.encode();
        let text = String::from_utf8_lossy(&encoded);
        let parts: Vec<&str> = text.split(&format!("--{BOUNDARY}")).collect();
        assert_eq!(parts.len(), 4, "{text}");
        assert_eq!(parts[1], "\r\nContent-Disposition: form-data; name=\"bucket\"\r\n\r\nimages\r\n");
        assert!(parts[2].contains("name=\"file\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"));
        assert_eq!(parts[3], "--\r\n");
        assert!(encoded.windows(4).any(|bytes| bytes == b"\xff\xd8\r\n"));
    }
}

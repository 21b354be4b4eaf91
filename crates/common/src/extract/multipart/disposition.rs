//! The header `Content-Disposition` of a part (RFC 7578), as browsers and other clients write it.

use encoding_rs::WINDOWS_1252;

/// The parts of the header that matter.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Disposition {
    /// The name of the field.
    pub(super) name: String,
    /// `filename`, or else `filename*`, which RFC 7578 forbids but some clients send.
    pub(super) file_name: Option<String>,
}

impl Disposition {
    /// Parses the header. Returns `None` if it is damaged, of another type than `form-data` or without a name.
    pub(super) fn parse(header: &[u8]) -> Option<Self> {
        let (kind, mut rest) = split_once(header, b';');
        if !kind.trim_ascii().eq_ignore_ascii_case(b"form-data") {
            return None;
        }
        let (mut name, mut file_name, mut extended) = (None, None, None);
        loop {
            rest = rest.trim_ascii_start();
            if rest.is_empty() {
                return Some(Self { name: name?, file_name: file_name.or(extended) });
            }
            let (parameter, after) = split_once(rest, b'=');
            let after = after.trim_ascii_start();
            let value = if let Some(quoted) = after.strip_prefix(b"\"") {
                let (value, after) = unquote(quoted)?;
                rest = split_once(after, b';').1;
                value
            } else {
                let (token, after) = split_once(after, b';');
                rest = after;
                token.trim_ascii().to_vec()
            };
            let parameter = parameter.trim_ascii().to_ascii_lowercase();
            match parameter.as_slice() {
                b"name" if name.is_none() => name = Some(decode(&value)),
                b"filename" if file_name.is_none() => file_name = Some(decode(&value)),
                b"filename*" if extended.is_none() => extended = decode_extended(&value),
                b"" => return None,
                _ => {}
            }
        }
    }
}

fn split_once(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|byte| *byte == separator).unwrap_or(bytes.len());
    (&bytes[..at], bytes.get(at + 1..).unwrap_or_default())
}

/// Returns a quoted text and what follows its closing quote. Only `\"` is an escape, since Windows clients send paths
/// with single backslashes; before the last quote a backslash is one too.
fn unquote(quoted: &[u8]) -> Option<(Vec<u8>, &[u8])> {
    let (mut text, mut rest) = (Vec::new(), quoted);
    loop {
        let (part, after) = rest.split_at(rest.iter().position(|byte| *byte == b'"')?);
        let after = &after[1..];
        match part.strip_suffix(b"\\") {
            Some(part) if after.contains(&b'"') => {
                text.extend_from_slice(part);
                text.push(b'"');
                rest = after;
            }
            _ => {
                text.extend_from_slice(part);
                return Some((text, after));
            }
        }
    }
}

/// Decodes a text in UTF-8 or Windows-1252. Browsers write quotes and line breaks as `%22`, `%0D` and `%0A`, and
/// nothing else so.
fn decode(bytes: &[u8]) -> String {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.into(),
        Err(_) => WINDOWS_1252.decode_without_bom_handling(bytes).0,
    };
    text.replace("%22", "\"")
        .replace("%0D", "\r")
        .replace("%0d", "\r")
        .replace("%0A", "\n")
        .replace("%0a", "\n")
}

/// Decodes an extended value (RFC 8187), such as `UTF-8''%e2%82%ac`.
fn decode_extended(value: &[u8]) -> Option<String> {
    let (charset, rest) = split_once(value, b'\'');
    let (_, encoded) = split_once(rest, b'\'');
    let (mut bytes, mut rest) = (Vec::with_capacity(encoded.len()), encoded);
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(decoded) if *byte == b'%' => {
                bytes.push(decoded);
                rest = &after[2..];
            }
            _ => {
                bytes.push(*byte);
                rest = after;
            }
        }
    }
    if charset.eq_ignore_ascii_case(b"UTF-8") {
        String::from_utf8(bytes).ok()
    } else {
        Some(WINDOWS_1252.decode_without_bom_handling(&bytes).0.into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(parameters: &[u8]) -> Option<(String, Option<String>)> {
        let header = [b"form-data; ", parameters].concat();
        Disposition::parse(&header).map(|disposition| (disposition.name, disposition.file_name))
    }

    #[test]
    fn reads_the_names_that_clients_write() {
        for (written, name) in [
            (&b"\"D:\\Scans\\Bob\\weighbridge 12.pdf\""[..], "D:\\Scans\\Bob\\weighbridge 12.pdf"),
            (b"\"C:\\\\double\\\\a.pdf\"", "C:\\\\double\\\\a.pdf"),
            (b"\"\\\\server\\share\\\"", "\\\\server\\share\\"),
            (b"\"7\\\" pipe.jpg\"", "7\" pipe.jpg"),
            (b"\"12%22 tyre%0D%0A.jpg\"", "12\" tyre\r\n.jpg"),
            (b"\"50%25 %2F %C3%A9.txt\"", "50%25 %2F %C3%A9.txt"),
            (b"\"na\xefve \x80.txt\"", "na\u{ef}ve \u{20ac}.txt"),
            ("\"ßcan 日.png\"".as_bytes(), "ßcan 日.png"),
            (b"\"a;b=c.txt\"", "a;b=c.txt"),
            (b"plain.txt", "plain.txt"),
            (b"\"\"", ""),
        ] {
            let expected = Some(("file".to_owned(), Some(name.to_owned())));
            for header in [
                [b"name=\"file\"; filename=", written].concat(),
                [b"NAME = file ;FileName= ", written, b" "].concat(),
            ] {
                assert_eq!(parse(&header), expected, "{}", String::from_utf8_lossy(&header));
            }
        }
        let quoted = parse(b"filename=\"7\\\".jpg\"; name=\"a\\\"b%22\"");
        assert_eq!(quoted, Some(("a\"b\"".into(), Some("7\".jpg".into()))));
        assert_eq!(parse(b"name=a"), Some(("a".into(), None)));
        for (extended, name) in [
            ("UTF-8''%e2%82%ac%20x", Some("\u{20ac} x")),
            ("iso-8859-1'en'%A3", Some("\u{a3}")),
            ("utf-8''%ff", None),
        ] {
            let parameters = format!("name=a; filename*={extended}");
            assert_eq!(parse(parameters.as_bytes()), Some(("a".into(), name.map(str::to_owned))));
        }
        assert_eq!(parse(b"name=a; filename*=UTF-8''b; filename=c").unwrap().1.as_deref(), Some("c"));
    }

    #[test]
    fn refuses_other_headers() {
        for header in [
            &b"attachment; name=a"[..],
            b"form-data",
            b"form-data; filename=a",
            b"form-data; name=\"a",
            b"",
            b"form-data; =a",
        ] {
            assert_eq!(Disposition::parse(header), None, "{}", String::from_utf8_lossy(header));
        }
    }

    proptest! {
        #[test]
        fn reads_every_name_that_a_browser_writes(name in "[^\\pC%\\\\]{0,20}") {
            let written = name.replace('"', "%22");
            let header = format!("name=\"f\"; filename=\"{written}\"");
            prop_assert_eq!(parse(header.as_bytes()).unwrap().1, Some(name));
        }

        #[test]
        fn reads_or_refuses_every_header(bytes in prop::collection::vec(any::<u8>(), 0..60), near in "[a-z=;\"\\\\%* ]{0,40}") {
            parse(&bytes);
            parse(near.as_bytes());
        }
    }
}

//! Property tests of parsers of requests: no panics, and plausible results. cargo-fuzz would search deeper, but needs a
//! nightly compiler.

use actix_web::http::header::{self, HeaderValue};
use actix_web::test::TestRequest;
use actix_web::web::Bytes;
use actix_web::{FromRequest, ResponseError, dev, rt};
use common::multipart::{Form, Limits, Payload, receive};
use common::validation::ValidationErrors;
use common::{Cursor, Error, Format, PageRequest, SortDefinition, Sorting};
use database::Id;
use database::search::{Column, Nulls, SortType, SortValue};
use futures_util::stream;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;

const LIMITS: Limits<'_> = Limits { texts: &["name", "type"], text_bytes: 4_096, files: 2, file_bytes: 64 };

fn form(content_type: &[u8], body: Vec<Bytes>) -> Result<Form<usize>, Error> {
    let content_type = HeaderValue::from_bytes(content_type).unwrap_or(HeaderValue::from_static(""));
    let request =
        TestRequest::default().insert_header((header::CONTENT_TYPE, content_type)).to_http_request();
    rt::System::new().block_on(async {
        let chunks = stream::iter(body.into_iter().map(Ok::<_, actix_web::error::PayloadError>));
        let mut payload: dev::Payload = dev::Payload::Stream { payload: Box::pin(chunks) };
        let payload = Payload::from_request(&request, &mut payload).await.unwrap();
        receive(&request, payload, LIMITS, async |mut file| {
            let mut size = 0;
            while let Some(chunk) = file.next().await? {
                size += chunk.len();
            }
            Ok(size)
        })
        .await
    })
}

fn is_plausible(form: &Result<Form<usize>, Error>) -> bool {
    match form {
        Ok(form) => {
            let known = form.texts.iter().all(|(name, _)| LIMITS.texts.contains(&&**name));
            known
                && form.files.len() <= LIMITS.files
                && form.files.iter().all(|size| *size <= LIMITS.file_bytes)
        }
        Err(error) => matches!(error.status_code().as_u16(), 400 | 413 | 415),
    }
}

/// Replaces some bytes and truncates the rest.
fn mutate(mut bytes: Vec<u8>, changes: &[(Index, u8)], end: Option<Index>) -> Vec<u8> {
    for (at, byte) in changes {
        let at = at.index(bytes.len());
        bytes[at] = *byte;
    }
    bytes.truncate(end.map_or(bytes.len(), |end| end.index(bytes.len())));
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn parses_or_refuses_any_bytes_as_a_form(kind in vec(any::<u8>(), 0..90), boundary in "[!-~ ]{0,80}", body in vec(any::<u8>(), 0..300)) {
        prop_assert!(is_plausible(&form(&kind, vec![body.clone().into()])));
        let named = format!("multipart/form-data; boundary={boundary}");
        prop_assert!(is_plausible(&form(named.as_bytes(), vec![body.into()])));
    }

    #[test]
    fn parses_or_refuses_damaged_forms(
        disposition in "[ -~]{0,40}", more in "([!-~]{1,9}: ?[ -~]{0,20}\r\n){0,3}", content in vec(any::<u8>(), 0..100),
        changes in vec((any::<Index>(), any::<u8>()), 0..4), end in prop::option::of(any::<Index>()), chunk in 1usize..80,
    ) {
        let part = |head: &str, content: &[u8]| [format!("--b\r\n{head}\r\n\r\n").as_bytes(), content, b"\r\n"].concat();
        let whole = [
            part("Content-Disposition: form-data; name=\"name\"", b"a"),
            part(&format!("Content-Disposition: form-data; name=\"file\"; {disposition}\r\n{}", more.trim_end()), &content),
            part("Content-Disposition: form-data; name=\"file\"; filename*=UTF-8''%e2%82%ac", b"c"),
            b"--b--\r\n".to_vec(),
        ];
        let bytes = mutate(whole.concat(), &changes, end);
        let chunks = bytes.chunks(chunk).map(Bytes::copy_from_slice).collect();
        prop_assert!(is_plausible(&form(b"multipart/form-data; boundary=b", chunks)));
    }

    #[test]
    fn parses_or_refuses_any_cursor(
        text in "\\PC{0,60}", key in prop::option::of(any::<i64>()), words in "\\PC{0,20}", numeric in any::<bool>(),
        changes in vec((any::<Index>(), any::<u8>()), 0..3), end in prop::option::of(any::<Index>()),
    ) {
        let value = if numeric { key.map(SortValue::Integer) } else { Some(SortValue::Text(words)) };
        let valid = Cursor { sort: "reference".into(), value, id: Id::new() }.encode();
        let damaged = String::from_utf8_lossy(&mutate(valid.clone().into_bytes(), &changes, end)).into_owned();
        for text in [text, damaged, valid] {
            let mut errors = ValidationErrors::default();
            let page = PageRequest::new(Some(5), Some(7), Some(&text), &by_reference(), &mut errors);
            prop_assert_eq!(page.after.is_none(), errors.failed("cursor"));
            prop_assert_eq!(page.offset, if page.after.is_some() { 0 } else { 7 });
            let order = by_reference().order(Column("reference"));
            prop_assert_eq!(page.position().is_some(), page.position().and_then(|p| order.after(p)).is_some());
        }
    }

    #[test]
    fn parses_any_accept_header(accept in vec(any::<u8>(), 0..60), q in "[0-9.]{0,6}|NaN|-inf|1e999") {
        let accepted = |value: &[u8]| {
            let request = TestRequest::default();
            let value = HeaderValue::from_bytes(value).ok();
            let request = value.into_iter().fold(request, |r, value| r.insert_header((header::ACCEPT, value)));
            Format::accepted(&request.to_http_request(), &Format::ALL, Format::Json)
        };
        accepted(&accept);
        let either = accepted(format!("text/csv;q={q}, application/json;q={q}").as_bytes());
        prop_assert_eq!(either, Format::Json, "equal qualities select the default");
    }
}

fn by_reference() -> Sorting<()> {
    static BY_REFERENCE: SortDefinition<()> =
        SortDefinition { name: "reference", key: (), sort_type: SortType::Text, nulls: Nulls::Never };
    Sorting::new(&BY_REFERENCE, false)
}

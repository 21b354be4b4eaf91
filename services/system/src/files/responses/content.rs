//! The response of the download operation: conditional requests (RFC 9110, section 13), ranges (section 14), and
//! headers that keep browsers from executing the content (`docs/api/files.md`, "Download").

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use actix_web::http::StatusCode;
use actix_web::http::header::{
    self, Charset, ContentDisposition, ContentRange, ContentRangeSpec, DispositionParam, DispositionType,
    ETag, EntityTag, ExtendedValue, HttpDate, IfModifiedSince, IfNoneMatch, IfRange, LastModified,
};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder};
use common::Error;

use crate::files::content::{ContentName, ContentStore};
use crate::files::model::File;
use crate::files::sniff;

/// The validators of a file's content (RFC 9110, section 8.8).
struct Validators {
    etag: EntityTag,
    last_modified: HttpDate,
}

/// Returns the content, the requested range of it, or 304.
///
/// # Errors
/// 416 for a range outside the content, and the errors of [`ContentStore::read`].
pub(in crate::files) async fn content_response(
    request: &HttpRequest,
    store: &ContentStore,
    file: &File,
    name: &ContentName,
) -> Result<HttpResponse, Error> {
    let seconds = u64::try_from(file.created_at.millis() / 1000).unwrap_or_default();
    let validators = Validators {
        etag: EntityTag::new_strong(file.hash.clone()),
        last_modified: (UNIX_EPOCH + Duration::from_secs(seconds)).into(),
    };
    if validators.is_not_modified(request) {
        return Ok(builder(StatusCode::NOT_MODIFIED, validators).finish());
    }
    let size = file.size.cast_unsigned();
    let range = validators.requested_range(request, size)?;
    let body = store.read(name, range.clone().unwrap_or(0..size)).await?;
    let mut response = match range {
        Some(range) => {
            let mut response = builder(StatusCode::PARTIAL_CONTENT, validators);
            response.insert_header(ContentRange(ContentRangeSpec::Bytes {
                range: Some((range.start, range.end - 1)),
                instance_length: Some(size),
            }));
            response
        }
        None => builder(StatusCode::OK, validators),
    };
    // The PDF viewers of browsers refuse to start in a sandbox.
    if !sniff::is_pdf(&file.content_type) {
        response.insert_header((header::CONTENT_SECURITY_POLICY, "sandbox"));
    }
    response.insert_header((header::CONTENT_TYPE, &*file.content_type));
    response.insert_header(disposition(file));
    Ok(response.body(body))
}

fn builder(status: StatusCode, validators: Validators) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header(ETag(validators.etag)).insert_header(LastModified(validators.last_modified));
    response.insert_header((header::ACCEPT_RANGES, "bytes"));
    response.insert_header((header::CACHE_CONTROL, "private, no-cache"));
    // Disables compression: the ETag and the ranges refer to the uncompressed bytes.
    response.insert_header((header::CONTENT_ENCODING, "identity"));
    response
}

impl Validators {
    /// Returns true if the client's copy is current. `If-Modified-Since` counts only without `If-None-Match`.
    fn is_not_modified(&self, request: &HttpRequest) -> bool {
        if request.headers().contains_key(header::IF_NONE_MATCH) {
            return match request.get_header() {
                Some(IfNoneMatch::Any) => true,
                Some(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(&self.etag)),
                None => false,
            };
        }
        request.get_header().is_some_and(|IfModifiedSince(since)| self.last_modified <= since)
    }

    /// Returns the range to send, or `None` for the whole content: without `Range`, with several ranges or a header
    /// that cannot be parsed, and if `If-Range` names another version.
    ///
    /// # Errors
    /// 416 if the range lies outside the content.
    fn requested_range(&self, request: &HttpRequest, size: u64) -> Result<Option<Range<u64>>, Error> {
        let Some(header::Range::Bytes(ranges)) = request.get_header() else { return Ok(None) };
        // actix-web drops entries that it cannot parse, so one range may come from a list.
        let is_list = request.headers().get(header::RANGE).is_some_and(|v| v.as_bytes().contains(&b','));
        let is_same_version = match request.get_header() {
            Some(IfRange::EntityTag(tag)) => tag.strong_eq(&self.etag),
            Some(IfRange::Date(date)) => date == self.last_modified,
            None => !request.headers().contains_key(header::IF_RANGE),
        };
        match ranges[..] {
            [ref range] if is_same_version && !is_list => {
                let (first, last) =
                    range.to_satisfiable_range(size).ok_or(Error::RangeNotSatisfiable(size))?;
                Ok(Some(first..last + 1))
            }
            _ => Ok(None),
        }
    }
}

/// Returns `Content-Disposition` (RFC 6266) with an ASCII `filename` for old clients and `filename*` for the others.
fn disposition(file: &File) -> ContentDisposition {
    let ascii =
        |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ' { c } else { '_' };
    let inline = sniff::is_inline(&file.content_type);
    ContentDisposition {
        disposition: if inline { DispositionType::Inline } else { DispositionType::Attachment },
        parameters: vec![
            DispositionParam::Filename(file.name.chars().map(ascii).collect()),
            DispositionParam::FilenameExt(ExtendedValue {
                charset: Charset::Ext("UTF-8".into()),
                language_tag: None,
                value: file.name.clone().into_bytes(),
            }),
        ],
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn requested_range_is_within_the_content(
            bytes in prop::collection::vec(any::<u8>(), 0..40),
            range in "(bytes|Bytes|items) ?= ?[0-9]{0,21}-?[0-9]{0,21}(,[0-9 -]{0,9})?",
            size in prop_oneof![1u64..100, Just(u64::MAX >> 1)],
        ) {
            for value in [bytes, range.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&value) else { continue };
                let request = TestRequest::default().insert_header((header::RANGE, value)).to_http_request();
                let validators =
                    Validators { etag: EntityTag::new_strong("a".into()), last_modified: SystemTime::now().into() };
                match validators.requested_range(&request, size) {
                    Ok(Some(range)) => prop_assert!(range.start < range.end && range.end <= size, "{range:?}"),
                    Ok(None) => {}
                    Err(error) => prop_assert!(matches!(error, Error::RangeNotSatisfiable(of) if of == size)),
                }
            }
        }
    }
}

//! Answering with content: conditional requests, ranges, and headers that keep browsers from running it (RFC 9110,
//! RFC 6266; contract, section 3).

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use actix_web::http::StatusCode;
use actix_web::http::header::{
    self, Charset, ContentDisposition, ContentRange, ContentRangeSpec, DispositionParam, DispositionType,
    ETag, EntityTag, ExtendedValue, HttpDate, IfModifiedSince, IfNoneMatch, IfRange, LastModified,
};
use actix_web::{HttpMessage, HttpRequest, HttpResponse};
use common::Error;

use super::content::{ContentStore, Name};
use super::model::File;
use super::sniff;

/// What a client may already have.
struct Version {
    tag: EntityTag,
    modified: HttpDate,
}

/// The content, the part of it that was asked for, or 304.
///
/// # Errors
/// 416, and as [`ContentStore::read`].
pub(super) async fn respond(
    request: &HttpRequest,
    store: &ContentStore,
    file: &File,
    name: &Name,
) -> Result<HttpResponse, Error> {
    let seconds = u64::try_from(file.created_at.millis() / 1000).unwrap_or_default();
    let version = Version {
        tag: EntityTag::new_strong(file.hash.clone()),
        modified: (UNIX_EPOCH + Duration::from_secs(seconds)).into(),
    };
    if version.is_known(request) {
        return Ok(head(StatusCode::NOT_MODIFIED, version).finish());
    }
    let size = file.size.cast_unsigned();
    let part = version.part(request, size)?;
    let bytes = part.clone().unwrap_or(0..size);
    let body = store.read(name, bytes.clone()).await?;
    let mut response = match part {
        Some(part) => {
            let range = Some((part.start, part.end - 1));
            let mut response = head(StatusCode::PARTIAL_CONTENT, version);
            response
                .insert_header(ContentRange(ContentRangeSpec::Bytes { range, instance_length: Some(size) }));
            response
        }
        None => head(StatusCode::OK, version),
    };
    // Browsers' PDF viewers do not start in a sandbox.
    if !sniff::is_pdf(&file.content_type) {
        response.insert_header((header::CONTENT_SECURITY_POLICY, "sandbox"));
    }
    response.insert_header((header::CONTENT_TYPE, &*file.content_type));
    response.insert_header(disposition(file));
    Ok(response.body(body))
}

fn head(status: StatusCode, version: Version) -> actix_web::HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header(ETag(version.tag)).insert_header(LastModified(version.modified));
    response.insert_header((header::ACCEPT_RANGES, "bytes"));
    response.insert_header((header::CACHE_CONTROL, "private, no-cache"));
    // Compressed, it would be other bytes than its ETag and ranges speak of.
    response.insert_header((header::CONTENT_ENCODING, "identity"));
    response
}

impl Version {
    /// True when the client has it; the date counts only where no tag was sent.
    fn is_known(&self, request: &HttpRequest) -> bool {
        if request.headers().contains_key(header::IF_NONE_MATCH) {
            return match request.get_header() {
                Some(IfNoneMatch::Any) => true,
                Some(IfNoneMatch::Items(tags)) => tags.iter().any(|tag| tag.weak_eq(&self.tag)),
                None => false,
            };
        }
        request.get_header().is_some_and(|IfModifiedSince(since)| self.modified <= since)
    }

    /// The range that is to be sent, nothing for all of it: no range, several, one that cannot be parsed, or one
    /// that continues another version.
    fn part(&self, request: &HttpRequest, size: u64) -> Result<Option<Range<u64>>, Error> {
        let Some(header::Range::Bytes(ranges)) = request.get_header() else { return Ok(None) };
        let listed = request.headers().get(header::RANGE).is_some_and(|v| v.as_bytes().contains(&b','));
        let same = match request.get_header() {
            Some(IfRange::EntityTag(tag)) => tag.strong_eq(&self.tag),
            Some(IfRange::Date(date)) => date == self.modified,
            None => !request.headers().contains_key(header::IF_RANGE),
        };
        match ranges[..] {
            [ref range] if same && !listed => {
                let (first, last) =
                    range.to_satisfiable_range(size).ok_or(Error::RangeNotSatisfiable(size))?;
                Ok(Some(first..last + 1))
            }
            _ => Ok(None),
        }
    }
}

/// `filename` in ASCII for old clients, `filename*` for the others.
fn disposition(file: &File) -> ContentDisposition {
    let plain =
        |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ' { c } else { '_' };
    let inline = sniff::is_inline(&file.content_type);
    ContentDisposition {
        disposition: if inline { DispositionType::Inline } else { DispositionType::Attachment },
        parameters: vec![
            DispositionParam::Filename(file.name.chars().map(plain).collect()),
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
        fn any_range_lies_within(
            bytes in prop::collection::vec(any::<u8>(), 0..40), range in "(bytes|Bytes|items) ?= ?[0-9]{0,21}-?[0-9]{0,21}(,[0-9 -]{0,9})?",
            size in prop_oneof![1u64..100, Just(u64::MAX >> 1)],
        ) {
            for value in [bytes, range.into_bytes()] {
                let Ok(value) = HeaderValue::from_bytes(&value) else { continue };
                let request = TestRequest::default().insert_header((header::RANGE, value)).to_http_request();
                let version = Version { tag: EntityTag::new_strong("a".into()), modified: SystemTime::now().into() };
                match version.part(&request, size) {
                    Ok(Some(part)) => prop_assert!(part.start < part.end && part.end <= size, "{part:?}"),
                    Ok(None) => {}
                    Err(error) => prop_assert!(matches!(error, Error::RangeNotSatisfiable(of) if of == size)),
                }
            }
        }
    }
}

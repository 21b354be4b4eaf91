//! The response of the download operation: conditional requests (RFC 9110, section 13), ranges (section 14), and
//! headers that keep browsers from executing the content (`docs/api/files.md`, "Download").

use std::ops::Range;
use std::time::{Duration, UNIX_EPOCH};

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{
    self, Charset, ContentDisposition, ContentRange, ContentRangeSpec, DispositionParam, DispositionType,
    ETag, EntityTag, ExtendedValue, HttpDate, IfModifiedSince, IfNoneMatch, IfRange, LastModified,
};
use actix_web::{HttpMessage, HttpRequest, HttpResponse, HttpResponseBuilder};
use common::Error;
use database::Timestamp;

use super::blob_store::{BlobName, BlobStore};
use super::images::{ByteSource, FoundCopy, ImageCopy, file_name};
use super::model::File;
use super::sniff;

/// How long a client may use a download without asking again.
#[derive(Clone, Copy, Debug)]
pub(super) enum CachePolicy {
    /// Not at all: the caller's rights may change.
    Revalidate,
    /// For these seconds.
    Seconds(i64),
}

/// The bytes of a file, or of a smaller copy of its image.
pub(super) struct Representation {
    bytes: ByteSource,
    media_type: String,
    /// The file name for the client.
    name: String,
    etag: String,
}

impl Representation {
    /// Returns the bytes of a file. `name` is the name of its blob.
    pub(super) fn original(file: &File, name: BlobName) -> Self {
        Self {
            bytes: ByteSource::Stored(name, file.size.cast_unsigned()),
            media_type: file.content_type.clone(),
            name: file.name.clone(),
            etag: file.hash.clone(),
        }
    }

    /// Returns the bytes of a smaller copy.
    pub(super) fn copy(file: &File, copy: &ImageCopy, found: FoundCopy) -> Self {
        Self {
            bytes: found.bytes,
            media_type: found.media_type.to_owned(),
            name: file_name(&file.name, found.media_type),
            etag: format!("{}-{}", file.hash, copy.tag()),
        }
    }
}

/// The validators of a representation (RFC 9110, section 8.8).
struct Validators {
    etag: EntityTag,
    last_modified: HttpDate,
}

/// Returns the content, the requested range of it, or 304. `modified` is when the file was uploaded.
///
/// # Errors
/// 416 for a range outside the content, and the errors of [`BlobStore::read`].
pub(super) async fn respond(
    request: &HttpRequest,
    blob_store: &BlobStore,
    representation: Representation,
    modified: Timestamp,
    cache: CachePolicy,
) -> Result<HttpResponse, Error> {
    let Representation { bytes, media_type, name, etag } = representation;
    let seconds = u64::try_from(modified.millis() / 1000).unwrap_or_default();
    let validators = Validators {
        etag: EntityTag::new_strong(etag),
        last_modified: (UNIX_EPOCH + Duration::from_secs(seconds)).into(),
    };
    if validators.is_not_modified(request) {
        return Ok(builder(StatusCode::NOT_MODIFIED, validators, cache).finish());
    }
    let size = match &bytes {
        ByteSource::Stored(_, size) => *size,
        ByteSource::Made(bytes) => bytes.len() as u64,
    };
    let requested = validators.requested_range(request, size)?;
    let range = requested.clone().unwrap_or(0..size);
    let body = match bytes {
        ByteSource::Stored(name, _) => blob_store.read(&name, range).await?,
        ByteSource::Made(bytes) => {
            let index = |at: u64| usize::try_from(at).unwrap_or(bytes.len());
            BoxBody::new(bytes.slice(index(range.start)..index(range.end)))
        }
    };
    let mut response = match requested {
        Some(range) => {
            let mut response = builder(StatusCode::PARTIAL_CONTENT, validators, cache);
            response.insert_header(ContentRange(ContentRangeSpec::Bytes {
                range: Some((range.start, range.end - 1)),
                instance_length: Some(size),
            }));
            response
        }
        None => builder(StatusCode::OK, validators, cache),
    };
    // The PDF viewers of browsers refuse to start in a sandbox.
    if !sniff::is_pdf(&media_type) {
        response.insert_header((header::CONTENT_SECURITY_POLICY, "sandbox"));
    }
    response.insert_header((header::CONTENT_TYPE, &*media_type));
    response.insert_header(disposition(&name, &media_type));
    Ok(response.body(body))
}

fn builder(status: StatusCode, validators: Validators, cache: CachePolicy) -> HttpResponseBuilder {
    let mut response = HttpResponse::build(status);
    response.insert_header(ETag(validators.etag)).insert_header(LastModified(validators.last_modified));
    response.insert_header((header::ACCEPT_RANGES, "bytes"));
    let cache = match cache {
        CachePolicy::Revalidate => "private, no-cache".to_owned(),
        CachePolicy::Seconds(seconds) => format!("private, max-age={seconds}"),
    };
    response.insert_header((header::CACHE_CONTROL, cache));
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
fn disposition(name: &str, media_type: &str) -> ContentDisposition {
    let ascii =
        |c: char| if c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%') || c == ' ' { c } else { '_' };
    let inline = sniff::is_inline(media_type);
    ContentDisposition {
        disposition: if inline { DispositionType::Inline } else { DispositionType::Attachment },
        parameters: vec![
            DispositionParam::Filename(name.chars().map(ascii).collect()),
            DispositionParam::FilenameExt(ExtendedValue {
                charset: Charset::Ext("UTF-8".into()),
                language_tag: None,
                value: name.to_owned().into_bytes(),
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

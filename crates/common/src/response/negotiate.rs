//! Content negotiation: the `Accept` header, and the choice between JSON, CSV and XLSX (docs/api/lists.md, "CSV").

use actix_web::http::header::{self, ContentEncoding, ContentType, HeaderMap};
use actix_web::{HttpRequest, HttpResponse, HttpResponseBuilder};
use serde_json::json;
use tables::XLSX_MEDIA_TYPE;

use crate::response::validation::{Code, ValidationErrors};

/// The media ranges of the `Accept` headers of a request (RFC 9110, section 12.5.1).
#[derive(Clone, Debug, Default)]
pub(crate) struct Accept(Vec<MediaRange>);

#[derive(Clone, Debug)]
struct MediaRange {
    /// In lower case, without parameters.
    name: String,
    /// 0 to 1.
    quality: f32,
}

/// How a media type matches: the quality of the most specific range that contains it, then how specific that range is.
/// The specificity decides between types of equal quality, such as `text/csv` for `text/csv, */*`.
type Preference = (f32, u8);

impl MediaRange {
    /// Parses a range. A quality of any form is accepted, such as `.2` from older Java clients, and one that is no
    /// number counts as 1: `QualityItem` of actix-http refuses such ranges, and their clients would get 406.
    fn parse(range: &str) -> Self {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next().unwrap_or_default().to_ascii_lowercase();
        let mut qualities =
            parts.filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let quality =
            qualities.next_back().and_then(|quality| quality.parse().ok()).filter(|q: &f32| q.is_finite());
        Self { name, quality: quality.unwrap_or(1.0).clamp(0.0, 1.0) }
    }

    /// Returns 2 for the type itself, 1 for `type/*`, 0 for `*/*`, and `None` if the range does not contain the type.
    fn specificity(&self, media_type: &str) -> Option<u8> {
        match self.name.strip_suffix('*') {
            None => (self.name == media_type).then_some(2),
            Some("" | "*/") => Some(0),
            Some(kind) => media_type.starts_with(kind).then_some(1),
        }
    }
}

impl Accept {
    /// Parses the headers of a request.
    pub(crate) fn parse(headers: &HeaderMap) -> Self {
        let lines = headers.get_all(header::ACCEPT).filter_map(|line| line.to_str().ok());
        let ranges = lines.flat_map(|line| line.split(',')).map(str::trim).filter(|range| !range.is_empty());
        Self(ranges.map(MediaRange::parse).collect())
    }

    /// Returns true if a response of this media type is acceptable. Without a range, every type is.
    pub(crate) fn allows(&self, media_type: &str) -> bool {
        self.preference(media_type).0 > 0.0
    }

    fn preference(&self, media_type: &str) -> Preference {
        if self.0.is_empty() {
            return (1.0, 0);
        }
        let matching =
            self.0.iter().filter_map(|range| Some((range.specificity(media_type)?, range.quality)));
        let best = matching.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        best.map_or((0.0, 0), |(specificity, quality)| (quality, specificity))
    }
}

/// Returns true if a response of this media type is acceptable for the client.
pub fn accepts(request: &HttpRequest, media_type: &str) -> bool {
    Accept::parse(request.headers()).allows(media_type)
}

/// Returns true if a client prefers HTML to JSON, as browsers do.
pub(crate) fn prefers_html(request: &HttpRequest) -> bool {
    let accept = Accept::parse(request.headers());
    accept.allows("text/html") && accept.preference("text/html") > accept.preference("application/json")
}

/// The maximum of `limit` for files, and the maximum number of rows of a workbook.
const MAX_FILE_ROWS: i64 = 1_000_000;

/// The maximum number of features of a map.
pub const MAX_FEATURES: i64 = 10_000;
/// The media type of GeoJSON.
pub const GEO_JSON_MEDIA_TYPE: &str = "application/geo+json";

/// The format of the rows of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// A JSON array of documents.
    Json,
    /// A CSV file (RFC 4180).
    Csv,
    /// A CSV file that begins with a byte order mark.
    CsvWithBom,
    /// A workbook of one sheet.
    Xlsx,
    /// The places of the rows on a map (RFC 7946).
    GeoJson,
}

impl Format {
    /// The formats of all searches and exports.
    pub const ALL: [Self; 3] = [Self::Json, Self::Csv, Self::Xlsx];

    /// Returns that of the formats which the `Accept` header prefers. Of equals, that is `default`, or the first.
    pub fn accepted(request: &HttpRequest, offered: &[Self], default: Self) -> Self {
        let accept = Accept::parse(request.headers());
        let preference = |format: &Self| accept.preference(format.media_type());
        let mut best = default;
        for format in offered {
            if preference(format) > preference(&best) {
                best = *format;
            }
        }
        best
    }

    /// Parses the parameter `format`, in any case. Returns `accepted` if it is absent, or invalid, which is added to
    /// `errors`.
    pub fn named(
        name: Option<&str>,
        offered: &[Self],
        accepted: Self,
        errors: &mut ValidationErrors,
    ) -> Self {
        let Some(name) = name.map(str::trim) else { return accepted };
        if let Some(format) = offered.iter().find(|format| format.name().eq_ignore_ascii_case(name)) {
            return *format;
        }
        let names: Vec<_> = offered.iter().map(|format| format.name()).collect();
        let message = format!("must be one of {}", names.join(", "));
        errors.push_with("format", Code::Enum, message, json!({ "allowed": names }));
        accepted
    }

    /// Adds a byte order mark to CSV if `bom` is true.
    #[must_use]
    pub fn with_bom(self, bom: bool) -> Self {
        if bom && self == Self::Csv { Self::CsvWithBom } else { self }
    }

    /// Starts a response in this format. A file is an attachment with this name and the extension of the format.
    pub fn attachment(self, name: &str) -> HttpResponseBuilder {
        let mut response = HttpResponse::Ok();
        match self {
            Self::Json => response.content_type(ContentType::json()),
            Self::Csv | Self::CsvWithBom => response.content_type("text/csv; charset=utf-8"),
            // An archive is compressed already: see `ResponseHeaders`.
            Self::Xlsx => response.content_type(XLSX_MEDIA_TYPE).insert_header(ContentEncoding::Identity),
            Self::GeoJson => response.content_type(GEO_JSON_MEDIA_TYPE),
        };
        if !matches!(self, Self::Json | Self::GeoJson) {
            let attachment = format!("attachment; filename=\"{name}.{}\"", self.extension());
            response.insert_header((header::CONTENT_DISPOSITION, attachment));
        }
        response
    }

    fn name(self) -> &'static str {
        match self {
            Self::Json => "JSON",
            Self::Csv | Self::CsvWithBom => "CSV",
            Self::Xlsx => "XLSX",
            Self::GeoJson => "GEOJSON",
        }
    }

    /// Returns the media type without parameters.
    fn media_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Csv | Self::CsvWithBom => "text/csv",
            Self::Xlsx => XLSX_MEDIA_TYPE,
            Self::GeoJson => GEO_JSON_MEDIA_TYPE,
        }
    }

    /// Returns the extension of a file in this format.
    fn extension(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Csv | Self::CsvWithBom => "csv",
            Self::Xlsx => "xlsx",
            Self::GeoJson => "geojson",
        }
    }

    /// Validates the parameter `limit`, a number of rows. JSON: 1 to 100, by default 20. Files: 1 to 1,000,000, by
    /// default all for CSV, 1,000,000 for XLSX, because a sheet cannot have many more, and 10,000 for GeoJSON.
    pub fn limit(self, limit: Option<i64>, errors: &mut ValidationErrors) -> i64 {
        let (max, default) = match self {
            Self::Json => (100, 20),
            Self::Csv | Self::CsvWithBom => (MAX_FILE_ROWS, i64::MAX),
            Self::Xlsx => (MAX_FILE_ROWS, MAX_FILE_ROWS),
            Self::GeoJson => (MAX_FILE_ROWS, MAX_FEATURES),
        };
        if limit.is_some_and(|limit| !(1..=max).contains(&limit)) {
            let range = json!({ "minimum": 1, "maximum": max });
            errors.push_with("limit", Code::Range, format!("must be between 1 and {max}"), range);
        }
        limit.unwrap_or(default)
    }

    /// Returns the maximum number of rows of an export without the parameter `limit`.
    pub fn max_rows(self) -> i64 {
        if self == Self::Xlsx { MAX_FILE_ROWS } else { i64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use actix_web::http::header::HeaderValue;
    use actix_web::test::TestRequest;

    use super::*;

    fn headers(accept: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))])
    }

    #[test]
    fn parses_several_accept_headers() {
        let mut headers = headers("text/html");
        headers.append(header::ACCEPT, HeaderValue::from_static("application/json;q=0.5"));
        headers.append(header::ACCEPT, HeaderValue::from_static("text/csv;q=0.5; header=present"));
        let accept = Accept::parse(&headers);
        assert!(
            accept.allows("application/json") && accept.allows("text/csv") && !accept.allows("image/png")
        );
        assert!(Accept::parse(&HeaderMap::new()).allows("image/png"));
    }

    #[test]
    fn a_more_specific_range_overrides_a_wildcard() {
        for (accept, json, csv) in [
            ("application/json;q=0, */*", false, true),
            ("*/*;q=0, text/csv", false, true),
            ("text/*;q=0, */*", true, false),
            ("text/*;q=0, text/csv;q=0.1", false, true),
            ("text/csv;q=0, text/csv", false, true),
            ("*;q=0.2", true, true),
            // The default of older Java clients.
            ("text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", true, true),
            ("text/csv; q=.0, */*;q=2", true, false),
            ("application/json;q=none", true, false),
        ] {
            let parsed = Accept::parse(&headers(accept));
            assert_eq!(
                (parsed.allows("application/json"), parsed.allows("text/csv")),
                (json, csv),
                "{accept}"
            );
        }
    }

    #[test]
    fn accept_header_selects_the_format() {
        for (accept, format) in [
            ("", None),
            ("*/*", None),
            ("text/csv, application/json", None),
            ("text/csv", Some(Format::Csv)),
            ("Text/CSV; charset=utf-8", Some(Format::Csv)),
            ("text/*", Some(Format::Csv)),
            ("text/csv, */*", Some(Format::Csv)),
            ("application/json;q=0, */*", Some(Format::Csv)),
            ("application/json, text/csv;q=0.5", Some(Format::Json)),
            ("application/json;q=.9, text/csv;q=.1", Some(Format::Json)),
            ("text/csv;q=.5", Some(Format::Csv)),
            ("text/csv;q=0.5, */*", Some(Format::Json)),
            ("text/csv;q=0, */*", Some(Format::Json)),
            ("text/html, application/json;q=0.1", Some(Format::Json)),
            (XLSX_MEDIA_TYPE, Some(Format::Xlsx)),
            (
                "text/csv;q=0.5, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                Some(Format::Xlsx),
            ),
            (
                "application/*;q=0.5, application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
                Some(Format::Xlsx),
            ),
            ("application/*, text/csv;q=0.1", Some(Format::Json)),
            ("application/json;q=0, application/*", Some(Format::Xlsx)),
        ] {
            let request = TestRequest::default().insert_header((header::ACCEPT, accept)).to_http_request();
            for default in [Format::Json, Format::Csv] {
                let accepted = Format::accepted(&request, &Format::ALL, default);
                assert_eq!(accepted, format.unwrap_or(default), "{accept}");
            }
        }
    }

    #[test]
    fn format_parameter_takes_precedence() {
        let named = |name, accepted, errors: &mut ValidationErrors| {
            Format::named(name, &Format::ALL, accepted, errors)
        };
        let mut errors = ValidationErrors::default();
        assert_eq!(named(Some("xlsx"), Format::Json, &mut errors), Format::Xlsx);
        assert_eq!(Format::Xlsx.limit(None, &mut errors), 1_000_000);
        assert_eq!(Format::Csv.with_bom(true), Format::CsvWithBom);
        assert_eq!(
            [Format::Xlsx, Format::Json].map(|format| format.with_bom(true)),
            [Format::Xlsx, Format::Json]
        );
        assert_eq!(named(Some("Csv"), Format::Json, &mut errors), Format::Csv);
        assert_eq!(named(Some("json"), Format::Csv, &mut errors), Format::Json);
        assert_eq!(named(None, Format::Csv, &mut errors), Format::Csv);
        assert_eq!(Format::Csv.limit(None, &mut errors), i64::MAX);
        assert_eq!(Format::Csv.limit(Some(1_000_000), &mut errors), 1_000_000);
        assert!(errors.is_empty());
        named(Some("XML"), Format::Csv, &mut errors);
        Format::Json.limit(Some(101), &mut errors);
        let invalid: Vec<_> = errors.iter().map(|entry| (entry.path.as_str(), entry.code)).collect();
        assert_eq!(invalid, [("format", Code::Enum), ("limit", Code::Range)]);
    }
}

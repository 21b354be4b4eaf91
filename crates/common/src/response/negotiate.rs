//! JSON or CSV: by the parameter `format`, else by the `Accept` header (contract, section 1, "CSV").

use actix_web::HttpRequest;
use actix_web::http::header;
use serde_json::json;

use crate::response::validation::{Code, ValidationErrors};

/// How the rows of a search are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// An array of documents.
    Json,
    /// A table (RFC 4180).
    Csv,
}

impl Format {
    /// What the `Accept` header prefers of the two; `usual` where it does not say.
    pub fn accepted(request: &HttpRequest, usual: Self) -> Self {
        let lines = request.headers().get_all(header::ACCEPT).filter_map(|line| line.to_str().ok());
        let accept = lines.collect::<Vec<_>>().join(",");
        let (json, csv) = (preference(&accept, "application/json"), preference(&accept, "text/csv"));
        match json.partial_cmp(&csv) {
            Some(std::cmp::Ordering::Greater) => Self::Json,
            Some(std::cmp::Ordering::Less) => Self::Csv,
            _ => usual,
        }
    }

    /// What the parameter `format` says, in any case; `accepted` where it is absent.
    pub fn named(name: Option<&str>, accepted: Self, errors: &mut ValidationErrors) -> Self {
        match name.map(str::trim) {
            None => accepted,
            Some(name) if name.eq_ignore_ascii_case("json") => Self::Json,
            Some(name) if name.eq_ignore_ascii_case("csv") => Self::Csv,
            Some(_) => {
                let allowed = json!({ "allowed": ["JSON", "CSV"] });
                errors.push_with("format", Code::Enum, "must be one of JSON, CSV", allowed);
                accepted
            }
        }
    }

    /// The parameter `limit`: 1..100 and by default 20 as JSON, 1..1,000,000 and by default all as CSV.
    pub fn limit(self, limit: Option<i64>, errors: &mut ValidationErrors) -> i64 {
        let (most, usual) = if self == Self::Json { (100, 20) } else { (1_000_000, i64::MAX) };
        if limit.is_some_and(|limit| !(1..=most).contains(&limit)) {
            let range = json!({ "minimum": 1, "maximum": most });
            errors.push_with("limit", Code::Range, format!("must be between 1 and {most}"), range);
        }
        limit.unwrap_or(usual)
    }
}

/// How much a media type is wanted: the quality of the most specific range that names it, and how specific that is,
/// which decides between `text/csv` and `*/*`.
fn preference(accept: &str, media: &str) -> (f32, u8) {
    let ranges = accept.split(',').filter_map(|range| {
        let mut parts = range.split(';').map(str::trim);
        let name = parts.next()?.to_ascii_lowercase();
        let quality = parts.find_map(|part| part.strip_prefix("q=")?.parse().ok()).unwrap_or(1.0);
        let specific = match name.strip_suffix('*') {
            None if name == media => 2,
            Some("*/") => 0,
            Some(kind) if media.starts_with(kind) => 1,
            _ => return None,
        };
        Some((quality, specific))
    });
    ranges.max_by_key(|(_, specific)| *specific).unwrap_or((0.0, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_decides_where_it_says() {
        for (accept, format) in [
            ("", None),
            ("*/*", None),
            ("text/csv, application/json", None),
            ("text/csv", Some(Format::Csv)),
            ("Text/CSV; charset=utf-8", Some(Format::Csv)),
            ("text/*", Some(Format::Csv)),
            ("text/csv, */*", Some(Format::Csv)),
            ("application/json, text/csv;q=0.5", Some(Format::Json)),
            ("text/csv;q=0.5, */*", Some(Format::Json)),
            ("text/csv;q=0, */*", Some(Format::Json)),
            ("text/html, application/json;q=0.1", Some(Format::Json)),
        ] {
            let request = actix_web::test::TestRequest::default().insert_header(("accept", accept));
            let request = request.to_http_request();
            for usual in [Format::Json, Format::Csv] {
                assert_eq!(Format::accepted(&request, usual), format.unwrap_or(usual), "{accept}");
            }
        }
    }

    #[test]
    fn the_parameter_wins() {
        let mut errors = ValidationErrors::default();
        assert_eq!(Format::named(Some("Csv"), Format::Json, &mut errors), Format::Csv);
        assert_eq!(Format::named(Some("json"), Format::Csv, &mut errors), Format::Json);
        assert_eq!(Format::named(None, Format::Csv, &mut errors), Format::Csv);
        assert_eq!(Format::Csv.limit(None, &mut errors), i64::MAX);
        assert_eq!(Format::Csv.limit(Some(1_000_000), &mut errors), 1_000_000);
        assert!(errors.is_empty());
        Format::named(Some("XML"), Format::Csv, &mut errors);
        Format::Json.limit(Some(101), &mut errors);
        let told: Vec<_> = errors.iter().map(|p| (p.path.as_str(), p.code)).collect();
        assert_eq!(told, [("format", Code::Enum), ("limit", Code::Range)]);
    }
}

//! Pages of a search: by limit and offset, or by a cursor, which costs the same on every page; their `Link` header, and
//! the words of the parameter `query`.

use actix_web::HttpRequest;
use database::search::{Position, SortValue};
use database::{Id, Json};
use serde::{Deserialize, Serialize};
use serde_json::json;
use utoipa::IntoParams;

use super::sort::{Cursor, Sorting};
use crate::Error;
use crate::response::json::JsonResponse;
use crate::response::negotiate::Format;
use crate::response::validation::{Code, ValidationErrors};
use crate::wire::{QueryText, fold};

/// The default number of rows on a page.
pub(super) const DEFAULT_LIMIT: i64 = 20;

/// Query parameters that every paged search has besides its filters (docs/api/lists.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct PageParams {
    /// Rows on a page. JSON: up to 100, by default 20. CSV: by default all. XLSX: by default 1,000,000.
    #[param(minimum = 1, maximum = 1_000_000)]
    limit: Option<i64>,
    /// Rows to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all matches, in `X-Total-Count`.
    pub count: bool,
    /// Descending if true, else ascending.
    pub sort_desc: Option<bool>,
    /// One of the formats of the operation (`JSON`, `CSV`, `XLSX`), in any case; by default what the `Accept` header
    /// prefers, else JSON.
    format: Option<QueryText>,
    /// `true`: CSV begins with a byte order mark, which Excel needs.
    bom: bool,
}

impl PageParams {
    /// Returns the format and the page of a search in this order. `accepted` is the format that the `Accept` header
    /// prefers.
    pub fn parse<K>(
        &self,
        accepted: Format,
        sorting: &Sorting<K>,
        errors: &mut ValidationErrors,
    ) -> (Format, PageRequest) {
        self.parse_as(&Format::ALL, accepted, sorting, errors)
    }

    /// As [`PageParams::parse`], for a search that offers other formats.
    pub fn parse_as<K>(
        &self,
        offered: &[Format],
        accepted: Format,
        sorting: &Sorting<K>,
        errors: &mut ValidationErrors,
    ) -> (Format, PageRequest) {
        let format = Format::named(self.format.as_deref(), offered, accepted, errors).with_bom(self.bom);
        let limit = Some(format.limit(self.limit, errors));
        (format, PageRequest::new(limit, self.offset, self.cursor.as_deref(), sorting, errors))
    }
}

/// Query parameters of a list in a fixed order, as JSON only (docs/api/lists.md).
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct ListParams {
    /// Entries on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Entries to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// Where the previous page ended: from the `next` link.
    #[param(max_length = 4096)]
    cursor: Option<String>,
    /// `true`: count all entries, in `X-Total-Count`.
    pub count: bool,
}

impl ListParams {
    /// Returns the page of a list in this order.
    pub fn parse<K>(&self, sorting: &Sorting<K>, errors: &mut ValidationErrors) -> PageRequest {
        PageRequest::new(self.limit, self.offset, self.cursor.as_deref(), sorting, errors)
    }
}

/// The rows of a search that a request asks for.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// The most rows: 1 to 100; of a streamed response up to all.
    pub limit: i64,
    /// Rows to skip, 0 to 1,000,000; 0 with a cursor.
    pub offset: i64,
    /// The last row of the previous page.
    pub after: Option<Cursor>,
}

impl PageRequest {
    /// Reads the parameters `limit`, `offset` and `cursor` of a search in this order.
    pub fn new<K>(
        limit: Option<i64>,
        offset: Option<i64>,
        cursor: Option<&str>,
        sorting: &Sorting<K>,
        errors: &mut ValidationErrors,
    ) -> Self {
        let after = cursor.and_then(|text| {
            let decoded = sorting.decode(text);
            if decoded.is_none() {
                let message = "must come from the next link of a search in the same order";
                errors.push("cursor", Code::Format, message);
            }
            decoded
        });
        let offset = if after.is_some() { 0 } else { offset.unwrap_or(0) };
        Self { limit: limit.unwrap_or(DEFAULT_LIMIT), offset, after }
    }

    /// The first page, with the default limit.
    pub fn first() -> Self {
        Self { limit: DEFAULT_LIMIT, offset: 0, after: None }
    }

    /// Returns how many rows to read: one more than the limit, to know whether more follow.
    pub fn fetch(&self) -> i64 {
        self.limit + 1
    }

    /// Makes the response of the rows that were [fetched](Self::fetch), whose next page begins at an offset. `total` is
    /// the number of all, if it was requested.
    ///
    /// # Errors
    /// Fails if a row cannot be serialized.
    pub fn offset_response<T: Serialize>(
        &self,
        request: &HttpRequest,
        public_url: &str,
        mut rows: Vec<T>,
        total: Option<i64>,
    ) -> Result<JsonResponse, Error> {
        let limit = usize::try_from(self.limit).unwrap_or(0);
        let links = offset_links(request, public_url, self, rows.len() > limit);
        rows.truncate(limit);
        let response = JsonResponse::json(&rows)?.links(links);
        Ok(match total {
            Some(total) => response.header("X-Total-Count", total.to_string()),
            None => response,
        })
    }

    /// Returns the position after which the page begins.
    pub fn position(&self) -> Option<Position> {
        self.after.as_ref().map(Cursor::position)
    }
}

/// Query parameters of a list that is paged by limit and offset only, as JSON only (docs/api/lists.md).
#[derive(Clone, Debug, Default, Deserialize, IntoParams)]
#[serde(default, rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct OffsetParams {
    /// Entries on a page, by default 20.
    #[param(minimum = 1, maximum = 100)]
    limit: Option<i64>,
    /// Entries to skip.
    #[param(minimum = 0, maximum = 1_000_000)]
    offset: Option<i64>,
    /// `true`: count all entries, in `X-Total-Count`.
    pub count: bool,
}

impl OffsetParams {
    /// Returns the page.
    pub fn page(&self) -> PageRequest {
        PageRequest {
            limit: self.limit.unwrap_or(DEFAULT_LIMIT),
            offset: self.offset.unwrap_or(0),
            after: None,
        }
    }

    /// Makes the response of the rows that were [fetched](PageRequest::fetch); `total` is the number of all entries.
    ///
    /// # Errors
    /// Fails if an entry cannot be serialized.
    pub fn response<T: Serialize>(
        &self,
        request: &HttpRequest,
        public_url: &str,
        rows: Vec<T>,
        total: i64,
    ) -> Result<JsonResponse, Error> {
        self.page().offset_response(request, public_url, rows, self.count.then_some(total))
    }
}

/// A page of documents, and where the next page begins.
#[derive(Debug)]
pub struct ResultPage {
    /// The documents, as JSON text.
    pub documents: Vec<String>,
    /// The cursor of the last row, if more rows follow.
    pub next: Option<Cursor>,
    /// The number of all matches, if it was requested.
    pub total: Option<i64>,
}

impl ResultPage {
    /// Makes a page of the rows that were [fetched](PageRequest::fetch).
    pub fn new<K>(mut rows: Vec<(Json, Position)>, page: &PageRequest, sorting: &Sorting<K>) -> Self {
        let limit = usize::try_from(page.limit).unwrap_or(0);
        let has_more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| has_more).map(|(_, position)| sorting.cursor(position.clone()));
        Self { documents: rows.into_iter().map(|(document, _)| document.0).collect(), next, total: None }
    }

    /// Makes a page of entries that were [fetched](PageRequest::fetch) in the order [`Sorting::newest_first`], each
    /// with its id. `total` is the number of all, if it was requested.
    ///
    /// # Errors
    /// The first error among the entries, and if an entry cannot be serialized.
    pub fn newest_first<T: Serialize>(
        entries: impl IntoIterator<Item = Result<(Id, T), Error>>,
        page: &PageRequest,
        total: Option<i64>,
    ) -> Result<Self, Error> {
        let row = |entry: Result<(Id, T), Error>| {
            let (id, entry) = entry?;
            Ok((Json::of(&entry)?, (Some(SortValue::Integer(0)), id)))
        };
        let rows = entries.into_iter().map(row).collect::<Result<_, Error>>()?;
        Ok(Self { total, ..Self::new(rows, page, &Sorting::newest_first()) })
    }

    /// Makes the response, with its headers `Link` and `X-Total-Count`.
    pub fn response(&self, request: &HttpRequest, public_url: &str, page: &PageRequest) -> JsonResponse {
        let body = JsonResponse::array(self.documents.iter().map(String::as_str));
        self.add_headers(body, request, public_url, page)
    }

    /// Adds the headers `Link` and `X-Total-Count` to a response with the page.
    pub fn add_headers(
        &self,
        response: JsonResponse,
        request: &HttpRequest,
        public_url: &str,
        page: &PageRequest,
    ) -> JsonResponse {
        let next = self.next.as_ref().map(|cursor| ("cursor", cursor.encode()));
        let response = response.links(links(request, public_url, page, next));
        match self.total {
            Some(total) => response.header("X-Total-Count", total.to_string()),
            None => response,
        }
    }
}

/// Maximum number of words in a query. Each is compared with every row.
const MAX_WORDS: usize = 16;

/// Returns the words of the parameter `query`, [folded](fold). Adds an error if there are too many.
pub fn parse_words(query: Option<&QueryText>, errors: &mut ValidationErrors) -> Vec<String> {
    let query = query.map(|query| fold(query)).unwrap_or_default();
    let words: Vec<_> = query.split_whitespace().map(str::to_owned).collect();
    if words.len() > MAX_WORDS {
        let maximum = json!({ "maximum": MAX_WORDS });
        errors.push_with("query", Code::Length, format!("must have at most {MAX_WORDS} words"), maximum);
    }
    words
}

/// The most rows that `offset` can skip.
pub(super) const MAX_OFFSET: i64 = 1_000_000;

/// With a longer query only the `next` link is sent: each link repeats the query, and proxies accept some KiB of
/// headers.
const MAX_LINKED_QUERY_BYTES: usize = 2048;
/// A longer header is left out.
const MAX_HEADER_BYTES: usize = 4096;

/// Returns the `Link` header of a page that has no cursors. `more` says whether rows follow.
pub fn offset_links(request: &HttpRequest, public_url: &str, page: &PageRequest, more: bool) -> String {
    let next = (page.offset + page.limit).min(MAX_OFFSET);
    links(request, public_url, page, more.then(|| ("offset", next.to_string())))
}

/// Returns the `Link` header; `next` is the parameter that leads to the next page. Its value is an offset or a cursor,
/// which need no encoding.
pub(super) fn links(
    request: &HttpRequest,
    public_url: &str,
    page: &PageRequest,
    next: Option<(&'static str, String)>,
) -> String {
    let query = query_without_start(request);
    let add = |links: &mut String, relation, start: Option<(&str, &str)>| {
        let separator = if links.is_empty() { "" } else { ", " };
        links.extend([separator, "<", public_url, request.path()]);
        let query = (!query.is_empty()).then_some(query.as_str());
        let start = start.map(|(name, value)| [name, "=", value].concat());
        for (separator, part) in ["?", "&"].into_iter().zip(query.into_iter().chain(start.as_deref())) {
            links.extend([separator, part]);
        }
        links.extend([">; rel=\"", relation, "\""]);
    };
    let (mut links, mut to_next) = (String::new(), String::new());
    if request.query_string().len() <= MAX_LINKED_QUERY_BYTES {
        add(&mut links, "first", None);
        if page.after.is_none() && page.offset > 0 {
            let offset = (page.offset - page.limit).max(0).to_string();
            add(&mut links, "prev", Some(("offset", &offset)));
        }
    }
    if let Some((name, value)) = next {
        add(&mut links, "next", Some((name, &value)));
        add(&mut to_next, "next", Some((name, &value)));
    }
    [links, to_next].into_iter().find(|links| links.len() <= MAX_HEADER_BYTES).unwrap_or_default()
}

/// Returns this request's query without the parameters that say where the page begins.
fn query_without_start(request: &HttpRequest) -> String {
    let parameters = url::form_urlencoded::parse(request.query_string().as_bytes());
    let others = parameters.filter(|(name, _)| name != "offset" && name != "cursor");
    url::form_urlencoded::Serializer::new(String::new()).extend_pairs(others).finish()
}

#[cfg(test)]
mod tests {
    use actix_web::test::TestRequest;
    use database::search::{Nulls, SortType};

    use super::*;
    use crate::search::sort::SortDefinition;

    static SORTS: [SortDefinition<()>; 4] = [
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Timestamp, nulls: Nulls::Never },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Text, nulls: Nulls::Never },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Number, nulls: Nulls::Apart },
        SortDefinition { name: "createdAt", key: (), sort_type: SortType::Text, nulls: Nulls::Mixed },
    ];

    fn is_refused(text: &str, by: &'static SortDefinition<()>) -> bool {
        let mut errors = ValidationErrors::default();
        PageRequest::new(None, None, Some(text), &Sorting::new(by, false), &mut errors);
        errors.failed("cursor")
    }

    #[test]
    fn cursors_of_another_order_are_refused() {
        let [timestamps, texts, numbers_or_none, texts_or_none] = [0, 1, 2, 3];
        let (number, text) = (|n| Some(SortValue::Integer(n)), |t: &str| Some(SortValue::Text(t.into())));
        assert!(is_refused("nonsense", &SORTS[timestamps]));
        for (value, valid) in [
            (None, &[numbers_or_none, texts_or_none][..]),
            (number(5), &[timestamps, numbers_or_none]),
            (number(i64::MAX), &[numbers_or_none]),
            (text("x"), &[texts, texts_or_none]),
            (text("a\u{0}"), &[]),
        ] {
            let encoded =
                |sort: &str| Cursor { sort: sort.into(), value: value.clone(), id: Id::new() }.encode();
            for (i, sort) in SORTS.iter().enumerate() {
                assert_eq!(
                    is_refused(&encoded("createdAt"), sort),
                    !valid.contains(&i),
                    "{value:?} {sort:?}"
                );
                assert!(is_refused(&encoded("-createdAt"), sort));
            }
        }
    }

    #[test]
    fn responses_carry_the_total() {
        let request = actix_web::test::TestRequest::with_uri("/v1/loads?limit=2").to_http_request();
        let rows = ResultPage { documents: vec!["{}".into(), "{}".into()], next: None, total: Some(6) };
        let page = PageRequest { limit: 2, offset: 0, after: None };
        let response = rows.response(&request, "http://h", &page);
        assert_eq!(response.body, "[{},{}]");
        assert_eq!(response.headers[0].1, "<http://h/v1/loads?limit=2>; rel=\"first\"");
        assert_eq!(response.headers[1], ("X-Total-Count".to_owned(), "6".to_owned()));
    }

    const PAGE: PageRequest = PageRequest { limit: 2, offset: 4, after: None };

    #[test]
    fn links_keep_the_other_parameters() {
        let request = TestRequest::with_uri("/v1/loads?limit=2&f%3Astatus=upcoming&offset=4");
        let expected = "<http://h/v1/loads?limit=2&f%3Astatus=upcoming>; rel=\"first\", \
                        <http://h/v1/loads?limit=2&f%3Astatus=upcoming&offset=2>; rel=\"prev\"";
        assert_eq!(links(&request.to_http_request(), "http://h", &PAGE, None), expected);
    }

    #[test]
    fn long_queries_have_only_the_next_link() {
        let query = "x".repeat(MAX_LINKED_QUERY_BYTES + 1);
        let request = TestRequest::with_uri(&format!("/v1/loads?query={query}&offset=4")).to_http_request();
        let more = offset_links(&request, "http://h", &PAGE, true);
        assert_eq!(more, format!("<http://h/v1/loads?query={query}&offset=6>; rel=\"next\""));
        assert_eq!(offset_links(&request, "http://h", &PAGE, false), "");
        let query = "x".repeat(MAX_LINKED_QUERY_BYTES - 50);
        let long = TestRequest::with_uri(&format!("/v1/loads?query={query}&offset=4")).to_http_request();
        let next = format!("<http://h/v1/loads?query={query}&offset=6>; rel=\"next\"");
        assert_eq!(offset_links(&long, "http://h", &PAGE, true), next, "three links would be too long");
        let uri = format!("/v1/loads?query={}", "x".repeat(MAX_HEADER_BYTES));
        let longer = TestRequest::with_uri(&uri).to_http_request();
        assert_eq!(offset_links(&longer, "http://h", &PAGE, true), "");
    }

    #[test]
    fn hostile_queries_stay_inside_their_links() {
        let hostile = "/v1/loads?a=%0d%0aSet-Cookie:%20b&b=%3E%3B%20rel%3D%22next%22,%3Chttp:%2F%2Fevil%2F%3E&%22%3E=%C3%A4";
        let request = TestRequest::with_uri(hostile).to_http_request();
        let links = offset_links(&request, "http://h", &PAGE, true);
        assert_eq!(links.matches('<').count(), 3, "{links}");
        assert_eq!(links.matches("rel=").count(), 3, "{links}");
        assert!(links.split(", ").all(|link| link.starts_with("<http://h/v1/loads?")), "{links}");
        assert!(links.bytes().all(|b| b.is_ascii_graphic() || b == b' '), "{links}");
    }
}

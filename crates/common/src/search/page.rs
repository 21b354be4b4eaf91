//! Pages of a search: limit and offset, or a cursor that goes on after the last row at the same cost on any page.

use actix_web::HttpRequest;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use database::{Id, Json, Timestamp};
use serde::{Deserialize, Serialize};
use utoipa::openapi::schema::{Object, ObjectBuilder, Type};

use crate::response::validation::{Code, ValidationErrors};
use crate::{Error, JsonResponse};

/// The most rows that can be skipped.
const MAX_OFFSET: i64 = 1_000_000;

/// The response's member that `createdAt` sorts by; its name is as good.
const CREATED_AT: &str = "createdAtUTC";

/// Which rows of a search to give.
#[derive(Clone, Debug)]
pub struct PageRequest {
    /// Rows on a page: 1..100; of a streamed answer more, up to all.
    pub limit: i64,
    /// Rows to skip, 0..1,000,000; 0 with a cursor.
    pub offset: i64,
    /// Where the last page ended.
    pub after: Option<Cursor>,
}

/// The order of a search.
#[derive(Clone, Debug)]
pub struct Sorting<S> {
    /// What is sorted by.
    pub sort: S,
    /// Descending.
    pub desc: bool,
    /// Names the order in cursors.
    pub order: String,
}

impl<S: Copy> Sorting<S> {
    /// The parameter `sortBy` in the document: one of the names, or the response's member of another name.
    pub fn parameter(sorts: &[(&'static str, S)], others: &[&'static str]) -> Object {
        let names = sorts.iter().map(|(name, _)| *name).chain(others.iter().copied()).chain([CREATED_AT]);
        ObjectBuilder::new().schema_type(Type::String).enum_values(Some(names)).build()
    }

    /// From the parameters `sortBy`, which the schema has checked, and `sortDesc`. The first of `sorts` is `createdAt`, and by default the newest
    /// come first; `sortBy` alone ascends, `sortDesc` alone applies to `createdAt`.
    pub fn new(by: Option<&str>, desc: Option<bool>, sorts: &[(&str, S)]) -> Self {
        let asked = by.map(|name| if name == CREATED_AT { "createdAt" } else { name });
        let found = sorts.iter().find(|(name, _)| Some(*name) == asked);
        let (name, sort) = *found.unwrap_or(&sorts[0]);
        Self::of(name, sort, desc.unwrap_or(by.is_none()))
    }

    /// By the key of this name.
    pub fn of(name: &str, sort: S, desc: bool) -> Self {
        Self { sort, desc, order: format!("{}{name}", if desc { "-" } else { "" }) }
    }
}

/// The place of a row in an order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cursor {
    /// The key that is sorted by, and whether it descends: a cursor is of no use in another order.
    #[serde(rename = "s")]
    pub sort: String,
    /// The row's value of that key; nothing where it has none.
    #[serde(rename = "v")]
    pub value: Option<SortValue>,
    /// The row's id, which breaks ties.
    #[serde(rename = "i")]
    pub id: Id,
}

/// A value that rows are sorted by.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SortValue {
    /// Instants (as milliseconds), amounts (as ten-thousandths), whole numbers.
    Number(i64),
    /// Texts, in lower case.
    Text(String),
}

/// What the values of an order are, and so a cursor's: one of another kind would begin anew.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SortValueKind {
    /// Every row has an instant.
    Instants,
    /// Every row has a text.
    Texts,
    /// Whole numbers, which some rows lack.
    SomeNumbers,
    /// Texts, which some rows lack.
    SomeTexts,
}

impl SortValueKind {
    fn have(self, value: Option<&SortValue>) -> bool {
        match (self, value) {
            (Self::Instants, Some(SortValue::Number(millis))) => Timestamp::from_millis(*millis).is_some(),
            // No stored text has control characters; PostgreSQL refuses to compare with NUL.
            (Self::Texts | Self::SomeTexts, Some(SortValue::Text(text))) => {
                !text.chars().any(char::is_control)
            }
            (Self::SomeNumbers, Some(SortValue::Number(_))) | (Self::SomeNumbers | Self::SomeTexts, None) => {
                true
            }
            _ => false,
        }
    }
}

impl Cursor {
    /// Opaque text for a link.
    pub fn encode(&self) -> String {
        URL_SAFE_NO_PAD.encode(serde_json::to_vec(self).unwrap_or_default())
    }

    fn decode(text: &str) -> Option<Self> {
        serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()
    }
}

impl PageRequest {
    /// From the parameters `limit`, `offset` and `cursor`; `sort` names the order of this search, whose values are such.
    pub fn new(
        limit: Option<i64>,
        offset: Option<i64>,
        cursor: Option<&str>,
        (sort, values): (&str, SortValueKind),
        errors: &mut ValidationErrors,
    ) -> Self {
        let after = cursor.and_then(|text| {
            let fits = |cursor: &Cursor| cursor.sort == sort && values.have(cursor.value.as_ref());
            let found = Cursor::decode(text).filter(fits);
            if found.is_none() {
                errors.push(
                    "cursor",
                    Code::Format,
                    "must come from the next link of a search in the same order",
                );
            }
            found
        });
        let offset = if after.is_some() { 0 } else { offset.unwrap_or(0) };
        Self { limit: limit.unwrap_or(20), offset, after }
    }

    /// The first rows of a search, as many as a page has by default.
    pub fn first() -> Self {
        Self { limit: 20, offset: 0, after: None }
    }

    /// How many rows to ask the database for: one more than the page has, to know whether more follow.
    pub fn fetch(&self) -> i64 {
        self.limit + 1
    }

    /// The cursor's place in an order by text.
    pub fn after_text(&self) -> Option<(Option<String>, Id)> {
        let text = |value: &Option<SortValue>| {
            if let Some(SortValue::Text(text)) = value { Some(text.clone()) } else { None }
        };
        self.after.as_ref().map(|cursor| (text(&cursor.value), cursor.id))
    }

    /// The cursor's place in an order by whole numbers.
    pub fn after_number(&self) -> Option<(Option<i64>, Id)> {
        let number = |value: &Option<SortValue>| {
            if let Some(SortValue::Number(number)) = value { Some(*number) } else { None }
        };
        self.after.as_ref().map(|cursor| (number(&cursor.value), cursor.id))
    }

    /// The cursor's place in an order by instants.
    pub fn after_instant(&self) -> Option<(Option<Timestamp>, Id)> {
        self.after_number().map(|(millis, id)| (millis.and_then(Timestamp::from_millis), id))
    }
}

/// One page of rows that are JSON already, and where the next begins.
#[derive(Debug)]
pub struct ResultPage {
    /// The rows' documents.
    pub documents: Vec<String>,
    /// The last row's place, if more follow.
    pub next: Option<Cursor>,
    /// How many rows match, if that was asked.
    pub total: Option<i64>,
}

impl ResultPage {
    /// A page of the rows that [`PageRequest::fetch`] asked for; `cursor` tells the last one's place.
    pub fn new(
        mut documents: Vec<Json>,
        page: &PageRequest,
        cursor: impl FnOnce(&Json) -> Result<Cursor, Error>,
    ) -> Result<Self, Error> {
        let limit = usize::try_from(page.limit).unwrap_or(0);
        let more = documents.len() > limit;
        documents.truncate(limit);
        let next = documents.last().filter(|_| more).map(cursor).transpose()?;
        Ok(Self { documents: documents.into_iter().map(|json| json.0).collect(), next, total: None })
    }

    /// A page of the rows that [`PageRequest::fetch`] asked for, each with its place.
    pub fn placed(mut rows: Vec<(String, Cursor)>, page: &PageRequest) -> Self {
        let limit = usize::try_from(page.limit).unwrap_or(0);
        let more = rows.len() > limit;
        rows.truncate(limit);
        let next = rows.last().filter(|_| more).map(|(_, place)| place.clone());
        Self { documents: rows.into_iter().map(|(document, _)| document).collect(), next, total: None }
    }

    /// The answer, with its `Link` header (RFC 8288).
    pub fn answer(&self, request: &HttpRequest, public_url: &str, page: &PageRequest) -> JsonResponse {
        let next = self.next.as_ref().map(|cursor| ("cursor", cursor.encode()));
        let links = links(request, public_url, page, next);
        let answer = JsonResponse::array(self.documents.iter().map(String::as_str)).links(links);
        match self.total {
            Some(total) => answer.header("X-Total-Count", total.to_string()),
            None => answer,
        }
    }
}

/// Of a query longer than this only the way on is told: each link repeats it, and proxies take some KiB of headers.
const MAX_LINKED_QUERY_BYTES: usize = 2048;

/// The `Link` header of a page that knows of no cursors.
pub fn offset_links(request: &HttpRequest, public_url: &str, page: &PageRequest, more: bool) -> String {
    let next = (page.offset + page.limit).min(MAX_OFFSET);
    links(request, public_url, page, more.then(|| ("offset", next.to_string())))
}

fn links(
    request: &HttpRequest,
    public_url: &str,
    page: &PageRequest,
    next: Option<(&'static str, String)>,
) -> String {
    let mut links = Vec::new();
    let short = request.query_string().len() <= MAX_LINKED_QUERY_BYTES;
    if short {
        links.push(link(request, public_url, "first", &[]));
    }
    if short && page.after.is_none() && page.offset > 0 {
        let offset = (page.offset - page.limit).max(0).to_string();
        links.push(link(request, public_url, "prev", &[("offset", &offset)]));
    }
    if let Some((name, value)) = next {
        links.push(link(request, public_url, "next", &[(name, &value)]));
    }
    links.join(", ")
}

/// This request's address with another place to begin at.
fn link(request: &HttpRequest, public_url: &str, relation: &str, place: &[(&str, &str)]) -> String {
    let kept = url::form_urlencoded::parse(request.query_string().as_bytes());
    let kept = kept.filter(|(name, _)| name != "offset" && name != "cursor");
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    query.extend_pairs(kept).extend_pairs(place);
    let query = query.finish();
    let separator = if query.is_empty() { "" } else { "?" };
    format!("<{public_url}{}{separator}{query}>; rel=\"{relation}\"", request.path())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_survive_and_are_checked() {
        for value in [None, Some(SortValue::Number(5)), Some(SortValue::Text("ä".into()))] {
            let cursor = Cursor { sort: "-createdAt".into(), value, id: Id::new() };
            assert_eq!(Cursor::decode(&cursor.encode()), Some(cursor));
        }
        let refused = |text: &str, values| {
            let mut errors = ValidationErrors::default();
            PageRequest::new(None, None, Some(text), ("createdAt", values), &mut errors);
            errors.failed("cursor")
        };
        assert!(refused("nonsense", SortValueKind::Instants));
        let (number, text) = (|n| Some(SortValue::Number(n)), |t: &str| Some(SortValue::Text(t.into())));
        for (value, good) in [
            (None, &[SortValueKind::SomeNumbers, SortValueKind::SomeTexts][..]),
            (number(5), &[SortValueKind::Instants, SortValueKind::SomeNumbers]),
            (number(i64::MAX), &[SortValueKind::SomeNumbers]),
            (text("x"), &[SortValueKind::Texts, SortValueKind::SomeTexts]),
            (text("a\u{0}"), &[]),
        ] {
            let cursor = Cursor { sort: "createdAt".into(), value: value.clone(), id: Id::new() }.encode();
            for values in [
                SortValueKind::Instants,
                SortValueKind::Texts,
                SortValueKind::SomeNumbers,
                SortValueKind::SomeTexts,
            ] {
                assert_eq!(refused(&cursor, values), !good.contains(&values), "{value:?} {values:?}");
            }
        }
    }

    #[test]
    fn links_keep_the_search() {
        let request =
            actix_web::test::TestRequest::with_uri("/v1/loads?limit=2&f%3Astatus=upcoming&offset=4");
        let rows = ResultPage { documents: vec!["{}".into(), "{}".into()], next: None, total: Some(6) };
        let page = PageRequest { limit: 2, offset: 4, after: None };
        let answer = rows.answer(&request.to_http_request(), "http://h", &page);
        assert_eq!(answer.body, "[{},{}]");
        let expected = "<http://h/v1/loads?limit=2&f%3Astatus=upcoming>; rel=\"first\", \
                        <http://h/v1/loads?limit=2&f%3Astatus=upcoming&offset=2>; rel=\"prev\"";
        assert_eq!(answer.headers[0].1, expected);
        assert_eq!(answer.headers[1], ("X-Total-Count".to_owned(), "6".to_owned()));
    }

    #[test]
    fn links_of_a_long_query_are_bounded() {
        let query = "x".repeat(MAX_LINKED_QUERY_BYTES + 1);
        let request = actix_web::test::TestRequest::with_uri(&format!("/v1/loads?query={query}&offset=4"));
        let request = request.to_http_request();
        let page = PageRequest { limit: 2, offset: 4, after: None };
        let more = offset_links(&request, "http://h", &page, true);
        assert_eq!(more, format!("<http://h/v1/loads?query={query}&offset=6>; rel=\"next\""));
        assert_eq!(offset_links(&request, "http://h", &page, false), "");
    }

    #[test]
    fn links_are_one_header_whatever_the_query() {
        let hostile = "/v1/loads?a=%0d%0aSet-Cookie:%20b&b=%3E%3B%20rel%3D%22next%22,%3Chttp:%2F%2Fevil%2F%3E&%22%3E=%C3%A4";
        let request = actix_web::test::TestRequest::with_uri(hostile).to_http_request();
        let page = PageRequest { limit: 2, offset: 4, after: None };
        let links = offset_links(&request, "http://h", &page, true);
        assert_eq!(links.matches('<').count(), 3, "{links}");
        assert_eq!(links.matches("rel=").count(), 3, "{links}");
        assert!(links.split(", ").all(|link| link.starts_with("<http://h/v1/loads?")), "{links}");
        assert!(links.bytes().all(|b| b.is_ascii_graphic() || b == b' '), "{links}");
    }
}

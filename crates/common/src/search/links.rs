//! The `Link` header of a page (RFC 8288).

use actix_web::HttpRequest;

use super::page::PageRequest;

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
    let mut links = String::new();
    let query = query_without_start(request);
    let mut add = |relation, start: Option<(&str, &str)>| {
        let separator = if links.is_empty() { "" } else { ", " };
        links.extend([separator, "<", public_url, request.path()]);
        let query = (!query.is_empty()).then_some(query.as_str());
        let start = start.map(|(name, value)| [name, "=", value].concat());
        for (separator, part) in ["?", "&"].into_iter().zip(query.into_iter().chain(start.as_deref())) {
            links.extend([separator, part]);
        }
        links.extend([">; rel=\"", relation, "\""]);
    };
    let is_short = request.query_string().len() <= MAX_LINKED_QUERY_BYTES;
    if is_short {
        add("first", None);
    }
    if is_short && page.after.is_none() && page.offset > 0 {
        let offset = (page.offset - page.limit).max(0).to_string();
        add("prev", Some(("offset", &offset)));
    }
    if let Some((name, value)) = next {
        add("next", Some((name, &value)));
    }
    if links.len() > MAX_HEADER_BYTES {
        links.clear();
    }
    links
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

    use super::*;

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

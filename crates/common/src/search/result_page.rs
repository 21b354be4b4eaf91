//! A page of results, and its response.

use actix_web::HttpRequest;
use database::Json;
use database::search::Position;

use super::cursor::Cursor;
use super::links::links;
use super::page::PageRequest;
use super::sort::Sorting;
use crate::response::json::JsonResponse;

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

    /// Makes the response, with its headers `Link` and `X-Total-Count`.
    pub fn response(&self, request: &HttpRequest, public_url: &str, page: &PageRequest) -> JsonResponse {
        let next = self.next.as_ref().map(|cursor| ("cursor", cursor.encode()));
        let links = links(request, public_url, page, next);
        let response = JsonResponse::array(self.documents.iter().map(String::as_str)).links(links);
        match self.total {
            Some(total) => response.header("X-Total-Count", total.to_string()),
            None => response,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}

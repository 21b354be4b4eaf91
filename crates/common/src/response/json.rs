//! A JSON response that is serialized before it is sent, so that [`Idempotency`](crate::Idempotency) can store and
//! replay it.

use actix_web::body::BoxBody;
use actix_web::http::StatusCode;
use actix_web::http::header::{CONTENT_TYPE, ContentType};
use actix_web::{HttpRequest, HttpResponse, Responder};
use database::Id;
use serde::{Deserialize, Serialize};

use crate::Error;
use crate::wire::{FileReference, Warning};

/// A 200 response: a JSON body and additional headers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JsonResponse {
    /// JSON text.
    pub body: String,
    /// Header names and values.
    pub headers: Vec<(String, String)>,
    /// The body for a repeated request with the same idempotency key, if it is another one.
    #[serde(skip)]
    pub(crate) replayed_body: Option<String>,
    /// See [`JsonResponse::names_uploaders`].
    #[serde(skip)]
    pub(crate) subject: Option<Id>,
}

impl JsonResponse {
    /// Serializes a value.
    ///
    /// # Errors
    /// Returns [`Error::Internal`] if the value cannot be serialized.
    pub fn json<T: Serialize + ?Sized>(value: &T) -> Result<Self, Error> {
        Ok(Self::raw(serde_json::to_string(value)?))
    }

    /// Creates a response from JSON text, such as a stored document.
    pub fn raw(body: String) -> Self {
        Self { body, headers: Vec::new(), replayed_body: None, subject: None }
    }

    /// Sets what a repeated request with the same idempotency key gets. Only this is stored, so a secret that is shown
    /// once is left out.
    ///
    /// # Errors
    /// As [`JsonResponse::json`].
    pub fn replayed<T: Serialize>(self, value: &T) -> Result<Self, Error> {
        Ok(Self { replayed_body: Some(serde_json::to_string(value)?), ..self })
    }

    /// States that the body is a load or listing with these files, and so contains the names of the users who uploaded
    /// them. What is stored for a repeated request is found by the id when such a user is erased.
    #[must_use]
    pub fn names_uploaders<'a>(
        self,
        subject: Id,
        files: impl IntoIterator<Item = &'a FileReference>,
    ) -> Self {
        Self { subject: files.into_iter().next().map(|_| subject), ..self }
    }

    /// Creates a response with an array of documents that are JSON text.
    pub fn array<'a>(documents: impl IntoIterator<Item = &'a str, IntoIter: Clone>) -> Self {
        let documents = documents.into_iter();
        // Each document is followed by a comma or by the closing bracket.
        let length: usize = documents.clone().map(|document| document.len() + 1).sum();
        let mut body = String::with_capacity(length + 2);
        body.push('[');
        for (i, document) in documents.enumerate() {
            if i > 0 {
                body.push(',');
            }
            body.push_str(document);
        }
        body.push(']');
        Self::raw(body)
    }

    /// Adds the member `warnings` to a body that is an object without it, unless there are none.
    ///
    /// # Errors
    /// As [`JsonResponse::json`].
    pub fn warnings(mut self, warnings: &[Warning]) -> Result<Self, Error> {
        if !warnings.is_empty() {
            self.body.truncate(self.body.trim_end().len().saturating_sub(1));
            self.body.extend([",\"warnings\":", &serde_json::to_string(warnings)?, "}"]);
        }
        Ok(self)
    }

    /// Adds a header.
    #[must_use]
    pub fn header(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Sets the media type, by default `application/json`.
    #[must_use]
    pub fn media_type(self, media_type: &str) -> Self {
        self.header(CONTENT_TYPE.as_str(), media_type)
    }

    /// Adds the `Link` header, unless `links` is empty.
    #[must_use]
    pub fn links(self, links: String) -> Self {
        if links.is_empty() { self } else { self.header("Link", links) }
    }
}

impl Responder for JsonResponse {
    type Body = BoxBody;

    fn respond_to(self, _: &HttpRequest) -> HttpResponse {
        let mut response = HttpResponse::build(StatusCode::OK);
        response.content_type(ContentType::json());
        for (name, value) in self.headers {
            if name == CONTENT_TYPE.as_str() {
                response.insert_header((name, value));
            } else {
                response.append_header((name, value));
            }
        }
        response.body(self.body)
    }
}

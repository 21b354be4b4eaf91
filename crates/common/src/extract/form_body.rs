//! Bodies of the media type `application/x-www-form-urlencoded`, which the token endpoint of RFC 6749 takes.

use std::future::Future;
use std::pin::Pin;

use actix_web::dev::Payload;
use actix_web::http::header;
use actix_web::{FromRequest, HttpMessage, HttpRequest};
use url::form_urlencoded;

use super::body::read;
use crate::Error;
use crate::openapi::unknown_parameters;

const MEDIA_TYPE: &str = "application/x-www-form-urlencoded";

/// The names and values of a form, in their order.
pub struct FormBody(pub Vec<(String, String)>);

impl FromRequest for FormBody {
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self, Error>>>>;

    /// # Errors
    /// 415 for another media type or a compressed body, 413 for a body that is larger than a JSON body may be.
    fn from_request(request: &HttpRequest, payload: &mut Payload) -> Self::Future {
        let (request, payload) = (request.clone(), payload.take());
        Box::pin(async move {
            unknown_parameters::check_without_extractor(&request)?;
            let coding = request.headers().get(header::CONTENT_ENCODING);
            let is_plain = coding.is_none_or(|coding| coding == "identity");
            if !is_plain || !request.content_type().eq_ignore_ascii_case(MEDIA_TYPE) {
                return Err(Error::UnsupportedMediaType("application/x-www-form-urlencoded, not compressed"));
            }
            let bytes = read(&request, payload).await?;
            Ok(Self(form_urlencoded::parse(&bytes).into_owned().collect()))
        })
    }
}

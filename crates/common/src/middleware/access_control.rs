//! What can be said of a request before its handler looks at it: who calls, and whether it is refused for its method,
//! for its `Accept` or because there were too many. Inside of CORS, so that browsers may read the refusal.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::http::{Method, header};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};

use crate::Error;
use crate::auth::{Authentication, Verifier};
use crate::middleware::context::{RequestContext, Route};
use crate::middleware::rate_limit::RateLimiter;
use crate::openapi::{Api, Operation};
use crate::response::negotiate::Accept;

/// See the module.
pub(crate) async fn admission(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    };
    let route = request.extensions().get::<Route>().cloned().unwrap_or_default();
    let operation = route.operation(&api, request.method());
    let known = !operation.is_some_and(|operation| operation.secured) || authenticate(&request).await;
    match refuse(&request, &api, &route, operation) {
        // Who is not known hears of that first, from the handler.
        Err(error) if known || !matches!(error, Error::NotAcceptable(_)) => Ok(request.error_response(error)),
        _ => next.call(request).await.map(ServiceResponse::map_into_boxed_body),
    }
}

fn refuse(
    request: &ServiceRequest,
    api: &Api,
    route: &Route,
    operation: Option<&Operation>,
) -> Result<(), Error> {
    let Some(operation) = operation else {
        return match route.0.as_deref().and_then(|pattern| api.allowed(pattern)) {
            Some(allowed) => Err(Error::MethodNotAllowed(allowed)),
            None => Ok(()),
        };
    };
    if let Some(rates) = request.app_data::<web::Data<RateLimiter>>().filter(|_| !operation.secured) {
        rates.admit(request)?;
    }
    operation.check_accept(&Accept::parse(request.headers()))
}

/// A browser asks whether it may call (Fetch standard, "CORS-preflight request").
pub(crate) fn is_preflight(request: &ServiceRequest) -> bool {
    request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD)
}

/// Leaves what was found for the extractors; true if it is a caller.
async fn authenticate(request: &ServiceRequest) -> bool {
    let Some(verifier) = request.app_data::<web::Data<Verifier>>() else { return false };
    let found = verifier.authenticate(request.headers(), RequestContext::of(request)).await;
    let known = found.is_ok();
    request.extensions_mut().insert(Authentication(found));
    known
}

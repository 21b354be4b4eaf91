//! The checks before a handler runs: identifies the caller and refuses requests because of their method, their rate,
//! their `Accept` header or the roles of the caller. They run inside the CORS layer, so that browsers can read the
//! error.

use actix_web::body::{BoxBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::middleware::Next;
use actix_web::{HttpMessage, web};

use super::rate_limit::{ClientAddress, RateLimiter};
use crate::Error;
use crate::auth::{AuthError, Authentication, CallerObserver, StatedKey, Verifier};
use crate::openapi::{Api, Operation, Route};
use crate::response::negotiate::Accept;
use crate::telemetry::context::RequestContext;
use crate::telemetry::security::RefusalLog;

/// Runs the checks, in the order that `docs/api/errors.md` documents, and then the handler.
pub(crate) async fn access_control(
    request: ServiceRequest,
    next: Next<impl MessageBody + 'static>,
) -> Result<ServiceResponse<BoxBody>, actix_web::Error> {
    let Some(api) = request.app_data::<web::Data<Api>>().cloned() else {
        return next.call(request).await.map(ServiceResponse::map_into_boxed_body);
    };
    let route = Route::of(request.request());
    let operation = route.operation(&api, request.method());
    let secured = operation.filter(|operation| operation.secured);
    let is_authenticated = secured.is_none() || authenticate(&request).await;
    let checked = check(&request, &api, &route, operation);
    match checked.and_then(|()| secured.map_or(Ok(()), |operation| check_roles(&request, operation))) {
        // 401 takes precedence over 406. The handler's extractor returns it.
        Err(Error::NotAcceptable(_)) if !is_authenticated => {}
        Err(error) => return Ok(request.error_response(error)),
        Ok(()) => {}
    }
    next.call(request).await.map(ServiceResponse::map_into_boxed_body)
}

/// Checks the method, the rate limit and `Accept`.
fn check(
    request: &ServiceRequest,
    api: &Api,
    route: &Route,
    operation: Option<&Operation>,
) -> Result<(), Error> {
    let Some(operation) = operation else {
        let allowed = route.pattern().and_then(|pattern| api.allowed(pattern));
        return allowed.map_or(Ok(()), |allowed| Err(Error::MethodNotAllowed(allowed)));
    };
    if !operation.secured
        && let Some(limiter) = request.app_data::<web::Data<RateLimiter>>()
    {
        limiter.check(request)?;
    }
    operation.check_accept(&Accept::parse(request.headers()))
}

/// Checks that the operation admits each role that restricts the caller.
fn check_roles(request: &ServiceRequest, operation: &Operation) -> Result<(), Error> {
    let extensions = request.extensions();
    let caller = extensions.get::<Authentication>().and_then(|authentication| authentication.0.as_ref().ok());
    let mut roles = caller.into_iter().flat_map(|caller| &caller.roles);
    let denied = roles.find(|role| !operation.admits(role.name()));
    denied.map_or(Ok(()), |role| Err(Error::Forbidden(role.denied_message())))
}

/// Verifies the token and stores the result for the extractors. Returns whether there is a caller.
async fn authenticate(request: &ServiceRequest) -> bool {
    let Some(verifier) = request.app_data::<web::Data<Verifier>>() else { return false };
    let result = verifier.authenticate(request.headers(), RequestContext::of(request)).await;
    let is_authenticated = result.is_ok();
    if let (Ok(caller), Some(observer)) = (&result, request.app_data::<web::Data<CallerObserver>>()) {
        observer.observe(caller);
    }
    if let Err(AuthError::BadToken(reason)) = &result {
        log_refused_token(request, reason);
    }
    request.extensions_mut().insert(Authentication(result));
    is_authenticated
}

/// Logs why a token was refused, and which key and issuer it states.
fn log_refused_token(request: &ServiceRequest, reason: &str) {
    let Some(log) = request.app_data::<web::Data<RefusalLog>>() else { return };
    if log.admits(ClientAddress::of(request.request()).0, "token_refused", reason) {
        let StatedKey { issuer, kid } = StatedKey::of(request.headers());
        crate::security_event!("token_refused", reason, issuer, kid, "a token was refused");
    }
}

//! The route of a request.

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;

use crate::openapi::{Api, Operation};

/// The pattern of the route that the router will choose, such as `/v1/loads/{id}`; `None` if no route matches.
#[derive(Clone, Default)]
pub(super) struct Route(pub(super) Option<String>);

impl Route {
    /// Finds the route as the router does: by the decoded path, in which `%63` is `c`.
    pub(super) fn of(request: &ServiceRequest) -> Self {
        Self(request.resource_map().match_pattern(request.match_info().as_str()))
    }

    /// Returns the documented operation with this method on the route, if there is one.
    pub(super) fn operation<'a>(&self, api: &'a Api, method: &Method) -> Option<&'a Operation> {
        api.operation(self.0.as_deref()?, method)
    }
}

//! The route of a request.

use std::rc::Rc;

use actix_web::dev::ServiceRequest;
use actix_web::http::Method;
use actix_web::{HttpMessage, HttpRequest};

use super::{Api, Operation};

/// The pattern of the route that the router will choose, such as `/v1/loads/{id}`; `None` if no route matches.
#[derive(Clone, Default)]
pub(crate) struct Route(Option<Rc<str>>);

impl Route {
    /// Finds the route as the router does: by the decoded path, in which `%63` is `c`.
    pub(crate) fn find(request: &ServiceRequest) -> Self {
        Self(request.resource_map().match_pattern(request.match_info().as_str()).map(Rc::from))
    }

    /// Returns the route that the outermost layer has [found](Self::find) and stored in the extensions.
    pub(crate) fn of(request: &HttpRequest) -> Self {
        request.extensions().get::<Self>().cloned().unwrap_or_default()
    }

    /// Returns the pattern.
    pub(crate) fn pattern(&self) -> Option<&str> {
        self.0.as_deref()
    }

    /// Returns the documented operation with this method on the route, if there is one.
    pub(crate) fn operation<'a>(&self, api: &'a Api, method: &Method) -> Option<&'a Operation> {
        api.operation(self.pattern()?, method)
    }
}

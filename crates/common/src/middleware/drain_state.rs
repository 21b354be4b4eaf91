//! Whether the service drains: it still answers, but proxies should use another replica.

use std::sync::atomic::{AtomicBool, Ordering};

use actix_web::http::ConnectionType;
use actix_web::{HttpRequest, HttpResponse, web};

/// Whether the service drains.
#[derive(Default)]
pub(crate) struct DrainState(AtomicBool);

impl DrainState {
    /// Returns the state of the app that serves the request.
    pub(crate) fn of(request: &HttpRequest) -> Option<web::Data<Self>> {
        request.app_data().cloned()
    }

    /// Begins the drain.
    pub(crate) fn begin(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Returns true if the drain has begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Makes the response the last one on its connection if the service drains.
    pub(crate) fn finish(&self, response: &mut HttpResponse) {
        if self.has_begun() {
            response.head_mut().set_connection_type(ConnectionType::Close);
        }
    }
}

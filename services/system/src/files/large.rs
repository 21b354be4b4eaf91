//! Large answers: how many of them are held at once for clients that read slowly.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use common::{Error, JsonResponse, TenantLimits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most large answers that are held at once.
const MAX_LARGE_ANSWERS: usize = 8;
/// Large answers that one tenant may hold, so that a tenant that does not read leaves room for others.
const MAX_OF_TENANT: usize = 2;
/// An answer of more bytes is large.
const LARGE: usize = 1 << 20;
/// The longest wait for a permit of the tenant, and then for one of all: together less than the timeout of services that
/// call this one.
const PERMIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes that are given to the connection at once. It takes more when it has sent them, so that an answer that is not
/// read stays here, with its permit.
const CHUNK: usize = 32 << 10;

/// The right to hold a large answer, until the last clone is dropped: one of the tenant's permits and one of all.
pub(super) type Permit = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;

/// Permits to hold large answers.
#[derive(Clone)]
pub(crate) struct LargeAnswers {
    all: Arc<Semaphore>,
    /// Permits of each tenant.
    tenants: Arc<TenantLimits>,
}

impl Default for LargeAnswers {
    fn default() -> Self {
        let all = Arc::new(Semaphore::new(MAX_LARGE_ANSWERS));
        Self { all, tenants: Arc::new(TenantLimits::new(MAX_OF_TENANT)) }
    }
}

impl LargeAnswers {
    /// The permit for an answer of so many bytes: the one that the tenant has already, or a free one; none if the answer
    /// is not large.
    ///
    /// # Errors
    /// 503 if no permit is free.
    pub(super) fn permit(
        &self,
        tenant: &str,
        bytes: usize,
        own: Option<&Permit>,
    ) -> Result<Option<Permit>, Error> {
        if bytes <= LARGE {
            return Ok(None);
        }
        if own.is_some() {
            return Ok(own.cloned());
        }
        let of_tenant = self.tenants.try_acquire(tenant).ok_or_else(busy)?;
        let of_all = self.all.clone().try_acquire_owned().map_err(|_| busy())?;
        Ok(Some(Arc::new((of_tenant, of_all))))
    }

    /// A permit, when one becomes free.
    ///
    /// # Errors
    /// 429 if the tenant's own large answers are not read in time, 503 if those of others are not.
    pub(super) async fn wait(&self, tenant: &str) -> Result<Permit, Error> {
        // The tenant's permit comes first, so that few calls of one tenant wait for the others' permits.
        let of_tenant = self.tenants.acquire(tenant, PERMIT_TIMEOUT).await;
        let of_tenant = of_tenant.ok_or(Error::TenantBusy(BUSY))?;
        match tokio::time::timeout(PERMIT_TIMEOUT, self.all.clone().acquire_owned()).await {
            Ok(Ok(of_all)) => Ok(Arc::new((of_tenant, of_all))),
            _ => Err(busy()),
        }
    }
}

const BUSY: &str = "Too many large answers are being sent: try again, with fewer ids.";

fn busy() -> Error {
    Error::Busy(BUSY)
}

/// An answer that keeps its permit until its body was sent or dropped.
pub(super) struct Held {
    pub answer: JsonResponse,
    pub permit: Option<Permit>,
}

impl Responder for Held {
    type Body = BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let response = self.answer.respond_to(request);
        let Some(permit) = self.permit else { return response };
        response.map_body(|_, body| match body.try_into_bytes() {
            Ok(bytes) => BoxBody::new(HeldBody { bytes, _permit: permit }),
            Err(body) => body,
        })
    }
}

/// The rest of a large body. It is never given away whole (`try_into_bytes`), since its permit would be dropped then.
struct HeldBody {
    bytes: Bytes,
    _permit: Permit,
}

impl MessageBody for HeldBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.bytes.len() as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let next = self.bytes.len().min(CHUNK);
        Poll::Ready((next > 0).then(|| Ok(self.bytes.split_to(next))))
    }
}

//! Limits on what all tenants, and one tenant, use at once: cores, and memory for large responses, which clients may
//! read slowly.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::thread;
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use common::{Error, JsonResponse, TenantLimits};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;

/// Large responses in memory at once.
const MAX_LARGE_RESPONSES: usize = 8;
/// Large responses of one tenant in memory at once. A tenant that does not read its responses leaves room for others.
const MAX_LARGE_PER_TENANT: usize = 2;
/// A response of more bytes is large.
const LARGE_BYTES: usize = 1 << 20;
/// How long a call waits for a permit of its tenant, and then for a shared permit. The sum is shorter than the timeout
/// of the services that call this one.
const PERMIT_TIMEOUT: Duration = Duration::from_millis(500);
/// Bytes that the connection gets at once. It asks for more after it has sent them. So the rest of a response that the
/// client does not read stays here, with its permit.
const CHUNK_BYTES: usize = 32 << 10;

const BUSY: &str = "Too many large responses are being sent: try again, with fewer ids.";

/// Issues a permit for each core, half of them to one tenant, so that the work of one tenant leaves room for others.
pub(super) struct CorePermits {
    cores: Arc<Semaphore>,
    tenants: TenantLimits,
}

/// The right to use a core, until this is dropped.
pub(super) struct CorePermit {
    _core: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
}

impl Default for CorePermits {
    fn default() -> Self {
        Self::new(thread::available_parallelism().map_or(1, usize::from))
    }
}

impl CorePermits {
    /// Creates permits for this number of cores.
    pub(super) fn new(cores: usize) -> Self {
        Self { cores: Arc::new(Semaphore::new(cores)), tenants: TenantLimits::new((cores / 2).max(1)) }
    }

    /// Waits for a permit. Returns `None` after the timeout.
    pub(super) async fn acquire(&self, tenant: &str, wait: Duration) -> Option<CorePermit> {
        let acquire = async {
            // Takes the tenant's permit first, so that little work of one tenant waits for a core.
            let of_tenant = self.acquire_turn(tenant, wait).await?;
            Some(CorePermit { _core: self.acquire_core(wait).await?, _of_tenant: of_tenant })
        };
        timeout(wait, acquire).await.ok().flatten()
    }

    /// Waits for the permit of the tenant alone. Returns `None` after the timeout.
    pub(super) async fn acquire_turn(&self, tenant: &str, wait: Duration) -> Option<OwnedSemaphorePermit> {
        self.tenants.acquire(tenant, wait).await
    }

    /// Waits for a core, for work that has the permit of its tenant. Returns `None` after the timeout.
    pub(super) async fn acquire_core(&self, wait: Duration) -> Option<OwnedSemaphorePermit> {
        timeout(wait, self.cores.clone().acquire_owned()).await.ok()?.ok()
    }
}

/// The right to hold a large response, until the last clone is dropped: one permit of the tenant and one shared permit.
pub(super) type ResponsePermit = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;

/// Issues the permits to hold large responses. Clones share the permits.
#[derive(Clone)]
pub(crate) struct LargeResponses {
    shared: Arc<Semaphore>,
    tenants: Arc<TenantLimits>,
}

impl Default for LargeResponses {
    fn default() -> Self {
        let shared = Arc::new(Semaphore::new(MAX_LARGE_RESPONSES));
        Self { shared, tenants: Arc::new(TenantLimits::new(MAX_LARGE_PER_TENANT)) }
    }
}

impl LargeResponses {
    /// Returns the permit for a response of this size: `held`, or else a free one. Returns `None` if the response is
    /// not large.
    ///
    /// # Errors
    /// 503 if no permit is free.
    pub(super) fn try_permit(
        &self,
        tenant: &str,
        bytes: usize,
        held: Option<&ResponsePermit>,
    ) -> Result<Option<ResponsePermit>, Error> {
        if bytes <= LARGE_BYTES {
            return Ok(None);
        }
        if held.is_some() {
            return Ok(held.cloned());
        }
        let of_tenant = self.tenants.try_acquire(tenant).ok_or(Error::Busy(BUSY))?;
        let shared = self.shared.clone().try_acquire_owned().map_err(|_| Error::Busy(BUSY))?;
        Ok(Some(Arc::new((of_tenant, shared))))
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// 429 if the tenant reads its own large responses too slowly, 503 if other tenants do.
    async fn acquire(&self, tenant: &str) -> Result<ResponsePermit, Error> {
        // Takes the tenant's permit first, so that few calls of one tenant wait for shared permits.
        let of_tenant = self.tenants.acquire(tenant, PERMIT_TIMEOUT).await;
        let of_tenant = of_tenant.ok_or(Error::TenantBusy(BUSY))?;
        match timeout(PERMIT_TIMEOUT, self.shared.clone().acquire_owned()).await {
            Ok(Ok(shared)) => Ok(Arc::new((of_tenant, shared))),
            _ => Err(Error::Busy(BUSY)),
        }
    }

    /// Runs `attempt` without a permit. If its response is large and no permit is free, waits for a permit and runs it
    /// again. While it waits, the call holds no part of the response and no database connection.
    ///
    /// # Errors
    /// Those of `attempt`; 429 and 503 if no permit becomes free.
    pub(super) async fn run<T>(
        &self,
        tenant: &str,
        attempt: impl AsyncFn(Option<ResponsePermit>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        match attempt(None).await {
            Err(Error::Busy(_)) => attempt(Some(self.acquire(tenant).await?)).await,
            result => result,
        }
    }
}

/// A response that holds its permit until its body is sent or dropped.
pub(super) struct LimitedResponse {
    /// The response itself.
    pub response: JsonResponse,
    /// `None` if the response is not large.
    pub permit: Option<ResponsePermit>,
}

impl Responder for LimitedResponse {
    type Body = BoxBody;

    fn respond_to(self, request: &HttpRequest) -> HttpResponse {
        let response = self.response.respond_to(request);
        let Some(permit) = self.permit else { return response };
        response.map_body(|_, body| match body.try_into_bytes() {
            Ok(bytes) => BoxBody::new(LimitedBody { bytes, _permit: permit }),
            Err(body) => body,
        })
    }
}

/// The unsent rest of a large body. Does not implement `try_into_bytes`, which would release the permit too early.
struct LimitedBody {
    bytes: Bytes,
    _permit: ResponsePermit,
}

impl MessageBody for LimitedBody {
    type Error = Infallible;

    fn size(&self) -> BodySize {
        BodySize::Sized(self.bytes.len() as u64)
    }

    fn poll_next(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Result<Bytes, Infallible>>> {
        let next = self.bytes.len().min(CHUNK_BYTES);
        Poll::Ready((next > 0).then(|| Ok(self.bytes.split_to(next))))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_leaves_cores_to_others() {
        testkit::block_on(async {
            let (permits, soon) = (CorePermits::new(4), Duration::from_millis(20));
            let mut held =
                vec![permits.acquire("a", soon).await.unwrap(), permits.acquire("a", soon).await.unwrap()];
            assert!(permits.acquire("a", soon).await.is_none(), "the tenant has its half");
            let others =
                [permits.acquire("b", soon).await.unwrap(), permits.acquire("c", soon).await.unwrap()];
            assert!(permits.acquire("d", soon).await.is_none(), "all cores are busy");
            held.pop();
            assert!(permits.acquire("a", soon).await.is_some());
            drop(others);
        });
    }

    #[test]
    fn one_core_is_shared() {
        testkit::block_on(async {
            let (permits, soon) = (CorePermits::new(1), Duration::from_millis(20));
            let held = permits.acquire("a", soon).await.unwrap();
            assert!(permits.acquire("b", soon).await.is_none());
            drop(held);
            assert!(permits.acquire("b", soon).await.is_some());
        });
    }
}

//! Limits on the memory of large responses, which clients may read slowly, of all tenants and of each.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use common::{Error, FairLimiter, FairPermit, JsonResponse};

/// Large responses in memory at once.
const MAX_LARGE_RESPONSES: usize = 8;
/// Large responses of one tenant in memory at once. A tenant that does not read its responses leaves room for others.
const MAX_LARGE_PER_TENANT: usize = 2;
/// A response of more bytes is large.
const LARGE_BYTES: usize = 1 << 20;
/// How long a call waits for a permit. Shorter than the timeout of the services that call this one.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(1);
/// Bytes that the connection gets at once. It asks for more after it has sent them. So the rest of a response that the
/// client does not read stays here, with its permit.
const CHUNK_BYTES: usize = 32 << 10;

const BUSY: &str = "Too many large responses are being sent: try again, with fewer ids.";

/// The right to hold a large response, until the last clone is dropped.
pub(super) type ResponsePermit = Arc<FairPermit>;

/// Issues the permits to hold large responses. Clones share the permits.
#[derive(Clone)]
pub(crate) struct LargeResponses(Arc<FairLimiter>);

impl Default for LargeResponses {
    fn default() -> Self {
        Self(Arc::new(FairLimiter::new(MAX_LARGE_RESPONSES, MAX_LARGE_PER_TENANT)))
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
        let permit = self.0.try_acquire(tenant).map_err(|_| Error::Busy(BUSY))?;
        Ok(Some(Arc::new(permit)))
    }

    /// Waits for a permit.
    ///
    /// # Errors
    /// 429 if the tenant reads its own large responses too slowly, 503 if other tenants do.
    async fn acquire(&self, tenant: &str) -> Result<ResponsePermit, Error> {
        let permit = self.0.acquire(tenant, PERMIT_TIMEOUT).await;
        permit.map(Arc::new).map_err(|full| full.error(BUSY, BUSY))
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

//! Large answers: how many of them are held at once for clients that read slowly.

use std::collections::HashMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::task::{Context, Poll};
use std::time::Duration;

use actix_web::body::{BodySize, BoxBody, MessageBody};
use actix_web::web::Bytes;
use actix_web::{HttpRequest, HttpResponse, Responder};
use common::{Answer, Caller, Error};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The most large answers that are held at once.
const MAX_LARGE_ANSWERS: usize = 8;
/// The most of them for one caller, so that one who does not read leaves room for others.
const MAX_OF_CALLER: usize = 2;
/// An answer of more bytes is large.
const LARGE: usize = 1 << 20;
/// The longest wait for a permit.
const PERMIT_TIMEOUT: Duration = Duration::from_secs(2);
/// Bytes that are given to the connection at once. It takes more when it has sent them, so that an answer that is not
/// read stays here, with its permit.
const CHUNK: usize = 32 << 10;

/// The right to hold a large answer, until the last clone is dropped: one of the caller's permits and one of all.
pub(super) type Permit = Arc<(OwnedSemaphorePermit, OwnedSemaphorePermit)>;

/// Who holds answers: an organisation, or a user without one.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Holder {
    Organisation(String),
    User(String),
}

impl Holder {
    pub(super) fn of(caller: &Caller) -> Self {
        match &caller.organisation {
            Some(organisation) => Self::Organisation(organisation.id.clone()),
            None => Self::User(caller.user_id.clone()),
        }
    }
}

/// The permits.
#[derive(Clone)]
pub(crate) struct LargeAnswers(Arc<Permits>);

struct Permits {
    all: Arc<Semaphore>,
    /// Of each caller who holds a permit or waits for one.
    callers: Mutex<HashMap<Holder, Weak<Semaphore>>>,
}

impl Default for LargeAnswers {
    fn default() -> Self {
        let all = Arc::new(Semaphore::new(MAX_LARGE_ANSWERS));
        Self(Arc::new(Permits { all, callers: Mutex::default() }))
    }
}

impl LargeAnswers {
    /// The permit for an answer of so many bytes: the one that the caller has already, or a free one; none if the answer
    /// is not large.
    ///
    /// # Errors
    /// 503 if no permit is free.
    pub(super) fn permit(
        &self,
        holder: &Holder,
        bytes: usize,
        own: Option<&Permit>,
    ) -> Result<Option<Permit>, Error> {
        if bytes <= LARGE {
            return Ok(None);
        }
        if own.is_some() {
            return Ok(own.cloned());
        }
        let of_caller = self.of_caller(holder).try_acquire_owned().map_err(|_| busy())?;
        let of_all = self.0.all.clone().try_acquire_owned().map_err(|_| busy())?;
        Ok(Some(Arc::new((of_caller, of_all))))
    }

    /// A permit, when one becomes free.
    ///
    /// # Errors
    /// 503 if none does in time.
    pub(super) async fn wait(&self, holder: &Holder) -> Result<Permit, Error> {
        // The caller's first: of one caller no more than may hold answers wait among the others.
        let both = async {
            let of_caller = self.of_caller(holder).acquire_owned().await?;
            Ok::<_, tokio::sync::AcquireError>((of_caller, self.0.all.clone().acquire_owned().await?))
        };
        match tokio::time::timeout(PERMIT_TIMEOUT, both).await {
            Ok(Ok(permits)) => Ok(Arc::new(permits)),
            _ => Err(busy()),
        }
    }

    fn of_caller(&self, holder: &Holder) -> Arc<Semaphore> {
        let mut callers = self.0.callers.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(permits) = callers.get(holder).and_then(Weak::upgrade) {
            return permits;
        }
        callers.retain(|_, permits| permits.strong_count() > 0);
        let permits = Arc::new(Semaphore::new(MAX_OF_CALLER));
        callers.insert(holder.clone(), Arc::downgrade(&permits));
        permits
    }
}

fn busy() -> Error {
    Error::Busy("Too many large answers are being sent: try again, with fewer ids.")
}

/// An answer that keeps its permit until its body was sent or dropped.
pub(super) struct Held {
    pub answer: Answer,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_without_permits_are_forgotten() {
        testkit::block_on(async {
            let large = LargeAnswers::default();
            let user = |n: usize| Holder::User(n.to_string());
            let kept = large.wait(&user(0)).await.unwrap();
            for n in 1..100 {
                large.permit(&user(n), LARGE + 1, None).unwrap().unwrap();
            }
            assert!(large.0.callers.lock().unwrap().len() <= 2);
            let second = large.wait(&user(0)).await.unwrap();
            assert!(large.permit(&user(0), LARGE + 1, None).is_err());
            // The organisation of the same name is another caller.
            assert!(large.permit(&Holder::Organisation("0".into()), LARGE + 1, None).is_ok());
            drop((kept, second));
            assert!(large.permit(&user(0), LARGE + 1, None).is_ok());
        });
    }
}

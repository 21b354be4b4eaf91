//! A bucket: S3 and its like, Google Cloud Storage, Azure Blob Storage.
//!
//! Everything has a limit of its own here instead of the one limit that the client library has for a request and its
//! whole answer: a dead store is found out within seconds, and a download may still take as long as its reader needs.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::web::Bytes;
use anyhow::anyhow;
use common::Error;
use common::traces::{self, client_span};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use object_store::path::Path;
use object_store::{
    Error as StoreError, GetOptions, MultipartUpload, ObjectMeta, ObjectStore, ObjectStoreExt,
};
use tokio::time::timeout;

use super::{BATCH, Found, Name, Staged, lost, unavailable};

/// Content is sent in parts of this size, one after the other; the least that S3 takes.
const PART: u64 = 5 << 20;
/// How long the store may take to answer, and how much longer for each MiB that is sent to it.
const CALL_TIMEOUT: Duration = Duration::from_secs(4);
const PER_MIB: Duration = Duration::from_secs(1);
/// How long the next piece of a download may take.
const STALLED: Duration = Duration::from_secs(15);
/// Those who ask whether it is there wait no longer than a second themselves.
const PROBE: Duration = Duration::from_millis(700);

/// A bucket, and the folder in it.
#[derive(Clone, Debug)]
pub struct Cloud {
    store: Arc<dyn ObjectStore>,
    folder: Path,
}

/// Why a bucket cannot be used.
#[derive(Debug)]
pub(super) enum Unusable {
    /// It did not answer; it may later.
    Down(String),
    /// It is not there, or the credentials are refused: somebody must change something.
    Refused(String),
}

impl Cloud {
    pub(super) fn new(store: Arc<dyn ObjectStore>, folder: Path) -> Self {
        Self { store, folder }
    }

    fn path(&self, name: &Name) -> Path {
        self.folder.clone().join(name.folder()).join(name.as_str())
    }

    pub(super) async fn keep(&self, staged: &Staged, name: &Name) -> Result<(), Error> {
        let path = self.path(name);
        if staged.size <= PART {
            let all = staged.piece(0, staged.size).await?;
            limited(staged.size, self.store.put(&path, all.into())).await?;
            return Ok(());
        }
        let mut upload = limited(0, self.store.put_multipart(&path)).await?;
        let sent = send(&mut *upload, staged).await;
        if sent.is_err() {
            // What it does not come to is for the bucket's rule.
            let _ = limited(0, upload.abort()).await;
        }
        sent
    }

    pub(super) async fn size(&self, name: &Name) -> Result<Option<u64>, Error> {
        match within(CALL_TIMEOUT, self.store.head(&self.path(name))).await? {
            Err(e) if is_missing(&e) => Ok(None),
            found => Ok(Some(found.map_err(failed)?.size)),
        }
    }

    pub(super) async fn read(&self, name: &Name, bytes: Range<u64>) -> Result<BoxBody, Error> {
        let range = Some(bytes.clone().into());
        let path = self.path(name);
        let asked = self.store.get_opts(&path, GetOptions { range, ..GetOptions::default() });
        let found = match within(CALL_TIMEOUT, asked).await? {
            Err(e) if is_missing(&e) => return Err(lost(anyhow!(e.to_string()))),
            found => found.map_err(failed)?,
        };
        if found.range != bytes {
            return Err(lost(anyhow!("the store has bytes {:?} of {bytes:?}", found.range)));
        }
        let pieces = stream::try_unfold(found.into_stream(), next);
        Ok(BoxBody::new(SizedStream::new(bytes.end - bytes.start, Box::pin(pieces))))
    }

    pub(super) async fn is_reachable(&self) -> bool {
        self.probe(PROBE).await.is_ok()
    }

    /// Asks for something that is not there: the bucket that says so is there, and lets us in.
    pub(super) async fn probe(&self, patience: Duration) -> Result<(), Unusable> {
        let path = self.folder.clone().join(".probe");
        match timeout(patience, self.store.get(&path)).await {
            Err(_) => Err(Unusable::Down(format!("no answer within {patience:?}"))),
            Ok(Err(e)) if is_missing(&e) => Ok(()),
            Ok(Err(e)) => Err(match &e {
                StoreError::NotFound { .. }
                | StoreError::PermissionDenied { .. }
                | StoreError::Unauthenticated { .. } => Unusable::Refused(e.to_string()),
                _ => Unusable::Down(e.to_string()),
            }),
            Ok(Ok(_)) => Ok(()),
        }
    }

    pub(super) fn list(&self) -> impl Stream<Item = Result<Vec<Found>, Error>> + Send + '_ {
        // The library asks for the next thousand when these are used up.
        let batches = self.store.list(Some(&self.folder)).ready_chunks(BATCH);
        stream::try_unfold(batches, async |mut batches| {
            let some = async { batches.next().await.map(|batch| batch.into_iter().collect()).transpose() };
            let some: Option<Vec<_>> = within(STALLED, some).await?.map_err(failed)?;
            let Some(batch) = some else { return Ok(None) };
            Ok(Some((batch.iter().filter_map(|object| self.content(object)).collect(), batches)))
        })
    }

    /// The content that an object is, if it is one.
    fn content(&self, object: &ObjectMeta) -> Option<Found> {
        let mut rest = object.location.prefix_match(&self.folder)?;
        let (folder, name) = (rest.next()?, rest.next()?);
        let name = Name::at(folder.as_ref(), name.as_ref()).filter(|_| rest.next().is_none())?;
        Some(Found { name, size: object.size, modified: object.last_modified.into() })
    }

    pub(super) async fn remove(&self, names: &[Name]) -> Result<(), Error> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let mut removed = self.store.delete_stream(stream::iter(paths).boxed());
        loop {
            match within(STALLED, async { removed.next().await.transpose() }).await? {
                Err(e) if !is_missing(&e) => return Err(failed(e)),
                Ok(None) => return Ok(()),
                _ => {}
            }
        }
    }
}

async fn send(upload: &mut dyn MultipartUpload, staged: &Staged) -> Result<(), Error> {
    let mut start = 0;
    while start < staged.size {
        let size = PART.min(staged.size - start);
        let part = staged.piece(start, size).await?;
        limited(size, upload.put_part(part.into())).await?;
        start += size;
    }
    limited(staged.size, upload.complete()).await?;
    Ok(())
}

type Pieces = BoxStream<'static, object_store::Result<Bytes>>;

async fn next(mut pieces: Pieces) -> Result<Option<(Bytes, Pieces)>, Error> {
    let piece = within(STALLED, async { pieces.next().await.transpose() }).await?;
    Ok(piece.map_err(failed)?.map(|piece| (piece, pieces)))
}

/// What is asked of the store with so many bytes.
async fn limited<T>(size: u64, asked: impl Future<Output = object_store::Result<T>>) -> Result<T, Error> {
    let mib = u32::try_from(size >> 20).unwrap_or(u32::MAX);
    within(CALL_TIMEOUT + PER_MIB * mib, asked).await?.map_err(failed)
}

async fn within<T>(
    patience: Duration,
    asked: impl Future<Output = object_store::Result<T>>,
) -> Result<object_store::Result<T>, Error> {
    let mut span = client_span("object store", || []);
    let answered = timeout(patience, asked).await.map_err(|_| {
        traces::record_error(&mut span, "no_answer");
        unavailable(anyhow!("no answer within {patience:?}"))
    })?;
    if answered.as_ref().is_err_and(|error| !is_missing(error)) {
        traces::record_error(&mut span, "refused");
    }
    Ok(answered)
}

/// With its causes, which the library's own errors say already.
fn failed(error: StoreError) -> Error {
    unavailable(anyhow!(error.to_string()))
}

/// True when the object is not there; a bucket that is not there is another matter.
fn is_missing(error: &StoreError) -> bool {
    let StoreError::NotFound { source, .. } = error else { return false };
    let said = format!("{source:?}");
    // S3, Azure, Google.
    !["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|word| said.contains(word))
}

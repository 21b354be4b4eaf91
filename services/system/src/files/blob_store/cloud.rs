//! A store in an object store: S3 and compatible servers, Google Cloud Storage, Azure Blob Storage.
//!
//! Every call has its own timeout here. The client library only has one timeout for a request and its whole response.
//! So a dead store is detected within seconds, and a download may still take as long as its reader needs.

use std::fs::File;
use std::io::{Seek, Write};
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use actix_web::body::{BoxBody, SizedStream};
use actix_web::web::Bytes;
use anyhow::{Context, anyhow, bail, ensure};
use common::Error;
use common::http::explain_unresolved;
use common::traces::{self, client_span};
use futures_util::stream::{self, BoxStream, Stream, StreamExt};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{
    BackoffConfig, ClientOptions, Error as StoreError, GetOptions, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, RetryConfig, StaticCredentialProvider,
};
use secrecy::ExposeSecret;
use tokio::time::timeout;
use url::Url;

use super::staging::Staged;
use super::{BlobEntry, BlobName, LIST_BATCH, blocking, missing, unavailable};
use crate::Settings;
use crate::config::setting;

const EXPECTED: &str = "service.store_url (DROVER_SERVICE__STORE_URL) must be file:// and a folder, as in \
                        file:///var/lib/drover/files, or s3://BUCKET, gs://BUCKET or az://CONTAINER, optionally \
                        followed by a folder";
/// How long the service waits for the object store when it starts.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);
/// Bytes of a part of a multipart upload: the minimum of S3. Parts are sent one after the other.
const PART_BYTES: u64 = 5 << 20;
/// How long the store may take to respond, without the time to send content to it.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(4);
/// How much longer the store may take for each MiB that is sent to it.
const SEND_TIMEOUT_PER_MIB: Duration = Duration::from_secs(1);
/// How long the next chunk of a download, or the next page of a list, may take.
const CHUNK_TIMEOUT: Duration = Duration::from_secs(15);
/// Shorter than the 1 s that callers of the readiness probe wait.
const PROBE_TIMEOUT: Duration = Duration::from_millis(700);

/// A folder of an object store.
#[derive(Clone, Debug)]
pub(crate) struct CloudStore {
    store: Arc<dyn ObjectStore>,
    folder: Path,
}

/// Why an object store cannot be used.
#[derive(Debug)]
enum ProbeError {
    /// The store does not respond, or responds with a temporary error.
    Unavailable(String),
    /// It does not exist, or the credentials are refused. An operator must change the settings.
    Refused(String),
}

impl CloudStore {
    /// Opens an object store. The service also starts if it does not respond yet.
    ///
    /// # Errors
    /// One sentence that says which setting to change, if the settings are invalid or the object store refuses them.
    pub(super) async fn open(settings: &Settings) -> anyhow::Result<Self> {
        let store = Self::build(settings)?;
        match store.probe(OPEN_TIMEOUT).await {
            Ok(()) => {}
            Err(ProbeError::Unavailable(cause)) => {
                tracing::warn!(
                    store = settings.store_url,
                    error = cause,
                    "the file store does not respond yet"
                );
            }
            Err(ProbeError::Refused(cause)) => bail!(
                "the bucket {} cannot be used: check its name in {} and the credentials ({}, {}, or the provider's own \
             variables): {}",
                settings.store_url,
                setting("store_url"),
                setting("store_access_key"),
                setting("store_secret_key"),
                cause.replace('\n', " ")
            ),
        }
        Ok(store)
    }

    /// Creates the client of an object store. Does not connect.
    ///
    /// # Errors
    /// One sentence that says which setting to change.
    pub(super) fn build(settings: &Settings) -> anyhow::Result<Self> {
        let Ok(url) = Url::parse(&settings.store_url) else { bail!(EXPECTED) };
        let Some(bucket) = url.host_str().filter(|bucket| !bucket.is_empty()) else { bail!(EXPECTED) };
        ensure!(
            url.username().is_empty()
                && url.password().is_none()
                && url.port().is_none()
                && url.query().is_none()
                && url.fragment().is_none(),
            "{} must have a bucket and a folder only: put credentials into {} and {}, and another address into {}",
            setting("store_url"),
            setting("store_access_key"),
            setting("store_secret_key"),
            setting("store_endpoint")
        );
        let folder = Path::from_url_path(url.path())
            .with_context(|| format!("the folder of {} is invalid", setting("store_url")))?;
        let store = match url.scheme() {
            "s3" => s3(bucket, settings),
            "gs" => google(bucket, settings),
            "az" => azure(bucket, settings),
            _ => bail!(EXPECTED),
        };
        let context = || format!("{} or a setting of the store beside it is invalid", setting("store_url"));
        Ok(Self { store: store.with_context(context)?, folder })
    }

    fn path(&self, name: &BlobName) -> Path {
        self.folder.clone().join(name.shard()).join(name.as_str())
    }

    /// Stores staged content under a name, in parts if it is large.
    pub(super) async fn put(&self, staged: &Staged, name: &BlobName) -> Result<(), Error> {
        let path = self.path(name);
        if staged.size <= PART_BYTES {
            let content = staged.read(0, staged.size).await?;
            sending(staged.size, self.store.put(&path, content.into())).await?;
            return Ok(());
        }
        let mut upload = sending(0, self.store.put_multipart(&path)).await?;
        let result = send_parts(&mut *upload, staged).await;
        if result.is_err() {
            // If this fails too, a rule of the object store aborts the upload.
            let _ = sending(0, upload.abort()).await;
        }
        result
    }

    /// Returns the size of a blob in bytes, or `None` if it does not exist.
    pub(super) async fn size(&self, name: &BlobName) -> Result<Option<u64>, Error> {
        match within(REQUEST_TIMEOUT, self.store.head(&self.path(name))).await? {
            Err(e) if is_missing_object(&e) => Ok(None),
            result => Ok(Some(result.map_err(failed)?.size)),
        }
    }

    /// Returns a range of bytes of a blob as a streamed body.
    pub(super) async fn read(&self, name: &BlobName, range: Range<u64>) -> Result<BoxBody, Error> {
        let size = range.end - range.start;
        let chunks = stream::try_unfold(self.get(name, range).await?, next_chunk);
        Ok(BoxBody::new(SizedStream::new(size, Box::pin(chunks))))
    }

    /// Copies a blob of `size` bytes into a file without a name.
    pub(super) async fn download(&self, name: &BlobName, size: u64) -> Result<File, Error> {
        let mut chunks = self.get(name, 0..size).await?;
        let mut file = blocking(tempfile::tempfile).await?;
        while let Some((chunk, rest)) = next_chunk(chunks).await? {
            chunks = rest;
            file = blocking(move || file.write_all(&chunk).map(|()| file)).await?;
        }
        blocking(move || file.rewind().map(|()| file)).await
    }

    /// Requests a range of bytes of a blob.
    async fn get(&self, name: &BlobName, range: Range<u64>) -> Result<Chunks, Error> {
        let options = GetOptions { range: Some(range.clone().into()), ..GetOptions::default() };
        let path = self.path(name);
        let object = match within(REQUEST_TIMEOUT, self.store.get_opts(&path, options)).await? {
            Err(e) if is_missing_object(&e) => return Err(missing(anyhow!(e.to_string()))),
            result => result.map_err(failed)?,
        };
        if object.range != range {
            return Err(missing(anyhow!("the store has bytes {:?} of {range:?}", object.range)));
        }
        Ok(object.into_stream())
    }

    /// Returns true if the object store can be used.
    pub(super) async fn is_reachable(&self) -> bool {
        self.probe(PROBE_TIMEOUT).await.is_ok()
    }

    /// Requests an object that does not exist. The response shows whether the store exists and accepts the
    /// credentials.
    async fn probe(&self, probe_timeout: Duration) -> Result<(), ProbeError> {
        let path = self.folder.clone().join(".probe");
        match timeout(probe_timeout, self.store.get(&path)).await {
            Err(_) => Err(ProbeError::Unavailable(format!("no response within {probe_timeout:?}"))),
            Ok(Err(e)) if is_missing_object(&e) => Ok(()),
            Ok(Err(e)) => Err(match &e {
                StoreError::NotFound { .. }
                | StoreError::PermissionDenied { .. }
                | StoreError::Unauthenticated { .. } => ProbeError::Refused(e.to_string()),
                _ => ProbeError::Unavailable(e.to_string()),
            }),
            Ok(Ok(_)) => Ok(()),
        }
    }

    /// Lists all blobs in batches.
    pub(super) fn list(&self) -> impl Stream<Item = Result<Vec<BlobEntry>, Error>> + Send + '_ {
        // The library requests the next page of 1000 objects after these are consumed.
        let batches = self.store.list(Some(&self.folder)).ready_chunks(LIST_BATCH);
        stream::try_unfold(batches, async |mut batches| {
            let next = async { batches.next().await.map(|batch| batch.into_iter().collect()).transpose() };
            let batch: Option<Vec<_>> = within(CHUNK_TIMEOUT, next).await?.map_err(failed)?;
            let Some(batch) = batch else { return Ok(None) };
            Ok(Some((batch.iter().filter_map(|object| self.blob_entry(object)).collect(), batches)))
        })
    }

    /// Returns the blob for an object, or `None` if the object is not a blob.
    fn blob_entry(&self, object: &ObjectMeta) -> Option<BlobEntry> {
        let mut rest = object.location.prefix_match(&self.folder)?;
        let (shard, name) = (rest.next()?, rest.next()?);
        let name = BlobName::parse(shard.as_ref(), name.as_ref()).filter(|_| rest.next().is_none())?;
        Some(BlobEntry { name, size: object.size, modified: object.last_modified.into() })
    }

    /// Removes blobs. Ignores those that do not exist.
    pub(super) async fn remove(&self, names: &[BlobName]) -> Result<(), Error> {
        let paths: Vec<_> = names.iter().map(|name| Ok(self.path(name))).collect();
        let mut removals = self.store.delete_stream(stream::iter(paths).boxed());
        loop {
            match within(CHUNK_TIMEOUT, async { removals.next().await.transpose() }).await? {
                Err(e) if !is_missing_object(&e) => return Err(failed(e)),
                Ok(None) => return Ok(()),
                _ => {}
            }
        }
    }
}

async fn send_parts(upload: &mut dyn MultipartUpload, staged: &Staged) -> Result<(), Error> {
    let mut start = 0;
    while start < staged.size {
        let size = PART_BYTES.min(staged.size - start);
        let part = staged.read(start, size).await?;
        sending(size, upload.put_part(part.into())).await?;
        start += size;
    }
    sending(staged.size, upload.complete()).await?;
    Ok(())
}

type Chunks = BoxStream<'static, object_store::Result<Bytes>>;

async fn next_chunk(mut chunks: Chunks) -> Result<Option<(Bytes, Chunks)>, Error> {
    let chunk = within(CHUNK_TIMEOUT, async { chunks.next().await.transpose() }).await?;
    Ok(chunk.map_err(failed)?.map(|chunk| (chunk, chunks)))
}

/// Runs a call that sends `size` bytes to the store.
async fn sending<T>(size: u64, call: impl Future<Output = object_store::Result<T>>) -> Result<T, Error> {
    let mib = u32::try_from(size >> 20).unwrap_or(u32::MAX);
    within(REQUEST_TIMEOUT + SEND_TIMEOUT_PER_MIB * mib, call).await?.map_err(failed)
}

/// Runs a call with a timeout, in a span.
async fn within<T>(
    call_timeout: Duration,
    call: impl Future<Output = object_store::Result<T>>,
) -> Result<object_store::Result<T>, Error> {
    let mut span = client_span("object store", || []);
    let result = timeout(call_timeout, call).await.map_err(|_| {
        traces::record_error(&mut span, "no_answer");
        unavailable(anyhow!("no response within {call_timeout:?}"))
    })?;
    if result.as_ref().is_err_and(|error| !is_missing_object(error)) {
        traces::record_error(&mut span, "refused");
    }
    Ok(result)
}

/// Returns 503. Keeps only the message, because the library's messages already include their causes, except that the
/// name of a host cannot be resolved.
fn failed(error: StoreError) -> Error {
    let message = error.to_string();
    let explained = explain_unresolved(error.into(), "of the store (service.store_endpoint)");
    let is_explained = explained.downcast_ref::<StoreError>().is_none();
    unavailable(if is_explained { explained } else { anyhow!(message) })
}

/// Returns true if the object does not exist. Returns false if the whole store does not exist.
fn is_missing_object(error: &StoreError) -> bool {
    let StoreError::NotFound { source, .. } = error else { return false };
    let source = format!("{source:?}");
    // The errors of S3, Azure and Google.
    !["NoSuchBucket", "ContainerNotFound", "bucket does not exist"].iter().any(|text| source.contains(text))
}

type ClientResult = anyhow::Result<Arc<dyn ObjectStore>>;

fn s3(bucket: &str, settings: &Settings) -> ClientResult {
    let mut builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retries());
    if let Some(endpoint) = &settings.store_endpoint {
        let endpoint = endpoint.as_str().trim_end_matches('/');
        builder = builder.with_config(AmazonS3ConfigKey::S3Endpoint, endpoint);
    }
    if let Some(region) = &settings.store_region {
        builder = builder.with_region(region);
    }
    if let Some((key, secret)) = credentials(settings)? {
        let credential = AwsCredential { key_id: key.into(), secret_key: secret.into(), token: None };
        builder = builder.with_credentials(Arc::new(StaticCredentialProvider::new(credential)));
    }
    let endpoint = [AmazonS3ConfigKey::S3Endpoint, AmazonS3ConfigKey::Endpoint]
        .iter()
        .find_map(|key| builder.get_config_value(key));
    // Every S3-compatible server can delete one object, but some cannot delete several at once.
    Ok(Arc::new(builder.with_disable_bulk_delete(true).with_client_options(client(endpoint)).build()?))
}

fn google(bucket: &str, settings: &Settings) -> ClientResult {
    ensure!(
        credentials(settings)?.is_none(),
        "gs:// takes its credentials from GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT or the machine: \
         remove {} and {}",
        setting("store_access_key"),
        setting("store_secret_key")
    );
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retries());
    if let Some(endpoint) = &settings.store_endpoint {
        builder = builder.with_base_url(endpoint.as_str().trim_end_matches('/'));
    }
    let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    Ok(Arc::new(builder.with_client_options(client(endpoint)).build()?))
}

fn azure(container: &str, settings: &Settings) -> ClientResult {
    let mut builder = MicrosoftAzureBuilder::from_env().with_container_name(container).with_retry(retries());
    if let Some(endpoint) = &settings.store_endpoint {
        builder = builder.with_endpoint(endpoint.as_str().trim_end_matches('/').to_owned());
    }
    if let Some((account, key)) = credentials(settings)? {
        builder = builder.with_account(account).with_access_key(key);
    }
    let endpoint = builder.get_config_value(&AzureConfigKey::Endpoint);
    Ok(Arc::new(builder.with_client_options(client(endpoint)).build()?))
}

fn credentials(settings: &Settings) -> anyhow::Result<Option<(&str, &str)>> {
    match (&settings.store_access_key, &settings.store_secret_key) {
        (Some(key), Some(secret)) => Ok(Some((key, secret.expose_secret()))),
        (None, None) => Ok(None),
        _ => bail!(
            "{} and {} go together: set both, or set neither and use the provider's own variables",
            setting("store_access_key"),
            setting("store_secret_key")
        ),
    }
}

/// Returns the options of the HTTP client. Disables its timeouts, since [`CloudStore`] has its own. Only an endpoint
/// with `http://` turns encryption off.
fn client(endpoint: Option<String>) -> ClientOptions {
    ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(2))
        .with_pool_idle_timeout(Duration::from_secs(60))
        .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")))
}

/// Retries enough to replace a broken connection. The callers of this service retry too.
fn retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_millis(500), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 2, retry_timeout: Duration::from_secs(3) }
}

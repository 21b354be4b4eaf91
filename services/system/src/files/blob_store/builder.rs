//! Builds the client of a bucket from the settings `service.store_…`.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, AwsCredential};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig, StaticCredentialProvider};
use secrecy::ExposeSecret;
use url::Url;

use super::cloud::{CloudStore, ProbeError};
use crate::Settings;
use crate::config::setting;

const EXPECTED: &str = "service.store_url (DROVER_SERVICE__STORE_URL) must be file:// and a folder, as in \
                        file:///var/lib/drover/files, or s3://BUCKET, gs://BUCKET or az://CONTAINER, optionally \
                        followed by a folder";
/// How long the service waits for the bucket when it starts.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// Opens a bucket. The service also starts if the bucket does not respond yet.
///
/// # Errors
/// One sentence that says which setting to change, if the settings are invalid or the bucket refuses them.
pub(super) async fn open_bucket(settings: &Settings) -> anyhow::Result<CloudStore> {
    let store = build(settings)?;
    match store.probe(OPEN_TIMEOUT).await {
        Ok(()) => {}
        Err(ProbeError::Unavailable(cause)) => {
            tracing::warn!(store = settings.store_url, error = cause, "the file store does not respond yet");
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

/// Creates the client of a bucket. Does not connect.
///
/// # Errors
/// One sentence that says which setting to change.
pub(super) fn build(settings: &Settings) -> anyhow::Result<CloudStore> {
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
    Ok(CloudStore::new(store.with_context(context)?, folder))
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

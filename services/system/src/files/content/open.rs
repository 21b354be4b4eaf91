//! From `service.store_url` and what belongs to it to a bucket.

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

use super::cloud::{Cloud, Unusable};
use crate::Settings;

const EXPECTED: &str = "service.store_url must be file:// and a folder, as in file:///var/lib/drover/files, or \
                        s3://BUCKET, gs://BUCKET or az://CONTAINER, each with a folder if you like";
/// How long a start waits for the bucket.
const OPEN_TIMEOUT: Duration = Duration::from_secs(4);

/// Opens a bucket. One that does not answer may do so later; the service starts meanwhile.
pub(super) async fn cloud(settings: &Settings) -> anyhow::Result<Cloud> {
    let cloud = connect(settings)?;
    match cloud.probe(OPEN_TIMEOUT).await {
        Ok(()) => {}
        Err(Unusable::Down(cause)) => {
            tracing::warn!(store = settings.store_url, error = cause, "the store does not answer yet");
        }
        Err(Unusable::Refused(cause)) => bail!(
            "the bucket of service.store_url ({}) cannot be used: check its name and the credentials \
             (service.store_access_key, service.store_secret_key, or the provider's own variables): {}",
            settings.store_url,
            cause.replace('\n', " ")
        ),
    }
    Ok(cloud)
}

fn connect(settings: &Settings) -> anyhow::Result<Cloud> {
    let Ok(url) = Url::parse(&settings.store_url) else { bail!(EXPECTED) };
    let Some(bucket) = url.host_str().filter(|bucket| !bucket.is_empty()) else { bail!(EXPECTED) };
    ensure!(
        url.username().is_empty()
            && url.password().is_none()
            && url.port().is_none()
            && url.query().is_none()
            && url.fragment().is_none(),
        "service.store_url is a bucket and a folder, nothing else: credentials go into service.store_access_key and \
         service.store_secret_key, another address into service.store_endpoint"
    );
    let folder = Path::from_url_path(url.path()).context("the folder of service.store_url")?;
    let store = match url.scheme() {
        "s3" => s3(bucket, settings),
        "gs" => google(bucket, settings),
        "az" => azure(bucket, settings),
        _ => bail!(EXPECTED),
    };
    let wrong = || format!("service.store_url ({}) and what belongs to it do not fit", settings.store_url);
    Ok(Cloud::new(store.with_context(wrong)?, folder))
}

type Opened = anyhow::Result<Arc<dyn ObjectStore>>;

fn s3(bucket: &str, settings: &Settings) -> Opened {
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
    // Every S3-compatible server knows the deletion of one object, not all that of many.
    Ok(Arc::new(builder.with_disable_bulk_delete(true).with_client_options(client(endpoint)).build()?))
}

fn google(bucket: &str, settings: &Settings) -> Opened {
    ensure!(
        credentials(settings)?.is_none(),
        "gs:// takes its credentials from GOOGLE_APPLICATION_CREDENTIALS, GOOGLE_SERVICE_ACCOUNT or the machine: leave \
         service.store_access_key and service.store_secret_key out"
    );
    let mut builder = GoogleCloudStorageBuilder::from_env().with_bucket_name(bucket).with_retry(retries());
    if let Some(endpoint) = &settings.store_endpoint {
        builder = builder.with_base_url(endpoint.as_str().trim_end_matches('/'));
    }
    let endpoint = builder.get_config_value(&GoogleConfigKey::BaseUrl);
    Ok(Arc::new(builder.with_client_options(client(endpoint)).build()?))
}

fn azure(container: &str, settings: &Settings) -> Opened {
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
            "service.store_access_key and service.store_secret_key go together: set both, or neither and the \
             provider's own variables"
        ),
    }
}

/// [`Cloud`] has its own limits; encryption is off only where the address says so.
fn client(endpoint: Option<String>) -> ClientOptions {
    ClientOptions::new()
        .with_timeout_disabled()
        .with_connect_timeout(Duration::from_secs(2))
        .with_pool_idle_timeout(Duration::from_secs(60))
        .with_allow_http(endpoint.is_some_and(|endpoint| endpoint.starts_with("http://")))
}

/// Enough for a connection that broke; whoever asks tries again too.
fn retries() -> RetryConfig {
    let backoff = BackoffConfig { max_backoff: Duration::from_millis(500), ..BackoffConfig::default() };
    RetryConfig { backoff, max_retries: 2, retry_timeout: Duration::from_secs(3) }
}

//! A unique prefix on the shared S3 server for each test.

use reqwest::Url;
use uuid::Uuid;

use crate::server::url_from_env;

/// The bucket that `cargo xtask servers` creates.
const BUCKET: &str = "drover-test";

/// Location and credentials of a test's objects.
#[derive(Clone, Debug)]
pub struct S3 {
    /// The server, `http://HOST:PORT`. It takes buckets in the path and accepts any region.
    pub endpoint: String,
    /// Access key id.
    pub key: String,
    /// Secret access key.
    pub secret: String,
    /// Bucket and prefix: `s3://BUCKET/PREFIX`.
    pub url: String,
}

impl S3 {
    /// Returns a new unique prefix in the bucket that all tests share.
    pub fn with_unique_prefix() -> Self {
        let mut server: Url = url_from_env("DROVER_TEST_S3").parse().expect("http://KEY:SECRET@HOST:PORT");
        let key = server.username().to_owned();
        let secret = server.password().expect("a secret in DROVER_TEST_S3").to_owned();
        server.set_username("").unwrap();
        server.set_password(None).unwrap();
        let endpoint = server.as_str().trim_end_matches('/').to_owned();
        Self { endpoint, key, secret, url: format!("s3://{BUCKET}/{}", Uuid::new_v4()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_unique() {
        let (a, b) = (S3::with_unique_prefix(), S3::with_unique_prefix());
        assert_ne!(a.url, b.url);
        assert!(a.endpoint.starts_with("http://") && !a.endpoint.contains('@'), "{}", a.endpoint);
        assert!(!a.key.is_empty() && !a.secret.is_empty());
    }
}

//! What lies in a store, past the service.

use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ObjectStore, ObjectStoreExt};
use system::Settings;
use testkit::S3;

/// A store as a test sees it.
pub enum Store {
    Folder(tempfile::TempDir),
    Bucket(AmazonS3, object_store::path::Path),
}

/// These settings, with a bucket as the store.
pub fn bucket(s3: &S3, settings: Settings) -> Settings {
    Settings {
        store_url: s3.url.clone(),
        store_endpoint: Some(s3.endpoint.parse().unwrap()),
        store_access_key: Some(s3.key.clone()),
        store_secret_key: Some(s3.secret.clone().into()),
        ..settings
    }
}

impl Store {
    pub fn of(s3: &S3) -> Self {
        let (bucket, prefix) = s3.url.strip_prefix("s3://").unwrap().split_once('/').unwrap();
        let client = AmazonS3Builder::new().with_endpoint(&s3.endpoint).with_allow_http(true);
        let client = client.with_access_key_id(&s3.key).with_secret_access_key(&s3.secret);
        Self::Bucket(client.with_bucket_name(bucket).build().unwrap(), prefix.into())
    }

    /// Everything in it.
    pub async fn list(&self) -> Vec<PathBuf> {
        match self {
            Self::Folder(folder) => {
                let mut found = Vec::new();
                walk(&folder.path().join("store"), &mut found);
                found
            }
            Self::Bucket(client, prefix) => {
                let found = client.list(Some(prefix)).map_ok(|object| object.location.to_string().into());
                found.try_collect().await.unwrap()
            }
        }
    }

    /// Puts content there that no file has, as a crash would leave it.
    pub async fn forget(&self, name: &str, content: &[u8]) {
        let path = format!("{}/{name}", &name[..2]);
        match self {
            Self::Folder(folder) => {
                let path = folder.path().join("store").join(path);
                std::fs::create_dir_all(path.parent().unwrap()).unwrap();
                std::fs::write(&path, content).unwrap();
                let day = std::time::Duration::from_secs(24 * 3600);
                let file = std::fs::File::options().write(true).open(path).unwrap();
                file.set_modified(std::time::SystemTime::now() - day).unwrap();
            }
            Self::Bucket(client, prefix) => {
                let path = object_store::path::Path::from(format!("{prefix}/{path}"));
                client.put(&path, content.to_vec().into()).await.unwrap();
            }
        }
    }

    /// Loses something.
    pub async fn lose(&self, path: &Path) {
        match self {
            Self::Folder(_) => std::fs::remove_file(path).unwrap(),
            Self::Bucket(client, _) => client.delete(&path.to_str().unwrap().into()).await.unwrap(),
        }
    }
}

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { walk(&path, found) } else { found.push(path) }
    }
}

//! Direct access to the store of a service under test.

use std::path::{Path, PathBuf};

use futures_util::TryStreamExt;
use object_store::aws::{AmazonS3, AmazonS3Builder};
use object_store::{ObjectStore, ObjectStoreExt};
use system::Settings;
use testkit::S3;

/// The store of a service, accessed without the service.
pub enum StoreFixture {
    Folder(tempfile::TempDir),
    Bucket(AmazonS3, object_store::path::Path),
}

/// Returns the settings with a bucket as the store.
pub fn bucket(s3: &S3, settings: Settings) -> Settings {
    Settings {
        store_url: s3.url.clone(),
        store_endpoint: Some(s3.endpoint.parse().unwrap()),
        store_access_key: Some(s3.key.clone()),
        store_secret_key: Some(s3.secret.clone().into()),
        ..settings
    }
}

impl StoreFixture {
    pub fn of(s3: &S3) -> Self {
        let (bucket, prefix) = s3.url.strip_prefix("s3://").unwrap().split_once('/').unwrap();
        let client = AmazonS3Builder::new().with_endpoint(&s3.endpoint).with_allow_http(true);
        let client = client.with_access_key_id(&s3.key).with_secret_access_key(&s3.secret);
        Self::Bucket(client.with_bucket_name(bucket).build().unwrap(), prefix.into())
    }

    /// Returns the paths of all files or objects.
    pub async fn list(&self) -> Vec<PathBuf> {
        match self {
            Self::Folder(folder) => {
                let mut paths = Vec::new();
                collect_paths(&folder.path().join("store"), &mut paths);
                paths
            }
            Self::Bucket(client, prefix) => {
                let paths = client.list(Some(prefix)).map_ok(|object| object.location.to_string().into());
                paths.try_collect().await.unwrap()
            }
        }
    }

    /// Stores content without a row, as after a crash. In a folder the content is a day old.
    pub async fn put_orphan(&self, name: &str, content: &[u8]) {
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

    /// Removes a file or object.
    pub async fn remove(&self, path: &Path) {
        match self {
            Self::Folder(_) => std::fs::remove_file(path).unwrap(),
            Self::Bucket(client, _) => client.delete(&path.to_str().unwrap().into()).await.unwrap(),
        }
    }
}

fn collect_paths(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { collect_paths(&path, paths) } else { paths.push(path) }
    }
}

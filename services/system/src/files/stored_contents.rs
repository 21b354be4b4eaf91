//! Putting the contents of an upload into the content store.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use common::Error;

use super::content::{ContentName, ContentStore, Staged};
use super::form::UploadedPart;

/// The contents of an upload, all of which are in the content store. Their rows must be created within half of the
/// sweep's grace period.
pub(super) struct StoredContents {
    /// The names of the contents that were not in use before.
    pub new: Vec<ContentName>,
    /// The names of the contents that were in use. They may be retired until the rows are created.
    pub reused: Vec<ContentName>,
    /// A time before the first content was stored.
    started: SystemTime,
    /// Half of the sweep's grace period.
    max_age: Duration,
}

impl StoredContents {
    /// Stores the contents of the parts of an upload, as [`store_all`](Self::store_all).
    ///
    /// # Errors
    /// 503 if the content store is unavailable.
    pub(super) async fn store(
        content_store: &ContentStore,
        parts: Vec<UploadedPart>,
        names: HashMap<String, ContentName>,
        grace: Duration,
    ) -> Result<Self, Error> {
        let contents = parts.into_iter().map(|part| part.content).collect();
        Self::store_all(content_store, contents, names, grace).await
    }

    /// Stores each content once. `names` has the names of contents that are in use, by hash. Such contents are stored
    /// again only if the content store has lost them.
    ///
    /// # Errors
    /// 503 if the content store is unavailable.
    pub(super) async fn store_all(
        content_store: &ContentStore,
        contents: Vec<Staged>,
        mut names: HashMap<String, ContentName>,
        grace: Duration,
    ) -> Result<Self, Error> {
        let (started, mut new, mut reused) = (SystemTime::now(), Vec::new(), Vec::new());
        for content in contents {
            let Some(name) = names.get(&content.hash) else {
                let name = ContentName::new(&content.hash);
                names.insert(content.hash.clone(), name.clone());
                content_store.put(content, &name).await?;
                new.push(name);
                continue;
            };
            if !content_store.contains(name, content.size).await? {
                content_store.put(content, name).await?;
            }
            if !new.contains(name) {
                reused.push(name.clone());
            }
        }
        Ok(Self { new, reused, started, max_age: grace / 2 })
    }

    /// Checks that the sweep cannot remove the contents yet.
    ///
    /// # Errors
    /// 503 if the contents were stored longer ago than half of the grace period.
    pub(super) fn check_not_expired(&self) -> Result<(), Error> {
        // Uses the same clock as the sweep. Unlike `Instant`, it advances while the machine sleeps.
        if self.started.elapsed().is_ok_and(|age| age < self.max_age) {
            return Ok(());
        }
        let cause = anyhow::anyhow!("the contents waited {:?} for their rows", self.started.elapsed());
        Err(Error::Unavailable(cause, "The database"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_expire_after_max_age() {
        let stored = |age| StoredContents {
            new: Vec::new(),
            reused: Vec::new(),
            started: SystemTime::now() - Duration::from_secs(age),
            max_age: Duration::from_secs(30),
        };
        assert!(stored(0).check_not_expired().is_ok() && stored(20).check_not_expired().is_ok());
        assert!(matches!(stored(31).check_not_expired(), Err(Error::Unavailable(..))));
    }
}

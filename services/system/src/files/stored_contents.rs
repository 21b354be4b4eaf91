//! Putting contents into the content store.

use std::collections::HashMap;
use std::time::{Duration, SystemTime};

use common::Error;

use super::blob_store::{ContentName, ContentStore, Staged};
use super::upload::UploadedPart;

/// Contents that are in the content store. Their rows must be created within half of the sweep's grace period.
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
    /// Creates an empty list. `grace` is the grace period of the sweep.
    pub(super) fn new(grace: Duration) -> Self {
        Self { new: Vec::new(), reused: Vec::new(), started: SystemTime::now(), max_age: grace / 2 }
    }

    /// Stores the contents of the parts of an upload. `names` has the names of contents that are in use, by hash.
    ///
    /// # Errors
    /// 503 if the content store is unavailable.
    pub(super) async fn store(
        content_store: &ContentStore,
        parts: Vec<UploadedPart>,
        names: HashMap<String, ContentName>,
        grace: Duration,
    ) -> Result<Self, Error> {
        let mut stored = Self::new(grace);
        for part in parts {
            let name = names.get(&part.content.hash).cloned();
            stored.add(content_store, part.content, name).await?;
        }
        Ok(stored)
    }

    /// Stores a content, unless it was added already. `name` is its name if it is in use. Such content is stored again
    /// only if the content store has lost it.
    ///
    /// # Errors
    /// 503 if the content store is unavailable.
    pub(super) async fn add(
        &mut self,
        content_store: &ContentStore,
        content: Staged,
        name: Option<ContentName>,
    ) -> Result<(), Error> {
        if self.new.iter().chain(&self.reused).any(|name| name.hash() == content.hash) {
            return Ok(());
        }
        let Some(name) = name else {
            let name = ContentName::new(&content.hash);
            // Before it is stored, so that what a failure leaves can be removed.
            self.new.push(name.clone());
            return content_store.put(content, &name).await;
        };
        if !content_store.contains(&name, content.size).await? {
            content_store.put(content, &name).await?;
        }
        self.reused.push(name);
        Ok(())
    }

    /// Removes the new contents, which have no rows. The sweep removes what is left.
    pub(super) async fn discard(&self, content_store: &ContentStore) {
        if let Err(error) = content_store.remove(self.new.clone()).await {
            let error = format!("{:#}", anyhow::Error::from(error));
            tracing::warn!(error, "contents that no file gets could not be removed");
        }
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
            started: SystemTime::now() - Duration::from_secs(age),
            ..StoredContents::new(Duration::from_secs(60))
        };
        assert!(stored(0).check_not_expired().is_ok() && stored(20).check_not_expired().is_ok());
        assert!(matches!(stored(31).check_not_expired(), Err(Error::Unavailable(..))));
    }
}

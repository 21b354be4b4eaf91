//! From staged to kept: what the store has already is not sent to it again.

use std::time::{Duration, SystemTime};

use common::Error;

use super::content::Name;
use super::form::Part;
use super::store;
use crate::System;

/// The contents of an upload, all of them in the store now.
pub(super) struct StoredContents {
    /// The names of those that were not in use.
    pub new: Vec<Name>,
    /// Before the first was kept.
    since: SystemTime,
    patience: Duration,
}

impl StoredContents {
    /// Keeps them, each once.
    ///
    /// # Errors
    /// 503 when the store or the database is out of reach.
    pub(super) async fn of(system: &System, parts: Vec<Part>) -> Result<Self, Error> {
        let (since, mut new) = (SystemTime::now(), Vec::<Name>::new());
        let hashes: Vec<_> = parts.iter().map(|part| part.content.hash.clone()).collect();
        let mut names = system.db.read(move |c| store::few_names(c, &hashes)).await?;
        for Part { content, .. } in parts {
            let Some(name) = names.get(&content.hash) else {
                let name = Name::new(&content.hash);
                names.insert(content.hash.clone(), name.clone());
                system.store.keep(content, &name).await?;
                new.push(name);
                continue;
            };
            // What the store has lost is mended.
            if !system.store.has(name, content.size).await? {
                system.store.keep(content, name).await?;
            }
        }
        Ok(Self { new, since, patience: system.grace() / 2 })
    }

    /// Refuses contents that were kept so long ago that the sweep might take them for forgotten.
    pub(super) fn check_not_expired(&self) -> Result<(), Error> {
        // By the clock that the sweep goes by: it runs on while a machine sleeps.
        if self.since.elapsed().is_ok_and(|waited| waited < self.patience) {
            return Ok(());
        }
        let late = anyhow::anyhow!("the contents waited {:?} for their records", self.since.elapsed());
        Err(Error::Unavailable(late, "The database"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn contents_that_waited_too_long_get_no_record() {
        let kept = |waited| StoredContents {
            new: Vec::new(),
            since: SystemTime::now() - Duration::from_secs(waited),
            patience: Duration::from_secs(30),
        };
        assert!(kept(0).check_not_expired().is_ok() && kept(20).check_not_expired().is_ok());
        assert!(matches!(kept(31).check_not_expired(), Err(Error::Unavailable(..))));
    }
}

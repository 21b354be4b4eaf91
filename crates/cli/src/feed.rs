//! The feed of events (docs/api/events.md), and a file that keeps its cursor.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::args::FeedArgs;
use crate::client::{Client, Request};
use crate::error::{Failure, of_file, plain};
use crate::output::{self, Column, Output, column, whole};
use crate::profile::{Service, write_whole};

/// How long the service holds a request if there is no event yet.
const WAIT_SECONDS: u32 = 25;
/// The pause after which an unreachable service is asked again.
const RECONNECT_PAUSE: Duration = Duration::from_secs(5);

const COLUMNS: [Column; 5] = [
    whole("TIME", "/atUTC"),
    whole("TYPE", "/type"),
    whole("ID", "/subject"),
    column("REFERENCE", "/reference"),
    column("WHO", "/userName"),
];

/// A position in a feed that moves forward.
pub struct Feed<'a> {
    client: &'a Client,
    request: Request,
    /// The cursor, or `None` for the oldest event.
    after: Option<String>,
    store: Option<Store>,
    is_once: bool,
    is_done: bool,
}

impl<'a> Feed<'a> {
    /// Opens a feed where the arguments or the stored cursor say.
    pub fn open(client: &'a Client, args: &FeedArgs, with_resource: bool) -> Result<Self, Failure> {
        if args.service == Service::System {
            return Err(Failure::Usage(
                "system has no feed: use --service logistics or livestock".to_owned(),
            ));
        }
        let store = args.store.clone().map(|path| Store::read(path, args.service)).transpose()?;
        let stored = store.as_ref().and_then(|store| store.cursors.get(args.service.name()).cloned());
        let after = match &args.after {
            Some(cursor) => Some(cursor.clone()),
            None if args.from_start => None,
            None => Some(stored.unwrap_or_else(|| "now".to_owned())),
        };
        let mut request =
            Request::get(args.service, "/v1/events").with("include", with_resource.then_some("resource"));
        request.query.extend(args.types.iter().map(|name| ("f:type".to_owned(), name.clone())));
        request.query.extend(args.parameters.iter().cloned());
        Ok(Self { client, request, after, store, is_once: args.once, is_done: false })
    }

    /// Returns the next events, waiting for them, or `None` if there are no more and none are waited for. While the
    /// service cannot be reached, it is asked again. Call [`store`](Self::store) when the events are processed.
    pub async fn next(&mut self) -> Result<Option<Vec<Value>>, Failure> {
        if self.is_done {
            return Ok(None);
        }
        let wait = if self.is_once { 0 } else { WAIT_SECONDS };
        loop {
            let request = self.request.clone().with("after", self.after.as_ref()).with("wait", Some(wait));
            let mut page = match self.client.json(&request).await {
                Ok(page) => page,
                Err(Failure::Unreachable(message)) if !self.is_once => {
                    output::note(&format!(
                        "{message}\nTrying again in {} seconds.",
                        RECONNECT_PAUSE.as_secs()
                    ));
                    tokio::time::sleep(RECONNECT_PAUSE).await;
                    continue;
                }
                Err(Failure::Refused(refusal)) if refusal.status == 410 => {
                    let message = "The cursor is newer than the database, which was restored from a backup. \
                                   Begin again with --from-start, or with --after now.";
                    return Err(Failure::Local(message.to_owned()));
                }
                Err(failure) => return Err(failure),
            };
            let Some(cursor) = page["cursor"].as_str() else {
                return Err(Failure::Unreachable(
                    "The service did not answer with a page of a feed.".to_owned(),
                ));
            };
            self.after = Some(cursor.to_owned());
            self.is_done = self.is_once && page["more"] != true;
            return match page["events"].take() {
                Value::Array(events) => Ok(Some(events)),
                _ => Ok(Some(Vec::new())),
            };
        }
    }

    /// Keeps the cursor behind the events that [`next`](Self::next) returned.
    pub fn store(&mut self) -> Result<(), Failure> {
        match (&mut self.store, &self.after) {
            (Some(store), Some(cursor)) => store.keep(self.request.service, cursor),
            _ => Ok(()),
        }
    }
}

/// A file with the cursor of each service.
struct Store {
    path: PathBuf,
    cursors: BTreeMap<String, String>,
}

impl Store {
    fn read(path: PathBuf, service: Service) -> Result<Self, Failure> {
        let cursors = match std::fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text).map_err(|_| {
                Failure::Local(format!("{} keeps no cursor of {}", path.display(), service.name()))
            })?,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(of_file(&path, "read")(error)),
        };
        Ok(Self { path, cursors })
    }

    fn keep(&mut self, service: Service, cursor: &str) -> Result<(), Failure> {
        let old = self.cursors.insert(service.name().to_owned(), cursor.to_owned());
        if old.as_deref() == Some(cursor) {
            return Ok(());
        }
        let text = serde_json::to_vec(&self.cursors).map_err(|error| Failure::Local(error.to_string()))?;
        write_whole(&self.path, &text)
    }
}

/// Prints events as they happen.
pub async fn follow(
    client: &Client,
    output: Output,
    args: &FeedArgs,
    with_resource: bool,
) -> Result<(), Failure> {
    let mut feed = Feed::open(client, args, with_resource)?;
    let mut is_first = true;
    while let Some(mut events) = feed.next().await? {
        if !output.json {
            for event in &mut events {
                let subject = if event["loadId"].is_null() { &event["listingId"] } else { &event["loadId"] };
                event["subject"] = plain(subject).into();
            }
        }
        if !events.is_empty() {
            // The headings are printed once: later pages continue the table.
            output.page(&events, &COLUMNS, is_first)?;
            is_first = false;
        }
        output::flush()?;
        feed.store()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_keeps_a_cursor_for_each_service() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cursors.json");
        let mut store = Store::read(path.clone(), Service::Logistics).unwrap();
        assert!(store.cursors.is_empty());
        store.keep(Service::Logistics, "1.5").unwrap();
        store.keep(Service::Livestock, "1.7").unwrap();
        store.keep(Service::Logistics, "1.9").unwrap();
        let read = Store::read(path.clone(), Service::Livestock).unwrap();
        assert_eq!(read.cursors["logistics"], "1.9");
        assert_eq!(read.cursors["livestock"], "1.7");
        std::fs::write(&path, "x").unwrap();
        assert!(Store::read(path, Service::Livestock).is_err());
    }
}

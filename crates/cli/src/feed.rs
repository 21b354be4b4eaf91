//! The feed of events (docs/api/events.md), and a file that keeps its cursor.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
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
    /// A file with the name of the service and the cursor.
    store: Option<PathBuf>,
    is_once: bool,
    is_done: bool,
}

impl<'a> Feed<'a> {
    /// Opens a feed where the arguments or the stored cursor say.
    pub fn open(client: &'a Client, args: &FeedArgs, with_resource: bool) -> Result<Self, Failure> {
        if args.service == Service::System {
            return Err(Failure::Usage(
                "system has no feed. Use --service logistics or livestock.".to_owned(),
            ));
        }
        let store = args.store.clone();
        let stored = store.as_deref().map(|path| read_cursor(path, args.service)).transpose()?.flatten();
        let default = (!args.from_start).then(|| "now".to_owned());
        let after = args.after.clone().or(stored).or(default);
        let mut request =
            Request::get(args.service, "/v1/events").with("include", with_resource.then_some("resource"));
        request.query.extend(args.types.iter().map(|name| ("f:type".to_owned(), name.clone())));
        request.query.extend(args.parameters.iter().cloned());
        Ok(Self { client, request, after, store, is_once: args.once, is_done: false })
    }

    /// Waits for the next events and returns them. With `--once`, it does not wait, and returns `None` after the last
    /// event. An unreachable service is retried. Call [`store`](Self::store) when the events are processed.
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
                                   Begin again with --after now, or with --from-start and without the file of --store.";
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

    /// Stores the cursor after the events that [`next`](Self::next) returned.
    pub fn store(&self) -> Result<(), Failure> {
        match (&self.store, &self.after) {
            (Some(path), Some(cursor)) => {
                write_whole(path, format!("{} {cursor}\n", self.request.service.name()).as_bytes())
            }
            _ => Ok(()),
        }
    }
}

/// Returns the cursor in a file, or `None` if the file does not exist.
fn read_cursor(path: &Path, service: Service) -> Result<Option<String>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(of_file(path, "read")(error)),
    };
    match text.trim_end().split_once(' ') {
        Some((name, cursor)) if name == service.name() => Ok(Some(cursor.to_owned())),
        _ => Err(Failure::Local(format!(
            "{} does not contain a cursor of {}. Use a file of its own for each feed.",
            path.display(),
            service.name()
        ))),
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
    use crate::session::Session;

    #[tokio::test]
    async fn a_stored_cursor_is_continued_and_belongs_to_one_service() {
        let folder = tempfile::tempdir().unwrap();
        let mut args = FeedArgs {
            service: Service::Logistics,
            after: None,
            from_start: true,
            store: Some(folder.path().join("cursor")),
            types: Vec::new(),
            parameters: Vec::new(),
            once: true,
        };
        let url = reqwest::Url::parse("http://127.0.0.1:9").unwrap();
        let client = Client::new(Session::fixed(&url, "t0ken")).unwrap();
        let mut feed = Feed::open(&client, &args, false).unwrap();
        assert_eq!(feed.after, None);
        feed.after = Some("1.5".to_owned());
        feed.store().unwrap();
        assert_eq!(Feed::open(&client, &args, false).unwrap().after.as_deref(), Some("1.5"));
        args.after = Some("now".to_owned());
        assert_eq!(Feed::open(&client, &args, false).unwrap().after.as_deref(), Some("now"));
        args.service = Service::Livestock;
        assert!(Feed::open(&client, &args, false).is_err());
    }
}

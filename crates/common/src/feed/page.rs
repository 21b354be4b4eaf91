//! Pages of the feed, and places in it.

use std::fmt::Write;
use std::iter;

use database::AnyConnection;
use database::feed::{SQLITE_POSITION, next_position, settled_position};
use serde::Serialize;

use crate::Error;

/// A place in the feed: that of an event, or one between two events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// See [`database::feed`].
    pub position: i64,
    /// The number of the event.
    pub n: i64,
}

impl Place {
    /// The place before all events.
    pub const START: Self = Self { position: i64::MIN, n: 0 };

    /// Returns the place after all events that are settled. `last` is the greatest number so far.
    ///
    /// # Errors
    /// Those of the database.
    pub fn end(c: &mut AnyConnection, last: i64) -> Result<Self, Error> {
        match c {
            AnyConnection::Sqlite(_) => Ok(Self { position: SQLITE_POSITION, n: last }),
            AnyConnection::Postgres(_) => Ok(Self { position: settled_position(c)?, n: 0 }),
        }
    }

    /// Checks that a cursor is one of this feed, whose greatest number so far is `last`.
    ///
    /// # Errors
    /// 410 if its event is not here: an older database was restored.
    pub fn check(self, c: &mut AnyConnection, last: i64) -> Result<(), Error> {
        if self.n > last || self.position > next_position(c)? { Err(Error::CursorGone) } else { Ok(()) }
    }

    /// Returns the cursor.
    pub fn encode(self) -> String {
        format!("{:x}.{:x}", self.position, self.n)
    }

    /// Reads a cursor.
    pub fn decode(cursor: &str) -> Option<Self> {
        let (position, n) = cursor.split_once('.')?;
        let number = |text: &str| u64::from_str_radix(text, 16).ok().map(u64::cast_signed);
        let place = Self { position: number(position)?, n: number(n)? };
        (place.encode() == cursor && place.n >= 0).then_some(place)
    }
}

/// Events as responses show them, in the order of the page.
#[derive(Clone, Debug, Default)]
pub struct FeedEvents {
    /// The documents of all events, each after a comma.
    documents: String,
    events: Vec<FeedEvent>,
}

/// An event of [`FeedEvents`].
#[derive(Clone, Copy, Debug)]
struct FeedEvent {
    /// Where the feed goes on after the event.
    place: Place,
    /// Member `type`.
    event_type: &'static str,
    /// Where its document ends.
    end: usize,
}

impl FeedEvents {
    /// Adds an event, after which the feed goes on at `place`.
    ///
    /// # Errors
    /// 500 if the event cannot be serialized.
    pub fn push(
        &mut self,
        place: Place,
        event_type: &'static str,
        event: &impl Serialize,
    ) -> Result<(), Error> {
        let document = serde_json::to_string(event)?;
        self.documents.push(',');
        self.documents.push_str(&document);
        self.events.push(FeedEvent { place, event_type, end: self.documents.len() });
        Ok(())
    }

    /// Returns true if there are no events.
    pub(super) fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// Returns the place, the type and the document of each event.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Place, &'static str, &str)> {
        let begins = iter::once(0).chain(self.events.iter().map(|event| event.end));
        let events = self.events.iter().zip(begins);
        events.map(|(event, begin)| (event.place, event.event_type, &self.documents[begin + 1..event.end]))
    }
}

/// A page of the feed.
#[derive(Clone, Debug)]
pub struct FeedPage {
    /// The events of the page.
    pub events: FeedEvents,
    /// Where the next page begins.
    pub next: Place,
    /// Whether the next page may have events already.
    pub more: bool,
}

impl FeedPage {
    /// Returns a page without events.
    pub fn empty(next: Place) -> Self {
        Self { events: FeedEvents::default(), next, more: false }
    }

    /// Ends the page after the events that have so many bytes, at least one.
    #[must_use]
    pub(super) fn cut(mut self, bytes: usize) -> Self {
        let events = &mut self.events.events;
        // Without the commas.
        let fits = events.iter().zip(1..).take_while(|(event, commas)| event.end - commas <= bytes);
        let kept = fits.count().max(1);
        if kept < events.len() {
            events.truncate(kept);
            self.more = true;
            if let Some(last) = events.last() {
                self.next = last.place;
                self.events.documents.truncate(last.end);
            }
        }
        self
    }

    /// Returns the document of the response.
    pub fn into_document(self) -> String {
        let mut document = String::with_capacity(self.events.documents.len() + 100);
        document.push_str(r#"{"events":["#);
        document.push_str(self.events.documents.get(1..).unwrap_or_default());
        let _ = write!(document, r#"],"cursor":"{}","more":{}}}"#, self.next.encode(), self.more);
        document
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::Value;

    use super::*;

    #[test]
    fn a_page_is_cut_after_an_event() {
        let end = Place { position: 9, n: 9 };
        let page = || {
            let mut events = FeedEvents::default();
            for n in 1..=3 {
                events.push(Place { position: 1, n }, "x", &"x".repeat(8)).unwrap();
            }
            FeedPage { events, next: end, more: false }
        };
        for (bytes, kept, next, more) in
            [(0, 1, 1, true), (20, 2, 2, true), (29, 2, 2, true), (30, 3, 9, false)]
        {
            let cut = page().cut(bytes);
            assert_eq!((cut.events.iter().count(), cut.next.n, cut.more), (kept, next, more), "{bytes}");
            assert!(cut.events.iter().all(|(_, _, document)| document == r#""xxxxxxxx""#), "{cut:?}");
            let document: Value = serde_json::from_str(&cut.into_document()).unwrap();
            assert_eq!(document["events"].as_array().map(Vec::len), Some(kept), "{bytes}");
        }
        assert_eq!(FeedPage::empty(end).cut(0).next, end);
    }

    proptest! {
        #[test]
        fn cursors_are_read_as_they_were_written(position in any::<i64>(), n in 0..i64::MAX) {
            let place = Place { position, n };
            prop_assert_eq!(Place::decode(&place.encode()), Some(place));
        }

        #[test]
        fn other_texts_are_no_cursors(text in "[0-9a-fA-F+. -]{0,20}") {
            if let Some(place) = Place::decode(&text) {
                prop_assert_eq!(place.encode(), text);
            }
        }
    }
}

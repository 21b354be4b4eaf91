//! The queue of reports: those of one listing are one entry.

use crate::api::market::{Attachment, Listing, Report};
use crate::api::model::Event;

/// A listing with its open reports, oldest first.
#[derive(Debug)]
pub(crate) struct Entry<'a> {
    pub(crate) listing_id: &'a str,
    pub(crate) reports: Vec<&'a Report>,
}

/// Returns the entries of the queue by their oldest report. `open` are the open reports, oldest first.
pub(crate) fn queue(open: &[Report]) -> Vec<Entry<'_>> {
    let mut entries: Vec<Entry<'_>> = Vec::new();
    for report in open {
        match entries.iter_mut().find(|entry| entry.listing_id == report.listing_id) {
            Some(entry) => entry.reports.push(report),
            None => entries.push(Entry { listing_id: &report.listing_id, reports: vec![report] }),
        }
    }
    entries
}

/// Returns the entries before and after one, for keys that go through the queue.
pub(crate) fn neighbours<'a>(entries: &[Entry<'a>], listing_id: &str) -> [Option<&'a str>; 2] {
    let Some(index) = entries.iter().position(|entry| entry.listing_id == listing_id) else {
        return [None, entries.first().map(|entry| entry.listing_id)];
    };
    let id = |index: usize| entries.get(index).map(|entry| entry.listing_id);
    [index.checked_sub(1).and_then(id), id(index + 1)]
}

/// Returns what happened to a listing since its first report, also after all are settled.
pub(crate) fn changed<'a>(events: &'a [Event], reports: &[Report]) -> impl Iterator<Item = &'a Event> {
    let first = reports.iter().map(|report| report.created_at.clone()).min();
    events.iter().filter(move |event| first.as_ref().is_some_and(|first| event.at > *first))
}

/// Returns the files that were removed from a listing since its first report.
pub(crate) fn removed(listing: &Listing, events: &[Event], reports: &[Report]) -> Vec<Attachment> {
    let mut removed: Vec<Attachment> = Vec::new();
    let changes = changed(events, reports).filter_map(|event| event.changes.get("files"));
    for file in changes.filter_map(|change| change.from.as_array()).flatten() {
        let file: Attachment = serde_json::from_value(file.clone()).unwrap_or_default();
        if listing.files.iter().chain(&removed).all(|known| known.id != file.id) {
            removed.push(file);
        }
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_of_one_listing_are_one_entry() {
        let report = |id: &str, listing: &str| Report {
            id: id.to_owned(),
            listing_id: listing.to_owned(),
            ..Report::default()
        };
        let open = [report("1", "a"), report("2", "b"), report("3", "a"), report("4", "c")];
        let entries = queue(&open);
        let shown: Vec<_> = entries.iter().map(|entry| (entry.listing_id, entry.reports.len())).collect();
        assert_eq!(shown, [("a", 2), ("b", 1), ("c", 1)]);
        assert_eq!(neighbours(&entries, "b"), [Some("a"), Some("c")]);
        assert_eq!(neighbours(&entries, "c"), [Some("b"), None]);
        assert_eq!(neighbours(&entries, "gone"), [None, Some("a")]);
    }
}

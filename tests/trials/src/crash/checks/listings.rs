//! Listings: every acknowledged one is stored once, as it was sent and with its last status, and facets count them.

use std::collections::HashMap;

use anyhow::Result;
use serde_json::Value;

use crate::crash::client::Caller::{Admin, Owner};
use crate::crash::client::{Client, LIVESTOCK, is_repeated, settle};
use crate::crash::findings::{Findings, WriteKind};
use crate::crash::fixture::OWNER;
use crate::crash::records::{ListingRecord, Records, Write};
use crate::ledger::{Ledger, WriteState};

/// A row of an export.
#[derive(Debug)]
struct StoredListing {
    id: String,
    /// `selling` or `buying`.
    kind: String,
    status: String,
    category: String,
}

/// All stored listings by description.
#[derive(Debug)]
pub struct StoredListings(HashMap<String, Vec<StoredListing>>);

impl StoredListings {
    /// Exports all listings.
    pub fn read(client: &Client<'_>) -> Result<Self> {
        let mut listings = HashMap::<_, Vec<_>>::new();
        for status in ["", "draft", "sold", "found", "cancelled"] {
            let path = format!("/v1/listings?format=CSV&f:organisationId={}&f:status={status}", OWNER.id);
            for row in client.csv_rows(LIVESTOCK, &path, Owner)? {
                let mut columns = row.split(',').map(str::to_owned);
                let [id, kind, status, category, _, _, marker] =
                    [(); 7].map(|()| columns.next().unwrap_or_default());
                listings.entry(marker).or_default().push(StoredListing { id, kind, status, category });
            }
        }
        Ok(Self(listings))
    }

    /// Status of a listing, if it is stored.
    pub fn status(&self, listing: &ListingRecord) -> Option<&str> {
        self.of(listing).first().map(|listing| listing.status.as_str())
    }

    fn of(&self, listing: &ListingRecord) -> &[StoredListing] {
        self.0.get(&listing.fixture.marker).map(Vec::as_slice).unwrap_or_default()
    }

    /// Compares the stored listings with the records of all rounds.
    pub fn compare(&self, rounds: &[Records], ledger: &mut Ledger) {
        let mut expected = 0;
        for listing in rounds.iter().flat_map(|records| &records.listings) {
            let (marker, stored) = (&listing.fixture.marker, self.of(listing));
            expected += stored.len();
            ledger.check_count(&listing.create.state, stored.len(), &format!("listing {marker}"));
            let (acknowledged, possible) = listing.status();
            for StoredListing { id, status, .. } in stored {
                if status != acknowledged && Some(status.as_str()) != possible {
                    ledger.lost(&format!("listing {marker} is {status} instead of {acknowledged}"));
                }
                if listing.create.id().is_some_and(|acknowledged| acknowledged != id) {
                    ledger.lost(&format!("listing {marker} has another id"));
                }
            }
        }
        let stored: usize = self.0.values().map(Vec::len).sum();
        if stored > expected {
            ledger.duplicated(&format!("{} listings were never sent", stored - expected));
        }
    }

    /// Reads the listings of a round by the other operations: by id, events, reports, facets and counts.
    pub fn check_reads(&self, client: &Client<'_>, records: &Records, ledger: &mut Ledger) -> Result<()> {
        for listing in &records.listings {
            let (Some(id), [stored]) = (listing.create.id(), self.of(listing)) else { continue };
            let (marker, sent) = (&listing.fixture.marker, &listing.fixture.body);
            let read = client.get(LIVESTOCK, &format!("/v1/listings/{id}"), Owner)?.json;
            ledger.check_content(contains(&read, sent), || {
                format!("listing {marker} is {read}, but {sent} was sent")
            });
            if !listing.transitions.is_empty() {
                let is_done =
                    |(status, write): &&(&str, Write)| write.id().is_some() || stored.status == *status;
                let expected = 1 + listing.transitions.iter().filter(is_done).count();
                let events = client.array(LIVESTOCK, &format!("/v1/listings/{id}/events"), Admin)?;
                ledger.check_content(events.len() == expected, || {
                    format!("listing {marker} has {} events instead of {expected}", events.len())
                });
            }
            if let Some(Write { state, .. }) = &listing.report {
                let count = count_reports(client, id, marker)?;
                ledger.check_count(state, count, &format!("report of listing {marker}"));
            }
        }
        self.check_facets(client, ledger)
    }

    /// Compares the counts of facets and searches with the stored listings.
    fn check_facets(&self, client: &Client<'_>, ledger: &mut Ledger) -> Result<()> {
        let facets = client.get(LIVESTOCK, "/v1/listings?docs=false", Owner)?.json;
        let facet = |filter: &str, value: &str| {
            let mut values = facets["filters"][filter].as_array().into_iter().flatten();
            values
                .find(|facet| facet["value"] == value)
                .and_then(|facet| facet["count"].as_u64())
                .unwrap_or(0)
        };
        let count = |is_counted: &dyn Fn(&StoredListing) -> bool| {
            self.0.values().flatten().filter(|listing| is_counted(listing)).count()
        };
        let active = count(&|listing| listing.status == "active");
        let mut counts = vec![("all".to_owned(), facets["total"].as_u64().unwrap_or(0), active)];
        for kind in ["selling", "buying"] {
            let status = format!("active-{kind}");
            let stored = count(&|listing| listing.status == "active" && listing.kind == kind);
            counts.push((status.clone(), facet("f:status", &status), stored));
        }
        for status in ["sold", "found"] {
            let stored = count(&|listing| listing.status == status);
            counts.push((status.to_owned(), facet("f:status", status), stored));
        }
        for category in ["sheep", "cattle", "working-dog", "feed", "bedding"] {
            let stored = count(&|listing| listing.status == "active" && listing.category == category);
            counts.push((category.to_owned(), facet("f:commodityType", category), stored));
        }
        for (value, counted, stored) in counts {
            ledger.check_content(counted == stored as u64, || {
                format!("facets count {counted} listings for {value}, but {stored} are stored")
            });
        }
        let counted = client.count(LIVESTOCK, "/v1/listings?limit=1&count=true", Owner)?;
        ledger.check_content(counted == active, || {
            format!("a search counts {counted} active listings, but {active} are stored")
        });
        Ok(())
    }

    /// Settles the unknown outcomes of a round, and repeats some acknowledged writes.
    pub fn settle(&self, client: &Client<'_>, records: &mut Records, findings: &mut Findings) -> Result<()> {
        for listing in &mut records.listings {
            let marker = &listing.fixture.marker;
            let stored = self.of(listing).first();
            let stored_id = stored.map(|listing| listing.id.as_str());
            findings.count(WriteKind::Listing, &listing.create.state, stored.is_some());
            let (request, state) = (listing.request(), &listing.create.state);
            let ledger = &mut findings.ledger;
            let (settled, _) = settle(client, &request, state, stored_id, is_repeated(marker), ledger)?;
            listing.create.state = settled;
            let Some(id) = listing.create.id().map(str::to_owned) else { continue };
            for (status, write) in &mut listing.transitions {
                let is_stored = stored.is_some_and(|listing| listing.status == *status);
                findings.count(WriteKind::Other, &write.state, is_stored);
                if write.is_unknown() {
                    client.send_until_answered(&ListingRecord::transition_request(&id, status))?;
                    write.state = WriteState::Acknowledged(String::new());
                }
            }
            for write in [&listing.wish, &listing.report].into_iter().flatten() {
                findings.count(WriteKind::Other, &write.state, true);
            }
            if let Some(wish) = listing.wish.as_mut().filter(|write| write.is_unknown()) {
                client.send_until_answered(&ListingRecord::wish_request(&id))?;
                wish.state = WriteState::Acknowledged(String::new());
            }
            let request = listing.report_request(&id);
            if let Some(report) = listing.report.as_mut().filter(|write| write.is_unknown()) {
                let expected = if count_reports(client, &id, marker)? == 0 { 200 } else { 409 };
                let status = client.send_until_answered(&request)?.status;
                findings.ledger.check_content(status == expected, || {
                    format!("listing {marker}: a second report returned {status}")
                });
                report.state = WriteState::Acknowledged(String::new());
            }
        }
        Ok(())
    }
}

/// Checks that the wishlist contains the listings of all rounds that were put on it, once.
pub fn check_wishlist(client: &Client<'_>, rounds: &[Records], ledger: &mut Ledger) -> Result<()> {
    let rows = client.csv_rows(LIVESTOCK, "/v1/listings?format=CSV&isWishlisted=true", Owner)?;
    for listing in rounds.iter().flat_map(|records| &records.listings) {
        if let (Some(id), Some(Write { state, .. })) = (listing.create.id(), &listing.wish) {
            let count = rows.iter().filter(|row| row.split(',').next() == Some(id)).count();
            ledger.check_count(state, count, &format!("listing {} on the wishlist", listing.fixture.marker));
        }
    }
    Ok(())
}

/// Number of reports with this message.
fn count_reports(client: &Client<'_>, id: &str, message: &str) -> Result<usize> {
    let reports = client.array(LIVESTOCK, &format!("/v1/listings/{id}/reports"), Admin)?;
    Ok(reports.iter().filter(|report| report["message"] == message).count())
}

/// Whether a response contains every member that was sent.
fn contains(response: &Value, sent: &Value) -> bool {
    match (response, sent) {
        (Value::Object(response), Value::Object(sent)) => sent
            .iter()
            .filter(|(name, value)| *name != "isDraft" && !value.is_null())
            .all(|(name, value)| response.get(name).is_some_and(|response| contains(response, value))),
        (Value::Array(response), Value::Array(sent)) => {
            response.len() == sent.len()
                && response.iter().zip(sent).all(|(response, sent)| contains(response, sent))
        }
        (Value::Number(response), Value::Number(sent)) => response.as_f64() == sent.as_f64(),
        _ => response == sent,
    }
}

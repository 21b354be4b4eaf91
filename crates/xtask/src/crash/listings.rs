//! Listings: is each there once, as it was sent, with the status that it was taken to? Do the facets count what is
//! there?

use std::collections::HashMap;

use anyhow::Result;
use serde_json::Value;

use super::books::{Books, Listing};
use super::findings::Findings;
use super::line::{ADMIN, LIVESTOCK, Line, ORGANISATIONS, OWN, State};
use super::settle::{Known, settle};

/// A listing as CSV has it.
#[derive(Debug)]
struct Row {
    id: String,
    kind: String,
    status: String,
    category: String,
}

/// All listings that there are, by description.
#[derive(Debug)]
pub struct Rows(HashMap<String, Vec<Row>>);

/// Reads all listings.
pub fn read(line: &Line<'_>) -> Result<Rows> {
    let mut rows = HashMap::<_, Vec<_>>::new();
    for status in ["", "draft", "sold", "found", "cancelled"] {
        let path =
            format!("/v1/listings?format=CSV&f:organisationId={}&f:status={status}", ORGANISATIONS[OWN]);
        for row in line.rows(LIVESTOCK, &path, OWN)? {
            let cells: Vec<_> = row.split(',').map(str::to_owned).collect();
            let [id, kind, status, category, _, _, mark, ..] = &cells[..] else { continue };
            let [id, kind, status, category] = [id, kind, status, category].map(Clone::clone);
            rows.entry(mark.clone()).or_default().push(Row { id, kind, status, category });
        }
    }
    Ok(Rows(rows))
}

/// Compares what there is with everything that was ever sent.
pub fn compare(rows: &Rows, books: &Books, found: &mut Findings) {
    let mut known = 0;
    for listing in &books.listings {
        let there = rows.of(listing);
        known += there.len();
        found.times(&listing.made.state, there.len(), &format!("listing {}", listing.mark));
        for row in there {
            let (is, may) = listing.status();
            if row.status != is && may.is_none_or(|may| row.status != may) {
                found.lost(&format!("listing {} is {}, not {is}", listing.mark, row.status));
            }
            if listing.made.state.id().is_some_and(|id| id != row.id) {
                found.lost(&format!("listing {} has another id", listing.mark));
            }
        }
    }
    let there: usize = rows.0.values().map(Vec::len).sum();
    if there > known {
        found.doubled(&format!("{} listings that nobody sent", there - known));
    }
}

/// Looks at this round's listings by the other ways there are: by id, by events, by reports, on the wishlist, in
/// counts.
pub fn look(line: &Line<'_>, books: &Books, rows: &Rows, round: usize, found: &mut Findings) -> Result<()> {
    let wished = line.rows(LIVESTOCK, "/v1/listings?format=CSV&isWishlisted=true", OWN)?;
    let wished: Vec<_> = wished.iter().filter_map(|row| row.split(',').next()).collect();
    for listing in &books.listings {
        if let (Some(id), Some(state)) = (listing.made.state.id(), &listing.wished) {
            let times = wished.iter().filter(|one| **one == id).count();
            found.times(state, times, &format!("listing {} on the wishlist", listing.mark));
        }
    }
    for listing in books.listings.iter().filter(|listing| listing.round == round) {
        let (State::Done(id), [row]) = (&listing.made.state, rows.of(listing)) else { continue };
        let shown = line.get(LIVESTOCK, &format!("/v1/listings/{id}"), OWN)?.json;
        found.whole(says(&shown, &listing.body), || {
            format!("listing {} reads {shown}, not {}", listing.mark, listing.body)
        });
        // Being created is an event, and each change once.
        let steps =
            listing.steps.iter().filter(|(to, state)| state.id().is_some() || row.status == *to).count();
        if !listing.steps.is_empty() {
            let events = line.get(LIVESTOCK, &format!("/v1/listings/{id}/events"), ADMIN)?.json;
            let right = events.as_array().is_some_and(|events| events.len() == 1 + steps);
            found.whole(right, || format!("listing {} has other events: {events}", listing.mark));
        }
        if let Some(state) = &listing.reported {
            let times = reports(line, id, &listing.mark)?;
            found.times(state, times, &format!("report of listing {}", listing.mark));
        }
    }
    count(line, rows, found)
}

/// How many reports of a listing are those of the other organisation.
fn reports(line: &Line<'_>, id: &str, mark: &str) -> Result<usize> {
    let reports = line.get(LIVESTOCK, &format!("/v1/listings/{id}/reports"), ADMIN)?.json;
    Ok(reports.as_array().into_iter().flatten().filter(|one| one["message"] == mark).count())
}

/// The facets count what searches find.
fn count(line: &Line<'_>, rows: &Rows, found: &mut Findings) -> Result<()> {
    let all = || rows.0.values().flatten();
    let facets = line.get(LIVESTOCK, "/v1/listings?docs=false", OWN)?.json;
    let mut compare = |what: &str, counted: &Value, there: usize| {
        let counted = counted.as_u64().unwrap_or_default();
        found.whole(counted == there as u64, || {
            format!("facets count {counted} {what}, but there are {there}")
        });
    };
    let value = |filter: &str, value: &str| {
        let values = facets["filters"][filter].as_array().into_iter().flatten();
        values.into_iter().find(|one| one["value"] == value).map_or(Value::Null, |one| one["count"].clone())
    };
    let active = || all().filter(|row| row.status == "active");
    compare("in all", &facets["total"], active().count());
    for kind in ["selling", "buying"] {
        let status = format!("active-{kind}");
        compare(&status, &value("f:status", &status), active().filter(|row| row.kind == kind).count());
    }
    for status in ["sold", "found"] {
        compare(status, &value("f:status", status), all().filter(|row| row.status == status).count());
    }
    for category in ["sheep", "cattle", "feed", "bedding"] {
        let there = active().filter(|row| row.category == category).count();
        compare(category, &value("f:commodityType", category), there);
    }
    let counted = line.count(LIVESTOCK, "/v1/listings?limit=1&count=true", OWN)?;
    found.whole(counted == active().count(), || format!("a search counts {counted} active listings"));
    Ok(())
}

/// Ends all doubt about listings.
pub fn resolve(
    line: &mut Line<'_>,
    books: &mut Books,
    rows: &Rows,
    found: &mut Findings,
    round: usize,
) -> Result<()> {
    for listing in books.listings.iter_mut().filter(|listing| listing.round == round) {
        let known = Known::by(rows.of(listing).first().map(|row| row.id.clone()));
        found.count("creates of listings", &listing.made.state, known.there);
        let repeated = listing.mark.ends_with('7');
        let answer = settle(line, &listing.request(), &listing.made.state, &known, repeated, found)?;
        known.put(&mut listing.made, answer.as_ref());
        let Some(id) = listing.made.state.id().map(str::to_owned) else { continue };
        let is = rows.of(listing).first().map(|row| row.status.clone()).unwrap_or_default();
        for (to, state) in &mut listing.steps {
            found.count("other writes", state, is == *to);
            if *state == State::Doubt {
                line.insist(&Listing::step(&id, to))?;
                *state = State::Done(String::new());
            }
        }
        for state in [&listing.wished, &listing.reported].into_iter().flatten() {
            found.count("other writes", state, true);
        }
        if listing.wished == Some(State::Doubt) {
            line.insist(&Listing::wish(&id))?;
            listing.wished = Some(State::Done(String::new()));
        }
        if listing.reported == Some(State::Doubt) {
            let before = reports(line, &id, &listing.mark)?;
            let status = line.insist(&listing.report(&id))?.status;
            let right = status == if before == 0 { 200 } else { 409 };
            found.whole(right, || format!("reporting {} again answered {status}", listing.mark));
            listing.reported = Some(State::Done(String::new()));
        }
    }
    Ok(())
}

impl Rows {
    /// The status that a listing has, if it is there.
    pub fn status(&self, listing: &Listing) -> Option<&str> {
        self.of(listing).first().map(|row| row.status.as_str())
    }

    fn of(&self, listing: &Listing) -> &[Row] {
        self.0.get(&listing.mark).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Whether what is shown has every member that was sent.
fn says(shown: &Value, sent: &Value) -> bool {
    match (shown, sent) {
        (Value::Object(shown), Value::Object(sent)) => sent
            .iter()
            .filter(|(name, value)| *name != "isDraft" && !value.is_null())
            .all(|(name, value)| shown.get(name).is_some_and(|shown| says(shown, value))),
        (Value::Array(shown), Value::Array(sent)) => {
            shown.len() == sent.len() && shown.iter().zip(sent).all(|(shown, sent)| says(shown, sent))
        }
        (Value::Number(shown), Value::Number(sent)) => shown.as_f64() == sent.as_f64(),
        _ => shown == sent,
    }
}

//! Compares random sequences of creating, publishing, editing, closing, reporting and removing listings, and of
//! suspending their organisation, with a plain model: the response to each step, and at the end the listing and its
//! history, what each caller reads and finds, and what visitors see. The owner, a colleague, a user of another
//! organisation, one of none and an administrator take turns.

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use testkit::{App, TestResponse, User};

use crate::lifecycle::{events, patch, to};
use crate::sample::{CATTLE, full, ids, search, start_with, with};

const STEPS: usize = 16;
const ACTORS: [&str; 9] = ["farm", "farm", "farm", "farm", "farm", "colleague", "other", "ann", "admin"];
/// Those who read listings. The first two are users of the organisation of the listings.
const READERS: [&str; 5] = ["farm", "colleague", "other", "ann", "admin"];
const STATUSES: [&str; 6] = ["draft", "active-selling", "active-buying", "sold", "found", "cancelled"];

#[derive(Debug)]
struct Listing {
    id: String,
    offer: &'static str,
    status: &'static str,
    description: String,
    was_published: bool,
    /// Types of its events, one for each revision.
    events: Vec<&'static str>,
    /// Who has reported it.
    reported_by: Vec<&'static str>,
}

struct Model<'a> {
    app: &'a App,
    /// The organisation of the listings, another one in each sequence.
    organisation: String,
    is_suspended: bool,
    listings: Vec<Listing>,
    log: Vec<String>,
}

fn is_owner(actor: &str) -> bool {
    ["farm", "colleague"].contains(&actor)
}

impl Model<'_> {
    fn user(&self, actor: &str) -> User {
        match actor {
            "farm" => User::of(&self.organisation),
            "colleague" => User::of(&self.organisation).with("sub", "colleague"),
            "admin" => User::admin(),
            "ann" => User::individual("ann"),
            other => User::of(other),
        }
    }

    fn is_hidden(&self, listing: &Listing) -> bool {
        self.is_suspended && listing.status == "active"
    }

    /// Returns the status of reading a listing.
    fn reading(&self, listing: &Listing, actor: &str) -> u16 {
        if is_owner(actor) || actor == "admin" {
            200
        } else if self.is_hidden(listing) {
            404
        } else if listing.was_published {
            200
        } else {
            403
        }
    }

    /// Returns the status of an operation that only the organisation and `admin` may call.
    fn managing(&self, listing: &Listing, actor: &str) -> u16 {
        match self.reading(listing, actor) {
            200 if !is_owner(actor) && actor != "admin" => 403,
            other => other,
        }
    }

    async fn step(&mut self, random: &mut StdRng) {
        let actor = *ACTORS.choose(random).unwrap();
        let user = self.user(actor);
        if self.listings.is_empty() || random.random_bool(0.12) {
            return self.create(random, actor).await;
        }
        let n = random.random_range(0..self.listings.len());
        let (listing, id) = (&self.listings[n], self.listings[n].id.clone());
        let allowed = self.managing(listing, actor);
        let (reply, expected) = match random.random_range(0..12) {
            0..=3 => {
                let description = format!("description {}", random.random_range(0..3));
                self.log.push(format!("{actor} edits {n}: {description}"));
                let expected = match allowed {
                    200 if !["draft", "active"].contains(&listing.status) => 409,
                    other => other,
                };
                let reply = patch(self.app, &user, &id, &json!({ "description": description })).await;
                if expected == 200 && listing.description != description {
                    self.listings[n].description = description;
                    self.listings[n].events.push("updated");
                }
                (reply, expected)
            }
            4..=6 => {
                let goal = *["active", "sold", "found", "cancelled", "cancelled"].choose(random).unwrap();
                let goal = if listing.status == "draft" && random.random_bool(0.6) { "active" } else { goal };
                self.log.push(format!("{actor} makes {n} {goal}"));
                let expected = match (allowed, listing.status) {
                    (200, status) if status == goal => 200,
                    (200, "draft") if goal == "active" => {
                        if self.is_suspended {
                            403
                        } else {
                            200
                        }
                    }
                    (200, "draft") if goal != "cancelled" => 409,
                    (200, status) if !["draft", "active"].contains(&status) => 409,
                    (allowed, _) => allowed,
                };
                let reply = to(self.app, &user, &id, goal).send().await;
                if expected == 200 && listing.status != goal {
                    self.change(n, goal);
                }
                (reply, expected)
            }
            7 | 8 => {
                let expected = match self.reading(listing, actor) {
                    200 if is_owner(actor) || listing.reported_by.contains(&actor) => 409,
                    other => other,
                };
                let report = json!({"reason": "other", "message": "x"});
                self.log.push(format!("{actor} reports {n}"));
                let reply =
                    self.app.post(&format!("/v1/listings/{id}/report")).by(&user).json(&report).send().await;
                if expected == 200 {
                    self.listings[n].reported_by.push(actor);
                }
                (reply, expected)
            }
            9 => {
                let reports =
                    self.app.get(&format!("/v1/listings/{id}/reports")).by(&User::admin()).send().await;
                let open = reports.entries().into_iter().find(|report| report["status"] == "open");
                let Some(report) = open else { return };
                let outcome = if random.random() { "dismissed" } else { "listing_removed" };
                self.log.push(format!("{actor} resolves a report of {n}: {outcome}"));
                let path = format!("/v1/reports/{}/resolve", report["id"].as_str().unwrap());
                let reply = self.app.post(&path).by(&user).json(&json!({ "outcome": outcome })).send().await;
                let is_open = ["draft", "active"].contains(&self.listings[n].status);
                if actor == "admin" && outcome == "listing_removed" && is_open {
                    self.change(n, "cancelled");
                }
                (reply, if actor == "admin" { 200 } else { 403 })
            }
            _ => {
                let action = if random.random() { "suspend" } else { "reinstate" };
                self.log.push(format!("{actor}: {action}"));
                let path = format!("/v1/organisations/{}/{action}", self.organisation);
                let reply = self.app.post(&path).by(&user).json(&json!({"reason": "x"})).send().await;
                if actor == "admin" {
                    self.is_suspended = action == "suspend";
                }
                (reply, if actor == "admin" { 200 } else { 403 })
            }
        };
        self.expect(&reply, expected);
    }

    fn expect(&self, reply: &TestResponse, status: u16) {
        assert_eq!(reply.status, status, "{} {:#?} {:#?}", reply.text(), self.log, self.listings);
    }

    async fn create(&mut self, random: &mut StdRng, actor: &str) {
        if actor == "other" {
            return; // It may create listings of its own.
        }
        let (is_draft, offer) = (random.random(), *["selling", "buying"].choose(random).unwrap());
        let form = with(with(full(), "/isDraft", json!(is_draft)), "/type", json!(offer));
        self.log.push(format!("{actor} creates a listing, draft: {is_draft}"));
        let reply = self.app.post(CATTLE).by(&self.user(actor)).json(&form).send().await;
        let is_allowed = is_owner(actor) && !self.is_suspended;
        self.expect(&reply, if is_allowed { 200 } else { 403 });
        if is_allowed {
            let id = reply.json()["id"].as_str().unwrap().to_owned();
            let status = if is_draft { "draft" } else { "active" };
            let description = form["description"].as_str().unwrap().to_owned();
            let (events, reported_by) = (vec!["created"], Vec::new());
            self.listings.push(Listing {
                id,
                offer,
                status,
                description,
                was_published: !is_draft,
                events,
                reported_by,
            });
        }
    }

    fn change(&mut self, n: usize, status: &'static str) {
        let listing = &mut self.listings[n];
        listing.was_published |= status == "active";
        listing.events.push(if status == "active" { "published" } else { "closed" });
        listing.status = status;
    }

    async fn compare(&self) {
        for listing in &self.listings {
            let path = format!("/v1/listings/{}", listing.id);
            let history = events(self.app, &listing.id).await;
            assert!(
                history
                    .iter()
                    .map(|event| event["type"].as_str().unwrap())
                    .eq(listing.events.iter().copied())
            );
            for actor in READERS {
                let (user, context) = (self.user(actor), format!("{actor} {listing:#?} {:#?}", self.log));
                let read = self.app.get(&path).by(&user).send().await;
                assert_eq!(read.status, self.reading(listing, actor), "{context}");
                let history = self.app.get(&format!("{path}/events")).by(&user).send().await;
                assert_eq!(history.status, self.managing(listing, actor), "{context}");
                if read.status == 200 {
                    let read = read.json();
                    assert_eq!(
                        [&read["status"], &read["description"], &read["revision"], &read["suspended"]],
                        [
                            &json!(listing.status),
                            &json!(listing.description),
                            &json!(listing.events.len()),
                            if self.is_hidden(listing) { &Value::Bool(true) } else { &Value::Null },
                        ],
                        "{context}"
                    );
                }
            }
            let public = self.app.get(&format!("/v1/public/{}", &path[4..])).send().await;
            let is_public = listing.status == "active" && !self.is_hidden(listing);
            assert_eq!(public.status, if is_public { 200 } else { 404 }, "{listing:#?} {:#?}", self.log);
        }
        let of_organisation = format!("limit=100&f:organisationId={}", self.organisation);
        for actor in READERS {
            for status in STATUSES {
                let is_found = |listing: &&Listing| match listing.status {
                    "active" => status.ends_with(listing.offer) && (is_owner(actor) || !self.is_suspended),
                    "draft" => status == "draft" && is_owner(actor),
                    closed => closed == status && self.reading(listing, actor) == 200,
                };
                let query = format!("{of_organisation}&f:status={status}");
                self.compare_found(
                    search(self.app, &self.user(actor), &query).await,
                    is_found,
                    &format!("{actor} {status}"),
                );
            }
            let found = search(self.app, &self.user(actor), &of_organisation).await;
            let is_found =
                |listing: &&Listing| listing.status == "active" && (is_owner(actor) || !self.is_suspended);
            self.compare_found(found, is_found, actor);
            let counts =
                self.app.get(&format!("/v1/listings?docs=false&{of_organisation}")).by(&self.user(actor));
            let expected = self.listings.iter().filter(is_found).count();
            assert_eq!(counts.send().await.ok()["total"], expected, "{actor} {:#?}", self.log);
        }
        let public = self.app.get(&format!("/v1/public/listings?{of_organisation}")).send().await.ok();
        let is_public = |listing: &&Listing| listing.status == "active" && !self.is_suspended;
        self.compare_found(ids(&public), is_public, "visitor");
    }

    fn compare_found(&self, mut found: Vec<String>, is_found: impl Fn(&&Listing) -> bool, by: &str) {
        let mut expected: Vec<_> =
            self.listings.iter().filter(is_found).map(|listing| listing.id.clone()).collect();
        found.sort_unstable();
        expected.sort_unstable();
        assert_eq!(found, expected, "{by} {:#?} {:#?}", self.log, self.listings);
    }
}

testkit::on_both! {
    async fn random_sequences_agree_with_a_model(backend) {
        let app = &start_with(backend, |settings| settings.public_listings = true).await;
        let random = &mut StdRng::seed_from_u64(20_261_130);
        let (sequences, mut listings, mut suspended) = (testkit::model_sequences(12), 0, 0);
        for n in 0..sequences {
            let (organisation, log) = (format!("farm-{n}"), Vec::new());
            let mut model = Model { app, organisation, is_suspended: false, listings: Vec::new(), log };
            for _ in 0..STEPS {
                model.step(random).await;
            }
            model.compare().await;
            listings += model.listings.len();
            suspended += usize::from(model.is_suspended);
        }
        println!("{sequences} sequences on {backend:?}: {listings} listings, {suspended} organisations suspended");
        assert!(listings > sequences && suspended > 0, "{listings} listings, {suspended} suspended");
    }
}

//! What clients write down of their writes: what they sent, before they send it, and what they heard.

use serde_json::{Value, json};

use super::goods::{self, Goods};
use super::line::{Attempt, LIVESTOCK, LOGISTICS, ORGANISATIONS, OTHER, OWN, Request, SYSTEM, State};
use crate::client::Body;
use crate::multipart::Form;

/// Everything that was sent.
#[derive(Debug, Default)]
pub struct Books {
    pub loads: Vec<Load>,
    pub batches: Vec<Batch>,
    pub files: Vec<File>,
    pub listings: Vec<Listing>,
}

impl Books {
    /// How many loads and listings they have, batches aside.
    pub fn made(&self) -> usize {
        self.loads.len() + self.listings.len()
    }

    /// Takes in those of another client.
    pub fn add(&mut self, other: Self) {
        self.loads.extend(other.loads);
        self.batches.extend(other.batches);
        self.files.extend(other.files);
        self.listings.extend(other.listings);
    }
}

/// A load, and what was done with it.
#[derive(Debug)]
pub struct Load {
    pub round: usize,
    pub goods: Goods,
    /// The ids of its files.
    pub files: Vec<String>,
    pub made: Attempt,
    /// As the last answer showed it.
    pub shown: Value,
    pub proof: Option<Proof>,
    pub sent: Vec<Sending>,
}

impl Load {
    pub fn request(&self) -> Request<'_> {
        let (form, body) = self.goods.form(&self.files);
        Request::post(LOGISTICS, format!("/v1/loads/{form}"), self.made.key.as_deref(), Body::Json(body))
    }
}

/// A proof of a load's delivery.
#[derive(Debug)]
pub struct Proof {
    /// Tonnes.
    pub net: String,
    pub ticket: String,
    pub registration: String,
    /// The id of its file.
    pub file: String,
    pub done: Attempt,
}

impl Proof {
    pub fn request(&self, load: &str) -> Request<'_> {
        let body = json!({
            "weightNet": self.net.parse::<f64>().unwrap_or_default(), "ticketNumber": self.ticket,
            "vehicleRegistration": self.registration, "files": [{"id": self.file}],
        });
        let path = format!("/v1/loads/{load}/proof-of-delivery");
        Request::post(LOGISTICS, path, self.done.key.as_deref(), Body::Json(body))
    }
}

/// A load sent to its carrier or a driver.
#[derive(Debug)]
pub struct Sending {
    pub to_carrier: bool,
    /// Each has its own.
    pub recipient: String,
    pub done: Attempt,
}

impl Sending {
    pub fn request(&self, load: &str) -> Request<'_> {
        let (to, who) = if self.to_carrier { ("carrier", "carrierId") } else { ("driver", "driverId") };
        let body = json!({"loadId": load, who: self.recipient, "carrierName": goods::NAMES[OTHER]});
        Request::post(
            LOGISTICS,
            format!("/v1/loads/send-to-{to}"),
            self.done.key.as_deref(),
            Body::Json(body),
        )
    }
}

/// A batch of loads, drawn from numbers that follow each other.
#[derive(Debug)]
pub struct Batch {
    pub round: usize,
    pub name: String,
    pub first: usize,
    pub rows: usize,
    pub done: Attempt,
    /// The ids of its loads.
    pub ids: Vec<String>,
}

impl Batch {
    /// The loads that its rows are of.
    pub fn goods(&self) -> impl Iterator<Item = Goods> + '_ {
        (0..self.rows).map(|n| Goods::of(format!("{}-{n:05}", self.name), self.first + n, false))
    }

    pub fn request(&self) -> Request<'_> {
        let csv = goods::csv(self.goods()).into_bytes();
        let form =
            Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content: csv.into() };
        Request::post(LOGISTICS, "/v1/loads/batch", self.done.key.as_deref(), Body::Form(form))
    }
}

/// A file, and what was done with it.
#[derive(Debug)]
pub struct File {
    pub round: usize,
    pub name: String,
    /// What its content is drawn from.
    pub seed: usize,
    pub bytes: usize,
    /// SHA-256 in hex.
    pub hash: String,
    pub made: Attempt,
    pub archived: Option<State>,
    /// With the other organisation.
    pub shared: Option<State>,
}

impl File {
    pub fn request(&self) -> Request<'_> {
        let text = |name, value: &str| (name, value.to_owned());
        let form = Form {
            fields: vec![text("bucket", "files"), text("type", "misc"), text("name", &self.name)],
            file_name: "any.bin",
            media_type: "application/octet-stream",
            content: goods::content(self.seed, self.bytes).into(),
        };
        Request::post(SYSTEM, "/v1/files", self.made.key.as_deref(), Body::Form(form))
    }

    /// To be archived.
    pub fn archive(id: &str) -> Request<'static> {
        let path = format!("/v1/files/{id}");
        Request { service: SYSTEM, method: "DELETE", path, who: OWN, key: None, body: Body::Empty }
    }

    /// To be shared.
    pub fn share(id: &str) -> Request<'static> {
        let body = json!({"ids": [id], "shareWith": [ORGANISATIONS[OTHER]]});
        Request::post(SYSTEM, "/v1/files/resolve", None, Body::Json(body))
    }
}

/// A listing, and what was done with it.
#[derive(Debug)]
pub struct Listing {
    pub round: usize,
    /// Its description, which no other has.
    pub mark: String,
    pub category: &'static str,
    pub body: Value,
    /// The id of its file.
    pub file: Option<String>,
    pub made: Attempt,
    /// What it was to become, one after the other.
    pub steps: Vec<(&'static str, State)>,
    pub wished: Option<State>,
    pub reported: Option<State>,
}

impl Listing {
    pub fn request(&self) -> Request<'_> {
        let path = format!("/v1/listings/{}", self.category);
        Request::post(LIVESTOCK, path, self.made.key.as_deref(), Body::Json(self.body.clone()))
    }

    /// The status that it was created with.
    pub fn first(&self) -> &'static str {
        if self.body["isDraft"] == true { "draft" } else { "active" }
    }

    /// The status that it has for certain, and the one that it may have instead.
    pub fn status(&self) -> (&'static str, Option<&'static str>) {
        let (mut is, mut may) = (self.first(), None);
        for (to, state) in &self.steps {
            match state {
                State::Done(_) => is = to,
                State::Doubt => may = Some(*to),
                State::Not => {}
            }
        }
        (is, may)
    }

    /// To be published or closed.
    pub fn step(id: &str, to: &str) -> Request<'static> {
        let (verb, body) = if to == "active" {
            ("publish", Body::Empty)
        } else {
            ("close", Body::Json(json!({"status": to})))
        };
        Request::post(LIVESTOCK, format!("/v1/listings/{id}/{verb}"), None, body)
    }

    /// To be put on the wishlist.
    pub fn wish(id: &str) -> Request<'static> {
        let path = format!("/v1/listings/{id}/wishlist");
        Request { service: LIVESTOCK, method: "PUT", path, who: OWN, key: None, body: Body::Empty }
    }

    /// To be reported by the other organisation, with its own description.
    pub fn report(&self, id: &str) -> Request<'static> {
        let body = Body::Json(json!({"reason": "other", "message": self.mark}));
        Request { who: OTHER, ..Request::post(LIVESTOCK, format!("/v1/listings/{id}/report"), None, body) }
    }
}

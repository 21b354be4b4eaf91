//! The services as the people of the sample market use them.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use chrono::{NaiveDate, Utc};
use serde_json::Value;

use super::people::{self, ADMIN, FARMS, Person};
use crate::processes::http::{Body, Form, HttpClient, Response};
use crate::processes::interrupt::Interrupt;
use crate::processes::service::ServiceConfig;
use crate::processes::tokens::{DevKeys, Identity};

const REQUEST_TIMEOUT: Duration = Duration::from_secs(60);
const TOKEN_TTL: Duration = Duration::from_secs(3600);

/// Base URLs, a token for each person, and the date on which the market is filled.
pub struct Market<'a> {
    client: HttpClient,
    tokens: BTreeMap<&'static str, String>,
    interrupt: &'a Interrupt,
    /// Base URL of system.
    pub system: String,
    /// Base URL of logistics.
    pub logistics: String,
    /// Base URL of livestock.
    pub livestock: String,
    /// Today in UTC.
    pub today: NaiveDate,
}

impl<'a> Market<'a> {
    /// Signs a token for each person.
    pub fn new(services: &[ServiceConfig], keys: &DevKeys, interrupt: &'a Interrupt) -> Self {
        let admin = ["admin".to_owned()];
        let token = |person: Person| {
            let some = |text: &'static str| Some(text).filter(|text| !text.is_empty());
            let identity = Identity {
                user: person.user,
                name: Some(person.name),
                org: some(person.org),
                org_name: some(person.org_name),
                roles: if person == ADMIN { &admin } else { &[] },
            };
            (person.user, identity.token(keys, TOKEN_TTL))
        };
        let url = |index: usize| services.get(index).map(ServiceConfig::url).unwrap_or_default();
        Self {
            client: HttpClient::new(REQUEST_TIMEOUT),
            tokens: people::all().map(token).collect(),
            interrupt,
            system: url(0),
            logistics: url(1),
            livestock: url(2),
            today: Utc::now().date_naive(),
        }
    }

    /// Sends a GET request.
    pub fn get(&self, person: Person, url: &str) -> Result<Response> {
        self.send(person, "GET", url, None, &Body::Empty)
    }

    /// Sends a POST request. Requests with the same key are carried out once.
    pub fn post(&self, person: Person, url: &str, key: &str, body: &Body) -> Result<Value> {
        Ok(self.send(person, "POST", url, Some(key), body)?.json)
    }

    /// Sends a request without body.
    pub fn put(&self, person: Person, url: &str) -> Result<()> {
        self.send(person, "PUT", url, None, &Body::Empty).map(drop)
    }

    /// Uploads a PNG image and returns the id of the file.
    pub fn upload(&self, person: Person, kind: &str, name: &str, key: &str, png: Vec<u8>) -> Result<String> {
        let fields = [("bucket", "images"), ("type", kind), ("name", name)];
        let form = Form {
            fields: fields.map(|(field, value)| (field, value.to_owned())).to_vec(),
            file_name: "photograph.png",
            media_type: "image/png",
            content: png.into(),
        };
        let url = format!("{}/v1/files", self.system);
        id_of(&self.post(person, &url, key, &Body::Form(form))?)
    }

    /// The location of each farm, as system knows it.
    pub fn farm_locations(&self) -> Result<Vec<Value>> {
        FARMS.iter().map(|farm| self.location(farm.point)).collect()
    }

    /// The location at a point: the nearest postcode and place.
    pub fn location(&self, (lat, lon): (f64, f64)) -> Result<Value> {
        let url = format!("{}/v1/locations/coordinates?lat={lat}&lon={lon}", self.system);
        Ok(self.get(ADMIN, &url)?.json)
    }

    fn send(
        &self,
        person: Person,
        method: &str,
        url: &str,
        key: Option<&str>,
        body: &Body,
    ) -> Result<Response> {
        self.interrupt.check()?;
        let token = self.tokens.get(person.user).map(String::as_str);
        let key = key.map(|key| format!("sample-market-{key}"));
        let headers: Vec<_> = key.iter().map(|key| ("idempotency-key", key.as_str())).collect();
        let response = self.client.send_with(method, url, token, &headers, body)?;
        if response.status != 200 {
            bail!("{method} {url} of {}: status {}, {}", person.name, response.status, response.json);
        }
        Ok(response)
    }
}

/// The `id` of a response body.
pub fn id_of(body: &Value) -> Result<String> {
    body["id"].as_str().map(str::to_owned).with_context(|| format!("no id in the response {body}"))
}

/// The postcode of a location.
pub fn postcode(location: &Value) -> &str {
    location["address"]["postcode"].as_str().unwrap_or_default()
}

//! The walk: a day of haulage and farming over HTTP, each answer printed and checked against the contract.

mod check;
mod date;
mod listings;
mod loads;
mod market;
mod mistakes;
mod people;
mod places;
mod proof;
mod samples;
mod sending;
mod show;
mod tables;

use std::time::Duration;

use anyhow::{Result, bail, ensure};
use serde_json::Value;

use crate::client::{Answer, Body, Client};
use crate::keys::DevKeys;
use crate::multipart::Form;
use crate::services::Place;
use crate::stop::{Interrupted, Stop};

use self::people::{People, Person};
use self::samples::Sample;

/// Walks through every step; the first answer that is not as the contract says ends it.
pub fn run(place: &Place, keys: &DevKeys, stop: &Stop) -> Result<()> {
    let people = People::new(keys);
    let mut walk = Walk {
        client: Client::new(Duration::from_secs(30)),
        system: place.url(0),
        logistics: place.url(1),
        livestock: place.url(2),
        stamp: date::stamp(),
        step: 0,
        heading: "",
        calls: 0,
        stop,
    };
    if let Err(error) = walk.all(&people) {
        if error.is::<Interrupted>() {
            return Err(error);
        }
        let logs = place.data.join("log");
        bail!("step {}, \"{}\": {error:#}; the logs are in {}", walk.step, walk.heading, logs.display());
    }
    println!("\n{} steps, {} calls: all as the contract says.", walk.step, walk.calls);
    Ok(())
}

/// Where the walk stands.
struct Walk<'a> {
    client: Client,
    system: String,
    logistics: String,
    livestock: String,
    /// Makes references unique, so that the walk can be repeated over the same data.
    stamp: String,
    step: usize,
    heading: &'static str,
    calls: usize,
    stop: &'a Stop,
}

impl Walk<'_> {
    fn all(&mut self, people: &People) -> Result<()> {
        let (load, other) = loads::run(self, people)?;
        proof::run(self, people, &load)?;
        sending::run(self, people, &other)?;
        tables::run(self, people)?;
        listings::run(self, people)?;
        market::run(self, people)?;
        places::run(self)?;
        mistakes::run(self, people)
    }

    fn step(&mut self, heading: &'static str) {
        self.step += 1;
        self.heading = heading;
        show::heading(self.step, heading);
    }

    fn get(&mut self, who: Option<&Person>, url: &str, status: u16) -> Result<Answer> {
        self.call(who, "GET", url, &Body::Empty, status)
    }

    fn post(&mut self, who: Option<&Person>, url: &str, body: Value, status: u16) -> Result<Answer> {
        self.call(who, "POST", url, &Body::Json(body), status)
    }

    /// Uploads a sample and gives back the File record.
    fn upload(&mut self, who: &Person, bucket: &str, kind: &str, sample: &Sample) -> Result<Answer> {
        let name = format!("{} {}", sample.title, self.stamp);
        let form = Form {
            fields: vec![("bucket", bucket.into()), ("type", kind.into()), ("name", name.clone())],
            file_name: sample.file,
            media_type: sample.media_type,
            content: sample.content.into(),
        };
        let url = format!("{}/v1/files", self.system);
        let answer = self.call(Some(who), "POST", &url, &Body::Form(form), 200)?;
        check::uuid(&answer, "/id")?;
        check::equal(&answer, "/status", "active")?;
        check::equal(&answer, "/type", kind)?;
        check::equal(&answer, "/organisationId", who.org)?;
        check::equal(&answer, "/info/name", name)?;
        check::equal(&answer, "/info/contentType", sample.media_type)?;
        check::equal(&answer, "/info/url", format!("{url}/{}", check::text(&answer, "/id")?))?;
        Ok(answer)
    }

    /// Downloads a file and compares every byte.
    fn download(&mut self, who: &Person, url: &str, sample: &Sample) -> Result<()> {
        let answer = self.get(Some(who), url, 200)?;
        let same = answer.bytes == sample.content;
        ensure!(same, "the download is not the file that was sent ({} bytes came)", answer.bytes.len());
        show::passed("every byte is as it was uploaded");
        Ok(())
    }

    fn call(
        &mut self,
        who: Option<&Person>,
        method: &str,
        url: &str,
        body: &Body,
        status: u16,
    ) -> Result<Answer> {
        self.stop.check()?;
        show::request(who, method, url, body);
        let answer = self.client.send(method, url, who.map(|person| person.token.as_str()), body)?;
        self.calls += 1;
        show::answer(&answer);
        ensure!(
            answer.status == status,
            "{method} {url} answered {} where the contract says {status}; the log of that service has request {}",
            answer.status,
            answer.header("x-request-id")
        );
        Ok(answer)
    }
}

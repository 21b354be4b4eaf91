//! A service with something in it that is known, what is asked of it under load, and what is found there afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::load::{Request, Work};
use crate::client::{Answer, Body};
use crate::databases::Databases;
use crate::multipart::Form;
use crate::service::Service;

/// So many loads or listings are known.
const KNOWN: usize = 12;
/// Whose they are.
const OLD: &str = "org-known";
/// Whose those are that are written meanwhile.
pub const NEW: &str = "org-new";
/// The file that is known.
const CONTENT: &[u8] = b"weighbridge,29.4\n";

/// What files are made larger with.
pub const FILLER: u8 = b'.';

/// How often each mark was found.
pub type Marks = BTreeMap<String, usize>;

/// A service.
pub struct Site {
    /// The service itself.
    pub service: Service,
    /// Something that is there.
    pub known: String,
}

/// What makes requests to a service.
#[derive(Clone)]
struct Asker(Arc<(String, String, String)>);

impl Asker {
    fn ask(&self, method: &'static str, path: &str, body: Body, mark: Option<(String, bool)>) -> Request {
        let (base, old, new) = &*self.0;
        let token = if mark.is_some() { new } else { old };
        let key = mark.as_ref().filter(|(_, keyed)| *keyed).map(|(mark, _)| mark.clone());
        let (url, token) = (format!("{base}{path}"), Some(token.clone()));
        Request { method, url, token, body, mark: mark.map(|(mark, _)| mark), key }
    }

    /// Asks for a path again and again.
    fn read(
        &self,
        name: &'static str,
        path: String,
        right: impl Fn(&Answer) -> bool + Send + Sync + 'static,
    ) -> Work {
        let asker = self.clone();
        let ask = Box::new(move |_| asker.ask("GET", &path, Body::Empty, None));
        Work { name, ask, right: Box::new(right), also: &[], apart: false, breaks: false }
    }

    /// Writes something new each time, every other time with a key.
    fn write(
        &self,
        name: &'static str,
        path: &'static str,
        run: &str,
        body: impl Fn(String) -> Body + Send + Sync + 'static,
    ) -> Work {
        let (asker, run) = (self.clone(), run.to_owned());
        let ask = Box::new(move |number: usize| {
            let mark = format!("{run}-{number}");
            asker.ask("POST", path, body(mark.clone()), Some((mark, number.is_multiple_of(2))))
        });
        Work {
            name,
            ask,
            right: Box::new(|answer| !answer.json.is_null()),
            also: &[],
            apart: false,
            breaks: false,
        }
    }
}

impl Site {
    /// Puts a few things into a service.
    pub fn new(service: Service) -> Result<Self> {
        let mut site = Self { service, known: String::new() };
        let (old, service) = (site.service.token(Some(OLD)), &site.service);
        let send = |path: &str, body: Body| {
            let answer = service.send("POST", path, &old, &body)?;
            Ok::<_, anyhow::Error>(answer.json["id"].as_str().context("no id was given")?.to_owned())
        };
        for number in 0..KNOWN {
            site.known = match service.name {
                "system" => send("/v1/files", file("known".into(), CONTENT.to_vec()))?,
                "logistics" => {
                    send("/v1/loads/organiser", load(OLD, &format!("KNOWN-{number}"), &json!(null)))?
                }
                _ => send("/v1/listings/sheep", listing(&format!("KNOWN-{number}"), &json!(null)))?,
            };
        }
        Ok(site)
    }

    fn asker(&self) -> Asker {
        let token = |org| self.service.token(Some(org));
        Asker(Arc::new((self.service.url(""), token(OLD), token(NEW))))
    }

    /// Light load: writes, reads of what is known, and what an orchestrator asks.
    pub fn works(&self, run: &str) -> Vec<Work> {
        let (asker, known) = (self.asker(), self.known.clone());
        let id = move |answer: &Answer| answer.json["id"] == known.as_str();
        let all = |answer: &Answer| answer.json.as_array().is_some_and(|found| found.len() == KNOWN);
        let mut works = match self.service.name {
            "system" => vec![
                self.uploads(run),
                asker.read("download", format!("/v1/files/{}", self.known), |answer| answer.bytes == CONTENT),
                asker.read("information", format!("/v1/files/{}/info", self.known), |answer| {
                    answer.json["name"] == "known"
                }),
            ],
            "logistics" => vec![
                asker.write("create load", "/v1/loads/organiser", run, |mark| load(NEW, &mark, &json!(null))),
                asker.read("read load", format!("/v1/loads/{}", self.known), id),
                asker.read("search loads", format!("/v1/loads?f:organiserId={OLD}&limit=100"), all),
            ],
            _ => vec![
                asker.write("create listing", "/v1/listings/sheep", run, |mark| listing(&mark, &json!(null))),
                asker.read("search listings", format!("/v1/listings?f:organisationId={OLD}&limit=100"), all),
                asker.read("facets", format!("/v1/listings?docs=false&f:organisationId={OLD}"), |answer| {
                    answer.json["total"] == KNOWN
                }),
            ],
        };
        works.extend(self.probes());
        works
    }

    /// What an orchestrator asks: the first must be answered well whatever is broken.
    pub fn probes(&self) -> Vec<Work> {
        let asker = self.asker();
        let mut probes = [("healthz", "/healthz"), ("readyz", "/readyz")]
            .map(|(n, path)| asker.read(n, path.into(), |_| true));
        probes[0].apart = true;
        probes[1].also = &[503];
        probes.into()
    }

    /// Uploads of small files, each another.
    pub fn uploads(&self, run: &str) -> Work {
        self.asker().write("upload", "/v1/files", run, |mark| file(mark.clone(), mark.into_bytes()))
    }

    /// A read of a path that is right if `right` says so.
    pub fn read(
        &self,
        name: &'static str,
        path: impl Into<String>,
        right: impl Fn(&Answer) -> bool + Send + Sync + 'static,
    ) -> Work {
        self.asker().read(name, path.into(), right)
    }

    /// A write of bodies made of their marks.
    pub fn write(
        &self,
        name: &'static str,
        path: &'static str,
        run: &str,
        body: impl Fn(String) -> Body + Send + Sync + 'static,
    ) -> Work {
        self.asker().write(name, path, run, body)
    }

    /// Loads or listings with a file.
    pub fn with_file(&self, run: &str, file: &str) -> Work {
        let files = json!([{ "id": file }]);
        match self.service.name {
            "logistics" => {
                self.write("load with file", "/v1/loads/organiser", run, move |mark| load(NEW, &mark, &files))
            }
            _ => {
                self.write("listing with file", "/v1/listings/sheep", run, move |mark| listing(&mark, &files))
            }
        }
    }

    /// What there is with marks of this run, page by page, newest first; of files what the database says.
    pub fn marks(&self, run: &str, databases: Option<&Databases>) -> Result<Marks> {
        let mut marks = Marks::new();
        let mut count = |mark: &str| *marks.entry(mark.to_owned()).or_default() += 1;
        if self.service.name == "system" {
            let databases = databases.context("files are listed by the database only")?;
            let names =
                databases.say("system", &format!("SELECT name FROM files WHERE name LIKE '{run}%'"))?;
            names.lines().for_each(count);
            return Ok(marks);
        }
        for row in self.pages(NEW, 100)? {
            let mark = row["reference"].as_str().or(row["tags"][0].as_str()).unwrap_or_default();
            if mark.starts_with(run) {
                count(mark);
            }
        }
        Ok(marks)
    }

    /// All loads or listings of somebody, newest first, so many at a time.
    pub fn pages(&self, org: &str, limit: usize) -> Result<Vec<Value>> {
        let token = self.service.token(Some(org));
        let page = match self.service.name {
            "logistics" => format!("/v1/loads?limit={limit}&f:organiserId={org}"),
            _ => format!("/v1/listings?limit={limit}&f:organisationId={org}"),
        };
        let (mut all, mut next) = (Vec::new(), page.clone());
        loop {
            let answer = self.service.get(&next, &token)?;
            let rows = answer.json.as_array().context("a page is no array")?;
            all.extend(rows.iter().cloned());
            let cursor = answer.header("link").split("cursor=").nth(1);
            let Some(cursor) = cursor.and_then(|rest| rest.split(['>', '&']).next()) else { break };
            ensure!(!rows.is_empty(), "a page before the last is empty");
            next = format!("{page}&cursor={cursor}");
        }
        Ok(all)
    }

    /// Whether a file is there and begins so; what makes it larger is all the same.
    pub fn has_file(&self, id: &str, content: &[u8]) -> Result<bool> {
        let answer = self.service.get(&format!("/v1/files/{id}"), &self.service.token(Some(NEW)))?;
        let rest = answer.bytes.strip_prefix(content);
        Ok(rest.is_some_and(|rest| rest.iter().all(|byte| *byte == FILLER)))
    }
}

/// A load that somebody organises.
pub fn load(organiser: &str, reference: &str, files: &Value) -> Body {
    Body::Json(json!({
        "organiserId": organiser, "organiserName": "Grain", "carrierId": "haul", "carrierName": "Haulage",
        "commodityId": 1, "reference": reference, "deliveryDateISO": "2026-08-01", "weight": 28, "weightNet": null,
        "files": files, "tags": [],
    }))
}

/// A listing that is found by its tag.
pub fn listing(tag: &str, files: &Value) -> Body {
    Body::Json(json!({
        "type": "selling", "isDraft": false, "categoryIds": [1], "location": null, "price": {"type": "poa"},
        "files": files, "description": "Sound.", "tags": [tag],
        "properties": {"breed": "Texel", "type": ["store"], "quantity": 3, "sexes": "ewes", "additionalInfo": []},
    }))
}

/// A file of this name.
pub fn file(name: String, content: Vec<u8>) -> Body {
    Body::Form(Form {
        fields: vec![("bucket", "files".into()), ("type", "misc".into()), ("name", name)],
        file_name: "ticket.csv",
        media_type: "text/csv",
        content: content.into(),
    })
}

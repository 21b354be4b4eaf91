//! A service with something in it that is known, what is asked of it under load, and what is found there afterwards.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, ensure};
use serde_json::{Value, json};

use super::{Request, Work};
use crate::client::{Answer, Body, Client};
use crate::databases::Databases;
use crate::multipart::Form;
use crate::service::Service;

/// So many loads or listings are known.
pub const KNOWN: usize = 12;
/// Whose they are.
pub const OLD: &str = "org-known";
/// Whose those are that are written meanwhile.
pub const NEW: &str = "org-new";
/// Putting one thing there takes less.
const PATIENCE: Duration = Duration::from_secs(30);
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

/// What makes requests to a service at an address, which may be a proxy's.
#[derive(Clone)]
pub struct Asker(Arc<(String, String, String)>);

impl Asker {
    /// At this address, with tokens made for organisations.
    pub fn new(base: String, token: impl Fn(&str) -> String) -> Self {
        Self(Arc::new((base, token(OLD), token(NEW))))
    }

    /// Puts the things that are known into a service, and gives the id of the last one.
    pub fn fill(&self, name: &str, client: &Client) -> Result<String> {
        let (base, old, _) = &*self.0;
        let mut known = Err(anyhow!("nothing is known"));
        for number in 0..KNOWN {
            let (path, body) = match name {
                "system" => ("/v1/files", file("known".into(), CONTENT.to_vec())),
                "logistics" => ("/v1/loads/organiser", load(OLD, &format!("KNOWN-{number}"), &json!(null))),
                _ => ("/v1/listings/sheep", listing(&format!("KNOWN-{number}"), &json!(null))),
            };
            let answer = client.send("POST", &format!("{base}{path}"), Some(old), &body)?;
            known = answer.json["id"]
                .as_str()
                .map(str::to_owned)
                .with_context(|| format!("no id in {}", answer.json));
            if known.is_err() {
                break;
            }
        }
        known
    }

    /// Light load: writes, and reads of what is known.
    pub fn works(&self, name: &str, known: &str, run: &str) -> Vec<Work> {
        let own = known.to_owned();
        let id = move |answer: &Answer| answer.json["id"] == own.as_str();
        let all = |answer: &Answer| answer.json.as_array().is_some_and(|found| found.len() == KNOWN);
        match name {
            "system" => vec![
                self.uploads(run),
                self.read("download", format!("/v1/files/{known}"), |answer| answer.bytes == CONTENT),
                self.read("information", format!("/v1/files/{known}/info"), |answer| {
                    answer.json["name"] == "known"
                }),
            ],
            "logistics" => vec![
                self.write("create load", "/v1/loads/organiser", run, |mark| load(NEW, &mark, &json!(null))),
                self.read("read load", format!("/v1/loads/{known}"), id),
                self.read("search loads", format!("/v1/loads?f:organiserId={OLD}&limit=100"), all),
            ],
            _ => vec![
                self.write("create listing", "/v1/listings/sheep", run, |mark| listing(&mark, &json!(null))),
                self.read("search listings", format!("/v1/listings?f:organisationId={OLD}&limit=100"), all),
                self.read("facets", format!("/v1/listings?docs=false&f:organisationId={OLD}"), |answer| {
                    answer.json["total"] == KNOWN
                }),
            ],
        }
    }

    /// Uploads of small files, each another.
    pub fn uploads(&self, run: &str) -> Work {
        self.write("upload", "/v1/files", run, |mark| file(mark.clone(), mark.into_bytes()))
    }

    /// Loads or listings with a file.
    pub fn with_file(&self, name: &str, run: &str, file: &str) -> Work {
        let files = json!([{ "id": file }]);
        match name {
            "logistics" => {
                self.write("load with file", "/v1/loads/organiser", run, move |mark| load(NEW, &mark, &files))
            }
            _ => {
                self.write("listing with file", "/v1/listings/sheep", run, move |mark| listing(&mark, &files))
            }
        }
    }

    /// All loads or listings of whose they are that are written meanwhile, newest first, so many at a time.
    pub fn pages(&self, name: &str, limit: usize, client: &Client) -> Result<Vec<Value>> {
        let (base, _, new) = &*self.0;
        pages(name, NEW, limit, &|path| {
            let answer = client.send("GET", &format!("{base}{path}"), Some(new), &Body::Empty)?;
            ensure!(answer.status == 200, "{path} answered {}", answer.status);
            Ok(answer)
        })
    }

    fn ask(&self, method: &'static str, path: &str, body: Body, mark: Option<(String, bool)>) -> Request {
        let (base, old, new) = &*self.0;
        let token = if mark.is_some() { new } else { old };
        let key = mark.as_ref().filter(|(_, keyed)| *keyed).map(|(mark, _)| mark.clone());
        let (url, token) = (format!("{base}{path}"), Some(token.clone()));
        Request { method, url, token, body, mark: mark.map(|(mark, _)| mark), key }
    }

    /// Asks for a path again and again; it is right if `right` says so.
    pub fn read(
        &self,
        name: &'static str,
        path: impl Into<String>,
        right: impl Fn(&Answer) -> bool + Send + Sync + 'static,
    ) -> Work {
        let (asker, path) = (self.clone(), path.into());
        let ask = Box::new(move |_| asker.ask("GET", &path, Body::Empty, None));
        Work { name, ask, right: Box::new(right), also: &[], apart: false, breaks: false }
    }

    /// Writes something new each time, of bodies made of marks, every other time with a key.
    pub fn write(
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
        site.known = site.asker().fill(site.service.name, &Client::new(PATIENCE))?;
        Ok(site)
    }

    /// What makes requests to it.
    pub fn asker(&self) -> Asker {
        Asker::new(self.service.url(""), |org| self.service.token(Some(org)))
    }

    /// Light load: writes, reads of what is known, and what an orchestrator asks.
    pub fn works(&self, run: &str) -> Vec<Work> {
        let mut works = self.asker().works(self.service.name, &self.known, run);
        works.extend(self.probes());
        works
    }

    /// What an orchestrator asks: the first must be answered well whatever is broken.
    pub fn probes(&self) -> Vec<Work> {
        let asker = self.asker();
        let mut probes =
            [("healthz", "/healthz"), ("readyz", "/readyz")].map(|(n, path)| asker.read(n, path, |_| true));
        probes[0].apart = true;
        probes[1].also = &[503];
        probes.into()
    }

    /// What there is with marks of this run, page by page, newest first; of files what the database says.
    pub fn marks(&self, run: &str, databases: Option<&Databases>) -> Result<Marks> {
        if self.service.name == "system" {
            let databases = databases.context("files are listed by the database only")?;
            let names =
                databases.say("system", &format!("SELECT name FROM files WHERE name LIKE '{run}%'"))?;
            let mut marks = Marks::new();
            names.lines().for_each(|name| *marks.entry(name.to_owned()).or_default() += 1);
            return Ok(marks);
        }
        Ok(marks_of(&self.pages(NEW, 100)?, run))
    }

    /// All loads or listings of somebody, newest first, so many at a time.
    pub fn pages(&self, org: &str, limit: usize) -> Result<Vec<Value>> {
        let token = self.service.token(Some(org));
        pages(self.service.name, org, limit, &|path| self.service.get(path, &token))
    }

    /// Whether a file is there and begins so; what makes it larger is all the same.
    pub fn has_file(&self, id: &str, content: &[u8]) -> Result<bool> {
        let answer = self.service.get(&format!("/v1/files/{id}"), &self.service.token(Some(NEW)))?;
        let rest = answer.bytes.strip_prefix(content);
        Ok(rest.is_some_and(|rest| rest.iter().all(|byte| *byte == FILLER)))
    }
}

/// All loads or listings of somebody, by what gets a path.
fn pages(name: &str, org: &str, limit: usize, get: &dyn Fn(&str) -> Result<Answer>) -> Result<Vec<Value>> {
    let page = match name {
        "logistics" => format!("/v1/loads?limit={limit}&f:organiserId={org}"),
        _ => format!("/v1/listings?limit={limit}&f:organisationId={org}"),
    };
    let (mut all, mut next) = (Vec::new(), page.clone());
    loop {
        let answer = get(&next)?;
        let rows = answer.json.as_array().context("a page is no array")?;
        all.extend(rows.iter().cloned());
        let Some(cursor) = answer.cursor() else { return Ok(all) };
        ensure!(!rows.is_empty(), "a page before the last is empty");
        next = format!("{page}&cursor={cursor}");
    }
}

/// What somebody wrote in a run, by the mark of each row: how often each was found.
pub fn marks_of(rows: &[Value], run: &str) -> Marks {
    let mut marks = Marks::new();
    for row in rows {
        let mark = row["reference"].as_str().or(row["tags"][0].as_str()).unwrap_or_default();
        if mark.starts_with(run) {
            *marks.entry(mark.to_owned()).or_default() += 1;
        }
    }
    marks
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

//! What people do at the address of the proxy while replicas come and go, and what became of it.

use anyhow::{Context, Result};

use super::stage::Stage;
use crate::client::{Answer, Body};
use crate::load::site::{Asker, KNOWN, NEW, OLD, file, marks_of};
use crate::load::{Events, Outcome, Work};
use crate::workspace::SERVICES;

/// An upload of so many bytes more takes a while.
const LARGE: usize = 300_000;
/// The rows of an export of what is known, and its head.
const LINES: usize = KNOWN + 1;
/// What may be cut off in the middle: nobody can take back what was sent.
const STREAMS: [&str; 3] = ["download", "export of loads", "export of listings"];

/// Those who work with the services.
pub struct People {
    /// A service, what asks it, and what is known of it.
    sites: Vec<(&'static str, Asker, String)>,
    /// A file that may be named.
    ticket: String,
}

impl People {
    /// Puts something known into the services.
    pub fn new(stage: &Stage<'_>) -> Result<Self> {
        let site = |name| {
            let asker = Asker::new(stage.url(name), |org| stage.token(Some(org)));
            let known = asker.fill(name, &stage.client)?;
            Ok((name, asker, known))
        };
        let sites = SERVICES.into_iter().map(site).collect::<Result<_>>()?;
        let (url, token) = (stage.url("system") + "/v1/files", stage.token(Some(NEW)));
        let answer =
            stage.client.send("POST", &url, Some(&token), &file("ticket".into(), b"29.4".to_vec()))?;
        let ticket = answer.json["id"].as_str().context("an upload gave no id")?.to_owned();
        Ok(Self { sites, ticket })
    }

    /// Reads and writes with and without keys, uploads, downloads, exports, and loads and listings with files, which
    /// logistics and livestock ask system about.
    pub fn works(&self, run: &str) -> Vec<Work> {
        self.sites.iter().flat_map(|(name, asker, _)| self.works_of(name, asker, run)).collect()
    }

    /// Those of one service, at an address.
    pub fn works_of(&self, name: &str, asker: &Asker, run: &str) -> Vec<Work> {
        let known = self.sites.iter().find(|(site, ..)| *site == name).map_or("", |(.., known)| known);
        let mut works = asker.works(name, known, run);
        let whole = |answer: &Answer| String::from_utf8_lossy(&answer.bytes).lines().count() == LINES;
        let with_file = || asker.with_file(name, &format!("{run}F"), &self.ticket);
        match name {
            "system" => {
                let large =
                    |mark: String| file(mark.clone(), [mark.into_bytes(), vec![b'.'; LARGE]].concat());
                works.push(asker.write("large upload", "/v1/files", &format!("{run}L"), large));
                let path = "/v1/locations/coordinates?lat=52.05&lon=-2.7";
                works.push(asker.read("place", path, |answer| answer.json["threeWords"].is_string()));
            }
            "logistics" => {
                let path = format!("/v1/loads?format=CSV&f:organiserId={OLD}");
                works.extend([with_file(), asker.read("export of loads", path, whole)]);
            }
            _ => {
                let path = format!("/v1/listings?format=CSV&f:organisationId={OLD}");
                works.extend([with_file(), asker.read("export of listings", path, whole)]);
            }
        }
        for work in &mut works {
            work.breaks = STREAMS.contains(&work.name);
        }
        works
    }

    /// What was acknowledged and is not there, once; what is there more than once.
    pub fn lies(&self, stage: &Stage<'_>, run: &str, events: &Events) -> Result<Vec<String>> {
        let mut lies = Vec::new();
        for (name, asker, _) in &self.sites {
            let marks = if *name == "system" {
                let names = format!(
                    "SELECT json_build_object('reference', name) FROM files WHERE name LIKE '{run}%';"
                );
                let rows = stage.say(name, &names)?;
                let rows = rows.lines().map(serde_json::from_str).collect::<Result<Vec<_>, _>>()?;
                marks_of(&rows, run)
            } else {
                marks_of(&asker.pages(name, 100, &stage.client)?, run)
            };
            for event in events.writes_to(&stage.url(name)) {
                let Some(mark) = &event.mark else { continue };
                let found = marks.get(mark).copied().unwrap_or_default();
                let content = |id: &str| {
                    let url = format!("{}/v1/files/{id}", stage.url(name));
                    let answer =
                        stage.client.send("GET", &url, Some(&stage.token(Some(NEW))), &Body::Empty)?;
                    Ok::<_, anyhow::Error>(answer.bytes.starts_with(mark.as_bytes()))
                };
                let right = match &event.outcome {
                    Outcome::Good(_, id) => found == 1 && (*name != "system" || content(id)?),
                    _ => found <= 1,
                };
                if !right {
                    lies.push(format!("{name}: {mark} was {:?} and is there {found} times", event.outcome));
                }
            }
        }
        Ok(lies)
    }
}

//! Files: uploaded to one replica, they are downloaded, shared and archived at any, at once, and logistics and
//! livestock find them through the proxy.

use std::cell::Cell;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::stage::Stage;
use crate::client::{Answer, Body};
use crate::load::site::{NEW, file, listing, load};
use crate::service::Service;

const OTHER: &str = "org-other";

/// So many files go all the way, each beginning at another replica.
pub fn run(stage: &Stage<'_>) -> Result<()> {
    let count = if stage.trial.short { 6 } else { 40 };
    let wrong = Cell::new(0);
    for number in 0..count {
        Way { stage, number, wrong: &wrong }.go()?;
    }
    stage.trial.expect(
        wrong.get() == 0,
        format!(
            "{count} files uploaded at one, then read, shared, named and archived at others: not so at once"
        ),
        wrong.get().to_string(),
        "0",
    )
}

struct Way<'a> {
    stage: &'a Stage<'a>,
    number: usize,
    wrong: &'a Cell<usize>,
}

impl Way<'_> {
    fn go(&self) -> Result<()> {
        let systems: Vec<_> = self.stage.of("system").collect();
        let (one, other) = (systems[self.number % 2], systems[(self.number + 1) % 2]);
        let content = format!("content {}\n", self.number).into_bytes();
        let answer = self.ask(one, "POST", "/v1/files", NEW, &file("way".into(), content.clone()))?;
        let id = answer.json["id"].as_str().context("an upload gave no id")?.to_owned();
        let url = answer.json["info"]["url"].as_str().unwrap_or_default().to_owned();
        self.see(url.starts_with(&self.stage.url("system")), "its address is the proxy's", &answer);
        let path = format!("/v1/files/{id}");
        let answer = self.ask(other, "GET", &path, NEW, &Body::Empty)?;
        self.see(answer.bytes == content, "downloaded from the other", &answer);
        let through =
            self.stage.client.send("GET", &url, Some(&self.stage.token(Some(NEW))), &Body::Empty)?;
        self.see(through.bytes == content, "downloaded by its address", &through);
        self.status(other, "GET", &path, OTHER, &Body::Empty, 403)?;
        self.named(&id, 200)?;
        let share = Body::Json(json!({"ids": [id], "shareWith": [OTHER]}));
        self.status(one, "POST", "/v1/files/resolve", NEW, &share, 200)?;
        self.status(other, "GET", &path, OTHER, &Body::Empty, 200)?;
        self.status(one, "DELETE", &path, NEW, &Body::Empty, 200)?;
        self.status(other, "GET", &path, NEW, &Body::Empty, 404)?;
        self.status(other, "DELETE", &path, NEW, &Body::Empty, 409)?;
        let answer = self.ask(other, "GET", &format!("{path}/info"), NEW, &Body::Empty)?;
        self.see(answer.json["status"] == "archived", "archived at the other", &answer);
        self.named(&id, 400)
    }

    /// Every replica of logistics and livestock is given its id.
    fn named(&self, id: &str, status: u16) -> Result<()> {
        let files: Value = json!([{ "id": id }]);
        for replica in self.stage.of("logistics") {
            let body = load(NEW, &format!("F-{}", self.number), &files);
            self.status(replica, "POST", "/v1/loads/organiser", NEW, &body, status)?;
        }
        for replica in self.stage.of("livestock") {
            self.status(replica, "POST", "/v1/listings/sheep", NEW, &listing("F", &files), status)?;
        }
        Ok(())
    }

    fn status(
        &self,
        at: &Service,
        method: &str,
        path: &str,
        org: &str,
        body: &Body,
        status: u16,
    ) -> Result<()> {
        let answer = self.ask(at, method, path, org, body)?;
        self.see(answer.status == status, &format!("{method} {path} is {status}"), &answer);
        Ok(())
    }

    fn ask(&self, at: &Service, method: &str, path: &str, org: &str, body: &Body) -> Result<Answer> {
        let answer = self.stage.ask(at, method, path, &self.stage.token(Some(org)), body)?;
        ensure!(answer.status < 500, "{method} {path} answered {}: {}", answer.status, answer.json);
        Ok(answer)
    }

    fn see(&self, right: bool, what: &str, answer: &Answer) {
        if !right {
            self.wrong.set(self.wrong.get() + 1);
            eprintln!("    not so: {what}: {} {}", answer.status, answer.json);
        }
    }
}

//! A file that is uploaded, shared or archived at one replica is so at all others at once.

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::market::{organised_load, sheep_listing, upload};
use testkit::processes::http::{Body, Response};
use testkit::processes::service::ServiceProcess;

use super::deployment::Deployment;
use crate::ledger::Ledger;
use crate::traffic::WRITE_ORG;

const OTHER_ORG: &str = "org-other";

/// Uploads, shares and archives files, each time at another replica of system.
pub fn run(deployment: &Deployment<'_>) -> Result<()> {
    let count = if deployment.trial.short { 6 } else { 40 };
    let mut checks = FileChecks { deployment, ledger: Ledger::default() };
    (0..count).try_for_each(|number| checks.check(number))?;
    let violations = checks.ledger.violations();
    deployment.trial.expect(
        violations == 0,
        format!(
            "{count} files uploaded at one replica; read, shared, used and archived at others: violations"
        ),
        violations.to_string(),
        "0",
    )
}

struct FileChecks<'a> {
    deployment: &'a Deployment<'a>,
    ledger: Ledger,
}

impl FileChecks<'_> {
    fn check(&mut self, number: usize) -> Result<()> {
        let systems = self.deployment.replicas("system");
        let (one, other) = (&systems[number % 2], &systems[(number + 1) % 2]);
        let content = format!("content {number}\n").into_bytes();
        let form = Body::Form(upload("shared", content.clone()));
        let uploaded = self.send(one, "POST", "/v1/files", WRITE_ORG, &form, 200)?;
        let id = uploaded.json["id"].as_str().context("an upload returned no id")?.to_owned();
        let url = uploaded.json["info"]["url"].as_str().unwrap_or_default().to_owned();
        let is_proxied = url.starts_with(&self.deployment.proxy.url("system"));
        self.ledger.check_content(is_proxied, || format!("the URL of a file is {url}"));
        let token = self.deployment.token(Some(WRITE_ORG));
        let proxied = self.deployment.http.send("GET", &url, Some(&token), &Body::Empty)?;
        let path = format!("/v1/files/{id}");
        let direct = self.send(other, "GET", &path, WRITE_ORG, &Body::Empty, 200)?;
        for response in [direct, proxied] {
            let is_same = response.bytes == content;
            self.ledger.check_content(is_same, || format!("{path} returned {}", response.status));
        }
        self.send(other, "GET", &path, OTHER_ORG, &Body::Empty, 403)?;
        self.use_everywhere(&id, 200)?;
        let share = Body::Json(json!({"ids": [id], "shareWith": [OTHER_ORG]}));
        self.send(one, "POST", "/v1/files/resolve", WRITE_ORG, &share, 200)?;
        self.send(other, "GET", &path, OTHER_ORG, &Body::Empty, 200)?;
        self.send(one, "DELETE", &path, WRITE_ORG, &Body::Empty, 200)?;
        self.send(other, "GET", &path, WRITE_ORG, &Body::Empty, 404)?;
        self.send(other, "DELETE", &path, WRITE_ORG, &Body::Empty, 409)?;
        let info = self.send(other, "GET", &format!("{path}/info"), WRITE_ORG, &Body::Empty, 200)?;
        self.ledger.check_content(info.json["status"] == "archived", || format!("{path}: {}", info.json));
        self.use_everywhere(&id, 400)
    }

    /// Creates a load or listing with the file at every replica of logistics and livestock.
    fn use_everywhere(&mut self, id: &str, status: u16) -> Result<()> {
        let files = json!([{ "id": id }]);
        let load = Body::Json(organised_load(WRITE_ORG, "with file", &files));
        let listing = Body::Json(sheep_listing("with file", &files));
        for (name, path, body) in
            [("logistics", "/v1/loads/organiser", load), ("livestock", "/v1/listings/sheep", listing)]
        {
            for replica in self.deployment.replicas(name) {
                self.send(replica, "POST", path, WRITE_ORG, &body, status)?;
            }
        }
        Ok(())
    }

    /// Sends a request and checks the status of the response.
    fn send(
        &mut self,
        replica: &ServiceProcess,
        method: &str,
        path: &str,
        org: &str,
        body: &Body,
        status: u16,
    ) -> Result<Response> {
        let token = self.deployment.token(Some(org));
        let response = replica.call(method, path, &token, None, body)?;
        let describe = || format!("{method} {path} returned {}: {}", response.status, response.json);
        ensure!(response.status < 500, "{}", describe());
        self.ledger.check_content(response.status == status, || format!("{}, not {status}", describe()));
        Ok(response)
    }
}

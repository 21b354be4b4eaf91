//! Creates the objects of a snapshot.

use anyhow::{Context, Result};
use serde_json::json;
use stack::fixtures::{organised_load, sheep_listing, upload};
use stack::http::Body;
use stack::multipart::Form;

use super::{OWNER, PARTNER, Snapshot, TIMEOUT};
use crate::restore::deployment::{Deployment, LIVESTOCK, LOGISTICS, SYSTEM};

/// Number of loads, listings and files.
const COUNT: usize = 12;
/// Notifications of drivers: those before the second number are delivered, the others are pending.
const SENT: std::ops::Range<usize> = 1..7;
const FIRST_PENDING: usize = 4;

impl Snapshot {
    /// Creates objects of every kind and records their responses.
    pub(super) fn seed(&mut self, deployment: &Deployment<'_>) -> Result<()> {
        let files = self.seed_files(deployment)?;
        let available = &files[..COUNT - 1];
        self.seed_loads(deployment, available)?;
        self.seed_listings(deployment, available)?;
        // Loads and listings have shared their files by now.
        for id in &files {
            for (suffix, org) in [("", OWNER), ("", PARTNER), ("/info", OWNER)] {
                self.record(deployment, SYSTEM, format!("/v1/files/{id}{suffix}"), Some(org))?;
            }
        }
        let settings = Body::Json(json!({"logging": {"level": "info", "filter": "actix_web=warn"}}));
        for service in [SYSTEM, LOGISTICS, LIVESTOCK] {
            deployment.send(service, "PUT", "/v1/settings", None, &settings)?;
            self.record(deployment, service, "/v1/settings", None)?;
        }
        Ok(())
    }

    /// Public and private files, one shared and one archived.
    fn seed_files(&mut self, deployment: &Deployment<'_>) -> Result<Vec<String>> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let content = vec![b'a' + u8::try_from(number)?; 1 << (number + 8)];
            let mut form = upload(format!("known {number}"), content);
            if number % 3 == 0 {
                form.fields =
                    vec![("bucket", "files".into()), ("type", "sample".into()), ("name", "a".into())];
            }
            ids.push(self.write(deployment, SYSTEM, "/v1/files", Body::Form(form))?);
        }
        let share = Body::Json(json!({"ids": [ids[1]], "shareWith": [PARTNER]}));
        deployment.send(SYSTEM, "POST", "/v1/files/resolve", Some(OWNER), &share)?;
        let last = format!("/v1/files/{}", ids[COUNT - 1]);
        deployment.send(SYSTEM, "DELETE", &last, Some(OWNER), &Body::Empty)?;
        Ok(ids)
    }

    /// Loads with files, a batch, a proof of delivery, delivered and pending notifications.
    fn seed_loads(&mut self, deployment: &Deployment<'_>, files: &[String]) -> Result<()> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let files = json!([{"id": files[number % files.len()]}]);
            let load = Body::Json(organised_load(OWNER, &format!("KNOWN-{number}"), &files));
            ids.push(self.write(deployment, LOGISTICS, "/v1/loads/organiser", load)?);
        }
        let post = |path: &str, body| deployment.send(LOGISTICS, "POST", path, Some(OWNER), &body);
        let all = format!("/v1/loads?f:organiserId={OWNER}");
        let csv = deployment.get(LOGISTICS, &format!("{all}&format=CSV"), Some(OWNER))?.bytes;
        let batch =
            Form { fields: Vec::new(), file_name: "loads.csv", media_type: "text/csv", content: csv.into() };
        post("/v1/loads/batch", Body::Form(batch))?;
        let proof = json!({
            "weightNet": 27.5, "ticketNumber": "T-1", "vehicleRegistration": "VX12KLM", "files": [{"id": files[0]}],
        });
        post(&format!("/v1/loads/{}/proof-of-delivery", ids[0]), Body::Json(proof))?;
        self.seed_notifications(deployment, &ids)?;
        for id in &ids {
            self.record(deployment, LOGISTICS, format!("/v1/loads/{id}"), Some(OWNER))?;
        }
        for parameters in [
            "limit=100&count=true",
            "format=CSV",
            "query=nown-1",
            "query=KNOWN-7&count=true",
            "f:status=completed",
        ] {
            self.record(deployment, LOGISTICS, format!("{all}&{parameters}"), Some(OWNER))?;
        }
        Ok(())
    }

    fn seed_notifications(&mut self, deployment: &Deployment<'_>, loads: &[String]) -> Result<()> {
        let trial = deployment.trial;
        for number in SENT {
            if number == FIRST_PENDING {
                trial.wait_for("notifications are delivered", TIMEOUT, || {
                    Ok(deployment.receiver.deliveries().len() == self.delivered.len())
                })?;
                deployment.receiver.set_refusing(true);
            }
            let body = Body::Json(json!({"loadId": loads[number], "driverId": format!("driver-{number}")}));
            let sent = deployment.send(LOGISTICS, "POST", "/v1/loads/send-to-driver", Some(OWNER), &body)?;
            let id = sent.json["id"].as_str().context("a notification has no id")?.to_owned();
            if number < FIRST_PENDING { &mut self.delivered } else { &mut self.pending }.push(id);
        }
        let path = format!("/v1/loads/{}/notifications", loads[SENT.start]);
        trial.wait_for("the delivery is recorded", TIMEOUT, || {
            Ok(deployment.get(LOGISTICS, &path, Some(OWNER))?.json[0]["status"] == "delivered")
        })?;
        self.record(deployment, LOGISTICS, path, Some(OWNER))
    }

    /// Listings with files: drafts, a published and a closed one, one that is wished for and reported.
    fn seed_listings(&mut self, deployment: &Deployment<'_>, files: &[String]) -> Result<()> {
        let mut ids = Vec::new();
        for number in 0..COUNT {
            let files = json!([{"id": files[number % files.len()]}]);
            let mut listing = sheep_listing(&format!("KNOWN-{number}"), &files);
            listing["isDraft"] = json!(number < 3);
            ids.push(self.write(deployment, LIVESTOCK, "/v1/listings/sheep", Body::Json(listing))?);
        }
        let [draft, closed, wished] = [0, 3, 4].map(|number| format!("/v1/listings/{}", ids[number]));
        let report = Body::Json(json!({"reason": "other", "message": "?"}));
        for (method, path, org, body) in [
            ("POST", format!("{draft}/publish"), OWNER, Body::Empty),
            ("POST", format!("{closed}/close"), OWNER, Body::Json(json!({"status": "sold"}))),
            ("PUT", format!("{wished}/wishlist"), OWNER, Body::Empty),
            ("POST", format!("{wished}/report"), PARTNER, report),
        ] {
            deployment.send(LIVESTOCK, method, &path, Some(org), &body)?;
        }
        for path in [&draft, &closed, &wished] {
            self.record(deployment, LIVESTOCK, format!("{path}/events"), None)?;
        }
        self.record(deployment, LIVESTOCK, format!("{wished}/reports"), None)?;
        for id in &ids {
            self.record(deployment, LIVESTOCK, format!("/v1/listings/{id}"), Some(OWNER))?;
        }
        for parameters in [
            "limit=100&count=true",
            "format=CSV",
            "docs=false",
            "isWishlisted=true",
            "f:status=draft",
            "f:commodityBreed=Texel",
        ] {
            let path = format!("/v1/listings?f:organisationId={OWNER}&{parameters}");
            self.record(deployment, LIVESTOCK, path, Some(OWNER))?;
        }
        self.active_listings = ids.split_off(5);
        Ok(())
    }
}

//! The console over HTTP, with the real services in the process of the test.
#![allow(clippy::unwrap_used, clippy::expect_used, missing_docs, reason = "a test fails by panicking")]

mod admin;
mod board;
mod browser;
mod connections;
mod driver;
mod edits;
mod imports;
mod library;
mod listings;
mod lists;
mod loads;
mod login;
mod market;
mod moderation;
mod new_loads;
mod openid;
mod safety;
mod today;

use common::config::{Server, SiteConfig};
use common::{Running, start_site};
use console::{Console, Settings};
use livestock::Livestock;
use logistics::Logistics;
use serde_json::{Value, json};
use system::System;
use testkit::{App, Backend, ISSUER, User, key_pem};
use url::Url;

use browser::Browser;

/// The three services, and a console whose visitors choose who to be.
struct Office {
    system: App,
    logistics: App,
    livestock: App,
    console: RunningConsole,
    _files: tempfile::TempDir,
}

/// A console and its address.
struct RunningConsole {
    url: String,
    running: Running,
}

impl RunningConsole {
    async fn start(settings: Settings) -> Self {
        Self::start_behind(None, settings).await
    }

    /// Starts a console that browsers reach at this URL.
    async fn start_behind(public_url: Option<Url>, settings: Settings) -> Self {
        let server =
            Server { workers: 1, shutdown_seconds: 5, public_url: public_url.clone(), ..Server::default() };
        let config = SiteConfig { server, service: settings, ..SiteConfig::default() };
        let running = start_site::<Console>(config).await.expect("the console starts");
        let url = public_url.map(|url| url.as_str().trim_end_matches('/').to_owned());
        Self { url: url.unwrap_or_else(|| format!("http://{}", running.address)), running }
    }
}

/// The settings of a console that signs tokens like the test users have.
fn development() -> Settings {
    Settings {
        development_key: Some(key_pem().into()),
        development_issuer: ISSUER.to_owned(),
        timeout_ms: 5_000,
        ..Settings::default()
    }
}

impl Office {
    async fn start() -> Self {
        let files = tempfile::tempdir().unwrap();
        let store_url = format!("file://{}", files.path().display());
        let backend = Backend::Sqlite;
        let settings = system::Settings { store_url, ..Default::default() };
        let system = Box::pin(App::start::<System>(backend, settings)).await;
        let settings = logistics::Settings { system_url: system.url.clone(), ..Default::default() };
        let logistics = Box::pin(App::start::<Logistics>(backend, settings)).await;
        let settings = livestock::Settings { system_url: system.url.clone(), ..Default::default() };
        let livestock = Box::pin(App::start::<Livestock>(backend, settings)).await;
        let console = RunningConsole::start(Settings {
            system_url: system.url.clone(),
            logistics_url: logistics.url.clone(),
            livestock_url: livestock.url.clone(),
            ..development()
        })
        .await;
        Self { system, logistics, livestock, console, _files: files }
    }

    /// A browser in which this person of the demonstration is logged in.
    async fn browser(&self, person: &str) -> Browser {
        let browser = Browser::new(&self.console.url);
        let reply = browser.post("/login/person", &[("person", person), ("to", "/")]).await;
        assert_eq!((reply.status, reply.location()), (303, "/"), "{}", reply.text);
        browser
    }

    /// Creates a load of Border Grain, carried by Hereford Haulage. `members` replace those of the form.
    async fn create_load(&self, members: &Value) -> String {
        let mut form = json!({
            "organiserId": "border-grain", "commodityId": 1, "reference": "BG-1", "deliveryDateISO": "2026-08-03",
            "weight": 29, "weightNet": null, "tags": ["harvest"], "files": null, "pickupPostcode": "HR4 9AR",
            "dropoffPostcode": "DE14 2PD", "vehicleRegistration": "VX17 RTH",
        });
        for (name, value) in members.as_object().unwrap() {
            form[name] = value.clone();
        }
        let load = self.logistics.post("/v1/loads/organiser").by(&owen()).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap().to_owned();
        let carrier =
            json!({"loadId": id, "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage"});
        self.logistics.post("/v1/loads/send-to-carrier").by(&owen()).json(&carrier).send().await.ok();
        id
    }

    /// Returns a load as the API shows it to its organiser.
    async fn load(&self, id: &str) -> Value {
        self.logistics.get(&format!("/v1/loads/{id}")).by(&owen()).send().await.ok()
    }
}

/// A user of the demonstration, as who calls the API.
fn user(id: &str, organisation: &str, name: &str) -> User {
    User::individual(id).with("org", organisation).with("orgName", name)
}

fn owen() -> User {
    user("owen", "border-grain", "Border Grain Merchants")
}

fn ruth() -> User {
    user("ruth", "hereford-haulage", "Hereford Haulage")
}

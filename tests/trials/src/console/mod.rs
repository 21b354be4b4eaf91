//! `console`: people of the demonstration do their work in the console, in a browser, on the running services: the main
//! job of each screen, two people on one load, a service away, a log-in that ends, a driver without signal. Each screen
//! is checked by axe and written as pictures, and a crawler follows every link as each person.

mod answers;
mod crawl;
mod drafts;
mod jobs;
mod phone;
mod screens;

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chrono::Utc;
use serde_json::{Value, json};
use testkit::market::{organised_load, seed};
use testkit::processes::checkout::{self, CONSOLE};
use testkit::processes::environment::variables;
use testkit::processes::http::Body;
use testkit::processes::ports;
use testkit::processes::service::ServiceProcess;
use testkit::processes::stack::Stack;
use testkit::processes::tokens::{DevKeys, Identity};
use testkit::processes::trial::Trial;

use crate::browser::{Browser, Page};

const TOKEN_TTL: Duration = Duration::from_secs(3600);

/// Runs the trial. `pictures`: the folder of the pictures, by default one of cargo's target folder.
pub fn run(trial: &Trial<'_>, pictures: Option<&Path>) -> Result<()> {
    let pictures = match pictures {
        Some(folder) => folder.to_owned(),
        None => checkout::target_dir()?.join("console"),
    };
    let mut office = Office::start(trial)?;
    let mut browser = Browser::start()?;
    screens::check(&office, &mut browser, &pictures)?;
    crawl::check(&office, &mut browser)?;
    jobs::check(&mut office, &mut browser)?;
    let (mut phone, list) = phone::check(&mut office)?;
    answers::check(&mut office, &mut phone, &list)?;
    phone::check_later(&mut office, phone, &list)
}

/// The services with the sample market, and the console.
struct Office<'a> {
    trial: &'a Trial<'a>,
    stack: Stack,
    keys: DevKeys,
    /// A delivered load of Border Grain with a picture of its ticket.
    delivered: String,
    /// A load of Border Grain that is still to be collected, and that Megan drives.
    open: String,
    /// A listing with a picture.
    listing: String,
}

impl<'a> Office<'a> {
    fn start(trial: &'a Trial<'a>) -> Result<Self> {
        let mut config = trial.stack_config("console", false)?;
        config.console = true;
        config.first_port = Some(ports::find_free_row(4)?);
        for environment in &mut config.environment {
            environment.extend(variables([("SERVER__DEMO_DATA", "true")]));
        }
        let keys = DevKeys::load_or_create(&config.keys)?;
        let mut services = config.services()?;
        // Sessions outlive a restart of the console.
        let session_key = ("SERVICE__SESSION_KEYS", STANDARD.encode([7; 32]));
        for console in services.iter_mut().filter(|service| service.name == CONSOLE) {
            console.environment.extend(variables([session_key.clone()]));
        }
        let mut stack = Stack::spawn(services.clone(), None)?;
        stack.wait_ready(|| trial.check())?;
        seed::run(&services, &keys, trial.stop)?;
        let mut office = Self {
            trial,
            stack,
            keys,
            delivered: String::new(),
            open: String::new(),
            listing: String::new(),
        };
        office.delivered = office.find_delivered()?;
        office.listing = office.find_listing()?;
        office.open = office.create_load("BG-DRIVER-1")?;
        let noted = office.create_load("BG-NOTE-1")?;
        let note = "The gate is locked, and nobody answers the telephone. I wait at the road until three.";
        let megan = office.token("driver-megan", "");
        office.write(&format!("/v1/loads/{noted}/notes"), &megan, json!({ "text": note }))?;
        Ok(office)
    }

    fn service(&self, name: &str) -> Result<&ServiceProcess> {
        self.stack.replicas(name).next().with_context(|| format!("{name} does not run"))
    }

    fn service_mut(&mut self, name: &str) -> Result<&mut ServiceProcess> {
        let found = self.stack.services.iter_mut().find(|service| service.name == name);
        found.with_context(|| format!("{name} does not run"))
    }

    /// Starts a service again that was killed.
    fn restart(&mut self, name: &str) -> Result<()> {
        let trial = self.trial;
        let service = self.service_mut(name)?;
        service.restart()?;
        service.wait_ready(Instant::now(), || trial.check())
    }

    fn url(&self, path: &str) -> Result<String> {
        Ok(self.service(CONSOLE)?.url(path))
    }

    fn token(&self, user: &str, org: &str) -> String {
        let org = (!org.is_empty()).then_some(org);
        // The names that the console's people have.
        let org_name =
            org.map(|org| if org == "border-grain" { "Border Grain Merchants" } else { "Hereford Haulage" });
        let identity = Identity { user, name: Some(user), org, org_name, roles: &[] };
        identity.token(&self.keys, TOKEN_TTL)
    }

    /// Reads what logistics shows to the organiser.
    fn read(&self, path: &str) -> Result<Value> {
        Ok(self.service("logistics")?.get(path, &self.token("owen", "border-grain"))?.json)
    }

    /// Sends a write to logistics.
    fn write(&self, path: &str, token: &str, body: Value) -> Result<Value> {
        let reply = self.service("logistics")?.send("POST", path, token, &Body::Json(body))?;
        ensure!(reply.status == 200, "{path}: {} {}", reply.status, reply.json);
        Ok(reply.json)
    }

    fn find_delivered(&self) -> Result<String> {
        let loads = self.read("/v1/loads?f:status=completed&limit=100")?;
        let mut loads = loads.as_array().into_iter().flatten();
        let found = loads.find(|load| load["files"].as_array().is_some_and(|files| !files.is_empty()));
        let found =
            found.or_else(|| loads.next()).context("the market has no delivered load of Border Grain")?;
        Ok(found["id"].as_str().unwrap_or_default().to_owned())
    }

    fn find_listing(&self) -> Result<String> {
        let listings = self.service("livestock")?.get("/v1/listings?limit=100", &self.token("tom", ""))?.json;
        let mut listings = listings.as_array().into_iter().flatten();
        let found =
            listings.find(|listing| listing["files"].as_array().is_some_and(|files| !files.is_empty()));
        let found = found.context("the market has no listing with a picture")?;
        Ok(found["id"].as_str().unwrap_or_default().to_owned())
    }

    /// Creates a load of Border Grain for today, which Hereford Haulage carries and Megan drives.
    fn create_load(&self, reference: &str) -> Result<String> {
        let (owen, ruth) = (self.token("owen", "border-grain"), self.token("ruth", "hereford-haulage"));
        let mut load = organised_load("border-grain", reference, &Value::Null);
        let further = json!({
            "organiserName": "Border Grain Merchants", "deliveryDateISO": Utc::now().date_naive().to_string(),
            "weight": 29, "pickupPostcode": "NP25 3DS", "dropoffPostcode": "HR4 9AR",
            "vehicleRegistration": "VX68 KLM",
        });
        for (name, value) in further.as_object().into_iter().flatten() {
            load[name] = value.clone();
        }
        let created = self.write("/v1/loads/organiser", &owen, load)?;
        let id = created["id"].as_str().context("a load has no id")?.to_owned();
        let carrier =
            json!({"loadId": id, "carrierId": "hereford-haulage", "carrierName": "Hereford Haulage"});
        self.write("/v1/loads/send-to-carrier", &owen, carrier)?;
        self.write("/v1/loads/send-to-driver", &ruth, json!({"loadId": id, "driverId": "driver-megan"}))?;
        Ok(id)
    }

    /// Opens a page on which a person is logged in; nobody if the name is empty.
    fn visit(&self, browser: &mut Browser, person: &str, path: &str) -> Result<Page> {
        if person.is_empty() {
            return browser.open(&self.url(path)?);
        }
        let to: String = url::form_urlencoded::byte_serialize(path.as_bytes()).collect();
        let page = browser.open(&self.url(&format!("/login?to={to}"))?)?;
        choose(browser, &page, person)?;
        Ok(page)
    }
}

/// Chooses who to be on the page of people.
pub fn choose(browser: &mut Browser, page: &Page, person: &str) -> Result<()> {
    let button = format!("document.querySelector('input[value=\"{person}\"]')?.form.querySelector('button')");
    browser.click(page, &button)?;
    browser
        .wait(page, "!location.pathname.startsWith('/login') && document.readyState === 'complete'")
        .map(drop)
}

/// Opens a page on which a person is logged in, whose problems are collected.
fn visit(office: &Office<'_>, browser: &mut Browser, person: &str, path: &str) -> Result<Page> {
    let page = office.visit(browser, person, path)?;
    browser.watch(&page)?;
    Ok(page)
}

/// Types a value into a field.
fn fill(browser: &mut Browser, page: &Page, field: &str, value: &str) -> Result<()> {
    crate::browser::set(browser, page, &format!("document.querySelector('{field}')"), value)
}

/// Clicks a button or link by its text.
fn press(browser: &mut Browser, page: &Page, text: &str) -> Result<()> {
    let all = "[...document.querySelectorAll('main button, main a, main summary, .offline a')]";
    let shown = "element.checkVisibility() && element.textContent.trim()";
    browser.click(page, &format!("{all}.find((element) => {shown} === {})", json!(text)))
}

/// Waits until the page shows a text.
fn see(browser: &mut Browser, page: &Page, text: &str) -> Result<()> {
    browser.wait(page, &format!("document.body?.innerText.includes({})", json!(text))).map(drop)
}

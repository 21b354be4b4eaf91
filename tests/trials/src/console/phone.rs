//! A driver without signal: what is typed and photographed stays on the phone, whatever happens to it, and reaches the
//! office once. The console is killed for a phone without signal, and stopped for a network that hangs.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::json;
use testkit::processes::checkout::CONSOLE;

use super::screens::emulate;
use super::{Office, choose, fill, press, see};
use crate::browser::{Browser, Page};

/// Chooses a photograph: 3,200 × 2,400 pixels that JPEG cannot compress well.
const PHOTOGRAPH: &str = "(async () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 3200, height: 2400});
    const context = canvas.getContext('2d');
    for (let index = 0; index < 20000; index += 1) {
        context.fillStyle = `hsl(${index * 37 % 360} 60% ${index % 80}%)`;
        context.fillRect(index * 7919 % 3200, index * 104729 % 2400, 40, 40);
    }
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.95));
    const files = new DataTransfer();
    files.items.add(new File([blob], 'IMG_1.jpeg', {type: 'image/jpeg'}));
    const input = document.querySelector('input[type=file]');
    input.files = files.files;
    input.dispatchEvent(new Event('change', {bubbles: true}));
    return blob.size;
})()";

/// Reads the photographs that the phone keeps: media type, bytes, width and height of each.
const KEPT: &str = "new Promise((done) => {
    const request = indexedDB.open('drover-driver', 1);
    request.onsuccess = () => {
        const all = request.result.transaction('entries').objectStore('entries').getAll();
        all.onsuccess = async () => done(await Promise.all(all.result.flatMap((entry) => entry.photographs)
            .map(async ({blob}) => {
                const image = await createImageBitmap(blob);
                return [blob.type, blob.size, image.width, image.height];
            })));
    };
})";

/// How long an entry can be taken back, with time to send it on a slow network.
const SENT: Duration = Duration::from_secs(120);

/// Bytes in a second of a slow network, on which a photograph takes longer than the 20 s that an answer may take.
const SLOW: u32 = 20_000;

/// The phone: a browser with a profile that outlives it.
struct Phone {
    profile: PathBuf,
    browser: Browser,
    page: Page,
}

impl Phone {
    fn start(profile: PathBuf, url: &str) -> Result<Self> {
        let mut browser = Browser::start_in(&profile, None)?;
        let page = browser.open_in_profile("about:blank")?;
        browser.watch(&page)?;
        // For scripts that run before those of the page.
        browser.command(&page, "Page.enable", &json!({}))?;
        emulate(&mut browser, &page, (360, 740), "light")?;
        let mut phone = Self { profile, browser, page };
        phone.go(url)?;
        Ok(phone)
    }

    /// Kills the browser and opens it again.
    fn killed(self, url: &str) -> Result<Self> {
        let profile = self.profile.clone();
        self.browser.kill()?;
        Self::start(profile, url)
    }

    fn go(&mut self, url: &str) -> Result<()> {
        self.browser.navigate(&self.page, url)
    }

    fn see(&mut self, text: &str) -> Result<()> {
        see(&mut self.browser, &self.page, text)
    }

    fn press(&mut self, text: &str) -> Result<()> {
        press(&mut self.browser, &self.page, text)
    }

    fn fill(&mut self, field: &str, value: &str) -> Result<()> {
        fill(&mut self.browser, &self.page, field, value)
    }

    fn value(&mut self, field: &str) -> Result<String> {
        let value = self.browser.wait(&self.page, &format!("document.querySelector('{field}')?.value"))?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until the page keeps what is typed.
    fn wait_ready(&mut self) -> Result<()> {
        self.browser.wait(&self.page, "'ready' in document.documentElement.dataset").map(drop)
    }

    /// Waits until the phone keeps a page.
    fn wait_kept(&mut self, url: &str) -> Result<()> {
        let found = format!("caches.match({}, {{ignoreSearch: true}}).then(Boolean)", json!(url));
        self.browser.wait(&self.page, &found).map(drop)
    }

    /// Opens a form and fills in the weights of a proof.
    fn weigh(&mut self, url: &str, ticket: &str) -> Result<()> {
        // From the same page it would be no navigation.
        self.go("about:blank")?;
        self.go(&format!("{url}#weights"))?;
        self.wait_ready()?;
        for (field, value) in [
            ("#f-weightGross", "43 780"),
            ("#f-weightTare", "14760"),
            ("#f-ticketNumber", ticket),
            ("#f-vehicleRegistration", "VX68 KLM"),
        ] {
            self.fill(field, value)?;
        }
        Ok(())
    }
}

/// Drives.
pub(super) fn check(office: &mut Office<'_>) -> Result<()> {
    let (list, load) = (office.url("/driver")?, office.open.clone());
    let mut phone = Phone::start(office.trial.path("phone"), &office.url("/login?to=/driver")?)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
    phone.wait_ready()?;
    let prove = format!("{list}/{load}/prove");
    phone.wait_kept(&prove)?;

    // Without signal.
    office.service_mut(CONSOLE)?.kill()?;
    phone.go(&prove)?;
    phone.wait_ready()?;
    let size = phone.browser.evaluate(&phone.page, PHOTOGRAPH)?;
    phone.browser.wait(&phone.page, "document.querySelector('.photographs img')?.naturalWidth > 0")?;
    phone.press("Next: the weights")?;
    phone.fill("#f-weightGross", "43 7")?;
    let mut phone = phone.killed(&list)?;
    phone.see("No signal.")?;
    phone.see("Begun: proof")?;
    phone.weigh(&prove, "T-20481")?;
    let kept = phone.browser.evaluate(&phone.page, KEPT)?;
    let is_small = kept[0][0] == "image/jpeg" && kept[0][1].as_u64() <= Some(1_000_000);
    let is_large = kept[0][2].as_u64() >= Some(2000);
    office.trial.expect(
        is_small && is_large && kept.as_array().map(Vec::len) == Some(1),
        format!("a browser that is killed has the digits and the photograph, of {size} bytes before"),
        kept.to_string(),
        "a JPEG of ≥ 2,000 pixels and ≤ 1 MB",
    )?;
    phone.see("Net 29.02 t")?;
    let sent_at = send(&mut phone)?;
    phone.press("Take back")?;
    let gross = phone.value("#f-weightGross")?;
    office.trial.expect(gross == "43 780", "an entry is taken back within 10 s", &gross, "its form")?;
    phone.weigh(&prove, "T-20481")?;
    send(&mut phone)?;
    phone.see("Waiting on this phone.")?;
    phone.see("1 entry is not sent yet. It will be sent by itself.")?;
    office.restart(CONSOLE)?;
    // The cookies of a browser that was killed may be lost: then it asks for a log-in, in place.
    let state = "document.querySelector('#unsent')?.hidden ? 'sent' :
        document.querySelector('#signal').innerText.includes('Log in again') && 'asks'";
    phone.browser.evaluate(&phone.page, "dispatchEvent(new Event('online'))")?;
    if phone.browser.wait(&phone.page, state)? == json!("asks") {
        phone.go(&office.url("/login?to=/driver")?)?;
        choose(&mut phone.browser, &phone.page, "driver-megan")?;
    }
    let took = wait_status(office, &load, "completed")?;
    phone.browser.wait(
        &phone.page,
        "document.querySelector('#unsent')?.hidden && document.querySelector('#signal')?.hidden",
    )?;
    let proven = office.read(&format!("/v1/loads/{load}"))?;
    let found = json!([
        proven["weightNet"]["weight"],
        proven["ticketNumber"],
        proven["files"].as_array().map(Vec::len)
    ]);
    office.trial.expect(
        found == json!([29.02, "T-20481", 1]),
        "what was entered without signal reaches the office",
        format!("{found} after {:.1} s", took.as_secs_f64()),
        "once, by itself",
    )?;
    ensure!(sent_at.elapsed() > Duration::from_secs(10), "it was sent before it could be taken back");
    let mut browser = Browser::start()?;
    let page = office.visit(&mut browser, "owen", &format!("/loads/{load}"))?;
    browser.wait(&page, "document.querySelector('.ticket img')?.naturalWidth > 0")?;
    office.trial.note("the driver's photograph on the office's page of the load", "shown", "shown");

    full(office, &mut phone, &list)?;
    hang(office, &mut phone, &list)?;
    slow(office, &mut phone, &list)?;
    wrong_clock(office, &mut phone, &list)?;
    refused(office, &mut phone, &list)?;
    let problems = phone.browser.problems();
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Presses "Send", and waits for the list with the entry.
fn send(phone: &mut Phone) -> Result<Instant> {
    phone.press("Send")?;
    phone.see("Will be sent in")?;
    Ok(Instant::now())
}

fn wait_status(office: &Office<'_>, load: &str, status: &str) -> Result<Duration> {
    let path = format!("/v1/loads/{load}");
    office
        .trial
        .wait_for(&format!("the load is {status}"), SENT, || Ok(office.read(&path)?["status"] == status))
}

/// A phone that stores nothing more says so.
fn full(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-0")?;
    phone.go(&format!("{list}/{load}/note"))?;
    phone.wait_ready()?;
    let refuse = "IDBObjectStore.prototype.put = () => { throw new DOMException('full', 'QuotaExceededError'); }; true";
    phone.browser.evaluate(&phone.page, refuse)?;
    phone.fill("#f-text", "Gate 3 is closed")?;
    phone.see("This phone is full")?;
    office.trial.note("a phone that is full", "says so", "says so");
    Ok(())
}

/// A network that hangs counts as none.
fn hang(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    office.service(CONSOLE)?.signal(Signal::STOP);
    let begun = Instant::now();
    let opened = phone.go(list).and_then(|()| phone.see("Done today"));
    let took = begun.elapsed();
    office.service(CONSOLE)?.signal(Signal::CONT);
    opened?;
    let result = format!("{:.1} s", took.as_secs_f64());
    office.trial.expect(
        took < Duration::from_secs(20),
        "a page opens while the network hangs",
        result,
        "20 s",
    )
}

/// A photograph on a slow network is sent as long as its upload goes on.
fn slow(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-5")?;
    phone.go(&format!("{list}/{load}/prove"))?;
    phone.wait_ready()?;
    phone.browser.evaluate(&phone.page, PHOTOGRAPH)?;
    phone.browser.wait(&phone.page, "document.querySelector('.photographs img')?.naturalWidth > 0")?;
    phone.weigh(&format!("{list}/{load}/prove"), "T-5")?;
    let throughput = |bytes: i64| json!({"offline": false, "latency": 0, "downloadThroughput": -1, "uploadThroughput": bytes});
    phone.browser.command(&phone.page, "Network.enable", &json!({}))?;
    phone.browser.command(&phone.page, "Network.emulateNetworkConditions", &throughput(SLOW.into()))?;
    send(phone)?;
    let took = wait_status(office, &load, "completed")?;
    phone.browser.command(&phone.page, "Network.emulateNetworkConditions", &throughput(-1))?;
    let check = format!("a photograph at {} kB/s", SLOW / 1000);
    let result = format!("sent after {:.0} s", took.as_secs_f64());
    office.trial.expect(
        took > Duration::from_secs(30),
        check,
        result,
        "10 s to take it back, then longer than 20 s",
    )
}

/// A clock that is two days fast is corrected by the server's.
fn wrong_clock(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-2")?;
    let script = json!({"source": "{ const now = Date.now; Date.now = () => now() + 2 * 86_400_000; }"});
    let script = phone.browser.command(&phone.page, "Page.addScriptToEvaluateOnNewDocument", &script)?;
    phone.go(list)?;
    phone.wait_ready()?;
    phone.weigh(&format!("{list}/{load}/collect"), "C-1")?;
    send(phone)?;
    wait_status(office, &load, "collected")?;
    phone.browser.command(&phone.page, "Page.removeScriptToEvaluateOnNewDocument", &script)?;
    let at = office.read(&format!("/v1/loads/{load}"))?["collection"]["atUTC"].clone();
    let at = chrono::DateTime::parse_from_rfc3339(at.as_str().unwrap_or_default()).context("no time")?;
    let minutes = (chrono::Utc::now() - at.to_utc()).num_minutes();
    let check = "a collection on a phone whose clock is two days fast";
    office.trial.expect((0..3).contains(&minutes), check, format!("{minutes} minutes ago"), "now")
}

/// What the office has done otherwise stays with its reason, the rest goes on, and nobody else sees it.
fn refused(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let (load, next) = (office.create_load("BG-DRIVER-3")?, office.create_load("BG-DRIVER-4")?);
    phone.go(list)?;
    for id in [&load, &next] {
        phone.wait_kept(&format!("{list}/{id}/prove"))?;
    }
    office.service_mut(CONSOLE)?.kill()?;
    phone.weigh(&format!("{list}/{load}/prove"), "T-1")?;
    send(phone)?;
    phone.weigh(&format!("{list}/{next}/prove"), "T-2")?;
    send(phone)?;
    let ruth = office.token("ruth", "hereford-haulage");
    let other =
        json!({"weightNet": 29, "ticketNumber": "T-9", "vehicleRegistration": "VX17 RTH", "files": null});
    office.write(&format!("/v1/loads/{load}/proof-of-delivery"), &ruth, other)?;
    office.restart(CONSOLE)?;
    wait_status(office, &next, "completed")?;
    phone.see("Not accepted: ")?;
    phone.see("1 entry is not accepted")?;
    office.trial.note(
        "an entry that the service refuses, and the one after it",
        "kept with its reason; sent",
        "both",
    );
    let later = json!({"source": "{ const now = Date.now; Date.now = () => now() + 2 * 86_400_000; }"});
    let later = phone.browser.command(&phone.page, "Page.addScriptToEvaluateOnNewDocument", &later)?;
    phone.go(list)?;
    phone.see("Something has waited for more than a day")?;
    phone.browser.command(&phone.page, "Page.removeScriptToEvaluateOnNewDocument", &later)?;
    phone.go(list)?;
    phone.see("Not accepted: ")?;
    phone.wait_ready()?;

    // Log-out asks; another person of the phone sees nothing, and finds none of the pages.
    phone.browser.evaluate(&phone.page, "window.confirm = (text) => (localStorage.asked = text, true)")?;
    phone.browser.click(&phone.page, "document.querySelector('form[action=\"/logout\"] button')")?;
    phone.see("You are logged out")?;
    let asked = phone.browser.evaluate(&phone.page, "localStorage.asked")?;
    ensure!(asked.as_str().is_some_and(|text| text.starts_with("1 not sent yet")), "{asked}");
    let login = office.url("/login?to=/driver")?;
    phone.go(&login)?;
    choose(&mut phone.browser, &phone.page, "dai")?;
    phone.wait_ready()?;
    let hidden = phone.browser.evaluate(&phone.page, "document.querySelector('#unsent').hidden")?;
    ensure!(hidden == json!(true), "another person sees the entries");
    phone.go(&login)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
    phone.see("Not accepted: ")?;
    phone.press("Mend")?;
    let ticket = phone.value("#f-ticketNumber")?;
    office.trial.expect(
        ticket == "T-1",
        "the queue after log-out is its owner's",
        &ticket,
        "T-1, to be mended",
    )
}

//! A driver without signal: what is typed and photographed stays on the phone, whatever happens to it, and reaches the
//! office once. The console is killed for a phone without signal, and stopped for a network that hangs.

use std::path::PathBuf;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use serde_json::{Value, json};
use testkit::processes::checkout::CONSOLE;

use super::screens::emulate;
use super::{Office, choose, fill, press, see};
use crate::browser::{Browser, Page};

/// Chooses a photograph: 3,200 × 2,400 pixels that JPEG cannot compress well, of a phone that was held upright. Its
/// metadata say that it is to be turned by 90 degrees.
pub(super) const PHOTOGRAPH: &str = "(async () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 3200, height: 2400});
    const context = canvas.getContext('2d');
    for (let index = 0; index < 20000; index += 1) {
        context.fillStyle = `hsl(${index * 37 % 360} 60% ${index % 80}%)`;
        context.fillRect(index * 7919 % 3200, index * 104729 % 2400, 40, 40);
    }
    const blob = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.95));
    const turned = Uint8Array.of(255, 225, 0, 34, 69, 120, 105, 102, 0, 0, 77, 77, 0, 42, 0, 0, 0, 8, 0, 1,
        1, 18, 0, 3, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0);
    const files = new DataTransfer();
    files.items.add(new File([blob.slice(0, 20), turned, blob.slice(20)], 'IMG_1.jpeg', {type: 'image/jpeg'}));
    const input = document.querySelector('input[type=file]');
    input.files = files.files;
    input.dispatchEvent(new Event('change', {bubbles: true}));
    return blob.size;
})()";

/// Reads the entries that the phone keeps, after all that is being stored.
const ENTRIES: &str = "new Promise((done) => {
    const request = indexedDB.open('drover-driver', 1);
    request.onsuccess = () => {
        const all = request.result.transaction('entries').objectStore('entries').getAll();
        all.onsuccess = () => done(all.result);
    };
})";

/// Returns media type, bytes, width and height of each photograph of these entries.
const PHOTOGRAPHS: &str =
    "(all) => Promise.all(all.flatMap((entry) => entry.photographs).map(async ({blob}) => {
    const image = await createImageBitmap(blob);
    return [blob.type, blob.size, image.width, image.height];
}))";

/// How long an entry can be taken back, with time to send it on a slow network.
pub(super) const SENT: Duration = Duration::from_secs(120);

/// Bytes in a second of a slow network, on which a photograph takes longer than the 20 s that an answer may take.
const SLOW: u32 = 20_000;

/// The phone: a browser with a profile that outlives it.
pub(super) struct Phone {
    profile: PathBuf,
    pub(super) browser: Browser,
    pub(super) page: Page,
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

    pub(super) fn go(&mut self, url: &str) -> Result<()> {
        self.browser.navigate(&self.page, url)
    }

    pub(super) fn see(&mut self, text: &str) -> Result<()> {
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

    /// Types into a field as a keyboard does, without leaving it.
    fn type_into(&mut self, field: &str, text: &str) -> Result<()> {
        let focus = format!(
            "document.querySelector('{field}')?.checkVisibility() && \
            (document.querySelector('{field}').focus(), true)"
        );
        self.browser.wait(&self.page, &focus)?;
        self.browser.command(&self.page, "Input.insertText", &json!({"text": text})).map(drop)
    }

    /// Returns what a script makes of the entries that the phone keeps.
    pub(super) fn entries(&mut self, script: &str) -> Result<Value> {
        self.browser.evaluate(&self.page, &format!("{ENTRIES}.then({script})"))
    }

    /// Sets the clock of the pages that are opened from now on, and returns what undoes it.
    fn set_clock(&mut self, days: u32) -> Result<Value> {
        self.prepare(&format!("{{ const now = Date.now; Date.now = () => now() + {days} * 86_400_000; }}"))
    }

    /// Runs a script before those of the pages that are opened from now on, and returns what undoes it.
    fn prepare(&mut self, script: &str) -> Result<Value> {
        let script = json!({"source": script});
        self.browser.command(&self.page, "Page.addScriptToEvaluateOnNewDocument", &script)
    }

    fn undo(&mut self, script: &Value) -> Result<()> {
        let begun = Instant::now();
        loop {
            let removed =
                self.browser.command(&self.page, "Page.removeScriptToEvaluateOnNewDocument", script);
            // While the page opens another one, the browser may not find the script.
            if removed.is_ok() || begun.elapsed() > Duration::from_secs(5) {
                return removed.map(drop);
            }
            thread::sleep(Duration::from_millis(100));
        }
    }

    /// Waits until the page keeps what is typed.
    fn wait_ready(&mut self) -> Result<()> {
        self.browser.wait(&self.page, "'ready' in document.documentElement.dataset").map(drop)
    }

    /// Waits until the phone keeps a page.
    pub(super) fn wait_kept(&mut self, url: &str) -> Result<()> {
        let found = format!("caches.match({}, {{ignoreSearch: true}}).then(Boolean)", json!(url));
        self.browser.wait(&self.page, &found).map(drop)
    }

    /// Opens a form and fills in the weights of a proof.
    pub(super) fn weigh(&mut self, url: &str, ticket: &str) -> Result<()> {
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

/// Drives. Returns the phone, and the address of the driver's loads.
pub(super) fn check(office: &mut Office<'_>) -> Result<(Phone, String)> {
    let (list, load) = (office.url("/driver")?, office.open.clone());
    let mut phone = Phone::start(office.trial.path("phone"), &office.url("/login?to=/driver")?)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
    phone.wait_ready()?;
    let prove = format!("{list}/{load}/prove");
    phone.wait_kept(&prove)?;

    let mut phone = without_signal(office, phone, &list, &prove)?;
    // A log-in that has ended is asked for in place.
    phone.browser.command(&phone.page, "Network.clearBrowserCookies", &json!({}))?;
    office.restart(CONSOLE)?;
    phone.browser.evaluate(&phone.page, "dispatchEvent(new Event('online'))")?;
    phone.see("Log in again")?;
    phone.see("1 entry is not sent yet")?;
    phone.go(&office.url("/login?to=/driver")?)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
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
    let mut browser = Browser::start()?;
    let page = office.visit(&mut browser, "owen", &format!("/loads/{load}"))?;
    browser.wait(&page, "document.querySelector('.ticket img')?.naturalWidth > 0")?;
    office.trial.note("the driver's photograph on the office's page of the load", "shown", "shown");

    full(office, &mut phone, &list)?;
    hang(office, &mut phone, &list)?;
    slow(office, &mut phone, &list)?;
    wrong_clock(office, &mut phone, &list)?;
    Ok((phone, list))
}

/// Drives on, days later.
pub(super) fn check_later(office: &mut Office<'_>, phone: Phone, list: &str) -> Result<()> {
    let mut phone = days_later(office, phone, list)?;
    refused(office, &mut phone, list)?;
    let problems = phone.browser.problems();
    ensure!(problems.is_empty(), "{}", problems.join("\n"));
    Ok(())
}

/// Enters a proof without signal, while the phone is killed, takes it back and sends it.
fn without_signal(office: &mut Office<'_>, mut phone: Phone, list: &str, prove: &str) -> Result<Phone> {
    office.service_mut(CONSOLE)?.kill()?;
    phone.go(prove)?;
    phone.wait_ready()?;
    let size = phone.browser.evaluate(&phone.page, PHOTOGRAPH)?;
    let first = phone.entries(PHOTOGRAPHS)?;
    ensure!(first[0][0] == "image/jpeg", "the photograph is not stored before it is made smaller: {first}");
    phone.browser.wait(&phone.page, "document.querySelector('.photographs img')?.naturalWidth > 0")?;
    let width = "document.querySelector('.photographs img').getBoundingClientRect().width";
    let before = phone.browser.evaluate(&phone.page, width)?.as_f64();
    phone.browser.click(&phone.page, "document.querySelector('.photographs .zoom')")?;
    let after = phone.browser.evaluate(&phone.page, width)?.as_f64();
    ensure!(after > before, "enlarged, the photograph is {after:?} pixels wide, and was {before:?}");
    phone.press("Next: the weights")?;
    phone.type_into("#f-weightGross", "43 7")?;
    phone.entries("() => true")?;
    let mut phone = phone.killed(list)?;
    phone.see("No signal.")?;
    phone.see("Begun: proof")?;
    phone.go(&format!("{prove}#weights"))?;
    phone.wait_ready()?;
    let digits = phone.value("#f-weightGross")?;
    let kept = phone.entries(PHOTOGRAPHS)?;
    let is_small = kept[0][0] == "image/jpeg" && kept[0][1].as_u64() <= Some(1_000_000);
    let is_large = kept[0][3].as_u64() >= Some(2000) && kept[0][2].as_u64() < kept[0][3].as_u64();
    office.trial.expect(
        digits == "43 7" && is_small && is_large && kept.as_array().map(Vec::len) == Some(1),
        format!("a browser that is killed has the digits and the photograph, of {size} bytes before"),
        format!("{digits:?}, {kept}"),
        "as typed, an upright JPEG of ≥ 2,000 pixels and ≤ 1 MB",
    )?;
    phone.weigh(prove, "T-20481")?;
    phone.see("Net 29.02 t")?;
    send(&mut phone)?;
    phone.press("Take back")?;
    let gross = phone.value("#f-weightGross")?;
    office.trial.expect(gross == "43 780", "an entry is taken back within 10 s", &gross, "its form")?;
    phone.weigh(prove, "T-20481")?;
    let sent_at = send(&mut phone)?;
    phone.see("Waiting on this phone.")?;
    ensure!(sent_at.elapsed() > Duration::from_secs(8), "it was to be sent before it could be taken back");
    phone.see("1 entry is not sent yet. It will be sent by itself.")?;
    Ok(phone)
}

/// Presses "Send", and waits for the list with the entry.
pub(super) fn send(phone: &mut Phone) -> Result<Instant> {
    phone.press("Send")?;
    phone.see("Will be sent in")?;
    Ok(Instant::now())
}

pub(super) fn wait_status(office: &Office<'_>, load: &str, status: &str) -> Result<Duration> {
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

/// A network that hangs counts as none, whatever the browser believes.
fn hang(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-6")?;
    let collect = format!("{list}/{load}/collect");
    phone.go(list)?;
    phone.wait_kept(&collect)?;
    office.service(CONSOLE)?.signal(Signal::STOP);
    let tried = try_hanging(phone, list, &collect);
    office.service(CONSOLE)?.signal(Signal::CONT);
    let [opened, said] = tried?;
    let result = format!("{:.1} s", opened.as_secs_f64());
    let check = "a page opens while the network hangs";
    office.trial.expect(opened < Duration::from_secs(20), check, result, "20 s")?;
    let result = format!("{:.1} s", said.as_secs_f64());
    // 10 s to take it back, 20 s for an answer.
    let check = "an entry that is sent while the network hangs is said to wait";
    office.trial.expect(said < Duration::from_secs(40), check, result, "30 s and a few")?;
    let took = wait_status(office, &load, "collected")?;
    office.trial.note(
        "and is sent when the network works",
        format!("{:.1} s", took.as_secs_f64()),
        "by itself",
    );
    Ok(())
}

/// Returns how long a page takes, and how long it takes until an entry is said to wait.
fn try_hanging(phone: &mut Phone, list: &str, collect: &str) -> Result<[Duration; 2]> {
    let begun = Instant::now();
    phone.go(list)?;
    phone.see("Done today")?;
    let opened = begun.elapsed();
    phone.weigh(collect, "C-6")?;
    phone.press("Send")?;
    let sent_at = Instant::now();
    phone.see("Waiting on this phone.")?;
    phone.see("No signal.")?;
    Ok([opened, sent_at.elapsed()])
}

/// A photograph on a slow network is sent as long as its upload goes on.
fn slow(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-5")?;
    let prove = format!("{list}/{load}/prove");
    phone.go(list)?;
    phone.wait_kept(&prove)?;
    phone.go(&prove)?;
    phone.wait_ready()?;
    phone.browser.evaluate(&phone.page, PHOTOGRAPH)?;
    phone.browser.wait(&phone.page, "document.querySelector('.photographs img')?.naturalWidth > 0")?;
    phone.weigh(&prove, "T-5")?;
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
    let script = phone.set_clock(2)?;
    phone.go(list)?;
    phone.wait_ready()?;
    phone.weigh(&format!("{list}/{load}/collect"), "C-1")?;
    send(phone)?;
    wait_status(office, &load, "collected")?;
    phone.undo(&script)?;
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
    let later = phone.set_clock(2)?;
    phone.go(list)?;
    phone.see("Something has waited for more than a day")?;
    phone.undo(&later)?;
    // The browser may delete what it does not promise to keep.
    for is_kept in [false, true] {
        let script = format!("StorageManager.prototype.persist = async () => {is_kept}");
        let script = phone.prepare(&script)?;
        phone.go(list)?;
        phone.see("1 entry is not accepted")?;
        let warns = "document.querySelector('#signal').textContent.includes('may delete what is not sent')";
        let warns = phone.browser.evaluate(&phone.page, warns)?;
        ensure!(warns == json!(!is_kept), "a store that is kept: {is_kept}, a warning: {warns}");
        phone.undo(&script)?;
    }
    phone.go(list)?;
    phone.see("Not accepted: ")?;
    phone.wait_ready()?;

    log_out(office, phone, list)
}

/// Log-out asks; another person of the phone neither sees nor sends what waits, and after the next log-in it is sent.
fn log_out(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-7")?;
    phone.weigh(&format!("{list}/{load}/prove"), "T-7")?;
    let sent_at = send(phone)?;
    phone.browser.evaluate(&phone.page, "window.confirm = (text) => (localStorage.asked = text, true)")?;
    phone.browser.click(&phone.page, "document.querySelector('form[action=\"/logout\"] button')")?;
    phone.see("You are logged out")?;
    let asked = phone.browser.evaluate(&phone.page, "localStorage.asked")?;
    ensure!(asked.as_str().is_some_and(|text| text.starts_with("2 not sent yet")), "{asked}");
    let login = office.url("/login?to=/driver")?;
    phone.go(&login)?;
    choose(&mut phone.browser, &phone.page, "dai")?;
    phone.wait_ready()?;
    let hidden = phone.browser.evaluate(&phone.page, "document.querySelector('#unsent').hidden")?;
    ensure!(hidden == json!(true), "another person sees the entries");
    // Until it cannot be taken back any more, and a little longer.
    thread::sleep(Duration::from_secs(12).saturating_sub(sent_at.elapsed()));
    phone.browser.evaluate(&phone.page, "dispatchEvent(new Event('online'))")?;
    thread::sleep(Duration::from_secs(2));
    let status = office.read(&format!("/v1/loads/{load}"))?["status"].clone();
    ensure!(status == "upcoming", "what waits while another person is logged in is {status}");
    phone.go(&login)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
    let took = wait_status(office, &load, "completed")?;
    let result = format!("sent after {:.1} s", took.as_secs_f64());
    office.trial.note("what waits while somebody else is logged in", result, "after the owner's next log-in");
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

/// The ids of files are stored before a proof is sent: days after a lost answer, it is sent again with the same ones.
fn days_later(office: &mut Office<'_>, mut phone: Phone, list: &str) -> Result<Phone> {
    let load = office.create_load("BG-DRIVER-9")?;
    let megan = office.token("driver-megan", "");
    let count = |office: &Office<'_>| -> Result<Option<usize>> {
        Ok(office.service("system")?.get("/v1/files?limit=100", &megan)?.json.as_array().map(Vec::len))
    };
    let before = count(office)?;
    let prove = format!("{list}/{load}/prove");
    phone.go(&prove)?;
    phone.wait_ready()?;
    for number in 1..=2 {
        phone.browser.evaluate(&phone.page, PHOTOGRAPH)?;
        let shown = format!("document.querySelectorAll('.photographs img')[{number} - 1]?.naturalWidth > 0");
        phone.browser.wait(&phone.page, &shown)?;
    }
    phone.weigh(&prove, "T-9")?;
    office.service("logistics")?.signal(Signal::STOP);
    let stored = (|| {
        phone.press("Send")?;
        let captured = format!(
            "(entry) => entry.load === {} && entry.photographs.every(({{file}}) => file) && entry.captured",
            json!(load)
        );
        phone
            .browser
            .wait(&phone.page, &format!("{ENTRIES}.then((all) => all.map({captured}).find(Boolean))"))
    })();
    let killed = phone.killed(&office.url("/logged-in")?);
    office.service("logistics")?.signal(Signal::CONT);
    let (captured, mut phone) = (stored?, killed?);
    let later = phone.set_clock(3)?;
    // Cookies of a browser that was killed may be lost.
    phone.go(&office.url("/login?to=/driver")?)?;
    choose(&mut phone.browser, &phone.page, "driver-megan")?;
    wait_status(office, &load, "completed")?;
    phone.undo(&later)?;
    let proven = office.read(&format!("/v1/loads/{load}"))?;
    let at = chrono::DateTime::parse_from_rfc3339(proven["completedAtUTC"].as_str().unwrap_or_default());
    let off =
        at.context("no time")?.timestamp_millis() - captured.as_i64().context("no time on the phone")?;
    let proofs = office.read(&format!("/v1/loads/{load}/events?f:type=completed"))?;
    let files = proven["files"].as_array().map(Vec::len);
    let found = (proofs.as_array().map(Vec::len), files, count(office)?, off.abs() < 1000);
    office.trial.expect(
        found == (Some(1), Some(2), before.map(|before| before + 2), true),
        "a proof with two photographs that is sent again after three days",
        format!("{found:?}"),
        "one proof with two files, two more files, the time of the first",
    )?;
    Ok(phone)
}

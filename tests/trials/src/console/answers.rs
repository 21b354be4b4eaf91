//! What may answer the phone in the place of the console: temporary refusals, the page of a hot spot, and a new release
//! of the console.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use std::{iter, thread};

use anyhow::{Context, Result, ensure};
use parking_lot::Mutex;
use serde_json::json;
use testkit::processes::checkout::CONSOLE;

use super::Office;
use super::phone::{Phone, SENT, send, wait_status};

/// A server in the place of the console: it says that Megan is logged in, and answers all else with a status and a
/// media type, which are set. It listens until it is dropped.
struct StandIn {
    port: u16,
    answer: Arc<Mutex<Option<(u16, &'static str)>>>,
    /// Forms that were answered with it.
    forms: Arc<Mutex<usize>>,
    thread: Option<JoinHandle<()>>,
}

impl StandIn {
    fn start(port: u16) -> Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", port))?;
        let answer = Arc::new(Mutex::new(Some((503, "text/plain"))));
        let forms = Arc::<Mutex<usize>>::default();
        let shared = (answer.clone(), forms.clone());
        let thread = thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let Some(answer) = *shared.0.lock() else { break };
                // A browser opens connections that it may never use.
                let forms = shared.1.clone();
                thread::spawn(move || respond(&stream, answer, &forms));
            }
        });
        Ok(Self { port, answer, forms, thread: Some(thread) })
    }

    /// Sets the answer, and lets the phone send until it has dealt with it: one form after another, of which the first
    /// may have got the answer of before.
    fn answer(&self, phone: &mut Phone, answer: (u16, &'static str)) -> Result<()> {
        *self.answer.lock() = Some(answer);
        let before = *self.forms.lock();
        let begun = Instant::now();
        while *self.forms.lock() < before + 3 {
            ensure!(begun.elapsed() < SENT, "the phone sends nothing");
            phone.browser.evaluate(&phone.page, "dispatchEvent(new Event('online'))")?;
            thread::sleep(Duration::from_millis(100));
        }
        Ok(())
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        *self.answer.lock() = None;
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        // The console needs the port.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Answers one request.
fn respond(mut stream: &TcpStream, answer: (u16, &str), forms: &Mutex<usize>) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    let head: Vec<_> = iter::from_fn(|| {
        line.clear();
        reader.read_line(&mut line).ok()?;
        Some(line.trim().to_ascii_lowercase()).filter(|line| !line.is_empty())
    })
    .collect();
    let length = head.iter().find_map(|line| line.strip_prefix("content-length:")?.trim().parse().ok());
    reader.read_exact(&mut vec![0; length.unwrap_or_default()]).ok()?;
    let is_me = head.first()?.contains("/driver/me");
    let (status, media_type) = if is_me { (200, "application/json") } else { answer };
    let me = json!({"owner": "driver-megan\n", "token": "x", "now": chrono::Utc::now().timestamp_millis()});
    let body = if is_me { me.to_string() } else { "<h1>Welcome</h1>".to_owned() };
    let start =
        format!("HTTP/1.1 {status} Answer\r\ncontent-type: {media_type}\r\ncontent-length: {}", body.len());
    stream.write_all(format!("{start}\r\nconnection: close\r\n\r\n{body}").as_bytes()).ok()?;
    *forms.lock() += usize::from(head.first()?.starts_with("post"));
    Some(())
}

/// Checks that nothing that the driver enters is lost by these answers.
pub(super) fn check(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    temporary(office, phone, list)?;
    new_release(office, phone, list)
}

/// Refusals that pass, and answers of others than the office, keep an entry waiting.
fn temporary(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-8")?;
    phone.weigh(&format!("{list}/{load}/collect"), "C-8")?;
    office.service_mut(CONSOLE)?.kill()?;
    send(phone)?;
    let stand = StandIn::start(office.service(CONSOLE)?.port())?;
    let answers =
        [(401, "text/html"), (408, "text/html"), (429, "text/html"), (502, "text/html"), (200, "text/html")];
    for answer in answers {
        stand.answer(phone, answer)?;
        let states = phone.entries("(all) => all.map(({state}) => state)")?;
        ensure!(states == json!(["waiting"]), "after {answer:?} the entries are {states}");
        if answer.0 == 401 {
            phone.see("Log in again")?;
        }
    }
    drop(stand);
    office.restart(CONSOLE)?;
    wait_status(office, &load, "collected")?;
    office.trial.note(
        "answers 401, 408, 429, 502 and the page of a hot spot",
        "tried again, then sent",
        "tried again",
    );
    Ok(())
}

/// Two comments of driver.js, of which the second is that of the new release.
const RELEASES: [&str; 2] = ["// What is not sent yet.", "// What is not sent now."];

/// A new release replaces the files that the phone keeps by itself, and what was entered with the old one is sent.
fn new_release(office: &mut Office<'_>, phone: &mut Phone, list: &str) -> Result<()> {
    let load = office.create_load("BG-DRIVER-10")?;
    phone.go(list)?;
    let collect = format!("{list}/{load}/collect");
    phone.wait_kept(&collect)?;
    let own = "document.querySelector('script[src*=\"driver.js\"]')?.src";
    let old = phone.browser.wait(&phone.page, own)?;
    let old = old.as_str().unwrap_or_default().to_owned();
    office.service_mut(CONSOLE)?.kill()?;
    phone.weigh(&collect, "C-10")?;
    send(phone)?;
    release(office, &old)?;
    phone.go(list)?;
    wait_status(office, &load, "collected")?;
    phone.go(list)?;
    let new = phone.browser.wait(&phone.page, own)?;
    ensure!(new != old.as_str(), "the new release has the same files: {new}");
    let kept = "caches.open('drover-driver-files').then((cache) => cache.keys())
        .then((kept) => kept.map(({url}) => url).filter((url) => url.includes('driver.js')).join())";
    phone.browser.wait(&phone.page, &format!("{kept}.then((kept) => kept === {new})"))?;
    // What the page loads is the new file, not the kept one of the same name.
    phone.go(list)?;
    let loads = format!(
        "fetch({new}).then((file) => file.text()).then((text) => text.includes({}))",
        json!(RELEASES[1])
    );
    ensure!(phone.browser.evaluate(&phone.page, &loads)? == json!(true), "the page loads the old script");
    office.trial.note("a new release", "replaces the files on the phone, and the queue is sent", "by itself");
    Ok(())
}

/// Starts a copy of the console whose driver.js has another content, and so another address.
fn release(office: &mut Office<'_>, old: &str) -> Result<()> {
    let (_, version) = old.rsplit_once("?v=").context("the script has no version")?;
    let version = u64::from_str_radix(version, 16)?;
    let versions = [version, version ^ 1].map(u64::to_le_bytes);
    let mut program = fs::read(office.service(CONSOLE)?.program())?;
    for [old, new] in [RELEASES.map(str::as_bytes), [&versions[0], &versions[1]]] {
        let places = program.windows(old.len()).enumerate().filter(|(_, bytes)| *bytes == old);
        let places: Vec<_> = places.map(|(place, _)| place).collect();
        ensure!(!places.is_empty(), "the console has no {old:?}");
        for place in places {
            program[place..place + new.len()].copy_from_slice(new);
        }
    }
    let file = office.trial.path("next-console");
    fs::write(&file, program)?;
    fs::set_permissions(&file, Permissions::from_mode(0o755))?;
    office.service_mut(CONSOLE)?.set_program(file);
    office.restart(CONSOLE)
}

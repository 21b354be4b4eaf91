//! A headless Chromium, driven by the DevTools protocol over a pipe.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use std::{fs, thread};

use anyhow::{Context, Result, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::processes::servers::folder;
use testkit::processes::{process, tools};

/// Timeout of a command, and of a condition on a page.
const TIMEOUT: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(50);

/// A running browser. It ends when it is dropped.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    messages: Receiver<Value>,
    last_id: u64,
    /// The cookie stores of pages.
    contexts: Vec<Value>,
    /// What pages have reported that must not happen: errors of scripts, violations of a policy.
    problems: Vec<String>,
    /// Deleted when it is dropped.
    profile: Option<TempDir>,
}

/// A page of the browser.
pub struct Page {
    target: String,
    session: String,
}

impl Browser {
    /// Starts Chromium with an empty profile.
    pub fn start() -> Result<Self> {
        Self::start_trusting(None)
    }

    /// Starts Chromium with an empty profile. It trusts certificates whose public key has this digest (SHA-256 of the
    /// DER form, in base64).
    pub fn start_trusting(key_digest: Option<&str>) -> Result<Self> {
        let folder = folder("chromium")?;
        let mut browser = Self::start_in(folder.path(), key_digest)?;
        browser.profile = Some(folder);
        Ok(browser)
    }

    /// Starts Chromium with the profile in a folder, which stays.
    pub fn start_in(profile: &Path, key_digest: Option<&str>) -> Result<Self> {
        // Chromium reads commands from file descriptor 3 and writes messages to 4, each ended by a zero byte.
        let mut command = Command::new("sh");
        command.args(["-c", r#"exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1"#, "sh"]);
        command.arg(tools::find("chromium-headless-shell")?);
        command.arg(format!("--user-data-dir={}", profile.display()));
        command.args(["--remote-debugging-pipe", "--disable-dev-shm-usage", "--no-first-run", "about:blank"]);
        command.args(key_digest.map(|digest| format!("--ignore-certificate-errors-spki-list={digest}")));
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox"); // the sandbox does not work for root
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0).spawn()?;
        let commands = child.stdin.take().context("no pipe to Chromium")?;
        let output = BufReader::new(child.stdout.take().context("no pipe from Chromium")?);
        let (sender, messages) = channel();
        thread::spawn(move || {
            for message in output.split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).unwrap_or_default();
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (contexts, problems) = (Vec::new(), Vec::new());
        Ok(Self { child, commands, messages, last_id: 0, contexts, problems, profile: None })
    }

    /// Kills the browser with all its processes, as a phone does that needs the memory.
    pub fn kill(mut self) -> Result<()> {
        kill_process_group(Pid::from_child(&self.child), Signal::KILL)?;
        self.child.wait()?;
        Ok(())
    }

    /// Opens a page with cookies of its own.
    pub fn open(&mut self, url: &str) -> Result<Page> {
        let context = self.call(None, "Target.createBrowserContext", &json!({}))?;
        let target = json!({"url": url, "browserContextId": context["browserContextId"]});
        self.contexts.push(context["browserContextId"].clone());
        let target = self.call(None, "Target.createTarget", &target)?;
        self.attach(&target["targetId"])
    }

    /// Closes all pages with cookies of their own.
    pub fn close_pages(&mut self) -> Result<()> {
        for context in std::mem::take(&mut self.contexts) {
            self.call(None, "Target.disposeBrowserContext", &json!({"browserContextId": context}))?;
        }
        Ok(())
    }

    /// Opens a page with the cookies and the storage of the profile.
    pub fn open_in_profile(&mut self, url: &str) -> Result<Page> {
        let target = self.call(None, "Target.createTarget", &json!({"url": url}))?;
        self.attach(&target["targetId"])
    }

    /// Opens another page with the cookies of one.
    pub fn open_beside(&mut self, page: &Page, url: &str) -> Result<Page> {
        let info = self.call(None, "Target.getTargetInfo", &json!({"targetId": page.target}))?;
        let target = json!({"url": url, "browserContextId": info["targetInfo"]["browserContextId"]});
        let target = self.call(None, "Target.createTarget", &target)?;
        self.attach(&target["targetId"])
    }

    /// Collects errors of scripts and violations of policies on a page, for [`problems`](Self::problems).
    pub fn watch(&mut self, page: &Page) -> Result<()> {
        for domain in ["Log.enable", "Runtime.enable"] {
            self.call(Some(&page.session), domain, &json!({}))?;
        }
        Ok(())
    }

    /// Returns what pages have reported since the last call.
    pub fn problems(&mut self) -> Vec<String> {
        while let Ok(message) = self.messages.try_recv() {
            self.collect(&message);
        }
        std::mem::take(&mut self.problems)
    }

    fn collect(&mut self, message: &Value) {
        let parameters = &message["params"];
        match message["method"].as_str() {
            Some("Log.entryAdded") if parameters["entry"]["source"] == "security" => {
                self.problems.push(parameters["entry"]["text"].as_str().unwrap_or_default().to_owned());
            }
            Some("Runtime.exceptionThrown") => {
                let details = &parameters["exceptionDetails"];
                self.problems.push(format!("{} {}", details["text"], details["exception"]["description"]));
            }
            _ => {}
        }
    }

    /// Sends a command to a page.
    pub fn command(&mut self, page: &Page, method: &str, parameters: &Value) -> Result<Value> {
        self.call(Some(&page.session), method, parameters)
    }

    /// Leads a page to an address and waits until it is there.
    pub fn navigate(&mut self, page: &Page, url: &str) -> Result<()> {
        self.evaluate(page, "window.isOld = true")?;
        self.call(Some(&page.session), "Page.navigate", &json!({"url": url}))?;
        self.wait(page, "window.isOld !== true && document.readyState === 'complete'").map(drop)
    }

    /// Waits for the window that a page opened.
    pub fn popup(&mut self, opener: &Page) -> Result<Page> {
        let begun = Instant::now();
        while begun.elapsed() < TIMEOUT {
            let targets = self.call(None, "Target.getTargets", &json!({}))?;
            let mut targets = targets["targetInfos"].as_array().into_iter().flatten();
            if let Some(target) = targets.find(|target| target["openerId"] == opener.target.as_str()) {
                return self.attach(&target["targetId"]);
            }
            thread::sleep(POLL);
        }
        bail!("no window was opened")
    }

    /// Evaluates an expression, as if the user had just clicked. A promise is awaited.
    pub fn evaluate(&mut self, page: &Page, expression: &str) -> Result<Value> {
        let parameters = json!({
            "expression": expression, "awaitPromise": true, "returnByValue": true, "userGesture": true,
        });
        let result = self.call(Some(&page.session), "Runtime.evaluate", &parameters)?;
        ensure!(result["exceptionDetails"].is_null(), "{expression}: {}", result["exceptionDetails"]);
        Ok(result["result"]["value"].clone())
    }

    /// Waits until an expression is neither null, false nor empty, and returns its value.
    pub fn wait(&mut self, page: &Page, expression: &str) -> Result<Value> {
        let begun = Instant::now();
        loop {
            // While the page loads, its elements are missing.
            let result = self.evaluate(page, expression);
            if let Ok(value) = &result
                && ![Value::Null, json!(false), json!("")].contains(value)
            {
                return Ok(value.clone());
            }
            if begun.elapsed() > TIMEOUT {
                let text = self.evaluate(page, "location.href + ' ' + document.body.innerText");
                bail!("timeout of {TIMEOUT:?}: {expression}: {result:?}\n{}", text.unwrap_or_default());
            }
            thread::sleep(POLL);
        }
    }

    /// Waits for an element and clicks it.
    pub fn click(&mut self, page: &Page, element: &str) -> Result<()> {
        self.wait(page, &format!("((element) => element && (element.click(), true))({element})")).map(drop)
    }

    /// Loads the page again.
    pub fn reload(&mut self, page: &Page) -> Result<()> {
        self.evaluate(page, "window.isOld = true")?;
        self.call(Some(&page.session), "Page.reload", &json!({}))?;
        self.wait(page, "window.isOld !== true && document.readyState === 'complete'").map(drop)
    }

    /// Writes a picture of the page as PNG.
    pub fn screenshot(&mut self, page: &Page, file: &Path) -> Result<()> {
        let size = json!({"width": 1280, "height": 1600, "deviceScaleFactor": 1, "mobile": false});
        self.call(Some(&page.session), "Emulation.setDeviceMetricsOverride", &size)?;
        self.capture(page, file)
    }

    /// Writes a picture of the window of a page as PNG.
    pub fn capture(&mut self, page: &Page, file: &Path) -> Result<()> {
        let picture = self.call(Some(&page.session), "Page.captureScreenshot", &json!({}))?;
        let png = STANDARD.decode(picture["data"].as_str().unwrap_or_default())?;
        fs::write(file, png).with_context(|| format!("cannot write {}", file.display()))
    }

    fn attach(&mut self, target: &Value) -> Result<Page> {
        let attached =
            self.call(None, "Target.attachToTarget", &json!({"targetId": target, "flatten": true}))?;
        let text = |value: &Value| value.as_str().map(str::to_owned).context("no id");
        Ok(Page { target: text(target)?, session: text(&attached["sessionId"])? })
    }

    /// Sends a command and returns its result.
    fn call(&mut self, session: Option<&str>, method: &str, parameters: &Value) -> Result<Value> {
        self.last_id += 1;
        let mut command = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = session {
            command["sessionId"] = json!(session);
        }
        let sent = self.commands.write_all(format!("{command}\0").as_bytes());
        sent.and_then(|()| self.commands.flush()).context("Chromium has ended")?;
        let begun = Instant::now();
        loop {
            let left = TIMEOUT.saturating_sub(begun.elapsed());
            let message =
                self.messages.recv_timeout(left).with_context(|| format!("no reply to {method}"))?;
            if message["id"] == self.last_id {
                ensure!(message["error"].is_null(), "{method}: {}", message["error"]);
                return Ok(message["result"].clone());
            }
            self.collect(&message);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        process::end(&mut self.child);
    }
}

/// Sets the value of an element as typing does: React ignores an assignment. Some fields report a value late,
/// unless they lose the focus.
const SET: &str = "(element, value) => {
    const type = Object.getPrototypeOf(element);
    Object.getOwnPropertyDescriptor(type, 'value').set.call(element, value);
    element.dispatchEvent(new Event(element.tagName === 'SELECT' ? 'change' : 'input', {bubbles: true}));
    element.dispatchEvent(new FocusEvent('focusout', {bubbles: true}));
    return true;
}";

/// Returns the expression for an element of an operation.
pub fn element(operation: &str, selector: &str) -> String {
    format!("document.querySelector('.opblock[id$=\"-{operation}\"] {selector}')")
}

/// Opens an operation for a request, whose fields then have the examples.
pub fn open(browser: &mut Browser, page: &Page, operation: &str) -> Result<()> {
    for class in [".opblock-summary-control", ".try-out__btn"] {
        browser.click(page, &element(operation, class))?;
    }
    browser.wait(page, &format!("{} !== null", element(operation, ".execute"))).map(drop)
}

/// Waits for a field and sets its value.
pub fn set(browser: &mut Browser, page: &Page, field: &str, value: &str) -> Result<()> {
    browser.wait(page, &format!("(({SET}))({field}, {})", json!(value))).map(drop)
}

/// Sends the request of an open operation, and returns its URL, the status and the body that the page shows.
pub fn execute(browser: &mut Browser, page: &Page, operation: &str) -> Result<[String; 3]> {
    browser.click(page, &element(operation, ".execute"))?;
    let response = ".live-responses-table tr.response";
    let mut shown = |class: String| -> Result<String> {
        let text = browser.wait(page, &format!("{}?.innerText", element(operation, &class)))?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    };
    Ok([
        shown(".request-url pre".to_owned())?,
        shown(format!("{response} .response-col_status"))?,
        shown(format!("{response} .response-col_description"))?,
    ])
}

/// Tries an operation out with its examples, and returns the same as [`execute`].
pub fn try_out(browser: &mut Browser, page: &Page, operation: &str) -> Result<[String; 3]> {
    open(browser, page, operation)?;
    execute(browser, page, operation)
}

/// Authorizes the requests of the page with a token.
pub fn authorize(browser: &mut Browser, page: &Page, token: &str) -> Result<()> {
    browser.click(page, "document.querySelector('.auth-wrapper .authorize')")?;
    set(browser, page, "document.querySelector('.auth-container input')", token)?;
    browser.click(page, "document.querySelector('.auth-container .authorize')")?;
    browser.click(page, "document.querySelector('.dialog-ux .btn-done')")
}

/// Returns the token of the page, or null.
pub fn token(browser: &mut Browser, page: &Page) -> Result<Value> {
    browser.wait(page, "window.ui?.authSelectors.authorized() !== undefined")?;
    browser.evaluate(page, "ui.authSelectors.authorized()?.toJS().bearer?.value ?? null")
}

/// Logs in by the button Authorize, and returns the token of the page.
pub fn log_in(browser: &mut Browser, page: &Page, user: &str, password: &str) -> Result<String> {
    browser.click(page, "document.querySelector('.auth-wrapper .authorize')")?;
    browser.click(
        page,
        "[...document.querySelectorAll('.auth-container')].find((form) => form.innerText.includes('PKCE'))
            ?.querySelector('.authorize')",
    )?;
    let popup = browser.popup(page)?;
    let field = |name: &str| format!("document.querySelector('#lform input[name={name}]')");
    browser.wait(&popup, &format!("document.readyState === 'complete' && {} !== null", field("password")))?;
    for (name, value) in [("user", user), ("password", password)] {
        browser.evaluate(&popup, &format!("{}.value = {}", field(name), json!(value)))?;
    }
    browser.click(&popup, "document.querySelector('#lform [type=submit]')")?;
    let token = browser.wait(page, "ui.authSelectors.authorized().toJS().login?.token?.access_token")?;
    browser.click(page, "document.querySelector('.dialog-ux .btn-done')")?;
    Ok(token.as_str().unwrap_or_default().to_owned())
}

//! The pages of the OpenID provider of deploy/login, and the console's pages around a log-in there, in a browser.

use anyhow::{Context, Result};
use serde_json::json;

use crate::browser::{Browser, Page};

/// The password that people choose.
pub const PASSWORD: &str = "correct horse battery é";

/// Returns the link in what `people` prints.
pub fn link(printed: &str) -> Result<String> {
    let link = printed.lines().find(|line| line.starts_with("http"));
    link.map(str::to_owned).with_context(|| format!("there is no link in: {printed}"))
}

/// Chooses a password on the page of a link.
pub fn choose_password(browser: &mut Browser, page: &Page, password: &str) -> Result<()> {
    browser.wait(
        page,
        "document.readyState === 'complete' && document.querySelector('#newpassword') !== null",
    )?;
    for field in ["newpassword", "confirmpassword"] {
        browser.evaluate(page, &format!("document.querySelector('#{field}').value = {}", json!(password)))?;
    }
    submit(browser, page, "document.querySelector('#password [type=submit]')")
}

/// Logs in on the provider's page.
pub fn sign_in(browser: &mut Browser, page: &Page, user: &str, password: &str) -> Result<()> {
    browser
        .wait(page, "document.readyState === 'complete' && document.querySelector('#userfield') !== null")?;
    for (field, value) in [("userfield", user), ("passwordfield", password)] {
        browser.evaluate(page, &format!("document.querySelector('#{field}').value = {}", json!(value)))?;
    }
    submit(browser, page, "document.querySelector('#lform [type=submit]')")
}

/// Clicks a button and waits for the next page.
fn submit(browser: &mut Browser, page: &Page, button: &str) -> Result<()> {
    browser.evaluate(page, "window.isOld = true")?;
    browser.click(page, button)?;
    browser.wait(page, "window.isOld !== true && document.readyState === 'complete'").map(drop)
}

/// Waits for a page of the console, and returns the person and the organisation that it shows.
pub fn person(browser: &mut Browser, page: &Page, public_url: &str) -> Result<String> {
    let script = format!(
        "location.origin === {} && document.querySelector('.who b')
            && [...document.querySelectorAll('.who b, .who small')].map((part) => part.innerText).join(', ')",
        json!(public_url)
    );
    Ok(browser.wait(page, &script)?.as_str().unwrap_or_default().to_owned())
}

/// Logs out of the console, and waits until the provider has sent the browser back.
pub fn log_out(browser: &mut Browser, page: &Page, public_url: &str) -> Result<()> {
    browser.navigate(page, &format!("{public_url}/"))?;
    browser.click(page, "document.querySelector('form[action=\"/logout\"] button')")?;
    browser.wait(page, "location.pathname === '/logged-out' && document.readyState === 'complete'").map(drop)
}

//! Steps of a user on a docs page.

use anyhow::Result;
use serde_json::json;

use super::{Browser, Page};

/// Logs in by the button Authorize, and returns the token of the page.
pub fn log_in(browser: &mut Browser, page: &Page, user: &str, password: &str) -> Result<String> {
    browser.click(page, "document.querySelector('.auth-wrapper .authorize')")?;
    browser.click(
        page,
        "[...document.querySelectorAll('.auth-container')].find((form) => form.innerText.includes('PKCE'))
            ?.querySelector('.authorize')",
    )?;
    let popup = browser.popup(page)?;
    let field = |name: &str| format!("document.querySelector('input[name={name}]')");
    browser.wait(&popup, &format!("{} !== null", field("password")))?;
    for (name, value) in [("username", user), ("password", password)] {
        browser.evaluate(&popup, &format!("{}.value = {}", field(name), json!(value)))?;
    }
    browser.click(&popup, "document.querySelector('[type=submit]')")?;
    let token = browser.wait(page, "ui.authSelectors.authorized().toJS().login?.token?.access_token")?;
    browser.click(page, "document.querySelector('.dialog-ux .btn-done')")?;
    Ok(token.as_str().unwrap_or_default().to_owned())
}

/// Tries an operation out, and returns the request's URL, the status and the body that the page shows.
pub fn try_out(browser: &mut Browser, page: &Page, operation: &str) -> Result<[String; 3]> {
    let element = |class: &str| format!("document.querySelector('.opblock[id$=\"-{operation}\"] {class}')");
    for class in [".opblock-summary-control", ".try-out__btn", ".execute"] {
        browser.click(page, &element(class))?;
    }
    let response = ".live-responses-table tr.response";
    let mut shown = |class: String| -> Result<String> {
        let text = browser.wait(page, &format!("{}?.innerText", element(&class)))?;
        Ok(text.as_str().unwrap_or_default().trim().to_owned())
    };
    Ok([
        shown(".request-url".to_owned())?,
        shown(format!("{response} .response-col_status"))?,
        shown(format!("{response} .highlight-code"))?,
    ])
}

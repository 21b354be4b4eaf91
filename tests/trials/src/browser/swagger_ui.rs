//! What users do on a page of Swagger UI.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Browser, Page};

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

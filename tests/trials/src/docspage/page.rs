//! Checks on the docs page of a service.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::processes::checkout::SERVICES;
use testkit::processes::http::{Body, Form, HttpClient};
use testkit::processes::service::ServiceProcess;

use super::open_app;
use crate::browser::{Browser, Page, authorize, element, execute, open, set, token};

/// An id that names nothing.
const UNKNOWN: &str = "01955bf1-6c00-7a10-8000-00000000ffff";

/// The content of a chosen file, and its SHA-256.
const CONTENT: &str = "Ticket 48214: 27.6 t";
const CONTENT_HASH: &str = "bc122414129f5c99f90513c24f7db977976c112088a8bc223a17bc32ea70570f";

/// An open docs page.
pub struct Visit {
    pub page: Page,
}

impl Visit {
    /// Opens a page and waits for its operations.
    pub fn open(browser: &mut Browser, url: &str) -> Result<Self> {
        let page = browser.open(url)?;
        browser.wait(&page, "document.querySelector('.opblock') !== null")?;
        Ok(Self { page })
    }

    /// Checks the title, and that both links lead to the pages of the other services.
    pub fn check_links(&self, browser: &mut Browser, name: &str) -> Result<()> {
        let http = HttpClient::new(Duration::from_secs(30));
        let title = browser.evaluate(&self.page, "document.title")?;
        ensure!(title == format!("Drover {name}"), "{name}: the title is {title}");
        for other in SERVICES.iter().filter(|other| **other != name) {
            let link = format!("document.querySelector('#services a[data-service={other}]').href");
            let link = browser.evaluate(&self.page, &link)?;
            let page = http.send("GET", link.as_str().unwrap_or_default(), None, &Body::Empty)?;
            let is_right = page.status == 200
                && String::from_utf8_lossy(&page.bytes).contains(&format!("<title>Drover {other}</title>"));
            ensure!(is_right, "{name}: {link} does not lead to the page of {other}: status {}", page.status);
        }
        Ok(())
    }

    /// Pastes a token.
    pub fn authorize(&self, browser: &mut Browser, token: &str) -> Result<()> {
        authorize(browser, &self.page, token)?;
        self.check_token(browser, token)
    }

    /// Checks that the page has this token.
    pub fn check_token(&self, browser: &mut Browser, expected: &str) -> Result<()> {
        let found = token(browser, &self.page)?;
        ensure!(found == expected, "the page has the token {found}, not {expected}");
        Ok(())
    }

    /// Tries an operation out with its examples. Sends a merge patch with its own media type.
    pub fn check_success(&self, browser: &mut Browser, operation: &str, url_prefix: &str) -> Result<()> {
        let page = &self.page;
        browser.wait(page, "document.querySelector('.opblock') !== null")?;
        open(browser, page, operation)?;
        if operation == "update_load" {
            let select = element(operation, ".opblock-section-request-body select.content-type");
            set(browser, page, &select, "application/merge-patch+json")?;
        }
        let [url, status, shown] = execute(browser, page, operation)?;
        let is_right = url.starts_with(url_prefix) && status.starts_with("200");
        ensure!(is_right, "{operation} on the docs page: {url}: {status}: {shown}");
        Ok(())
    }

    /// Chooses a file for the open upload and sends it.
    pub fn check_upload(&self, browser: &mut Browser) -> Result<()> {
        let page = &self.page;
        browser.click(page, &element("upload_file", ".btn-clear"))?;
        browser.wait(page, &format!("{} === null", element("upload_file", ".live-responses-table")))?;
        let input = element("upload_file", "[data-property-name=file] input[type=file]");
        let choose = format!(
            "((input) => {{
                const files = new DataTransfer();
                files.items.add(new File([{}], 'ticket.txt', {{type: 'text/plain'}}));
                input.files = files.files;
                return input.dispatchEvent(new Event('change', {{bubbles: true}}));
            }})({input})",
            json!(CONTENT)
        );
        browser.wait(page, &choose)?;
        let [_, status, shown] = execute(browser, page, "upload_file")?;
        let is_right = status.starts_with("200") && shown.contains(CONTENT_HASH);
        ensure!(is_right, "a chosen file on the docs page: {status}: {shown}");
        Ok(())
    }

    /// Checks that the page shows an error: of the operation that reads one thing of the service.
    pub fn check_error(&self, browser: &mut Browser, name: &str) -> Result<()> {
        let operation = match name {
            "system" => "find_file",
            "logistics" => "find_load",
            _ => "find_listing",
        };
        browser.reload(&self.page)?;
        browser.wait(&self.page, "document.querySelector('.opblock') !== null")?;
        open(browser, &self.page, operation)?;
        set(browser, &self.page, &element(operation, "[data-param-name=id] input"), UNKNOWN)?;
        let [_, status, shown] = execute(browser, &self.page, operation)?;
        let is_right = status.starts_with("404") && shown.contains("not_found");
        ensure!(is_right, "{operation} of an unknown id on the docs page: {status}: {shown}");
        Ok(())
    }
}

/// Shows a PNG of 1280 × 1600 pixels, which only its organisation may download, on a page of another service.
///
/// # Errors
/// Says what the browser showed instead of the image.
pub fn check_linked_image(
    browser: &mut Browser,
    system: &ServiceProcess,
    other: &ServiceProcess,
    png: &Path,
    token: &str,
) -> Result<()> {
    let http = HttpClient::new(Duration::from_secs(30));
    let field = |name, value: &str| (name, value.to_owned());
    let form = Form {
        fields: vec![field("bucket", "images"), field("type", "misc"), field("name", "Page.png")],
        file_name: "page.png",
        media_type: "image/png",
        content: Cow::Owned(fs::read(png).with_context(|| format!("cannot read {}", png.display()))?),
    };
    let uploaded = http.send("POST", &system.url("/v1/files"), Some(token), &Body::Form(form))?;
    let id = uploaded.json["id"].as_str().with_context(|| format!("the upload: {}", uploaded.json))?;
    let body = Body::Json(json!({ "width": 320 }));
    let link = http.send("POST", &system.url(&format!("/v1/files/{id}/link")), Some(token), &body)?;
    let url = &link.json["url"];

    let page = open_app(browser, other)?;
    let mut shown = |url: &Value| {
        browser.evaluate(
            &page,
            &format!(
                "new Promise((done) => {{
                    const image = new Image();
                    image.onload = () => done(`${{image.naturalWidth}} × ${{image.naturalHeight}}`);
                    image.onerror = () => done('nothing');
                    image.src = {url};
                    document.documentElement.append(image);
                }})"
            ),
        )
    };
    let (by_link, without) = (shown(url)?, shown(&json!(system.url(&format!("/v1/files/{id}"))))?);
    ensure!(by_link == "320 × 400", "the browser shows {by_link} for {url}");
    ensure!(without == "nothing", "the browser shows {without} without a link");
    let fetched = format!("fetch({url}).then((response) => response.blob()).then((blob) => blob.type)");
    let media_type = browser.evaluate(&page, &fetched)?;
    // Chromium accepts `*/*`.
    ensure!(media_type == "image/webp", "fetch of {url}: {media_type}");
    Ok(())
}

//! A page on another origin shows a private image by a signed link.

use std::borrow::Cow;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use stack::http::{Body, HttpClient};
use stack::multipart::Form;
use stack::service::ServiceProcess;

use crate::browser::Browser;

/// Shows a PNG of 1280 × 1600 pixels, which only its organisation may download, on a page of another service.
///
/// # Errors
/// Says what the browser showed instead of the image.
pub fn check(
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

    let page = browser.open(&other.url("/healthz"))?;
    browser.wait(&page, "location.pathname === '/healthz' && document.readyState === 'complete'")?;
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

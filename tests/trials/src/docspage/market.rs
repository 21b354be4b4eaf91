//! The market for visitors (deploy/examples/market.html): listings with photographs, categories and the map. A page of
//! 20 listings loads small pictures, however large the photographs are.

use std::fmt::Write;

use anyhow::{Context, Result, ensure};
use serde_json::json;
use testkit::market::sheep_listing;
use testkit::processes::checkout;
use testkit::processes::http::Body;
use testkit::processes::service::ServiceProcess;
use testkit::processes::trial::Trial;

use super::open_app;
use crate::browser::Browser;

const PAGE: &str = "deploy/examples/market.html";
const LISTINGS: usize = 20;
/// The most bytes of the pictures of a page.
const MAX_BYTES: u64 = 600_000;

/// Draws a photograph of 12 megapixels, with the noise of a camera and leaves of grass, and stores it. Returns its id
/// and its size.
const UPLOAD: &str = r"(async () => {
    const canvas = Object.assign(document.createElement('canvas'), {width: 4000, height: 3000});
    const pen = canvas.getContext('2d');
    for (let leaf = 0; leaf < 40_000; leaf++) {
        pen.strokeStyle = `hsl(${60 + Math.random() * 80} ${30 + Math.random() * 40}% ${20 + Math.random() * 50}%)`;
        pen.lineWidth = 1 + Math.random() * 12;
        const [x, y] = [Math.random() * 4000, Math.random() * 3000];
        pen.beginPath();
        pen.moveTo(x, y);
        pen.lineTo(x + Math.random() * 80 - 40, y - Math.random() * 200);
        pen.stroke();
    }
    const pixels = pen.getImageData(0, 0, 4000, 3000);
    pixels.data.forEach((value, index, all) => { all[index] = index % 4 === 3 ? 255 : value + Math.random() * 16 - 8; });
    pen.putImageData(pixels, 0, 0);
    const photograph = await new Promise((done) => canvas.toBlob(done, 'image/jpeg', 0.92));
    const form = new FormData();
    for (const [name, value] of [['bucket', 'images'], ['type', 'misc'], ['name', 'Field']]) form.append(name, value);
    form.append('file', photograph, 'field.jpg');
    const stored = await fetch('/v1/files', {method: 'POST', body: form, headers: {authorization: `Bearer ${token}`}});
    return [(await stored.json()).id, photograph.size];
})()";

/// The bytes of the pictures that the page shows.
const PICTURES: &str = "Promise.all([...document.querySelectorAll('#list img')].map(async (picture) => {
    picture.loading = 'eager';
    await picture.decode();
    return (await (await fetch(picture.currentSrc)).blob()).size;
}))";

/// Publishes listings with a photograph, opens the page, chooses a category and a part of the map.
pub fn check(trial: &Trial<'_>, browser: &mut Browser, stack: &[ServiceProcess], token: &str) -> Result<()> {
    let [system, .., livestock] = stack else { anyhow::bail!("there are three services") };
    let page = open_app(browser, system)?;
    browser.evaluate(&page, &format!("token = {}", json!(token)))?;
    let stored = browser.evaluate(&page, UPLOAD)?;
    let mut listing = sheep_listing("visitors", &json!([{"id": stored[0]}]));
    listing["location"] = json!({"coordinates": {"lat": 51.95, "lon": -3.39}});
    for _ in 0..LISTINGS {
        let created = livestock.send("POST", "/v1/listings/sheep", token, &Body::Json(listing.clone()))?;
        ensure!(created.status == 200, "created: {} {}", created.status, created.json);
    }
    let mut url = format!("file://{}", checkout::root().join(PAGE).display());
    write!(url, "?livestock={}", livestock.url(""))?;
    let page = browser.open(&url)?;
    browser.wait(&page, &format!("document.querySelectorAll('#list img').length === {LISTINGS}"))?;
    let sizes: Vec<u64> = serde_json::from_value(browser.evaluate(&page, PICTURES)?)?;
    let bytes: u64 = sizes.iter().sum();
    ensure!(sizes.len() == LISTINGS && bytes <= MAX_BYTES, "the pictures have {bytes} bytes: {sizes:?}");
    let total = browser.evaluate(&page, "document.querySelector('#message').innerText")?;
    browser.click(
        &page,
        "[...document.querySelectorAll('#facets button')].find((b) => /^cattle/.test(b.innerText))",
    )?;
    browser.wait(&page, "document.querySelector('#facets [aria-pressed=true]') !== null")?;
    browser.click(
        &page,
        "[...document.querySelectorAll('#facets button')].find((b) => /^cattle/.test(b.innerText))",
    )?;
    let is_total = format!("document.querySelector('#message').innerText === {total}");
    browser.wait(&page, &format!("{is_total} && document.querySelectorAll('#map circle').length > 0"))?;
    // The map shows the part around the circle, where all listings may be.
    let part = "document.querySelector('#map').getAttribute('viewBox')";
    let whole = browser.evaluate(&page, part)?;
    browser.evaluate(&page, "document.querySelector('#map circle').dispatchEvent(new Event('click'))")?;
    browser
        .wait(&page, &format!("{part} !== {whole} && document.querySelectorAll('#list img').length > 0"))?;
    let png = checkout::target_dir()?.join("docspage/market.png");
    browser.screenshot(&page, &png)?;
    let photograph = stored[1].as_u64().context("the photograph has no size")?;
    trial.note(
        format!("pictures of {LISTINGS} public listings, each a photograph of {} kB", photograph / 1000),
        format!("{} kB", bytes / 1000),
        format!("at most {} kB", MAX_BYTES / 1000),
    );
    Ok(())
}

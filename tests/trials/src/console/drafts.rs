//! What somebody writes stays in the browser until it is sent: a listing with its pictures, and a sheet that is mended.
//! It comes back to the same person of the same organisation only.

use anyhow::{Result, ensure};
use serde_json::{Value, json};
use testkit::processes::checkout::CONSOLE;

use super::phone::PHOTOGRAPH;
use super::{Office, choose, fill, press, see, visit};
use crate::browser::{Browser, Page};

/// What a listing of sheep needs besides its title.
const EWES: [(&str, &str); 5] = [
    ("properties.breed", "Beulah Speckled Face"),
    ("properties.quantity", "24"),
    ("description", "Correct mouths."),
    ("price.pricePerUnit.amount", "145,50"),
    ("location.address.postcode", "LD3 7HR"),
];

/// Logs in as another person in the browser of a page, and opens an address as that person.
fn log_in_as(
    office: &Office<'_>,
    browser: &mut Browser,
    page: &Page,
    person: &str,
    path: &str,
) -> Result<()> {
    browser.navigate(page, &office.url(&format!("/login?to={path}"))?)?;
    choose(browser, page, person)
}

/// Returns whether a page shows a text a second after it was opened.
fn shows(browser: &mut Browser, page: &Page, text: &str) -> Result<bool> {
    let later = "new Promise((done) => setTimeout(done, 1000))";
    let shows = format!("{later}.then(() => document.body.innerText.includes({}))", json!(text));
    Ok(browser.evaluate(page, &shows)? == Value::Bool(true))
}

/// A half-written listing and its pictures survive leaving, until it is published.
pub(super) fn listing(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    const BEGUN: &str = "You began to write this";
    let (path, title) = ("/market/new/sheep", "[name=\"properties.title\"]");
    let page = visit(office, browser, "carys", path)?;
    fill(browser, &page, title, "Beulah ewes")?;
    browser.evaluate(&page, PHOTOGRAPH)?;
    browser.wait(&page, "document.querySelector('.stored > li') !== null")?;
    let picture = browser.evaluate(&page, "document.querySelector('input[name=files]').value")?;
    browser.navigate(&page, &office.url("/market")?)?;

    log_in_as(office, browser, &page, "tom", path)?;
    ensure!(!shows(browser, &page, BEGUN)?, "another person finds the listing");
    log_in_as(office, browser, &page, "carys", path)?;
    see(browser, &page, BEGUN)?;
    press(browser, &page, "Go on writing")?;
    let kept = format!(
        "[document.querySelector('{title}').value, document.querySelector('input[name=files]')?.value]"
    );
    let kept = browser.evaluate(&page, &kept)?;
    ensure!(kept == json!(["Beulah ewes", picture]), "of the listing, {kept} is kept");

    // A log-in that has ended is said in place.
    browser.command(&page, "Network.clearBrowserCookies", &json!({}))?;
    browser.evaluate(&page, PHOTOGRAPH)?;
    see(browser, &page, "Your log-in has ended")?;
    log_in_as(office, browser, &page, "carys", path)?;
    press(browser, &page, "Go on writing")?;
    for (name, value) in EWES {
        fill(browser, &page, &format!("[name=\"{name}\"]"), value)?;
    }
    press(browser, &page, "Publish")?;
    browser
        .wait(&page, "location.search.includes('done=published') && document.readyState === 'complete'")?;
    browser.navigate(&page, &office.url(path)?)?;
    ensure!(!shows(browser, &page, BEGUN)?, "the listing is published, and its draft still there");
    Ok(())
}

/// What was mended in a sheet survives a reload, a restart of the console and a log-in.
pub(super) fn import(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    const OFFERED: &str = "is not imported yet";
    let choose_file = "(() => {
        const rows = ['Our ref,Delivery date,Crop,Weight (t)', 'WK-1,13/8/2026,Feed Wheat,29', 'WK-2,31/9/2026,Feed Wheat,28'];
        const files = new DataTransfer();
        files.items.add(new File([rows.join('\\n')], 'week33.csv', {type: 'text/csv'}));
        const input = document.querySelector('#f-file');
        input.files = files.files;
        input.dispatchEvent(new Event('change', {bubbles: true}));
        return true;
    })()";
    let page = visit(office, browser, "owen", "/import")?;
    browser.evaluate(&page, choose_file)?;
    see(browser, &page, "to be assigned")?;
    let select = "document.querySelector('select[data-heading=Crop]')";
    let assign =
        format!("[...{select}.options].find((option) => option.value.startsWith('commodityName')).value");
    let assign = browser.evaluate(&page, &assign)?;
    browser.evaluate(
        &page,
        &format!("{select}.value = {assign}; {select}.dispatchEvent(new Event('change', {{bubbles: true}}))"),
    )?;
    press(browser, &page, "Check again")?;
    let faulty = "td.fault input[name=value]";
    browser.wait(&page, &format!("document.querySelector('{faulty}') !== null"))?;

    // Without an answer, the buttons work again.
    let network = |is_offline: bool| json!({"offline": is_offline, "latency": 0, "downloadThroughput": -1, "uploadThroughput": -1});
    fill(browser, &page, faulty, "30/9/2026")?;
    browser.command(&page, "Network.enable", &json!({}))?;
    browser.command(&page, "Network.emulateNetworkConditions", &network(true))?;
    press(browser, &page, "Check again")?;
    see(browser, &page, "There is no answer")?;
    browser.command(&page, "Network.emulateNetworkConditions", &network(false))?;
    press(browser, &page, "Check again")?;
    see(browser, &page, "Import 2 rows")?;

    office.service_mut(CONSOLE)?.kill()?;
    office.restart(CONSOLE)?;
    browser.navigate(&page, &office.url("/import")?)?;
    see(browser, &page, OFFERED)?;
    press(browser, &page, "Continue")?;
    see(browser, &page, "Import 2 rows")?;
    browser.command(&page, "Network.clearBrowserCookies", &json!({}))?;
    press(browser, &page, "Import 2 rows")?;
    see(browser, &page, "Log in, in a new tab")?;
    see(browser, &page, "Import 2 rows")?;
    let other = browser.open_beside(&page, &office.url("/login?to=/import")?)?;
    choose(browser, &other, "ruth")?;
    ensure!(!shows(browser, &other, OFFERED)?, "another person finds the sheet");
    log_in_as(office, browser, &other, "owen", "/logged-in")?;
    press(browser, &page, "Import 2 rows")?;
    see(browser, &page, "2 loads were created")?;
    browser.navigate(&page, &office.url("/import")?)?;
    ensure!(!shows(browser, &page, OFFERED)?, "the sheet is imported, and its draft still there");
    // The heading means the same the next time.
    browser.evaluate(&page, choose_file)?;
    browser.wait(&page, &format!("document.querySelector('{faulty}') !== null"))?;
    ensure!(!shows(browser, &page, "to be assigned")?, "the heading is not remembered");
    Ok(())
}

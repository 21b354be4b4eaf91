//! The work of an office: the main job of each screen, and what goes wrong meanwhile.

use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::processes::checkout::CONSOLE;
use testkit::processes::http::Body;

use super::screens::emulate;
use super::{Office, choose, drafts, fill, press, see, visit};
use crate::browser::{Browser, Page};

/// A job: what it is, and how it is done.
type Job = (&'static str, fn(&mut Office<'_>, &mut Browser) -> Result<()>);

const JOBS: [Job; 18] = [
    ("Today: each tile leads to the list that it counts", tiles),
    ("Loads: a filter, a load, the next one, and back", list_and_back),
    ("Loads: select, live changes and their pause, a search after the log-in ended", list_in_the_browser),
    ("Loads: live changes after the log-in ended", live_log_in),
    ("Loads: the choice goes on over the pages, and some are taken out", choice_of_pages),
    ("Loads and Moderation: keys, which can be switched off; what has the focus is not covered", keys),
    ("Enter saves, Escape leaves a form, and changes are asked about", escape),
    ("Load: a cancellation is undone by keyboard, until something else is done", undo),
    ("Load: note, send to a driver, collect, prove", prove),
    ("Load: the picture of a ticket is enlarged and turned beside the fields", tickets),
    ("Load: two people edit it, and only what both changed is asked about", two_people),
    ("a form is sent twice by a double click, and again after Back", double_click),
    ("what is printed in dark mode is black on white", print),
    ("Market: a half-written listing survives leaving", drafts::listing),
    ("Import: what is mended survives a reload, a restart and a log-in", drafts::import),
    ("a log-in ends in a half-filled form", expired),
    ("Back after the log-out shows nothing of before", back_after_log_out),
    ("a service is away, and the rest of the page is usable", away),
];

/// Does each job.
pub(super) fn check(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    for (name, job) in JOBS {
        office.trial.check()?;
        // A page that stays open has a stream of events.
        browser.close_pages()?;
        let begun = Instant::now();
        job(office, browser).context(name)?;
        let problems = browser.problems();
        ensure!(problems.is_empty(), "{name}: {}", problems.join("\n"));
        office.trial.note(name, format!("{:.1} s", begun.elapsed().as_secs_f64()), "done");
    }
    Ok(())
}

fn tiles(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/")?;
    let tiles = "[...document.querySelectorAll('a.tile')].map((tile) => [tile.href, tile.querySelector('b').textContent,
        tile.querySelectorAll('small')[1].textContent])";
    for tile in browser.evaluate(&page, tiles)?.as_array().context("no tiles")? {
        let [href, number, text] = [0, 1, 2].map(|index| tile[index].as_str().unwrap_or_default().to_owned());
        browser.navigate(&page, &href)?;
        // Delivered loads are counted in the text, by their tonnes in the number.
        let count = if number.ends_with('t') {
            text.split(' ').next().unwrap_or_default().to_owned()
        } else {
            number
        };
        let listed = browser.evaluate(&page, "document.querySelector('.head small')?.textContent ?? ''")?;
        let listed = listed.as_str().unwrap_or_default().replace(',', "");
        let is_equal = listed.split(' ').next() == Some(&*count.replace(',', ""));
        ensure!(is_equal, "the tile counts {count}, the list at {href} {listed}");
    }
    Ok(())
}

fn list_and_back(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads?status=completed&sort=reference")?;
    fill(browser, &page, "#search", "BG")?;
    press(browser, &page, "Search")?;
    browser.wait(&page, "location.search.includes('q=BG') && document.readyState === 'complete'")?;
    let rows = "document.querySelectorAll('tbody tr').length";
    let before = browser.evaluate(&page, rows)?;
    let list = browser.evaluate(&page, "location.href")?;
    ensure!(before.as_u64() > Some(1), "{before} rows");
    browser.click(&page, "document.querySelector('tbody a.main')")?;
    browser.wait(&page, "/^.loads.[^?]/.test(location.pathname) && document.readyState === 'complete'")?;
    let first = browser.evaluate(&page, "document.querySelector('h1').textContent")?;
    press(browser, &page, "Next")?;
    browser.wait(&page, &format!("document.querySelector('h1')?.textContent !== {first}"))?;
    browser.evaluate(&page, "history.go(-2)")?;
    browser.wait(&page, &format!("location.href === {list} && document.readyState === 'complete'"))?;
    let after = browser.evaluate(&page, rows)?;
    ensure!(before == after, "{before} rows, and {after} after going back");
    Ok(())
}

fn list_in_the_browser(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads?status=upcoming")?;
    emulate(browser, &page, (1000, 700), "light")?;
    browser.navigate(&page, &office.url("/loads?status=upcoming")?)?;
    let bottom =
        browser.evaluate(&page, "document.querySelector('.scroll').getBoundingClientRect().bottom")?;
    ensure!(bottom.as_f64() <= Some(700.0), "the sideways scroll bar is at {bottom} of 700 px");
    for (row, with_shift) in [(0, false), (3, true)] {
        let click = format!("new MouseEvent('click', {{bubbles: true, shiftKey: {with_shift}}})");
        let boxes = "document.querySelectorAll('input[name=ids]')";
        browser.evaluate(&page, &format!("{boxes}[{row}].dispatchEvent({click})"))?;
    }
    see(browser, &page, "4 selected")?;
    // Both tabs show a change, rows do not move, and a pause holds the next change back.
    let second = browser.open_beside(&page, &office.url("/loads?status=upcoming")?)?;
    browser.watch(&second)?;
    let rows = "[...document.querySelectorAll('tbody tr')].map((row) => row.dataset.id).join()";
    let before = browser.evaluate(&page, rows)?;
    let ids: Vec<_> = before.as_str().context("no rows")?.split(',').map(str::to_owned).collect();
    let [first, other] = [0, 1].map(|row| format!("/v1/loads/{}/notes", ids[row]));
    let owen = office.token("owen", "border-grain");
    // What is typed, as if it was not searched for yet, and what has the focus.
    browser.evaluate(
        &page,
        "document.querySelector('#search').value = 'BG'; document.querySelectorAll('input[name=ids]')[2].focus()",
    )?;
    office.write(&first, &owen, json!({"text": "Gate 3"}))?;
    for page in [&page, &second] {
        see(browser, page, "1 changed.")?;
        ensure!(browser.evaluate(page, rows)? == before, "rows moved");
    }
    let kept = "[document.querySelector('#search').value, document.querySelector('[data-count]').textContent.slice(0, 10),
        [...document.querySelectorAll('input[name=ids]')].indexOf(document.activeElement)]";
    let kept = browser.evaluate(&page, kept)?;
    ensure!(kept == json!(["BG", "4 selected", 2]), "a change leaves {kept}");
    let is_one = || -> Result<bool> {
        let metrics = office.service("logistics")?.get("/metrics", "")?.bytes;
        Ok(String::from_utf8_lossy(&metrics).lines().any(|line| line == "drover_event_streams 1"))
    };
    // The streams of pages that are closed end with delay.
    office.trial.wait_for("two tabs have one stream", Duration::from_secs(60), is_one)?;
    press(browser, &page, "Pause")?;
    office.write(&other, &owen, json!({"text": "Gate 4"}))?;
    see(browser, &second, "2 changed.")?;
    see(browser, &page, "1 changed.")?;
    press(browser, &page, "Go on")?;
    see(browser, &page, "2 changed.")?;
    press(browser, &page, "Show")?;
    browser
        .wait(&page, "document.querySelector('[data-live]')?.hidden && document.readyState === 'complete'")?;
    see(browser, &page, "4 selected")?;
    browser.command(&page, "Network.clearBrowserCookies", &json!({}))?;
    fill(browser, &page, "#search", "BG-1")?;
    see(browser, &page, "Log in again")?;
    let typed = browser.evaluate(&page, "document.querySelector('#search').value")?;
    ensure!(typed == json!("BG-1"), "{typed}");
    Ok(())
}

fn live_log_in(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads?status=upcoming")?;
    let list = browser.evaluate(&page, "location.href")?;
    let load = browser.evaluate(&page, "document.querySelector('tbody tr').dataset.id")?;
    let note = format!("/v1/loads/{}/notes", load.as_str().context("no rows")?);
    office.write(&note, &office.token("owen", "border-grain"), json!({"text": "Gate 5"}))?;
    see(browser, &page, "1 changed.")?;
    browser.command(&page, "Network.clearBrowserCookies", &json!({}))?;
    // This ends the stream.
    office.service_mut(CONSOLE)?.kill()?;
    office.restart(CONSOLE)?;
    see(browser, &page, "Log in again, in a new tab")?;
    ensure!(browser.evaluate(&page, "location.href")? == list, "the list was left");
    Ok(())
}

fn choice_of_pages(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads?sort=reference")?;
    browser.click(&page, "document.querySelector('input[name=ids]')")?;
    see(browser, &page, "1 selected")?;
    press(browser, &page, "Next 50")?;
    see(browser, &page, "First page")?;
    browser.click(&page, "document.querySelector('input[name=ids]')")?;
    see(browser, &page, "2 selected")?;
    see(browser, &page, "1 of them on other pages")?;
    browser.click(&page, "document.querySelector('th.pick input')")?;
    let rows = browser.evaluate(&page, "document.querySelectorAll('input[name=ids]').length")?;
    let chosen = rows.as_u64().context("no rows")? + 1;
    see(browser, &page, &format!("{chosen} selected"))?;
    press(browser, &page, "Cancel")?;
    see(browser, &page, &format!("Cancel {chosen} loads"))?;
    let planned = "document.querySelector('.head small').textContent";
    let before = browser.evaluate(&page, planned)?;
    browser.click(&page, "document.querySelector('input[name=ids]')")?;
    see(browser, &page, &format!("Cancel {} loads", chosen - 1))?;
    ensure!(
        browser.evaluate(&page, planned)? != before,
        "the load that is taken out is still counted: {before}"
    );
    Ok(())
}

fn tickets(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let (image, field) = ("document.querySelector('.tickets img')", "#f-ticketNumber");
    for action in ["", "/correct"] {
        let page = visit(office, browser, "owen", &format!("/loads/{}{action}", office.delivered))?;
        browser.wait(&page, &format!("{image}?.naturalWidth > 0"))?;
        if !action.is_empty() {
            fill(browser, &page, field, "T-77")?;
        }
        let width = format!("{image}.getBoundingClientRect().width");
        let before = browser.evaluate(&page, &width)?.as_f64();
        browser.click(&page, "document.querySelector('.tickets .zoom')")?;
        browser.wait(&page, &format!("{image}.complete && !{image}.src.includes('?width')"))?;
        let after = browser.evaluate(&page, &width)?.as_f64();
        ensure!(after > before, "{action}: the picture is {after:?} pixels wide, and was {before:?}");
        for _ in 0..2 {
            press(browser, &page, "Turn")?;
        }
        let shown =
            format!("[getComputedStyle({image}).rotate, document.querySelector('{field}')?.value ?? 'T-77']");
        let shown = browser.evaluate(&page, &shown)?;
        ensure!(shown == json!(["180deg", "T-77"]), "{action}: two turns leave {shown}");
    }
    Ok(())
}

/// Presses a key where the focus is.
fn hit(browser: &mut Browser, page: &Page, key: &str) -> Result<()> {
    let (code, text) = match key {
        "Tab" => (9, ""),
        "Enter" => (13, "\r"),
        letter => (u32::from(letter.as_bytes()[0].to_ascii_uppercase()), letter),
    };
    // As in a window in front of the others.
    browser.command(page, "Emulation.setFocusEmulationEnabled", &json!({"enabled": true}))?;
    for kind in ["keyDown", "keyUp"] {
        let text = if kind == "keyDown" { text } else { "" };
        let event =
            json!({"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text});
        browser.command(page, "Input.dispatchKeyEvent", &event)?;
    }
    Ok(())
}

fn keys(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    const ROW: &str = "document.activeElement.closest('tr')?.rowIndex ?? 0";
    // Whether something else is in front of the upper or lower edge of what has the focus.
    const COVERED: &str = "(({left, top, bottom}) => [top + 1, bottom - 1].some((y) =>
        !document.activeElement.contains(document.elementFromPoint(left + 1, y))))(
        document.activeElement.getBoundingClientRect())";
    let page = visit(office, browser, "owen", "/")?;
    emulate(browser, &page, (920, 700), "light")?;
    browser.navigate(&page, &office.url("/loads?status=completed&sort=reference")?)?;
    let rows = browser.evaluate(&page, "document.querySelectorAll('tr[data-id]').length")?;
    let rows = rows.as_u64().context("no rows")?;
    ensure!(rows > 20, "{rows} rows do not scroll");
    for (key, last) in [("j", rows), ("k", 1)] {
        for _ in 0..rows {
            hit(browser, &page, key)?;
            let covered = browser.evaluate(&page, COVERED)?;
            ensure!(covered == json!(false), "{key}: {}", browser.evaluate(&page, ROW)?);
        }
        ensure!(browser.evaluate(&page, ROW)? == json!(last), "{key} does not lead to row {last}");
    }
    // Head and reference stay in view.
    let placed = "(() => {
        const box = document.querySelector('.scroll');
        box.scrollTo(150, 200);
        const [{left, top}, head, load] = [box, box.querySelector('th'), box.querySelector('tbody tr:nth-child(20) .c-load')]
            .map((element) => element.getBoundingClientRect());
        return [box.scrollLeft > 0 && box.scrollTop > 0, Math.abs(head.top - top) <= 1, Math.abs(load.left - left) <= 1];
    })()";
    let placed = browser.evaluate(&page, placed)?;
    ensure!(placed == json!([true, true, true]), "scrolled, head and reference in their place: {placed}");
    for (button, row) in [("Switch keys off", 1), ("Switch keys on", 2)] {
        press(browser, &page, button)?;
        // The choice stays.
        browser.reload(&page)?;
        browser.evaluate(&page, "document.querySelector('tbody a.main').focus()")?;
        hit(browser, &page, "j")?;
        let shown = browser.evaluate(&page, ROW)?;
        ensure!(shown == json!(row), "after {button}, j leads to row {shown}");
    }

    let report = Body::Json(json!({"reason": "misleading", "message": "Another breed"}));
    let path = format!("/v1/listings/{}/report", office.listing);
    let reported =
        office.service("livestock")?.send("POST", &path, &office.token("owen", "border-grain"), &report)?;
    ensure!(reported.status == 200, "{} {}", reported.status, reported.json);
    let page = visit(office, browser, "anna", "/moderation")?;
    for (button, focus) in [("Switch these keys off", false), ("Switch the keys on", true)] {
        press(browser, &page, button)?;
        hit(browser, &page, "r")?;
        let has_focus = browser.evaluate(&page, "document.activeElement.dataset.key === 'r'")?;
        ensure!(has_focus == json!(focus), "after {button}, r leads to Remove: {has_focus}");
    }
    Ok(())
}

fn undo(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-6")?;
    let page = visit(office, browser, "owen", &format!("/loads/{load}/cancel"))?;
    browser.click(&page, "document.querySelector('form.fields button.primary')")?;
    see(browser, &page, "Undo")?;
    browser.reload(&page)?;
    for _ in 0..60 {
        hit(browser, &page, "Tab")?;
        if browser.evaluate(&page, "document.activeElement.textContent")? == json!("Undo") {
            hit(browser, &page, "Enter")?;
            browser.wait(
                &page,
                "location.search.includes('done=reopen') && document.readyState === 'complete'",
            )?;
            let status = office.read(&format!("/v1/loads/{load}"))?["status"].clone();
            ensure!(status == "upcoming", "the load is {status}");
            let buttons = "[...document.querySelectorAll('button')].map(({textContent}) => textContent)";
            let has_more = browser.evaluate(&page, &format!("{buttons}.includes('Undo')"))?;
            ensure!(has_more == json!(false), "what was undone can be undone again");
            return Ok(());
        }
    }
    anyhow::bail!("Tab does not lead to Undo")
}

fn print(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    // Texts whose colour has a contrast to white below 4.5:1, and how the table is broken over pages.
    const PRINTED: &str = "(() => {
        const light = (part) => (part /= 255) <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        const contrast = (element) => {
            const [red, green, blue] = getComputedStyle(element).color.match(/[0-9.]+/g).map(Number).map(light);
            return 1.05 / (0.2126 * red + 0.7152 * green + 0.0722 * blue + 0.05);
        };
        const hasText = ({childNodes}) => [...childNodes].some((node) => node.nodeType === 3 && node.data.trim());
        const shown = [...document.querySelectorAll('body *')].filter((element) => element.checkVisibility() && hasText(element));
        const styles = [['thead', 'display'], ['tbody tr', 'breakInside']].map(([selector, name]) =>
            [...document.querySelectorAll(selector)].map((element) => getComputedStyle(element)[name]));
        return [shown.length > 10, shown.filter((element) => contrast(element) < 4.5).map(({outerHTML}) => outerHTML),
            ...styles.map((values) => [...new Set(values)].join())];
    })()";
    let page = visit(office, browser, "owen", "/")?;
    let sheet = format!("/loads/{}/sheet", office.open);
    for path in ["/loads", "/board/sheet?haulier=hereford-haulage", &sheet] {
        let dark = json!([{"name": "prefers-color-scheme", "value": "dark"}]);
        browser.command(&page, "Emulation.setEmulatedMedia", &json!({"media": "print", "features": dark}))?;
        browser.navigate(&page, &office.url(path)?)?;
        let printed = browser.evaluate(&page, PRINTED)?;
        ensure!(printed == json!([true, [], "table-header-group", "avoid"]), "{path}: {printed}");
    }
    Ok(())
}

fn escape(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-5")?;
    let page = visit(office, browser, "owen", &format!("/loads/{load}/edit"))?;
    fill(browser, &page, "#f-reference", "CHANGED")?;
    let leave = "const event = new Event('beforeunload', {cancelable: true}); dispatchEvent(event);";
    let is_asked =
        browser.evaluate(&page, &format!("(() => {{ {leave} return event.defaultPrevented; }})()"))?;
    ensure!(is_asked == json!(true), "leaving with changes is not asked about");
    fill(browser, &page, "#f-reference", "BG-JOB-5")?;
    let key = "new KeyboardEvent('keydown', {key: 'Escape', bubbles: true})";
    browser.evaluate(&page, &format!("document.querySelector('#f-reference').dispatchEvent({key})"))?;
    browser.wait(&page, "!location.pathname.endsWith('/edit') && document.readyState === 'complete'")?;
    browser.navigate(&page, &office.url(&format!("/loads/{load}/edit"))?)?;
    fill(browser, &page, "#f-reference", "BG-JOB-5E")?;
    browser.evaluate(&page, "document.querySelector('#f-reference').focus()")?;
    hit(browser, &page, "Enter")?;
    see(browser, &page, "Saved.")
}

fn prove(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-1")?;
    let page = visit(office, browser, "ruth", &format!("/loads/{load}"))?;
    for (action, fields, done) in [
        ("Write a note", &[("#f-text", "Gate 3 is closed")][..], "The note is written."),
        ("Send to a driver", &[("#f-driverId", "driver-stefan")], "Sent."),
        ("Record the collection", &[("#f-weightNet", "29,02")], "The collection is recorded."),
        (
            "Prove the delivery",
            &[("#f-weightNet", "27.10"), ("#f-ticketNumber", "T-1"), ("#f-vehicleRegistration", "VX17 RTH")],
            "The delivery is proven.",
        ),
    ] {
        press(browser, &page, action)?;
        for (field, value) in fields {
            browser.wait(&page, &format!("document.querySelector('{field}') !== null"))?;
            fill(browser, &page, field, value)?;
        }
        browser.click(&page, "document.querySelector('form.fields button.primary')")?;
        see(browser, &page, done)?;
    }
    see(browser, &page, "Outside 2 %")?;
    Ok(())
}

fn two_people(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-2")?;
    let path = format!("/loads/{load}/edit");
    let (owen, anna) = (visit(office, browser, "owen", &path)?, visit(office, browser, "anna", &path)?);
    fill(browser, &owen, "#f-tags", "mine")?;
    browser.evaluate(&owen, "document.querySelector('#f-tags').focus()")?;
    fill(browser, &anna, "#f-tags", "theirs")?;
    fill(browser, &anna, "#f-reference", "BG-JOB-2B")?;
    press(browser, &anna, "Save")?;
    see(browser, &anna, "Saved.")?;
    // What others change meanwhile does not touch the form.
    let note = json!({"text": "Gate 6"});
    office.write(&format!("/v1/loads/{load}/notes"), &office.token("ruth", "hereford-haulage"), note)?;
    thread::sleep(Duration::from_secs(1));
    let form = "[document.querySelector('#f-tags').value, document.activeElement.id, location.pathname]";
    let form = browser.evaluate(&owen, form)?;
    ensure!(form == json!(["mine", "f-tags", path]), "a change leaves {form}");
    fill(browser, &owen, "#f-weight", "28.5")?;
    press(browser, &owen, "Save")?;
    see(browser, &owen, "Somebody else changed the load meanwhile")?;
    let asked = browser.evaluate(&owen, "document.querySelectorAll('fieldset').length")?;
    ensure!(asked == 1, "{asked} fields are asked about");
    browser.click(&owen, "document.querySelector('fieldset input[value=mine]')")?;
    press(browser, &owen, "Save")?;
    see(browser, &owen, "Saved.")?;
    let saved = office.read(&format!("/v1/loads/{load}"))?;
    let found = json!([saved["tags"], saved["reference"], saved["weight"]["weight"]]);
    ensure!(found == json!([["mine"], "BG-JOB-2B", 28.5]), "the load has {found}");
    Ok(())
}

fn double_click(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-3")?;
    let page = visit(office, browser, "owen", &format!("/loads/{load}/note"))?;
    fill(browser, &page, "#f-text", "Once")?;
    let button = "document.querySelector('form.fields button.primary')";
    browser.evaluate(&page, &format!("{button}.click(); {button}.click(); true"))?;
    see(browser, &page, "The note is written.")?;
    let count = || -> Result<usize> {
        let notes = office.read(&format!("/v1/loads/{load}/events?f:type=noted"))?;
        Ok(notes.as_array().map_or(0, Vec::len))
    };
    let notes = count()?;
    ensure!(notes == 1, "{notes} notes by one form");
    // Back leads to a form with live buttons, which is another one.
    browser.evaluate(&page, "history.back()")?;
    browser.wait(&page, &format!("location.pathname.endsWith('/note') && {button}?.disabled === false"))?;
    fill(browser, &page, "#f-text", "And again")?;
    browser.click(&page, button)?;
    see(browser, &page, "And again")?;
    let notes = count()?;
    ensure!(notes == 2, "{notes} notes after the second form");
    Ok(())
}

fn expired(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let load = office.create_load("BG-JOB-4")?;
    let page = visit(office, browser, "owen", &format!("/loads/{load}/note"))?;
    fill(browser, &page, "#f-text", "Written before the log-in ended")?;
    browser.command(&page, "Network.clearBrowserCookies", &json!({}))?;
    press(browser, &page, "Write a note")?;
    see(browser, &page, "Nothing is lost")?;
    see(browser, &page, "Written before the log-in ended")?;
    let other = browser.open_beside(&page, &office.url("/login?to=/logged-in")?)?;
    choose(browser, &other, "owen")?;
    see(browser, &other, "You are logged in")?;
    press(browser, &page, "Send again")?;
    see(browser, &page, "The note is written.")?;
    see(browser, &page, "Written before the log-in ended")
}

fn back_after_log_out(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads")?;
    browser.wait(&page, "document.querySelector('tr[data-id]') !== null")?;
    browser.click(&page, "document.querySelector('form[action=\"/logout\"] button')")?;
    see(browser, &page, "You are logged out")?;
    browser.evaluate(&page, "history.back()")?;
    browser.wait(&page, "location.pathname === '/login' && document.readyState === 'complete'")?;
    let rows = browser.evaluate(&page, "document.querySelectorAll('tr[data-id]').length")?;
    ensure!(rows == 0, "{rows} rows of the list");
    Ok(())
}

fn away(office: &mut Office<'_>, browser: &mut Browser) -> Result<()> {
    let page = visit(office, browser, "owen", "/loads")?;
    for (service, path, missing, usable) in [
        ("livestock", "/", "The service with the market is away", "Due today"),
        ("system", &*format!("/loads/{}", office.delivered), "The service with files is away", "Weights"),
        ("logistics", "/loads", "The service with loads is away", "More filters"),
    ] {
        office.service_mut(service)?.kill()?;
        browser.navigate(&page, &office.url(path)?)?;
        let shown = see(browser, &page, missing).and_then(|()| see(browser, &page, usable));
        office.restart(service)?;
        shown.context(service)?;
        browser.navigate(&page, &office.url(path)?)?;
        let is_missing = browser.evaluate(&page, "document.body.innerText.includes('is away')")?;
        ensure!(is_missing == Value::Bool(false), "{service} is back, and the page says that it is away");
    }
    Ok(())
}

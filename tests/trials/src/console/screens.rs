//! The screens: a picture of each at three widths, light and dark, and what axe finds.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use testkit::processes::tools;

use super::Office;
use crate::browser::{Browser, Page};

/// A screen: the name of its pictures, who looks at it (nobody for those before the log-in), and its address. `{open}`
/// and `{delivered}` are ids of loads, `{listing}` is that of a listing with a picture, and `{demo}` the beginning of
/// the ids of the records that the examples of the API name.
struct Screen {
    name: &'static str,
    person: &'static str,
    path: &'static str,
}

const fn screen(name: &'static str, person: &'static str, path: &'static str) -> Screen {
    Screen { name, person, path }
}

impl Screen {
    fn address(&self, office: &Office<'_>) -> String {
        let values = [
            ("{open}", &*office.open),
            ("{delivered}", &*office.delivered),
            ("{listing}", &*office.listing),
            ("{demo}", "01955bf1-6c00-7a"),
        ];
        values.iter().fold(self.path.to_owned(), |path, (name, value)| path.replace(name, value))
    }
}

const SCREENS: [Screen; 49] = [
    screen("who", "", "/login"),
    screen("logged-out", "", "/logged-out"),
    screen("today", "owen", "/"),
    screen("today-admin", "anna", "/"),
    screen("loads", "owen", "/loads"),
    screen("loads-filtered", "owen", "/loads?status=upcoming&q=BG"),
    screen("loads-note", "owen", "/loads?q=BG-NOTE"),
    screen("loads-none", "silas", "/loads"),
    screen("load", "owen", "/loads/{delivered}"),
    screen("load-edit", "owen", "/loads/{open}/edit"),
    screen("load-prove", "ruth", "/loads/{open}/prove"),
    screen("load-reject", "ruth", "/loads/{open}/reject"),
    screen("load-files", "ruth", "/loads/{delivered}/files"),
    screen("load-new", "owen", "/loads/new"),
    screen("load-sheet", "owen", "/loads/{open}/sheet"),
    screen("board", "ruth", "/board"),
    screen("board-drivers", "ruth", "/board?by=driver"),
    screen("board-sheet", "owen", "/board/sheet?haulier=hereford-haulage"),
    screen("import", "owen", "/import"),
    screen(IMPORT_CHECK, "owen", "/import"),
    screen("imports", "carys", "/import"),
    screen("import-undo", "carys", "/import/batches/{demo}10-8000-00000000000b/undo"),
    screen("market", "carys", "/market"),
    screen("market-table", "tom", "/market?view=table&near=LD3+7HP&within=80"),
    screen("market-visitor", "", "/market"),
    screen("listing", "tom", "/market/{listing}"),
    screen("listing-visitor", "", "/market/{listing}"),
    screen("listing-own", "carys", "/market/{demo}10-8000-000000000101"),
    screen("listing-edit", "carys", "/market/{demo}10-8000-000000000101/edit"),
    screen("sell-or-seek", "carys", "/market/new"),
    screen("listing-new", "carys", "/market/new/sheep"),
    screen("search-save", "tom", "/market/save?q=Hereford"),
    screen("enquiries", "carys", "/market/enquiries"),
    screen("moderation", "anna", "/moderation"),
    screen("connections", "carys", "/connections"),
    screen("webhook", "carys", "/connections/webhooks/loads/{demo}30-8000-000000000001"),
    screen(SECRET, "carys", "/connections/accounts/new"),
    screen("webhook-new", "carys", "/connections/webhooks/loads/new"),
    screen("files", "owen", "/files"),
    screen("personal-data", "anna", "/personal-data?user=carys"),
    screen("operations", "anna", "/operations"),
    screen("not-found", "owen", "/nothing"),
    screen("driver", "driver-megan", "/driver"),
    screen("driver-none", "silas", "/driver"),
    screen("driver-photograph", "driver-megan", "/driver/{open}/prove"),
    screen("driver-weights", "driver-megan", "/driver/{open}/prove#weights"),
    screen("driver-reject", "driver-megan", "/driver/{open}/reject"),
    screen("driver-note", "driver-megan", "/driver/{open}/note"),
    screen("driver-files", "driver-megan", "/driver/{open}/files"),
];

/// The screen of a sheet that was pasted into the form of an import and checked.
const IMPORT_CHECK: &str = "import-check";

/// The screen of the secret of a new service account.
const SECRET: &str = "secret";

/// Creates a service account.
const CREATE: &str = "{
    const name = document.querySelector('input[name=name]');
    name.value = 'Weighbridge';
    name.form.requestSubmit();
}";

/// Pastes a sheet with a good row and faulty ones, and checks it.
const CHECK: &str = r"{
    const pasted = document.querySelector('#f-pasted');
    pasted.value = 'Reference\tDelivery date\tHaulier\tCommodity\tWeight (t)\tLorry\n' +
        'BG-9001\t30/12/2026\tHereford Haulage\tFeed wheat\t29.4\tVX68 KLM\n' +
        'BG-9002\t31/12/2026\tHereford Hauliage\tFeed wheet\t28,5\tVX68 KLM\n' +
        'BG-9003\t31/13/2026\tHereford Haulage\tFeed wheat\tmany\tVX68 KLM';
    pasted.form.requestSubmit(pasted.form.querySelector('button.primary'));
}";

/// Widths of a phone, a tablet and a desktop, with their heights.
const SIZES: [(u32, u32); 3] = [(360, 740), (768, 1024), (1440, 900)];

/// The most bytes of a page, compressed and without what it loads.
const MAX_PAGE_BYTES: u64 = 20_000;

/// Pictures of the documents: the screen and the size of the window.
const OF_DOCUMENTS: [(&str, &str, (u32, u32)); 4] = [
    ("loads", "loads", (960, 440)),
    ("load", "load", (1200, 290)),
    ("driver", "driver", (360, 560)),
    ("driver-weights", "driver-weights", (360, 560)),
];
/// The most bytes of a picture of the documents.
const MAX_PICTURE_BYTES: u64 = 75_000;

/// Opens each screen, writes its pictures and checks it.
pub(super) fn check(office: &Office<'_>, browser: &mut Browser, pictures: &Path) -> Result<()> {
    fs::create_dir_all(pictures).with_context(|| format!("cannot make {}", pictures.display()))?;
    let axe = fs::read_to_string(tools::find("axe.min.js")?)?;
    let (mut findings, mut largest) = (Vec::new(), 0);
    for screen in &SCREENS {
        office.trial.check()?;
        let path = screen.address(office);
        let page = office.visit(browser, screen.person, "/")?;
        browser.watch(&page)?;
        for (width, height) in SIZES {
            for scheme in ["light", "dark"] {
                emulate(browser, &page, (width, height), scheme)?;
                browser.navigate(&page, "about:blank")?;
                browser.navigate(&page, &office.url(&path)?)?;
                let made = match screen.name {
                    IMPORT_CHECK => Some((CHECK, "button[name=check]")),
                    SECRET => Some((CREATE, "[data-copy]")),
                    _ => None,
                };
                if let Some((make, shown)) = made {
                    browser.evaluate(&page, make)?;
                    browser.wait(&page, &format!("document.querySelector('{shown}') !== null"))?;
                }
                let place = format!("{} at {width} px, {scheme}", screen.name);
                let file = pictures.join(format!("{}-{width}-{scheme}.png", screen.name));
                picture(browser, &page, &file)?;
                // The window of a phone grows with its page, so it is compared with the width that was set.
                let shown = browser.evaluate(&page, "document.documentElement.scrollWidth")?;
                let excess = shown.as_i64().unwrap_or(i64::MAX) - i64::from(width);
                if excess > 0 {
                    findings.push(format!("{place}: {excess} px wider than the window"));
                }
                findings
                    .extend(audit(browser, &page, &axe)?.iter().map(|finding| format!("{place}: {finding}")));
                findings.extend(browser.problems().into_iter().map(|problem| format!("{place}: {problem}")));
            }
        }
        let bytes = "performance.getEntriesByType('navigation')[0].encodedBodySize";
        let bytes = browser.evaluate(&page, bytes)?.as_u64().unwrap_or_default();
        largest = largest.max(bytes);
        ensure!(bytes <= MAX_PAGE_BYTES, "{}: the page has {bytes} bytes", screen.name);
    }
    let checked = format!("{} screens at 3 widths, light and dark", SCREENS.len());
    let trial = office.trial;
    trial.note("the largest page, compressed", format!("{largest} bytes"), format!("{MAX_PAGE_BYTES} bytes"));
    trial.note(&checked, format!("pictures in {}", pictures.display()), "written");
    let shown = findings.join("\n");
    ensure!(findings.is_empty(), "{} findings:\n{shown}", findings.len());
    for (file, name, size) in OF_DOCUMENTS {
        let screen = SCREENS.iter().find(|screen| screen.name == name).context(name)?;
        let page = office.visit(browser, screen.person, "/")?;
        emulate(browser, &page, size, "light")?;
        browser.navigate(&page, "about:blank")?;
        browser.navigate(&page, &office.url(&screen.address(office))?)?;
        let file = pictures.join(format!("document-{file}.png"));
        picture(browser, &page, &file)?;
        let bytes = fs::metadata(&file)?.len();
        ensure!(bytes <= MAX_PICTURE_BYTES, "{} has {bytes} bytes", file.display());
    }
    trial.note("findings of axe, violations of the policy, pages wider than the window", "none", "none");
    Ok(())
}

/// Makes the window of a page this large, and its colours light or dark.
pub(super) fn emulate(
    browser: &mut Browser,
    page: &Page,
    (width, height): (u32, u32),
    scheme: &str,
) -> Result<()> {
    let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500});
    browser.command(page, "Emulation.setDeviceMetricsOverride", &size)?;
    let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
    browser.command(page, "Emulation.setEmulatedMedia", &media).map(drop)
}

/// Writes a picture of the window of a page.
fn picture(browser: &mut Browser, page: &Page, file: &Path) -> Result<()> {
    browser
        .wait(page, "[...document.images].every((image) => image.complete || image.loading === 'lazy')")?;
    browser.wait(
        page,
        "!document.querySelector('[data-driver]') || 'ready' in document.documentElement.dataset",
    )?;
    browser.capture(page, file)
}

/// Returns what axe finds on a page.
pub(super) fn audit(browser: &mut Browser, page: &Page, axe: &str) -> Result<Vec<String>> {
    browser.evaluate(page, &format!("{axe}; true"))?;
    let found = browser.evaluate(
        page,
        "axe.run().then(({violations}) => violations.map(({id, nodes}) =>
            id + ': ' + nodes.map((node) => node.target.join(' ')).slice(0, 5).join(', ')))",
    )?;
    Ok(found.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect())
}

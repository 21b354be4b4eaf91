//! A crawler: follows every link of every page as each person. Pages of one kind, which differ in ids and values only,
//! are opened some times.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::Office;
use crate::browser::Browser;

const PEOPLE: [&str; 9] = ["owen", "ruth", "len", "dai", "driver-megan", "carys", "tom", "silas", "anna"];

/// Addresses that are no pages: log-out and log-in change who looks, and streams do not end.
const LEFT_OUT: [&str; 4] = ["/logout", "/login", "/events", "/driver/worker.js"];

/// Parameters that say from where in a list one came.
const PLACES: [&str; 3] = ["before", "previous", "next"];

/// The most parameters that make a kind: lists have all combinations of their filters.
const NAMES_OF_KIND: usize = 2;

/// Addresses that the browser opens side by side.
const AT_ONCE: usize = 6;

/// Fetches addresses and returns for each its status and links.
const FETCH: &str = "(async (paths) => Promise.all(paths.map(async (path) => {
    const response = await fetch(path, {headers: {accept: 'text/html, */*;q=0.8'}});
    const links = [];
    if (response.headers.get('content-type')?.startsWith('text/html')) {
        const page = new DOMParser().parseFromString(await response.text(), 'text/html');
        for (const element of page.querySelectorAll('[href], [src], form[method=get], form:not([method])')) {
            const link = element.getAttribute('href') ?? element.getAttribute('src') ?? element.getAttribute('action');
            const url = new URL(link ?? '', response.url);
            if (url.origin === location.origin) links.push(url.pathname + url.search);
        }
    } else {
        await response.body?.cancel();
    }
    return [path, response.status, links];
})))";

/// Crawls the console as each person.
pub(super) fn check(office: &Office<'_>, browser: &mut Browser) -> Result<()> {
    let of_kind = if office.trial.short { 2 } else { 4 };
    for person in PEOPLE {
        let page = office.visit(browser, person, "/")?;
        let mut waiting = VecDeque::from(["/".to_owned(), "/nothing-here".to_owned()]);
        let (mut seen, mut kinds) = (BTreeSet::new(), BTreeMap::<String, usize>::new());
        let mut wrong = Vec::new();
        while !waiting.is_empty() {
            office.trial.check()?;
            let paths: Vec<_> = waiting.drain(..AT_ONCE.min(waiting.len())).collect();
            let fetched = browser.evaluate(&page, &format!("{FETCH}({})", json!(paths)))?;
            for reply in fetched.as_array().into_iter().flatten() {
                let path = reply[0].as_str().unwrap_or_default();
                let status = reply[1].as_u64().unwrap_or_default();
                if status >= 400 && path != "/nothing-here" {
                    wrong.push(format!("{path}: {status}"));
                }
                for link in reply[2].as_array().into_iter().flatten().filter_map(Value::as_str) {
                    let is_page = !LEFT_OUT.iter().any(|start| link.starts_with(start));
                    if is_page && seen.insert(link.to_owned()) {
                        let opened = kinds.entry(kind(link)).or_default();
                        *opened += 1;
                        if *opened <= of_kind {
                            waiting.push_back(link.to_owned());
                        }
                    }
                }
            }
        }
        let result = format!("{} addresses of {} kinds", seen.len(), kinds.len());
        office.trial.note(format!("{person} follows every link"), result, "no 4xx or 5xx");
        ensure!(wrong.is_empty(), "{person}: {}", wrong.join("\n"));
    }
    Ok(())
}

/// Returns an address without ids, without values, and without more than [`NAMES_OF_KIND`] parameters.
fn kind(link: &str) -> String {
    let (path, query) = link.split_once('?').unwrap_or((link, ""));
    let is_id = |segment: &&str| segment.len() >= 20 || segment.parse::<u64>().is_ok();
    let segments = path.split('/').map(|segment| if is_id(&segment) { "{id}" } else { segment });
    let names = query.split('&').filter_map(|pair| pair.split('=').next());
    let names: BTreeSet<_> = names.filter(|name| !PLACES.contains(name)).collect();
    let names: Vec<_> = names.into_iter().take(NAMES_OF_KIND).collect();
    format!("{}?{}", segments.collect::<Vec<_>>().join("/"), names.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_a_kind_differ_in_ids_and_values() {
        let [one, other] = ["01955bf1-6c00-7a10-8000-000000000001", "01955bf1-6c00-7a10-8000-000000000002"]
            .map(|id| kind(&format!("/loads/{id}?list=a%3Db&done={id}")));
        assert_eq!(one, other);
        assert_eq!(one, "/loads/{id}?done&list");
        assert_ne!(kind("/loads?status=upcoming"), kind("/loads"));
    }
}

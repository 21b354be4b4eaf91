//! Batches that are expensive to validate, while the other organisation sends batches of one row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use stack::fixtures::batch;
use stack::http::{Body, HttpClient, Response};
use stack::multipart::Form;

use super::{ATTACKER, HONEST, MEMORY, RESPONSE_TIMEOUT, Tenants, outcome};
use crate::abuse::outcomes::Outcomes;
use crate::abuse::target::Limits;
use crate::abuse::workbook::workbook;

const PATH: &str = "/v1/loads/batch";
/// Blank rows as programs write them for formatted sheets.
const BLANK_ROWS: [&str; 2] = ["<row/>", "<row><c/></row>"];
/// Limit until all batches of the attacker are sent.
const START_TIMEOUT: Duration = Duration::from_secs(30);

/// Keeps several uploads in flight until the batches of the honest organisation are done.
pub fn run(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, target) = (tenants.trial, &tenants.logistics);
    // A sheet may unpack to 125 MiB.
    let (mib, rows) = if trial.short { (60, 2000) } else { (120, 50_000) };
    let (honest_batches, limit) = if trial.short { (3, 10) } else { (10, 5) };
    let [empty, with_cell] = BLANK_ROWS.map(|row| workbook(&workbook_head(), row, mib));
    let kib = empty.len().max(with_cell.len()) >> 10;
    let tables = [empty, with_cell].map(|content| ("a.xlsx", content.into()));
    let tables: Vec<_> =
        tables.into_iter().chain([("a.csv", batch(ATTACKER, "row", rows).content)]).collect();
    let attackers = 2 * tables.len();
    let attack =
        format!("{attackers} batches at a time: {mib} MiB of blank rows in {kib} KiB, {rows} valid rows");
    let limits = Limits { outcomes: &["200", "400 length at file", "503"], memory: MEMORY };
    let (is_over, uploads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut honest, mut slowest) = (Outcomes::default(), Duration::ZERO);
    target.attack(&attack, &limits, || {
        scope(|scope| {
            let run_attacker = |number: usize| {
                let (client, mut outcomes) = (HttpClient::new(RESPONSE_TIMEOUT), Outcomes::default());
                while !is_over.load(Ordering::Relaxed) {
                    let (file_name, content) = tables[number % tables.len()].clone();
                    let fields = vec![("dryRun", "true".to_owned())];
                    let form = Form { fields, file_name, media_type: "application/octet-stream", content };
                    uploads.fetch_add(1, Ordering::Relaxed);
                    let url = target.service.url(PATH);
                    outcomes.add(batch_outcome(&client.send(
                        "POST",
                        &url,
                        Some(&target.token),
                        &Body::Form(form),
                    )));
                }
                outcomes
            };
            let threads: Vec<_> =
                (0..attackers).map(|number| scope.spawn(move || run_attacker(number))).collect();
            let are_sent = || Ok(uploads.load(Ordering::Relaxed) >= attackers);
            let sent = trial.wait_for("all batches of the attacker are sent", START_TIMEOUT, are_sent);
            let sent = sent.and_then(|_| {
                (0..honest_batches).try_for_each(|number| {
                    trial.pause(Duration::from_millis(200))?;
                    let begun = Instant::now();
                    honest.add(batch_outcome(&send_honest_batch(tenants, number)));
                    slowest = slowest.max(begun.elapsed());
                    Ok(())
                })
            });
            is_over.store(true, Ordering::Relaxed);
            let mut outcomes = Outcomes::default();
            for thread in threads {
                outcomes.merge(thread.join().map_err(|_| anyhow!("a thread panicked"))?);
            }
            sent.map(|()| outcomes)
        })
    })?;
    target.expect(
        honest.are_only(&["200"]) && slowest.as_secs() < limit,
        "batches of one row of the other organisation meanwhile",
        format!("{honest}; slowest {:.1} s", slowest.as_secs_f64()),
        format!("200; {limit} s"),
    )
}

fn batch_outcome(response: &Result<Response>) -> String {
    response.as_ref().map_or_else(|_| "no response".to_owned(), outcome)
}

fn send_honest_batch(tenants: &Tenants<'_>, number: usize) -> Result<Response> {
    let form = Body::Form(batch(HONEST, &format!("row-{number}"), 1));
    tenants.client.send("POST", &tenants.logistics.service.url(PATH), Some(&tenants.honest), &form)
}

/// The header of a workbook and one valid row.
fn workbook_head() -> String {
    let row = |cells: [&str; 5]| {
        let cell = |text| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
        format!("<row>{}</row>", cells.map(cell).concat())
    };
    row(["reference", "deliveryDateISO", "commodityId", "organiserId", "organiserName"])
        + &row(["blank", "2026-03-01", "1", ATTACKER, "Organiser"])
}

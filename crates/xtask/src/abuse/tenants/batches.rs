//! Batches that take long to check, while another organisation sends batches of one row.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::{ATTACKER, HONEST, Tenants, end};
use crate::abuse::bombs::workbook;
use crate::abuse::socket::Ends;
use crate::client::{Answer, Body, Client};
use crate::multipart::Form;

const BATCH: &str = "/v1/loads/batch";
/// Each as a program may write it that a sheet was formatted with.
const BLANKS: [&str; 2] = ["<row/>", "<row><c/></row>"];
/// A batch that waits longer than this is answered with 503.
const WAIT_LIMIT: Duration = Duration::from_secs(30);
const COLUMNS: [&str; 5] = ["reference", "deliveryDateISO", "commodityId", "organiserId", "organiserName"];

/// Keeps some uploads going until the batches of the honest organisation are done.
pub fn uploads(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, victim) = (tenants.stage.trial, &tenants.logistics);
    // A sheet may unpack to 125 MiB.
    let (mib, rows) = if trial.short { (60, 2000) } else { (120, 50_000) };
    let (honest, limit) = if trial.short { (3, 10) } else { (10, 5) };
    let [blank, cells] = BLANKS.map(|row| ("a.xlsx", workbook(&workbook_head(), row, mib)));
    let kib = blank.1.len().max(cells.1.len()) >> 10;
    let tables = [blank, cells, ("a.csv", csv(ATTACKER, rows).into_bytes())];
    let attackers = 2 * tables.len();
    let what = format!(
        "{attackers} batches at a time: {mib} MiB of blank rows in {kib} KiB, {rows} good rows that are checked only"
    );
    let ends = &["200", "400 length at file", "503"];
    let (done, uploads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut answers, mut slowest) = (Ends::default(), Duration::ZERO);
    tenants.abuse(&what, victim, ends, || {
        scope(|scope| {
            let attack = |number: usize| {
                let (client, mut ends) = (Client::new(super::TIMEOUT), Ends::default());
                while !done.load(Ordering::Relaxed) {
                    let (name, table) = &tables[number % tables.len()];
                    let form = form(name, table.clone(), true);
                    uploads.fetch_add(1, Ordering::Relaxed);
                    let url = victim.service.url(BATCH);
                    ends.add(answered(&client.send("POST", &url, Some(&victim.token), &form)));
                }
                Ok::<_, anyhow::Error>(ends)
            };
            let attacks: Vec<_> = (0..attackers).map(|number| scope.spawn(move || attack(number))).collect();
            let begun = Instant::now();
            while uploads.load(Ordering::Relaxed) < attackers && begun.elapsed() < WAIT_LIMIT {
                std::thread::sleep(Duration::from_millis(10));
            }
            let honest = (0..honest).try_for_each(|number| {
                trial.pause(Duration::from_millis(200))?;
                let begun = Instant::now();
                answers.add(answered(&one_row(tenants, number)));
                slowest = slowest.max(begun.elapsed());
                Ok::<_, anyhow::Error>(())
            });
            done.store(true, Ordering::Relaxed);
            let mut ends = Ends::default();
            for attack in attacks {
                ends.join(attack.join().map_err(|_| anyhow!("a thread panicked"))??);
            }
            honest.map(|()| ends)
        })
    })?;
    tenants.expect(
        answers.only(&["200"]) && slowest.as_secs() < limit,
        victim,
        "batches of one row of another organisation meanwhile",
        format!("{}; slowest {:.1} s", answers.text(), slowest.as_secs_f64()),
        format!("200; {limit} s"),
    )
}

fn answered(answer: &Result<Answer>) -> String {
    answer.as_ref().map_or_else(|_| "no answer".to_owned(), end)
}

/// A batch of the honest organisation.
fn one_row(tenants: &Tenants<'_>, number: usize) -> Result<Answer> {
    let table = csv(HONEST, 1).replace("row-0", &format!("row-{number}"));
    let url = tenants.logistics.service.url(BATCH);
    tenants.client.send("POST", &url, Some(&tenants.honest), &form("b.csv", table.into_bytes(), false))
}

fn csv(organiser: &str, rows: usize) -> String {
    let row = |number| format!("row-{number},2026-03-01,1,{organiser},Organiser\r\n");
    format!("{}\r\n{}", COLUMNS.join(","), (0..rows).map(row).collect::<String>())
}

/// The header row and one good row.
fn workbook_head() -> String {
    let row = |cells: [&str; 5]| {
        let cell = |text| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
        format!("<row>{}</row>", cells.map(cell).concat())
    };
    row(COLUMNS) + &row(["blank", "2026-03-01", "1", ATTACKER, "Organiser"])
}

fn form(file_name: &'static str, content: Vec<u8>, dry_run: bool) -> Body {
    let fields = vec![("dryRun", dry_run.to_string())];
    Body::Form(Form { fields, file_name, media_type: "application/octet-stream", content: content.into() })
}

//! Workbooks of millions of blank rows, while another organisation sends batches of one row.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use super::{ATTACKER, HONEST, MEMORY, Tenants, end};
use crate::abuse::bombs::workbook;
use crate::abuse::socket::Ends;
use crate::abuse::stage::Bounds;
use crate::client::{Answer, Body, Client};
use crate::multipart::Form;

const BATCH: &str = "/v1/loads/batch";
/// Each as a program may write it that a sheet was formatted with.
const BLANKS: [&str; 2] = ["<row/>", "<row><c/></row>"];
/// A batch that waits longer than this is answered with 503.
const WAIT_LIMIT: Duration = Duration::from_secs(30);
const COLUMNS: [&str; 4] = ["reference", "deliveryDateISO", "commodityId", "organiserId"];

/// Keeps two such uploads going until the batches of the honest organisation are done.
pub fn blank_rows(tenants: &Tenants<'_>) -> Result<()> {
    let (trial, victim) = (tenants.stage.trial, &tenants.logistics);
    // A sheet may unpack to 125 MiB.
    let (mib, honest, limit) = if trial.short { (60, 3, 10) } else { (120, 10, 5) };
    let books = BLANKS.map(|row| workbook(&head(), row, mib));
    let kib = books.iter().map(Vec::len).max().unwrap_or_default() >> 10;
    let what = format!("two workbooks at a time, of {mib} MiB of blank rows in {kib} KiB");
    let bounds = Bounds { ends: &["400 length at file", "503"], memory: MEMORY };
    let (done, uploads) = (AtomicBool::new(false), AtomicUsize::new(0));
    let (mut answers, mut slowest) = (Ends::default(), Duration::ZERO);
    tenants.stage.abuse(what, victim, &bounds, || {
        scope(|scope| {
            let attack = |number: usize| {
                let (client, mut ends) = (Client::new(super::TIMEOUT), Ends::default());
                while !done.load(Ordering::Relaxed) {
                    let book = Cow::Owned(books[number % books.len()].clone());
                    uploads.fetch_add(1, Ordering::Relaxed);
                    let url = victim.service.url(BATCH);
                    ends.add(end(&client.send("POST", &url, Some(&victim.token), &form("a.xlsx", book))?));
                }
                Ok::<_, anyhow::Error>(ends)
            };
            let attacks: Vec<_> = (0..2).map(|number| scope.spawn(move || attack(number))).collect();
            let begun = Instant::now();
            while uploads.load(Ordering::Relaxed) < 2 && begun.elapsed() < WAIT_LIMIT {
                std::thread::sleep(Duration::from_millis(10));
            }
            let honest = (0..honest).try_for_each(|number| {
                trial.pause(Duration::from_millis(200))?;
                let begun = Instant::now();
                let answer = one_row(tenants, number)?;
                answers.add(answer.status.to_string());
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
    trial.expect(
        answers.only(&["200"]) && slowest.as_secs() < limit,
        "abuse, logistics: batches of one row of another organisation meanwhile",
        format!("{}; slowest {:.1} s", answers.text(), slowest.as_secs_f64()),
        format!("200; {limit} s"),
    )
}

/// A batch of the honest organisation.
fn one_row(tenants: &Tenants<'_>, number: usize) -> Result<Answer> {
    let row = format!("honest-{number},2026-03-01,1,{HONEST},Honest\r\n");
    let table = format!("{},organiserName\r\n{row}", COLUMNS.join(","));
    let url = tenants.logistics.service.url(BATCH);
    tenants.client.send("POST", &url, Some(&tenants.honest), &form("b.csv", table.into_bytes().into()))
}

/// The header row and one good row.
fn head() -> String {
    let row = |cells: [&str; 4]| {
        let cell = |text| format!("<c t=\"inlineStr\"><is><t>{text}</t></is></c>");
        format!("<row>{}</row>", cells.map(cell).concat())
    };
    row(COLUMNS) + &row(["blank", "2026-03-01", "1", ATTACKER])
}

fn form(file_name: &'static str, content: Cow<'static, [u8]>) -> Body {
    Body::Form(Form { fields: Vec::new(), file_name, media_type: "application/octet-stream", content })
}

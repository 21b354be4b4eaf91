//! Tables and workbooks that are expensive to parse, for the batch upload.

use std::time::{Duration, Instant};

use anyhow::Result;
use stack::http::{Body, HttpClient};
use stack::multipart::Form;

use super::compression::{Deflated, deflate, zip};
use super::services::{MAX_FILE_SIZE, Services};
use super::target::Case;
use super::workbook::{SPREADSHEET, encode, no_strings, repeat, sheet, strings};

/// Additional memory in MiB: the strings of a workbook (twice 25 MiB), its directory and a buffer.
const MEMORY: f64 = 160.0;
/// Limit of the duration of a request.
const DURATION_LIMIT: Duration = Duration::from_secs(60);
/// Limit of the size of a response in bytes.
const MAX_RESPONSE_SIZE: usize = 1 << 20;
const HEADER: &str = "reference,deliveryDateISO,commodityId,carrierId,weight";

/// Uploads all tables and workbooks, one after the other.
pub fn run(services: &Services<'_>) -> Result<()> {
    let target = &services.logistics;
    let (client, url) = (HttpClient::new(2 * DURATION_LIMIT), target.service.url("/v1/loads/batch"));
    let divisor = if services.trial.short { 12 } else { 1 };
    let bombs = [tables(divisor), workbooks(4095 / divisor, 48 / divisor)].concat();
    let attack = format!("{} workbooks and tables that are bombs", bombs.len());
    let (mut slowest, mut longest) = ((Duration::ZERO, ""), 0);
    target.attack_with(&attack, MEMORY, bombs, |name, content| {
        let begun = Instant::now();
        let response = client.send("POST", &url, Some(&target.token), &Body::Form(form(content)))?;
        slowest = slowest.max((begun.elapsed(), name));
        longest = longest.max(response.bytes.len());
        Ok(response.status.to_string())
    })?;
    let (duration, name) = slowest;
    target.expect(
        duration <= DURATION_LIMIT && longest <= MAX_RESPONSE_SIZE,
        "slowest and longest response to a bomb",
        format!("{:.1} s ({name}), {} KiB", duration.as_secs_f64(), longest >> 10),
        format!("{} s, {} KiB", DURATION_LIMIT.as_secs(), MAX_RESPONSE_SIZE >> 10),
    )
}

/// A batch whose format the service must detect.
fn form(content: Vec<u8>) -> Form {
    Form {
        fields: Vec::new(),
        file_name: "b",
        media_type: "application/octet-stream",
        content: content.into(),
    }
}

/// CSV tables. Those that are parsed to the end are divided by `divisor`.
fn tables(divisor: usize) -> Vec<Case<Vec<u8>>> {
    let full = |head: &str, piece: &str| {
        let times = (MAX_FILE_SIZE - head.len()) / piece.len();
        [head.as_bytes(), &piece.as_bytes().repeat(times)].concat()
    };
    let rows = |row: &str| format!("{HEADER}\n{}", row.repeat(50_000 / divisor)).into_bytes();
    vec![
        ("line", full("", "a"), "400"),
        ("cell", full(&format!("{HEADER}\n\""), "a\n"), "400"),
        ("commas", full("", ","), "400"),
        ("line ends", full("", "\n")[..MAX_FILE_SIZE / divisor].to_vec(), "400"),
        ("quotes", full("", "\""), "400"),
        ("rows", full(&format!("{HEADER}\n"), "a,,,,\n"), "400"),
        ("bad rows", rows(",x,y,,-1\n"), "400"),
        ("bytes", vec![0xff; MAX_FILE_SIZE], "400"),
        ("one byte more", vec![b'a'; MAX_FILE_SIZE + 1], "413"),
    ]
}

/// Workbooks whose sheets unpack to `mib` MiB, and shared strings to `strings_mib` MiB.
fn workbooks(mib: usize, strings_mib: usize) -> Vec<Case<Vec<u8>>> {
    let billion_laughs = {
        let entity = |n: u32| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10));
        let entities: String = (1..10).map(entity).collect();
        format!(
            "<!DOCTYPE a [<!ENTITY l0 \"lol\">{entities}]><worksheet xmlns=\"{SPREADSHEET}\"><sheetData><row r=\"1\"><c t=\"inlineStr\"><is><t>&l9;</t></is></c></row></sheetData></worksheet>"
        )
    };
    let with_sheet = |sheet: Deflated| encode(sheet, no_strings());
    let with_strings = |mib| encode(sheet("", "", 0), strings(mib));
    let spaces = |mib| repeat(" ", &" ".repeat(1 << 20), mib);
    let names: Vec<_> = (0..65_000).map(|number| number.to_string()).collect();
    let entries: Vec<_> = names.iter().map(|name| (name.as_str(), deflate(b"", 0))).collect();
    let inner = zip(&[("a", deflate(b"a", 1))]);
    vec![
        ("sheet", with_sheet(sheet("", "<row><c><v>1</v></c></row>", mib)), "413"),
        ("spaces", with_sheet(spaces(mib)), "413"),
        // 4 GiB and a byte: the archive states a size of 1.
        ("a size of 1", with_sheet(spaces(4096)), "400"),
        ("strings", with_strings(mib), "413"),
        ("most strings", with_strings(strings_mib), "400"),
        ("columns", with_sheet(sheet("<row>", "<c t=\"str\"><v>a</v></c>", 120)), "400"),
        ("depth", with_sheet(sheet("", "<a>", 100)), "400"),
        ("tag", with_sheet(sheet("<row a=\"", "aaaa", 100)), "413"),
        ("text", with_sheet(sheet("<row><c t=\"str\"><v>", "aaaa", 100)), "413"),
        ("entities", with_sheet(deflate(billion_laughs.as_bytes(), 1)), "400"),
        ("nested", zip(&[("b.zip", deflate(&inner, 1))]), "400"),
        ("entries", zip(&entries), "400"),
        ("cut off", with_sheet(sheet("", "", 0))[..200].to_vec(), "400"),
    ]
}

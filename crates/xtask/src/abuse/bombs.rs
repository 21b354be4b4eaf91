//! Tables that are not what they seem, for the batch upload.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::packed::{Deflated, deflated, zip};
use super::socket::Ends;
use super::stage::{Bounds, FILE_BYTES, Stage};
use crate::client::{Body, Client};
use crate::multipart::Form;

/// MiB beyond the start: a workbook's strings (twice 25 MiB), its directory and what is being read.
const MEMORY: f64 = 160.0;
const SPREADSHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";
const HEAD: &str = "reference,deliveryDateISO,commodityId,carrierId,weight";

/// A table, and what it is answered.
type Bomb = (&'static str, Vec<u8>, &'static str);

/// One after the other.
pub fn batches(stage: &Stage<'_>) -> Result<()> {
    let victim = &stage.logistics;
    let (client, url) = (Client::new(Duration::from_secs(120)), victim.service.url("/v1/loads/batch"));
    // What is read through to its end is less in the short form.
    let part = if stage.trial.short { 12 } else { 1 };
    let bombs = [tables(part), workbooks(4095 / part, 48 / part)].concat();
    let wanted: Vec<_> = bombs.iter().map(|(name, _, end)| format!("{name} {end}")).collect();
    let wanted: Vec<_> = wanted.iter().map(String::as_str).collect();
    let (mut slowest, mut longest) = ((Duration::ZERO, ""), 0);
    stage.abuse("tables that are bombs", victim, &Bounds { ends: &wanted, memory: MEMORY }, || {
        let mut ends = Ends::default();
        for (name, content, _) in bombs {
            let begun = Instant::now();
            let form = Form {
                fields: Vec::new(),
                file_name: "b",
                media_type: "application/octet-stream",
                content: content.into(),
            };
            let answer = client.send("POST", &url, Some(&victim.token), &Body::Form(form))?;
            ends.add(format!("{name} {}", answer.status));
            slowest = slowest.max((begun.elapsed(), name));
            longest = longest.max(answer.bytes.len());
        }
        Ok(ends)
    })?;
    let seconds = 60.0;
    stage.trial.expect(
        slowest.0.as_secs_f64() <= seconds && longest <= 1 << 20,
        "abuse, logistics: the longest that a bomb is looked at, and the longest answer",
        format!("{:.1} s ({}), {} KiB", slowest.0.as_secs_f64(), slowest.1, longest >> 10),
        format!("at most {seconds} s, 1024 KiB"),
    )
}

fn tables(part: usize) -> Vec<Bomb> {
    let full = |head: &str, piece: &str| {
        let times = (FILE_BYTES - head.len()) / piece.len();
        [head.as_bytes(), &piece.as_bytes().repeat(times)].concat()
    };
    let rows = |row: &str| format!("{HEAD}\n{}", row.repeat(50_000 / part)).into_bytes();
    vec![
        ("line", full("", "a"), "400"),
        ("cell", full(&format!("{HEAD}\n\""), "a\n"), "400"),
        ("commas", full("", ","), "400"),
        ("line ends", full("", "\n")[..FILE_BYTES / part].to_vec(), "400"),
        ("quotes", full("", "\""), "400"),
        ("rows", full(&format!("{HEAD}\n"), "a,,,,\n"), "400"),
        ("bad rows", rows(",x,y,,-1\n"), "400"),
        ("bytes", vec![0xff; FILE_BYTES], "400"),
        ("one byte more", vec![b'a'; FILE_BYTES + 1], "413"),
    ]
}

fn workbooks(mib: usize, strings_mib: usize) -> Vec<Bomb> {
    let strings =
        |mib| joined(&format!("<sst xmlns=\"{SPREADSHEET}\">"), &"<si><t>a</t></si>".repeat(61_680), mib);
    let laughs = {
        let entity = |n: u32| format!("<!ENTITY l{n} \"{}\">", format!("&l{};", n - 1).repeat(10));
        let entities: String = (1..10).map(entity).collect();
        format!(
            "<!DOCTYPE a [<!ENTITY l0 \"lol\">{entities}]><worksheet xmlns=\"{SPREADSHEET}\"><sheetData><row r=\"1\"><c t=\"inlineStr\"><is><t>&l9;</t></is></c></row></sheetData></worksheet>"
        )
    };
    let whole = |sheet: Deflated, strings: Deflated| book(sheet, strings);
    let spaces = |mib| joined(" ", &" ".repeat(1 << 20), mib);
    let none = || deflated(b"<sst/>", 1);
    let many = |count: usize| {
        let names: Vec<_> = (0..count).map(|n| format!("{n}")).collect();
        zip(&names.iter().map(|name| (name.as_str(), deflated(b"", 0))).collect::<Vec<_>>())
    };
    let inner = zip(&[("a", deflated(b"a", 1))]);
    vec![
        ("sheet", whole(sheet("", "<row><c><v>1</v></c></row>", mib), none()), "413"),
        ("spaces", whole(spaces(mib), none()), "413"),
        // 4 GiB and a byte, which is what the archive says.
        ("a size of 1", whole(spaces(4096), none()), "400"),
        ("strings", whole(sheet("", "", 0), strings(mib)), "413"),
        ("most strings", whole(sheet("", "", 0), strings(strings_mib)), "400"),
        ("columns", whole(sheet("<row>", "<c t=\"str\"><v>a</v></c>", 120), none()), "400"),
        ("depth", whole(sheet("", "<a>", 100), none()), "400"),
        ("tag", whole(sheet("<row a=\"", "aaaa", 100), none()), "413"),
        ("text", whole(sheet("<row><c t=\"str\"><v>", "aaaa", 100), none()), "413"),
        ("entities", whole(deflated(laughs.as_bytes(), 1), none()), "400"),
        ("nested", zip(&[("b.zip", deflated(&inner, 1))]), "400"),
        ("entries", many(65_000), "400"),
        ("cut off", whole(sheet("", "", 0), none())[..200].to_vec(), "400"),
    ]
}

/// A workbook of one sheet, of which so many MiB are the same piece.
pub fn workbook(begin: &str, piece: &str, mib: usize) -> Vec<u8> {
    book(sheet(begin, piece, mib), deflated(b"<sst/>", 1))
}

fn sheet(begin: &str, piece: &str, mib: usize) -> Deflated {
    let begin = format!("<worksheet xmlns=\"{SPREADSHEET}\"><sheetData>{begin}");
    let piece = piece.repeat((1 << 20) / piece.len().max(1));
    joined(&begin, &piece, mib)
}

/// Text, then so many MiB of something.
fn joined(begin: &str, mebibyte: &str, mib: usize) -> Deflated {
    deflated(begin.as_bytes(), 1).and(deflated(mebibyte.as_bytes(), mib))
}

fn book(sheet: Deflated, strings: Deflated) -> Vec<u8> {
    let text = |text: String| deflated(text.as_bytes(), 1);
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"{OFFICE}/{kind}\" Target=\"{target}\"/>")
    };
    let relations = |all: String| text(format!("<Relationships xmlns=\"{RELATIONS}\">{all}</Relationships>"));
    let workbook = format!(
        "<workbook xmlns=\"{SPREADSHEET}\" xmlns:r=\"{OFFICE}\"><sheets><sheet name=\"a\" sheetId=\"1\" r:id=\"s\"/></sheets></workbook>"
    );
    zip(&[
        ("_rels/.rels", relations(relation("w", "officeDocument", "xl/workbook.xml"))),
        ("xl/workbook.xml", text(workbook)),
        (
            "xl/_rels/workbook.xml.rels",
            relations(relation("s", "worksheet", "s.xml") + &relation("t", "sharedStrings", "t.xml")),
        ),
        ("xl/s.xml", sheet),
        ("xl/t.xml", strings),
    ])
}

//! Tables and workbooks that are expensive to parse, for the batch upload: small gzip files and ZIP archives of large
//! contents, written without the contents in memory.

use std::time::{Duration, Instant};

use anyhow::Result;
use flate2::{Compress, Compression, Crc, FlushCompress};
use testkit::processes::http::{Body, Form, HttpClient};

use crate::abuse::services::{MAX_FILE_SIZE, Services};
use crate::abuse::target::Case;

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

/// Namespace of sheets.
pub const SPREADSHEET: &str = "http://schemas.openxmlformats.org/spreadsheetml/2006/main";
const RELATIONS: &str = "http://schemas.openxmlformats.org/package/2006/relationships";
const OFFICE: &str = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/// A sheet: the rows of `begin`, then `piece` repeated for `mib` MiB. Its elements are not closed.
pub fn sheet(begin: &str, piece: &str, mib: usize) -> Deflated {
    let begin = format!("<worksheet xmlns=\"{SPREADSHEET}\"><sheetData>{begin}");
    let piece = piece.repeat((1 << 20) / piece.len().max(1));
    repeat(&begin, &piece, mib)
}

/// Shared strings of `mib` MiB.
pub fn strings(mib: usize) -> Deflated {
    repeat(&format!("<sst xmlns=\"{SPREADSHEET}\">"), &"<si><t>a</t></si>".repeat(61_680), mib)
}

/// No shared strings.
pub fn no_strings() -> Deflated {
    deflate(b"<sst/>", 1)
}

/// `begin`, then `mebibyte` repeated for `mib` MiB.
pub fn repeat(begin: &str, mebibyte: &str, mib: usize) -> Deflated {
    deflate(begin.as_bytes(), 1).then(deflate(mebibyte.as_bytes(), mib))
}

/// Encodes a workbook of one sheet and its shared strings.
pub fn encode(sheet: Deflated, strings: Deflated) -> Vec<u8> {
    let text = |text: String| deflate(text.as_bytes(), 1);
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

/// The last block of a deflate stream, which is empty.
const LAST_BLOCK: [u8; 2] = [3, 0];

/// A raw deflate stream and the checksum of its content.
pub struct Deflated {
    bytes: Vec<u8>,
    crc: Crc,
}

impl Deflated {
    /// Appends the content of `other`.
    pub fn then(mut self, mut other: Self) -> Self {
        self.bytes.truncate(self.bytes.len() - LAST_BLOCK.len());
        self.bytes.append(&mut other.bytes);
        self.crc.combine(&other.crc);
        self
    }
}

/// Compresses `piece`, repeated `times` times.
pub fn deflate(piece: &[u8], times: usize) -> Deflated {
    let capacity = piece.len() / 8 + (64 << 10);
    let (mut compress, mut block) = (Compress::new(Compression::best(), false), Vec::with_capacity(capacity));
    // A full flush makes blocks that do not refer to earlier ones: they can be repeated.
    let _ = compress.compress_vec(piece, &mut block, FlushCompress::Full);
    let (mut piece_crc, mut crc) = (Crc::new(), Crc::new());
    piece_crc.update(piece);
    (0..times).for_each(|_| crc.combine(&piece_crc));
    Deflated { bytes: [block.repeat(times), LAST_BLOCK.into()].concat(), crc }
}

/// Writes a gzip file (RFC 1952).
pub fn gzip(content: &Deflated) -> Vec<u8> {
    let trailer = [content.crc.sum().to_le_bytes(), content.crc.amount().to_le_bytes()].concat();
    [&[0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255], content.bytes.as_slice(), &trailer].concat()
}

/// Writes a ZIP archive of these entries (APPNOTE.TXT, 4.3).
pub fn zip(entries: &[(&str, Deflated)]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for (name, entry) in entries {
        let offset = saturate(archive.len());
        let sizes =
            [entry.crc.sum(), saturate(entry.bytes.len()), entry.crc.amount()].map(u32::to_le_bytes).concat();
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX).to_le_bytes();
        let common = [&[20, 0, 0, 0, 8, 0, 0, 0, 0x21, 0][..], &sizes, &length, &[0, 0]].concat();
        archive.extend([b"PK\x03\x04", common.as_slice(), name.as_bytes(), &entry.bytes].concat());
        let location = [&[0; 10][..], &offset.to_le_bytes()].concat();
        directory.extend([b"PK\x01\x02\x14\0", common.as_slice(), &location, name.as_bytes()].concat());
    }
    let count = u16::try_from(entries.len()).unwrap_or(u16::MAX).to_le_bytes();
    let location = [saturate(directory.len()), saturate(archive.len())].map(u32::to_le_bytes).concat();
    [archive, directory, [b"PK\x05\x06\0\0\0\0", &count[..], &count, &location, &[0, 0]].concat()].concat()
}

fn saturate(size: usize) -> u32 {
    u32::try_from(size).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::read::GzDecoder;

    use super::*;

    #[test]
    fn gzip_files_and_archives_are_valid() {
        let bytes = gzip(&deflate(b"hello, ", 3));
        let mut text = String::new();
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
        assert_eq!(text, "hello, hello, hello, ");
        assert!(gzip(&deflate(&vec![0; 1 << 20], 1024)).len() < 3 << 20);
        let zip = zip(&[("a", deflate(b"x", 1)), ("b", deflate(b"y", 1))]);
        assert!(
            zip.starts_with(b"PK\x03\x04") && zip.windows(4).filter(|w| *w == b"PK\x01\x02").count() == 2
        );
    }
}

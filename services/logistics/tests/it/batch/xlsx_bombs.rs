//! Malicious workbooks: decompression bombs and false metadata.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;

use super::*;

/// Returns a ZIP archive with these parts, deflated.
fn archive(parts: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in parts {
        let mut deflated = DeflateEncoder::new(Vec::new(), Compression::best());
        deflated.write_all(content).unwrap();
        let (packed, offset) = (deflated.finish().unwrap(), file.len());
        let mut crc = flate2::Crc::new();
        crc.update(content);
        // Version, flags, method, time, date, CRC, sizes, lengths of name and extra field.
        let mut fields = [20_u16, 0, 8, 0, 0].map(u16::to_le_bytes).concat();
        fields.extend(crc.sum().to_le_bytes());
        fields
            .extend([packed.len(), content.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes()).concat());
        fields.extend([u16::try_from(name.len()).unwrap(), 0].map(u16::to_le_bytes).concat());
        file.extend([b"PK\x03\x04", &fields[..], name.as_bytes(), &packed].concat());
        let location = [[0; 10].to_vec(), u32::try_from(offset).unwrap().to_le_bytes().to_vec()].concat();
        directory.extend([b"PK\x01\x02\x14\0", &fields[..], &location, name.as_bytes()].concat());
    }
    let mut end = [0, 0, parts.len(), parts.len()].map(|n| u16::try_from(n).unwrap().to_le_bytes()).concat();
    end.extend([directory.len(), file.len()].map(|n| u32::try_from(n).unwrap().to_le_bytes()).concat());
    [file, directory, b"PK\x05\x06".to_vec(), end, vec![0, 0]].concat()
}

/// Returns a workbook with these XML parts.
pub fn book(sheet: Vec<u8>, strings: Vec<u8>, styles: Vec<u8>) -> Vec<u8> {
    let relation = |id: &str, kind: &str, target: &str| {
        format!("<Relationship Id=\"{id}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>")
    };
    let own = [
        relation("r1", "worksheet", "sheet.xml"),
        relation("r2", "sharedStrings", "strings.xml"),
        relation("r3", "styles", "styles.xml"),
    ];
    archive(&[
        ("_rels/.rels", relation("r", "officeDocument", "xl/book.xml").into_bytes()),
        (
            "xl/book.xml",
            b"<workbook xmlns:r='x'><sheets><sheet name='a' r:id='r1'/></sheets></workbook>".to_vec(),
        ),
        ("xl/_rels/book.xml.rels", format!("<Relationships>{}</Relationships>", own.concat()).into_bytes()),
        ("xl/sheet.xml", sheet),
        ("xl/strings.xml", strings),
        ("xl/styles.xml", styles),
    ])
}

pub fn sheet(head: &str, rows: &str) -> Vec<u8> {
    format!("<worksheet>{head}<sheetData>{rows}</sheetData></worksheet>").into_bytes()
}

pub const STRINGS: &[u8] = b"<sst count='9' uniqueCount='9'><si><t>reference</t></si></sst>";
pub const STYLES: &[u8] = b"<styleSheet><cellXfs><xf numFmtId='0'/></cellXfs></styleSheet>";

/// Starts a service with a limit of 1 MiB for files: 5 MiB for unpacked sheets and 2 MiB for unpacked strings.
async fn app() -> App {
    App::start::<Logistics>(Backend::Sqlite, Settings { batch_bytes: 1 << 20, ..Settings::default() }).await
}

async fn send_small(app: &App, file: Vec<u8>) -> TestResponse {
    assert!(file.len() < 1 << 20, "{} bytes", file.len());
    send_file(app, file).await
}

#[test]
fn limits_unpacked_sheets_and_strings() {
    testkit::block_on(async {
        let app = app().await;
        let cells = "<row><c t='s'><v>0</v></c></row>".repeat(150_000);
        let file = book(sheet("", &cells), STRINGS.to_vec(), STYLES.to_vec());
        // A header and more rows than allowed.
        assert_eq!(entries(&send_small(&app, file).await)[0], "file length");
        let blank = book(sheet("", &"<row></row>".repeat(500_000)), STRINGS.to_vec(), STYLES.to_vec());
        assert_eq!(send_small(&app, blank).await.error(413), "payload_too_large");
        let many_strings = [b"<sst>".to_vec(), b"<si/>".repeat(415_000)].concat();
        let file = book(sheet("", ""), many_strings, STYLES.to_vec());
        assert_eq!(entries(&send_small(&app, file).await)[0], "reference required 1", "within the limits");
        let long_strings =
            [b"<sst>".to_vec(), b"<si><t>aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa</t></si>".repeat(60_000)]
                .concat();
        let file = book(sheet("", ""), long_strings, STYLES.to_vec());
        assert_eq!(send_small(&app, file).await.error(413), "payload_too_large");
    });
}

#[test]
fn limits_text_depth_attributes_and_styles() {
    testkit::block_on(async {
        let app = app().await;
        let text = [b"<sst><si><t>".to_vec(), vec![b'a'; 3 << 20]].concat();
        assert_eq!(
            send_small(&app, book(sheet("", ""), text, STYLES.to_vec())).await.error(413),
            "payload_too_large"
        );
        let deep = sheet("", &"<a>".repeat(1_000_000));
        assert_eq!(
            entries(&send_small(&app, book(deep, STRINGS.to_vec(), STYLES.to_vec())).await),
            ["file format"]
        );
        let attributes = sheet("", &format!("<row {}/>", "a='' ".repeat(190_000)));
        let reply = send_small(&app, book(attributes, STRINGS.to_vec(), STYLES.to_vec())).await;
        assert_eq!(entries(&reply).len(), 4, "{}", reply.text());
        // All cells refer to one string.
        let blank = [b"<sst><si><t>".to_vec(), vec![b' '; 1_000_000], b"</t></si></sst>".to_vec()].concat();
        let cells = sheet("", &format!("<row>{}</row>", "<c t='s'><v>0</v></c>".repeat(256)).repeat(9));
        assert_eq!(
            send_small(&app, book(cells, blank, STYLES.to_vec())).await.error(413),
            "payload_too_large"
        );
        let styles = [b"<styleSheet><cellXfs>".to_vec(), b"<xf/>".repeat(2_000_000)].concat();
        assert_eq!(
            send_small(&app, book(sheet("", ""), STRINGS.to_vec(), styles)).await.error(413),
            "payload_too_large"
        );
    });
}

#[test]
fn does_not_trust_declared_sizes() {
    testkit::block_on(async {
        let app = app().await;
        let cell = "<row r='1'><c r='A1' t='s'><v>0</v></c></row>";
        let declared = b"<sst uniqueCount='99999999999999'><si><t>reference</t></si></sst>".to_vec();
        let file = book(sheet("", cell), declared, STYLES.to_vec());
        assert_eq!(entries(&send_small(&app, file).await)[0], "deliveryDateISO required 1");
        let of_size = |size: &str| {
            book(sheet(&format!("<dimension ref='{size}'/>"), cell), STRINGS.to_vec(), STYLES.to_vec())
        };
        for absurd in ["A1:XFD1048576", "A1:XFD50001", "A1:T99999999999"] {
            let reply = send_small(&app, of_size(absurd)).await;
            assert!(reply.text().contains("fewer rows and columns"), "{}", reply.text());
            assert_eq!(reply.errors(), ["file length"], "{absurd}");
        }
        // Distant formatted cells without content are allowed.
        for plausible in ["A1:T50001", "A1:G60000", "A1:AXZ9", "A1"] {
            assert_eq!(
                entries(&send_small(&app, of_size(plausible)).await)[0],
                "deliveryDateISO required 1",
                "{plausible}"
            );
        }
        for wide in
            ["<row><c r='XFD1'><v>1</v></c></row>", "<row><c r='ZZZZZZZZZZZZZZZZZZZZ1'><v>1</v></c></row>"]
        {
            let file = book(sheet("", wide), STRINGS.to_vec(), STYLES.to_vec());
            assert_eq!(entries(&send_small(&app, file).await), ["file length 1"]);
        }
        let file = book(sheet("", "<row><c t='s'><v>7</v></c></row>"), STRINGS.to_vec(), STYLES.to_vec());
        assert_eq!(send_small(&app, file).await.error(400), "malformed_body");
        let entity = "<row><c t='inlineStr'><is><t>&bomb;</t></is></c></row>";
        let file = book(sheet("", entity), STRINGS.to_vec(), STYLES.to_vec());
        assert_eq!(send_small(&app, file).await.error(400), "malformed_body");
    });
}

#[test]
fn rejects_archives_that_are_no_workbook() {
    testkit::block_on(async {
        let app = app().await;
        let document = archive(&[("word/document.xml", b"<x/>".to_vec())]);
        assert_eq!(entries(&send_small(&app, document).await), ["file format"]);
        let entries_without_end: Vec<_> = (0..5_000).map(|n| format!("{n}.xml")).collect();
        let parts: Vec<_> = entries_without_end.iter().map(|name| (&**name, Vec::new())).collect();
        assert_eq!(send_file(&app, archive(&parts)).await.errors(), ["file format"]);
        // A checksum that does not match.
        let mut file = book(sheet("", ""), STRINGS.to_vec(), STYLES.to_vec());
        let sum = file.windows(4).position(|bytes| bytes == b"PK\x03\x04").unwrap() + 14;
        file[sum] ^= 1;
        let at = file.windows(4).position(|bytes| bytes == b"PK\x01\x02").unwrap() + 16;
        file[at] ^= 1;
        assert_eq!(send_small(&app, file).await.error(400), "malformed_body");
    });
}

//! Malicious workbooks: decompression bombs and false metadata.

use super::raw_workbook::{STRINGS, STYLES, archive, book, sheet};
use super::*;

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
        // An incomplete header and more rows than allowed.
        assert_eq!(entries(&send_small(&app, file).await)[2], "file length");
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
        assert_eq!(entries(&reply).len(), 3, "{}", reply.text());
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
        // The sheet is as large as its cells, whatever it announces.
        for size in ["A1:XFD1048576", "A1:T99999999999", "A1:T50001", "A1"] {
            let reply = send_small(&app, of_size(size)).await;
            assert_eq!(entries(&reply)[0], "deliveryDateISO required 1", "{size}");
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

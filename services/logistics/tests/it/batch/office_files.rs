//! What offices send: workbooks of several sheets, files of other formats, hints and marks of other programs in CSV.

use super::raw_workbook::{RawWorkbook, archive, rows, sheet};
use super::*;

const HEADER: &[&str] =
    &["reference", "deliveryDateISO", "commodityName", "organiserId", "organiserName", "ticketNumber"];
const CSV_HEADER: &str = "reference,deliveryDateISO,commodityName,organiserId,organiserName,ticketNumber\n";

/// Returns a sheet with the header and a row.
fn table(reference: &str) -> Vec<u8> {
    sheet("", &rows(&[HEADER, &[reference, "2026-11-02", "Feed Wheat", "grain", "Grain"]]))
}

/// Returns the references of the loads that a file created.
async fn references(app: &App, file: Vec<u8>) -> Vec<String> {
    let answer = send_file(app, file).await.ok();
    let created = loads(app, &User::of("grain"), &answer).await;
    created.iter().map(|load| load["reference"].as_str().unwrap().to_owned()).collect()
}

/// Sends CSV with a form field.
async fn send_encoded(app: &App, file: &[u8], encoding: &'static str) -> TestResponse {
    send(app, &without_org_name("grain"), form(&[file]).text("encoding", encoding)).await
}

testkit::on_both! {
    async fn the_first_visible_sheet_with_the_header_is_read(backend) {
        let app = app(backend).await;
        let mut book = RawWorkbook::new(table("S-1"));
        for state in ["hidden", "veryHidden"] {
            let attributes = if state == "hidden" { "name='Old' state='hidden'" } else { "name='Old' state='veryHidden'" };
            book.sheets.insert(0, (attributes, "worksheet", table("OLD")));
            assert_eq!(references(&app, book.pack()).await, ["S-1"], "{state}");
        }
        let chart = || b"<chartsheet><sheetViews/></chartsheet>".to_vec();
        book.sheets.insert(0, ("name='Chart'", "chartsheet", chart()));
        let notes = sheet("", &rows(&[&["This file was exported."], &["reference", "see the next sheet"]]));
        book.sheets.insert(0, ("name='Summary' state='visible'", "worksheet", notes.clone()));
        book.sheets.push(("name='Later'", "worksheet", table("LATER")));
        let mut bytes = book.pack();
        assert_eq!(references(&app, bytes.clone()).await, ["S-1"]);
        // The archive may be damaged behind the rows that are searched.
        let end = bytes.len() - 30;
        bytes.truncate(end);
        assert_eq!(send_file(&app, bytes).await.error(400), "malformed_body");

        // The end of a large sheet is not searched.
        let filler = format!("<mergeCells><mergeCell ref='A9:B9'/></mergeCells><!--{}-->", "x".repeat(1_100_000));
        let large = String::from_utf8(table("S-5")).unwrap().replace("</worksheet>", &(filler + "</worksheet>"));
        let mut book = RawWorkbook::new(notes.clone());
        book.sheets.push(("name='Large'", "worksheet", large.into_bytes()));
        assert_eq!(send_file(&app, book.pack()).await.error(413), "payload_too_large", "a comment of more than 1 MiB");
        let filler = format!("<mergeCells><mergeCell ref='A9:B9'/></mergeCells>{}", "<x/>".repeat(300_000));
        let large = String::from_utf8(table("S-5")).unwrap().replace("</worksheet>", &(filler + "</worksheet>"));
        book.sheets[1].2 = large.into_bytes();
        assert_eq!(references(&app, book.pack()).await, ["S-5"]);

        let title = [&[&["Loads of Penybont"][..], &[], &["made by", "Ann"]][..], &[&[][..]; 14], &[HEADER, &["S-2", "2026-11-02", "Feed Wheat", "grain", "Grain"]]].concat();
        assert_eq!(references(&app, RawWorkbook::new(sheet("", &rows(&title))).pack()).await, ["S-2"]);
        let late = [&[&["Loads of Penybont"][..]][..], &[&["text"][..]; 19], &[HEADER]].concat();
        let reply = send_file(&app, RawWorkbook::new(sheet("", &rows(&late))).pack()).await;
        assert_eq!(entries(&reply)[0], "Loads of Penybont enum 1", "the header is row 21");
        let title = format!("Loads of November\n\n{CSV_HEADER}S-3,2026-11-02,Feed Wheat,grain,Grain,\n");
        assert_eq!(references(&app, title.into_bytes()).await, ["S-3"]);

        // Without a complete header, the sheet that has most of it is named.
        let incomplete = sheet("", &rows(&[&["reference", "commodityName"], &["S-4", "Feed Wheat"]]));
        let mut book = RawWorkbook::new(notes.clone());
        book.sheets.push(("name='Nearly'", "worksheet", incomplete));
        let reply = send_file(&app, book.pack()).await;
        assert_eq!(entries(&reply), ["deliveryDateISO required 1"]);
        assert_eq!(reply.json()["validation"][0]["data"]["sheet"], "Nearly");
        let none = RawWorkbook { sheets: vec![("name='A' state='hidden'", "worksheet", table("X"))], ..RawWorkbook::new(notes) };
        let reply = send_file(&app, none.pack()).await;
        assert!(reply.text().contains("visible worksheet"), "{}", reply.text());
        assert_eq!(reply.errors(), ["file format"]);
        assert_eq!(count_loads(&app).await, 6);
    }

    async fn hidden_rows_are_imported_with_a_warning(backend) {
        let app = app(backend).await;
        let lines: Vec<Vec<String>> = (2..7).map(|n| [&*format!("H-{n}"), "2026-11-02", "Feed Wheat", "grain", "Grain"].map(str::to_owned).to_vec()).collect();
        let lines: Vec<Vec<&str>> = lines.iter().map(|line| line.iter().map(String::as_str).collect()).collect();
        let mut all = vec![HEADER];
        all.extend(lines.iter().map(Vec::as_slice));
        let xml = rows(&all).replace("<row r='3'", "<row r='3' hidden='1'").replace("<row r='5'", "<row r='5' hidden='true'")
            .replace("<row r='6'", "<row r='6' ht='0' customHeight='1'").replace("<row r='2'", "<row r='2' hidden='0' ht='15.5'");
        let book = RawWorkbook::new(sheet("", &xml)).pack();
        for dry_run in ["true", "false"] {
            let form = form(&[&book]).text("dryRun", dry_run);
            let answer = send(&app, &without_org_name("grain"), form).await.ok();
            assert_eq!(answer["count"], 5);
            let warning = &answer["warnings"][0];
            assert_eq!((&warning["code"], &warning["path"]), (&json!("hidden_rows"), &json!("file")));
            assert_eq!(warning["data"], json!({"count": 3, "rows": [1, 3, 4], "lines": [3, 5, 6], "sheet": "Loads"}));
        }
        let again = send_file(&app, RawWorkbook::new(table("V")).pack()).await.ok();
        assert!(again.get("warnings").is_none());
    }

    async fn other_formats_are_named_with_the_remedy(backend) {
        let app = app(backend).await;
        let compound = |name: &str| {
            let name: Vec<u8> = name.encode_utf16().flat_map(u16::to_le_bytes).collect();
            [b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1".to_vec(), vec![0; 70_000], name].concat()
        };
        let zip = |name: &str| archive(&[(name, b"x".to_vec())]);
        let ods = archive(&[("mimetype", b"application/vnd.oasis.opendocument.spreadsheet".to_vec()), ("content.xml", vec![])]);
        let html = b"\xef\xbb\xbf\r\n<TABLE><tr><td>reference</td></tr></TABLE>".to_vec();
        let xml_2003 = b"<?xml version=\"1.0\"?>\n<?mso-application progid=\"Excel.Sheet\"?><Workbook xmlns=\"urn:schemas-microsoft-com:office:spreadsheet\"/>".to_vec();
        let flat_ods = b"<?xml version='1.0'?><office:document xmlns:office='urn:oasis:names:tc:opendocument:xmlns:office:1.0'/>".to_vec();
        for (file, name, remedy) in [
            (ods, "OpenDocument", "save it as XLSX or CSV"),
            (flat_ods, "OpenDocument", "save it as XLSX or CSV"),
            (zip("Index/Document.iwa"), "Numbers", "export it to Excel"),
            (zip("xl/workbook.bin"), "XLSB", "save it as XLSX"),
            (zip("word/document.xml"), "Word", "save it as XLSX"),
            (zip("loads.csv"), "archive", "unpack it"),
            (compound("Workbook"), "XLS", "save it as XLSX"),
            (compound("EncryptedPackage"), "password", "remove the password"),
            (b"\x09\x08\x10\0\0\x06\x05\0".to_vec(), "XLS", "save it as XLSX"),
            (html, "HTML", "save it as XLSX"),
            (b"<!DOCTYPE html><html></html>".to_vec(), "HTML", "save it as XLSX"),
            (xml_2003, "XML spreadsheet of 2003", "save it as XLSX"),
            (b"%PDF-1.7\nreference".to_vec(), "PDF", "send the table"),
            (b"\xff\xd8\xff\xe0".to_vec(), "picture", "send the table"),
        ] {
            let reply = send_file(&app, file).await;
            let text = reply.text();
            assert_eq!(reply.errors(), ["file format"], "{name}");
            assert!(text.contains("must be CSV or XLSX") && text.contains(name) && text.contains(remedy), "{name}: {text}");
        }
    }

    async fn archives_that_cannot_be_unpacked_are_no_outage(backend) {
        let app = app(backend).await;
        let book = RawWorkbook::new(table("Z")).pack();
        // Reduced, Deflate64, bzip2, LZMA, Zstandard, XZ, AES, and numbers without a meaning.
        for method in [4_u8, 9, 12, 14, 93, 95, 99, 200] {
            let mut file = book.clone();
            for (magic, offset) in [(b"PK\x03\x04", 8), (b"PK\x01\x02", 10)] {
                let places: Vec<_> = file.windows(4).enumerate().filter(|(_, bytes)| bytes == magic).map(|(at, _)| at).collect();
                for at in places {
                    file[at + offset] = method;
                }
            }
            let reply = send_file(&app, file).await;
            assert!(reply.text().contains("save it again"), "{method}: {}", reply.text());
            assert_eq!(reply.error(400), "malformed_body", "{method}");
        }
        let mut encrypted = book.clone();
        for (magic, offset) in [(b"PK\x03\x04", 6), (b"PK\x01\x02", 8)] {
            let places: Vec<_> = encrypted.windows(4).enumerate().filter(|(_, bytes)| bytes == magic).map(|(at, _)| at).collect();
            for at in places {
                encrypted[at + offset] |= 1;
            }
        }
        let reply = send_file(&app, encrypted).await;
        assert!(reply.text().contains("password"), "{}", reply.text());
        assert_eq!(reply.error(400), "malformed_body");
        // Compressed content that is damaged.
        let start = book.windows(10).position(|bytes| bytes == b"xl/styles.").unwrap() + 13;
        for damage in 0..8 {
            let mut file = book.clone();
            file[start + 2 * damage] ^= 0x5a;
            assert_eq!(send_file(&app, file).await.error(400), "malformed_body", "{damage}");
        }
    }

    async fn far_cells_without_content_are_nothing(backend) {
        let app = app(backend).await;
        let lines = rows(&[HEADER, &["FAR-1", "2026-11-02", "Feed Wheat", "grain", "Grain"]]);
        let far = "<row r='1048576'><c r='A1048576' s='0'/><c r='XFD1048576' s='0'/></row>";
        let file = RawWorkbook::new(sheet("<dimension ref='A1:XFD1048576'/>", &(lines + far))).pack();
        assert_eq!(references(&app, file).await, ["FAR-1"]);
    }

    async fn marks_of_other_programs_in_csv_are_understood(backend) {
        let app = app(backend).await;
        let row = "S-1,2026-11-02,Feed Wheat,grain,Grain,T-1\r\n";
        let table = CSV_HEADER.to_owned() + row;
        for (hint, delimiter) in [("sep=;\r\n", ";"), ("SEP=|\n", "|"), ("\"sep=\t\"\r\n", "\t"), ("\u{feff}sep=,\r", ",")] {
            let file = hint.to_owned() + &table.replace(',', delimiter);
            assert_eq!(references(&app, file.into_bytes()).await, ["S-1"], "{hint:?}");
        }
        let wrong = "sep=;\n".to_owned() + &table.replace(',', ";").replace("2026-11-02", "soon");
        assert_eq!(entries(&send_file(&app, wrong).await), ["rows[0].deliveryDateISO format 3"], "lines count the hint");
        for end in ["\u{1a}", "\u{1a}\u{1a}\u{1a}", "\r\n\u{1a}\r\n", "\n\u{1a}\n\u{1a}"] {
            assert_eq!(references(&app, (table.clone() + end).into_bytes()).await, ["S-1"], "{end:?}");
        }
        let inside = table.replace("T-1", "T\u{1a}1");
        assert_eq!(entries(&send_file(&app, inside).await), ["rows[0].ticketNumber format 2"]);
        for (cell, stored) in [
            ("=\"007\"", "007"), ("\"=\"\"0,08\"\"\"", "0,08"), ("=\"1.5E+10\"", "1.5E+10"), ("=\"=1\"", "=1"),
            ("\"=\"\"a\"\"\"\"b\"\"\"", "a\"b"), ("\"'=\"\"x\"\"\"", "=\"x\""), ("=\"a\"&\"b\"", "=\"a\"&\"b\""),
        ] {
            let load = loads(&app, &User::of("grain"), &send_file(&app, table.replace("T-1", cell)).await.ok()).await;
            assert_eq!(load[0]["ticketNumber"], stored, "{cell}");
        }
    }

    async fn utf_8_is_utf_8_whatever_the_form_says(backend) {
        let app = app(backend).await;
        let table = format!("{CSV_HEADER}Fünf £ – 日,2026-11-02,Feed Wheat,grain,Grain,\n");
        let answer = send_encoded(&app, table.as_bytes(), "windows-1252").await.ok();
        assert_eq!(loads(&app, &User::of("grain"), &answer).await[0]["reference"], "Fünf £ – 日");
        // A character is split between the buffers, and the last one is cut off.
        let long = format!("{CSV_HEADER}R,2026-11-02,Feed Wheat,grain,Grain,{}\n", "é".repeat(90)).repeat(400);
        for shift in 0..2 {
            let file = format!("{}{long}", "\n".repeat(shift));
            let rows = send_encoded(&app, file.replace(CSV_HEADER, "").replacen('R', &format!("{CSV_HEADER}R"), 1).as_bytes(), "windows-1252").await.ok();
            let load = loads(&app, &User::of("grain"), &json!({"ids": [rows["ids"][399]]})).await;
            assert_eq!(load[0]["ticketNumber"], "é".repeat(90), "{shift}");
        }
        let cut = [CSV_HEADER.as_bytes(), b"R,2026-11-02,Feed Wheat,grain,Grain,\xc3"].concat();
        let answer = send_encoded(&app, &cut, "windows-1252").await.ok();
        assert_eq!(loads(&app, &User::of("grain"), &answer).await[0]["ticketNumber"], "Ã");
    }

    async fn spaces_of_every_kind_are_one_space_in_names_of_commodities(backend) {
        let app = app(backend).await;
        for name in ["Feed\u{a0}Wheat", "  feed \u{2009}\u{202f} WHEAT\u{a0}", "\u{3000}Feed\tWheat"] {
            let table = format!("{CSV_HEADER}R,2026-11-02,{name},grain,Grain,\n");
            let answer = send_file(&app, table).await;
            if name.contains('\t') {
                assert_eq!(answer.errors(), ["rows[0].commodityName format"], "a control character");
            } else {
                assert_eq!(loads(&app, &User::of("grain"), &answer.ok()).await[0]["commodity"]["id"], 1, "{name:?}");
            }
        }
    }

    async fn midnight_is_the_day(backend) {
        let app = app(backend).await;
        for (order, date) in [("dmy", "02/11/2026 00:00:00"), ("mdy", "11/2/2026 12:00:00 AM"), ("iso", "2026-11-02 00:00"), ("dmy", "2026-11-02T00:00:00")] {
            let table = format!("{CSV_HEADER}R,{date},Feed Wheat,grain,Grain,\n");
            let form = form(&[table.as_bytes()]).text("dateOrder", order);
            let answer = send(&app, &without_org_name("grain"), form).await.ok();
            let load = &loads(&app, &User::of("grain"), &answer).await[0];
            assert_eq!(load["deliveryDateISO"], "2026-11-02T00:00:00.000Z", "{date}");
        }
        let table = format!("{CSV_HEADER}R,2026-11-02 09:30,Feed Wheat,grain,Grain,\n");
        assert_eq!(entries(&send_file(&app, table).await), ["rows[0].deliveryDateISO format 2"]);
    }
}

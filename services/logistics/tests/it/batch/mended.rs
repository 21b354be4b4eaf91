//! A sheet that is mended on a screen: what is recognised, assigned headings, corrections, and rows that are left out.

use std::io::Cursor;

use rust_xlsxwriter::{ExcelDateTime, Format, Workbook};

use super::*;

const HEADER: &str = "reference;deliveryDateISO;commodityName;organiserId;organiserName;weight\n";

fn table(rows: &[&str]) -> String {
    HEADER.to_owned() + &rows.join("\n") + "\n"
}

const AUTO: [(&str, &str); 3] = [("dateOrder", "auto"), ("decimal", "Auto"), ("encoding", "AUTO")];

fn paths(reply: &TestResponse) -> Vec<String> {
    let body = reply.json();
    let entry =
        |entry: &Value| format!("{} {}", entry["path"].as_str().unwrap(), entry["code"].as_str().unwrap());
    body["validation"].as_array().unwrap().iter().map(entry).collect()
}

testkit::on_both! {
    async fn texts_decide_what_the_form_leaves_open(backend) {
        let app = app(backend).await;
        let rows = table(&[
            "A;1/3/2026;Feed Wheat;grain;Grain;1,234", "B;13/2/2026;Feed Wheat;grain;B\u{f6}rde;29,4",
            "C;3/14/2026;Feed Wheat;grain;Grain;1",
        ]);
        let windows: Vec<u8> = rows.chars().map(|c| u8::try_from(u32::from(c)).unwrap()).collect();
        let reply = send_with(&app, &AUTO, &windows).await;
        assert_eq!(entries(&reply), ["rows[2].deliveryDateISO format 4"], "a text that contradicts the choice");
        let file = &reply.json()["body"]["recognised"][0];
        assert_eq!((&file["dateOrder"], &file["decimal"]), (&json!("dmy"), &json!("comma")));
        assert_eq!((&file["encoding"], &file["delimiter"], &file["headerLine"]), (&json!("windows-1252"), &json!(";"), &json!(1)));
        assert_eq!(file["headings"][4], json!({"heading": "organiserName", "column": "organiserName", "samples": ["Grain", "B\u{f6}rde"]}));
        // Nothing decides: each file asks.
        let open = table(&["A;1/3/2026;Feed Wheat;grain;Grain;1,234"]);
        let reply = send_with(&app, &AUTO, &open).await;
        assert_eq!(paths(&reply), ["dateOrder required", "decimal required"]);
        assert_eq!(reply.json()["validation"][0]["data"], json!({"allowed": ["dmy", "mdy"], "file": "1.csv"}));
        assert!(reply.json()["body"]["recognised"][0].get("dateOrder").is_none());
        // A correction counts with its text.
        let corrections = json!([{"row": 0, "column": "deliveryDateISO", "value": "2026-03-01"}]).to_string();
        let fields = [&AUTO[..], &[("corrections", &corrections)]].concat();
        assert_eq!(paths(&send_with(&app, &fields, &open).await), ["decimal required"]);
        // A date that is the same in both orders is read, though it decides nothing.
        let same = table(&["B;5/5/2026;Feed Wheat;grain;Grain;29"]);
        let answer = send_with(&app, &AUTO, &same).await.ok();
        assert_eq!((&answer["count"], answer["recognised"][0].get("dateOrder")), (&json!(1), None));
        // Nothing to decide.
        let plain = table(&["A;2026-03-01;Feed Wheat;grain;Grain;29"]);
        let answer = send_with(&app, &AUTO, &plain).await.ok();
        assert_eq!((&answer["count"], answer["recognised"][0].get("decimal")), (&json!(1), None));
    }

    async fn headings_are_assigned(backend) {
        let app = app(backend).await;
        let rows = "Our no.;Day;Crop;organiserId;organiserName;Remark\nA;2026-03-01;Feed Wheat;grain;Grain;x\n;;;;;late\n";
        let reply = send_with(&app, &[], rows).await;
        assert_eq!(reply.json()["body"]["recognised"][0]["headings"][2], json!({"heading": "Crop", "samples": ["Feed Wheat"]}));
        let reply = send_with(&app, &[], "Loads of March\n\nNo;Day;Crop\nA;2026-03-01;Feed Wheat\n").await;
        let file = &reply.json()["body"]["recognised"][0];
        assert_eq!((&file["headerLine"], &file["headings"][2]["heading"]), (&json!(3), &json!("Crop")), "below a title");
        let send_headings = async |headings: &Value| send_with(&app, &[("headings", &headings.to_string())], rows).await;
        let all = json!({"our no": "reference", "DAY": "deliveryDateISO", "crop": "commodityName", "remark": null, "other": "tags"});
        let answer = send_headings(&all).await.ok();
        assert_eq!(answer["count"], 1);
        assert_eq!(answer["recognised"][0]["headings"][0]["column"], "reference");
        for (headings, entry) in [
            (with(all.clone(), "x", json!("price")), "headings enum"),
            (with(all.clone(), "remark", json!("organiserName")), "headings inconsistent"),
            (with(all.clone(), "Remark", json!("tags")), "headings inconsistent"),
            (with(all.clone(), "remark", json!(5)), "headings type"),
            (json!([]), "headings type"),
            (json!(null), "headings type"),
        ] {
            assert!(paths(&send_headings(&headings).await).contains(&entry.to_owned()), "{headings}");
        }
        let twice = r#"{"remark": null, "remark": "tags"}"#;
        for (headings, entry) in [("{", "headings format"), (twice, "headings inconsistent")] {
            assert_eq!(paths(&send_with(&app, &[("headings", headings)], VALID_CSV).await), [entry]);
        }
        assert_eq!(send_with(&app, &[("headings", " ")], VALID_CSV).await.ok()["count"], 2);
        // Readable headings need no assignment.
        let readable = "Our ref,Delivery date,Commodity,Organiser ID,Organiser,Weight (t)\nH,2026-03-01,Feed Wheat,grain,Grain,29\n";
        assert_eq!(send_with(&app, &[], readable).await.ok()["count"], 1);
    }

    async fn files_before_an_unreadable_one_are_recognised(backend) {
        let app = app(backend).await;
        let windows = b"reference,deliveryDateISO,commodityName,organiserId,organiserName\nA,2026-03-01,B\xf6rde,,\n";
        let files = form(&[VALID_CSV.as_bytes(), windows]).text("include", "rows".to_owned());
        let reply = send(&app, &without_org_name("grain"), files).await;
        let (body, code) = (reply.json()["body"].clone(), reply.error(400));
        assert_eq!(code, "malformed_body");
        let files: Vec<_> = body["recognised"].as_array().unwrap().iter().map(|file| file["file"].clone()).collect();
        assert_eq!((files, &body["rows"]), (vec![json!("1.csv"), json!("2.csv")], &json!([])));
    }

    async fn corrections_replace_cells_before_every_check(backend) {
        let app = app(backend).await;
        let rows = table(&["A;31/02;Feed Wheat;grain;Grain;29", "B;2026-03-02;Wheet;grain;Grain;29", "C;;;;;"]);
        let correct = async |corrections: Value| {
            let corrections = corrections.to_string();
            send_with(&app, &[("corrections", &corrections), ("include", "rows")], &rows).await
        };
        let correction = |row: usize, column: &str, value: &str| json!({"row": row, "column": column, "value": value});
        let reply = correct(json!([correction(1, "ticketNumber", "T-1")])).await;
        assert_eq!(paths(&reply)[..2], ["rows[0].deliveryDateISO format", "rows[1].commodityName unknown_reference"]);
        let cells = json!({"reference": "B", "deliveryDateISO": "2026-03-02", "commodityName": "Wheet", "organiserId": "grain",
            "organiserName": "Grain", "weight": "29", "ticketNumber": "T-1"});
        assert_eq!(reply.json()["body"]["rows"][1], json!({"row": 1, "line": 3, "cells": cells}));
        let suggestion = reply.json()["validation"][1]["data"]["suggestions"][0].as_str().unwrap().to_owned();
        let mended = json!([
            correction(0, "deliveryDateISO", "2026-03-01"), correction(1, "commodityName", &suggestion),
            with(correction(1, "ticketNumber", "T-1"), "row", json!(1.0)), correction(2, "reference", ""),
        ]);
        let answer = correct(mended).await.ok();
        assert_eq!(answer["count"], 2);
        assert_eq!(loads(&app, &User::of("grain"), &answer).await[1]["ticketNumber"], "T-1");
        for (corrections, expected) in [
            (json!([correction(3, "reference", "x")]), "corrections[0].row range"),
            (json!([with(correction(0, "reference", "x"), "row", json!(-1))]), "corrections[0].row range"),
            (json!([with(correction(0, "reference", "x"), "row", json!(1e300))]), "corrections[0].row range"),
            (json!([with(correction(0, "reference", "x"), "row", json!(0.5))]), "corrections[0].row type"),
            (json!([with(correction(0, "reference", "x"), "row", json!("0"))]), "corrections[0].row type"),
            (json!([correction(0, "price", "x")]), "corrections[0].column enum"),
            (json!([correction(3, "price", "x")]), "corrections[0].row range"),
            (json!([correction(0, "Reference", "x")]), "corrections[0].column enum"),
            (json!([correction(0, "weight", "1"), correction(0, "weight", "2")]), "corrections[1] inconsistent"),
            (json!([without(correction(0, "weight", "1"), "value")]), "corrections[0].value required"),
            (json!([5]), "corrections[0] type"),
            (json!({}), "corrections type"),
            (json!(null), "corrections type"),
            (json!(vec![correction(0, "weight", "1"); 1_001]), "corrections length"),
        ] {
            let reply = correct(corrections.clone()).await;
            assert!(paths(&reply).contains(&expected.to_owned()), "{corrections}: {}", reply.text());
        }
        let long: Vec<_> = (0..1_000).map(|n| correction(n, "tags", &"x".repeat(90))).collect();
        assert!(paths(&correct(json!(long)).await).contains(&"corrections[3].row range".to_owned()), "more than 64 KiB");
    }

    async fn rows_behind_a_broken_file_keep_their_numbers(backend) {
        let app = app(backend).await;
        let broken = table(&["A;2026-03-01;Feed Wheat;grain;Grain;29", "B;2026-03-01;Feed Wheat;grain;Grain;x", "\"open"]);
        let whole = table(&["C;2026-03-01;Feed Wheat;grain;Grain;29", "D;2026-03-01;Feed Wheat;grain;Grain;y"]);
        let files = form(&[broken.as_bytes(), whole.as_bytes()]).text("include", "rows");
        let reply = send(&app, &without_org_name("grain"), files).await;
        assert_eq!(entries(&reply), ["rows[1].weight type 3 1.csv", "file format 4 1.csv", "rows[3].weight type 3 2.csv"]);
        let body = &reply.json()["body"];
        assert_eq!(body["recognised"].as_array().unwrap().len(), 2);
        let rows: Vec<_> = body["rows"].as_array().unwrap().iter().map(|row| format!("{} {}", row["row"], row["cells"]["reference"])).collect();
        assert_eq!(rows, ["1 \"B\"", "3 \"D\""]);
    }

    async fn invalid_rows_are_left_out(backend) {
        let app = app(backend).await;
        let rows = table(&[
            "A;2026-03-01;Feed Wheat;grain;Grain;29", "B;2026-02-30;Feed Wheat;grain;Grain;29",
            "C;2026-03-01;Feed Wheat;other;Other;29", "A;2026-03-01;Feed Wheat;grain;Grain;x",
        ]);
        assert_eq!(paths(&send_with(&app, &[], &rows).await), ["rows[1].deliveryDateISO format", "rows[3].weight type"]);
        let fields = [("invalidRows", "LEAVEOUT"), ("ifExists", "refuse")];
        let answer = send_with(&app, &fields, &rows).await.ok();
        assert_eq!((&answer["count"], &answer["leftOut"]), (&json!(1), &json!(3)));
        assert_eq!(answer["message"], "1 load was created, 3 rows left out.");
        let left: Vec<_> = answer["validation"].as_array().unwrap().iter().map(|entry| entry["path"].as_str().unwrap()).collect();
        assert_eq!(left, ["rows[1].deliveryDateISO", "rows[2].organiserId", "rows[3].weight"]);
        // Nothing is left.
        let reply = send_with(&app, &[("invalidRows", "leaveOut"), ("ifExists", "refuse"), ("repeat", "true")], &rows).await;
        assert_eq!(paths(&reply), ["rows[1].deliveryDateISO format", "rows[3].weight type", "rows[0].reference inconsistent"]);
        let foreign = table(&["C;2026-03-01;Feed Wheat;other;Other;29", "D;2026-03-01;Feed Wheat;other;Other;29"]);
        let reply = send_with(&app, &[], &foreign).await;
        assert_eq!((reply.status, paths(&reply)), (403, vec!["rows[0].organiserId forbidden".to_owned(), "rows[1].organiserId forbidden".to_owned()]));
        assert_eq!((&reply.json()["body"]["failedRows"], &reply.json()["body"]["recognised"][0]["headerLine"]), (&json!(2), &json!(1)));
        // With `refuse`, what exists is left out too, and the valid rest has an answer without faults.
        let more = rows.clone() + "E;2026-03-01;Feed Wheat;grain;Grain;29\n";
        let answer = send_with(&app, &fields, &more).await.ok();
        assert_eq!((&answer["count"], &answer["leftOut"]), (&json!(1), &json!(4)));
        assert_eq!(count_loads(&app).await, 2);
    }

    async fn a_dry_run_returns_the_sheet_with_its_problems(backend) {
        let app = app(backend).await;
        let title = "Loads;\n\n".to_owned() + &table(&["=1+1;2026-03-01;Feed Wheat;grain;Grain;29", ";;;;;", "B;2026-02-30;Feed Wheat;other;Other;x"]);
        let correction = r#"[{"row": 1, "column": "tags", "value": "wet"}]"#;
        let fields = [("dryRun", "true"), ("format", "csv"), ("corrections", correction)];
        let reply = send_with(&app, &fields, &title).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "text/csv; charset=utf-8"));
        let lines: Vec<String> = reply.text().lines().map(str::to_owned).collect();
        assert_eq!(lines[..5], [
            ",Loads,,,,,,", ",,,,,,,", "Problems,reference,deliveryDateISO,commodityName,organiserId,organiserName,weight,tags",
            ",'=1+1,2026-03-01,Feed Wheat,grain,Grain,29,", ",,,,,,,",
        ]);
        assert!(lines[5].starts_with("\"deliveryDateISO: must be") && lines[5].ends_with(",B,2026-02-30,Feed Wheat,other,Other,x,wet"), "{}", lines[5]);
        // The mended sheet is a batch again, whose old problems are ignored.
        let mended = reply.text().replace("2026-02-30", "2026-03-02").replace("other,Other,x", "grain,Grain,1");
        let answer = send_with(&app, &[], &mended).await.ok();
        assert_eq!(loads(&app, &User::of("grain"), &answer).await[0]["reference"], "=1+1");
        for (fields, entry) in [
            (&[("format", "CSV")][..], "format inconsistent"), (&[("format", "pdf"), ("dryRun", "true")], "format enum"),
            (&[("format", "CSV"), ("dryRun", "true"), ("headings", "[]")], "headings type"),
        ] {
            assert_eq!(paths(&send_with(&app, fields, VALID_CSV).await), [entry]);
        }
        let other = VALID_CSV.replace("BG-", "XX-");
        let two = form(&[VALID_CSV.as_bytes(), other.as_bytes()]).text("dryRun", "true").text("format", "CSV");
        assert_eq!(paths(&send(&app, &without_org_name("grain"), two).await), ["format inconsistent"]);
    }

    async fn a_workbook_keeps_its_cells(backend) {
        let app = app(backend).await;
        let mut book = Workbook::new();
        book.add_worksheet().set_name("Notes").unwrap().write(0, 0, "See the next sheet").unwrap();
        let sheet = book.add_worksheet().set_name("Loads").unwrap().set_hidden(true);
        for (column, name) in (0..).zip(HEADER.trim_end().split(';').chain(["ticketNumber"])) {
            sheet.write(0, column, name).unwrap();
        }
        let (day, padded) = (Format::new().set_num_format("dd/mm/yyyy"), Format::new().set_num_format("000000"));
        for (row, reference) in [(1, "A"), (4, "B")] {
            for (column, text) in [(0, reference), (2, "Feed Wheat"), (3, "grain"), (4, "Grain")] {
                sheet.write(row, column, text).unwrap();
            }
            sheet.write_datetime_with_format(row, 1, ExcelDateTime::from_ymd(2026, 3, 12).unwrap(), &day).unwrap();
            sheet.write_with_format(row, 6, 1234, &padded).unwrap();
        }
        sheet.write_with_format(1, 5, 29.4, &Format::new().set_num_format("0")).unwrap();
        sheet.write(4, 5, "heavy").unwrap();
        let book = book.save_to_buffer().unwrap();
        let unknown = send_with(&app, &[("sheet", "Autumn")], &book).await;
        assert_eq!(paths(&unknown), ["sheet enum"]);
        assert_eq!(unknown.json()["validation"][0]["data"]["allowed"], json!(["Notes", "Loads"]));
        let reply = send_with(&app, &[("sheet", "LOADS"), ("include", "Rows")], &book).await;
        let body = &reply.json()["body"];
        assert_eq!(body["recognised"][0]["sheets"], json!([{"name": "Notes", "rows": 0, "hidden": false}, {"name": "Loads", "rows": 2, "hidden": true}]));
        assert_eq!((&body["rows"][0]["cells"]["deliveryDateISO"], &body["rows"][0]["cells"]["ticketNumber"]), (&json!("2026-03-12"), &json!("001234")));
        let csv = send_with(&app, &[("sheet", "loads"), ("format", "CSV"), ("dryRun", "true")], &book).await;
        assert!(csv.text().contains(",A,2026-03-12,Feed Wheat,grain,Grain,29.4,001234"), "{}", csv.text());
        let reply = send_with(&app, &[("sheet", "loads"), ("format", "XLSX"), ("dryRun", "true")], &book).await;
        assert_eq!(reply.status, 200, "{}", reply.text());
        let again = send_with(&app, &[("sheet", "Loads"), ("dryRun", "true")], &reply.bytes).await;
        assert_eq!(again.json()["body"]["recognised"][0]["sheet"], "Loads", "the sheet keeps its name");
        let mut archive = zip::ZipArchive::new(Cursor::new(reply.bytes.clone())).unwrap();
        let mut xml = String::new();
        std::io::Read::read_to_string(&mut archive.by_name("xl/worksheets/sheet1.xml").unwrap(), &mut xml).unwrap();
        assert!(xml.contains("<t>weight: must be a number, such as 29.4</t>") && xml.contains("<row r=\"5\">"), "{xml}");
        let mend = [("corrections", r#"[{"row": 1, "column": "weight", "value": "30"}]"#)];
        let answer = send_with(&app, &mend, &reply.bytes).await.ok();
        let created = loads(&app, &User::of("grain"), &answer).await;
        let shown = |load: &Value| format!("{} {} {}", load["deliveryDateISO"], load["ticketNumber"], load["weight"]["weight"]);
        assert_eq!(created.iter().map(shown).collect::<Vec<_>>(), [
            "\"2026-03-12T00:00:00.000Z\" \"001234\" 29.4", "\"2026-03-12T00:00:00.000Z\" \"001234\" 30",
        ]);
    }

    async fn cells_without_text_are_refused_again(backend) {
        let app = app(backend).await;
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        for (column, name) in (0..).zip(HEADER.trim_end().split(';')) {
            sheet.write(0, column, name).unwrap();
        }
        for (column, text) in [(0, "A"), (1, "2026-03-12"), (2, "Feed Wheat")] {
            sheet.write(1, column, text).unwrap();
        }
        sheet.merge_range(1, 3, 1, 4, "grain", &Format::new()).unwrap();
        let book = book.save_to_buffer().unwrap();
        let faults = entries(&send_with(&app, &[], &book).await);
        assert_eq!(faults.len(), 1, "{faults:?}");
        for format in ["CSV", "XLSX"] {
            let sheet = send_with(&app, &[("format", format), ("dryRun", "true")], &book).await;
            let again = send_with(&app, &[], &sheet.bytes).await;
            assert_eq!(paths(&again), ["rows[0].organiserName type"], "{format}");
        }
    }
}

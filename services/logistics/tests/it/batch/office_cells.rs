//! Cells that a sheet does not show as they are stored: formats, dates, errors, merged cells, formulas.

use super::raw_workbook::{RawWorkbook, STRICT, rows, sheet, styles};
use super::*;

const HEADER: &[&str] = &[
    "reference",
    "deliveryDateISO",
    "commodityName",
    "organiserId",
    "organiserName",
    "weight",
    "ticketNumber",
    "tags",
    "carrierId",
    "carrierName",
];

/// Returns a workbook with the header, one row of these cells, and these number formats as styles from 1 on.
fn book_of(cells: &[&str], formats: &[&str]) -> RawWorkbook {
    RawWorkbook { styles: styles(formats), ..RawWorkbook::new(sheet("", &rows(&[HEADER, cells]))) }
}

/// Sends a workbook of one row in which the cells are replaced.
async fn send_row(app: &App, replaced: &[(usize, &str)], formats: &[&str]) -> TestResponse {
    let mut cells = vec!["R-1", "2026-11-02", "Feed Wheat", "grain", "Grain", "", "", ""];
    for (column, cell) in replaced {
        cells[*column] = cell;
    }
    send_file(app, book_of(&cells, formats).pack()).await
}

/// Returns the single load of a response.
async fn single(app: &App, reply: TestResponse) -> Value {
    loads(app, &User::of("grain"), &reply.ok()).await.remove(0)
}

/// Asserts that the only entry of a response is this one, at this cell, with this hint.
fn assert_refused(reply: &TestResponse, entry: &str, cell: &str, hint: &str) {
    assert_eq!(entries(reply), [format!("{entry} 2")], "{}", reply.text());
    let entry = &reply.json()["validation"][0];
    assert_eq!((&entry["data"]["cell"], &entry["data"]["sheet"]), (&json!(cell), &json!("Loads")), "{entry}");
    assert!(entry["message"].as_str().unwrap().contains(hint), "{entry}");
}

testkit::on_both! {
    async fn text_columns_have_what_the_sheet_shows(backend) {
        let app = app(backend).await;
        for (format, stored, shown) in [
            ("00000000", "4711", "00004711"),
            ("\"WB-\"000", "7", "WB-007"),
            ("00\\-00\\-00", "112233", "11-22-33"),
            ("#,##0.00", "1234.5", "1,234.50"),
            ("0.0", "12.34", "12.3"),
            ("General", "12345678901234", "12345678901234"),
            ("@", "98765432109876", "98765432109876"),
            ("0%", "0.5", "50%"),
        ] {
            let cell = format!("s='1'|<v>{stored}</v>");
            let load = single(&app, send_row(&app, &[(0, &cell), (6, &cell), (7, &cell)], &[format]).await).await;
            assert_eq!((&load["reference"], &load["ticketNumber"]), (&json!(shown), &json!(shown)), "{format}");
            assert_eq!(load["tags"], json!([shown]), "{format}");
        }
        let sums = [(0, "|<v>0.30000000000000004</v>"), (5, "|<v>29.400000000000002</v>")];
        let load = single(&app, send_row(&app, &sums, &[]).await).await;
        assert_eq!((&load["reference"], &load["weight"]["weight"]), (&json!("0.3"), &json!(29.4)), "15 digits");
        let extended = "|<v>5</v><extLst><ext uri='q'><v>6</v></ext></extLst>";
        assert_eq!(single(&app, send_row(&app, &[(6, extended)], &[]).await).await["ticketNumber"], "5");
        let hidden = send_row(&app, &[(6, "s='1'|<v>12</v>")], &[";;;"]).await;
        assert!(single(&app, hidden).await.get("ticketNumber").is_none(), "the sheet shows nothing");
        for (cell, format, hint) in [
            ("s='1'|<v>12.5</v>", "# ?/?", "format the cell as text"),
            ("s='1'|<v>123456789012345</v>", "0.00E+00", "scientific notation"),
            ("|<v>1234567890123456</v>", "0", "15 digits"),
            ("s='1'|<v>1E+20</v>", "0", "15 digits"),
        ] {
            assert_refused(&send_row(&app, &[(6, cell)], &[format]).await, "rows[0].ticketNumber format", "G2", hint);
        }
    }

    async fn dates_are_dates_only_in_the_column_of_dates(backend) {
        let app = app(backend).await;
        for (format, serial) in [("d-mmm", "46087"), ("dd/mm/yyyy;@", "46087"), ("mmm-yy", "46087"), ("hh:mm", "0.5"), ("yyyy-mm-dd hh:mm:ss\"Z\"", "46087.5")] {
            let cell = format!("s='1'|<v>{serial}</v>");
            for (column, name, letter) in [(0, "reference", "A2"), (6, "ticketNumber", "G2"), (7, "tags", "H2"), (2, "commodityName", "C2")] {
                let reply = send_row(&app, &[(column, &cell)], &[format]).await;
                assert_refused(&reply, &format!("rows[0].{name} format"), letter, "format the cell as text");
            }
            let reply = send_row(&app, &[(5, &cell)], &[format]).await;
            assert_refused(&reply, "rows[0].weight type", "F2", "the cell has a date format");
        }
        let iso = send_row(&app, &[(6, "t='d'|<v>2026-11-02T00:00:00</v>")], &[]).await;
        assert_refused(&iso, "rows[0].ticketNumber format", "G2", "format the cell as text");
        let date = send_row(&app, &[(1, "s='1'|<v>46087</v>")], &["dddd, d mmmm yyyy"]).await;
        assert_eq!(single(&app, date).await["deliveryDateISO"], "2026-03-06T00:00:00.000Z");
        assert_eq!(send_row(&app, &[(1, "|<v>46087</v>")], &[]).await.errors(), ["rows[0].deliveryDateISO format"]);
    }

    async fn the_sheet_with_its_problems_keeps_times(backend) {
        let app = app(backend).await;
        let problems = |reply: &TestResponse| {
            let entries = reply.json()["validation"].as_array().unwrap().clone();
            entries.iter().map(|entry| format!("{} {}", entry["path"], entry["message"])).collect::<Vec<_>>()
        };
        for (format, serial) in [("dd/mm/yyyy hh:mm", "46087.5"), ("hh:mm", "0.5"), ("[h]:mm", "2.25"), ("yyyy-mm-dd", "-1")] {
            let cell = format!("s='1'|<v>{serial}</v>");
            let book = book_of(&[&cell, &cell, "Feed Wheat", "grain", "Grain", &cell, &cell, &cell], &[format]).pack();
            let first = problems(&send_file(&app, &book).await);
            assert_eq!(first.len(), 5, "{first:?}");
            let sheet = send_with(&app, &[("dryRun", "true"), ("format", "XLSX")], &book).await;
            assert_eq!(problems(&send_file(&app, &sheet.bytes).await), first, "{format}");
        }
    }

    async fn number_columns_refuse_formats_that_show_another_number(backend) {
        let app = app(backend).await;
        for (format, stored) in [("0.0\" t\"", "29.4"), ("#,##0.00", "29.4"), ("0.00", "29.4"), ("0;-0;\"-\"", "29.4")] {
            let load = single(&app, send_row(&app, &[(5, &format!("s='1'|<v>{stored}</v>"))], &[format]).await).await;
            assert_eq!(load["weight"]["weight"], 29.4, "{format}");
        }
        for (format, stored, shown) in [("0%", "0.29", "29%"), ("0.0,", "29400", "29.4"), (";;;", "29", "\"\"")] {
            let reply = send_row(&app, &[(5, &format!("s='1'|<v>{stored}</v>"))], &[format]).await;
            assert_refused(&reply, "rows[0].weight type", "F2", shown);
        }
    }

    async fn spreadsheet_errors_and_automatic_numbers_are_refused(backend) {
        let app = app(backend).await;
        let csv = |ticket: &str| format!(
            "reference,deliveryDateISO,commodityName,organiserId,organiserName,ticketNumber,tags\n\
             R,2026-11-02,Feed Wheat,grain,Grain,{ticket},\n"
        );
        for text in ["#N/A", "#ref!", "#NAME?", "#VALUE!", "#DIV/0!", "#NUM!", "#NULL!", "#SPILL!", "#CALC!", "####", "##", "#WERT!", "Err:502"] {
            let reply = send_file(&app, csv(text)).await;
            assert_eq!(entries(&reply), ["rows[0].ticketNumber type 2"], "{text}");
            assert!(reply.text().contains("is a spreadsheet error"), "{text}");
            assert_refused(&send_row(&app, &[(6, text)], &[]).await, "rows[0].ticketNumber type", "G2", "is a spreadsheet error");
        }
        assert_refused(&send_row(&app, &[(5, "t='e'|<v>#N/A</v>")], &[]).await, "rows[0].weight type", "F2", "spreadsheet error");
        for text in ["8.26E+13", "1.23457E+14", "\"1,5E+10\"", "1E-05", "-1.5e+20"] {
            let reply = send_file(&app, csv(text)).await;
            assert_eq!(entries(&reply), ["rows[0].ticketNumber format 2"], "{text}");
            assert!(reply.text().contains("scientific notation"), "{text}");
        }
        // What was typed as such, and what only looks similar.
        for (text, stored) in [("'#N/A", "#N/A"), ("'8.26E+13", "8.26E+13"), ("#4711", "#4711"), ("12E4", "12E4"), ("E+5", "E+5"), ("12345678901234567890", "12345678901234567890")] {
            let load = single(&app, send_file(&app, csv(text)).await).await;
            assert_eq!(load["ticketNumber"], stored);
        }
        let weight = csv("").replace("ticketNumber", "weight").replace("Grain,,", "Grain,2.9E+1,");
        assert_eq!(single(&app, send_file(&app, weight).await).await["weight"]["weight"], 29.0, "a number");
    }

    async fn covered_cells_of_merged_cells_are_refused(backend) {
        let app = app(backend).await;
        let first = ["M-1", "2026-11-02", "Feed Wheat", "grain", "Grain", "20", "T-1", "", "haul", "Haulage"];
        let lines: [&[&str]; 6] = [
            &["Loads of November"], HEADER, &first, &["M-2", "2026-11-02", "Feed Wheat", "grain", "Grain", "21"],
            &["M-3", "2026-11-02", "Feed Wheat", "grain", "Grain", "22", "hidden"], &[],
        ];
        let merged = |areas: &[&str]| {
            let cells = areas.iter().map(|area| format!("<mergeCell ref='{area}'/>")).collect::<Vec<_>>().concat();
            let xml = format!("<worksheet><sheetData>{}</sheetData><mergeCells>{cells}</mergeCells></worksheet>", rows(&lines));
            RawWorkbook::new(xml.into_bytes()).pack()
        };
        let reply = send_file(&app, merged(&["A1:J1", "I3:I6", "J3:J4", "G4:G5"])).await;
        let mut errors = entries(&reply);
        errors.sort();
        assert_eq!(errors, [
            "rows[1].carrierId format 4", "rows[1].carrierName format 4", "rows[2].carrierId format 5",
            "rows[2].ticketNumber format 5",
        ]);
        assert!(reply.text().contains("is part of the merged cells I3:I6: unmerge them"), "{}", reply.text());
        assert_eq!(reply.json()["validation"][0]["data"]["cell"], "I4");
        let across = send_file(&app, merged(&["F4:H4", "A7:A9"])).await;
        assert_eq!(entries(&across), ["rows[1].ticketNumber format 4", "rows[1].tags format 4"]);
        // Headers may be merged, and titles above them, and cells that no column has.
        assert_eq!(send_file(&app, merged(&["A1:J1", "J2:M2", "K3:L5", "A3"])).await.ok()["count"], 3);
        let all = ["A3:A5", "B3:B5", "C3:C5", "D3:D5", "E3:E5", "F3:F5", "G3:G5", "H3:H5", "I3:I5", "J3:J5"];
        assert_eq!(send_file(&app, merged(&all)).await.ok()["count"], 1, "rows that are covered are blank");
        let overlapping = vec!["A3:J9"; 300];
        assert_eq!(send_file(&app, merged(&overlapping)).await.error(400), "malformed_body");
        let many: Vec<_> = (0..50_001).map(|n| format!("A{n}:B{n}")).collect();
        let many: Vec<_> = many.iter().map(String::as_str).collect();
        assert_eq!(send_file(&app, merged(&many)).await.errors(), ["file length"]);
    }

    async fn formulas_have_the_results_that_a_spreadsheet_application_stored(backend) {
        let app = app(backend).await;
        let cells = ["F-1", "2026-11-02", "Feed Wheat", "grain", "Grain", "|<f>40-12.5</f><v>27.5</v>", "t='str'|<f>TEXT(7,\"000\")</f><v>007</v>"];
        let load = single(&app, send_file(&app, book_of(&cells, &[]).pack()).await).await;
        assert_eq!((&load["weight"]["weight"], &load["ticketNumber"]), (&json!(27.5), &json!("007")));
        let mut unknown = book_of(&cells, &[]);
        unknown.around[1] = "<calcPr fullCalcOnLoad='1'/>";
        let reply = send_file(&app, unknown.pack()).await;
        assert_eq!(entries(&reply), ["rows[0].weight type 2", "rows[0].ticketNumber type 2"]);
        assert!(reply.text().contains("formula without a result"), "{}", reply.text());
        unknown.around[1] = "<calcPr fullCalcOnLoad='0'/><extLst><ext xmlns:x='urn:x'><x:calcPr fullCalcOnLoad='1'/></ext></extLst>";
        assert_eq!(send_file(&app, unknown.pack()).await.ok()["count"], 1);
        for (cell, is_known) in [("t='str'|<f>A1</f>", false), ("t='str'|<f>A1</f><v></v>", true), ("|<f>A1</f>", false), ("|<f>A1</f><v/>", false)] {
            let reply = send_row(&app, &[(6, cell)], &[]).await;
            assert_eq!(reply.status == 200, is_known, "{cell}: {}", reply.text());
        }
    }

    async fn rows_of_formulas_that_give_nothing_are_blank(backend) {
        let app = app(backend).await;
        let nothing: &[&str] = &["", "", "", "", "", "|<f>F2*1</f><v>0</v>", "t='str'|<f>IF(A3=\"\",\"\",1)</f><v></v>", "tonne"];
        let linked: &[&str] = &["|<f>X!A9</f><v>0</v>", "s='1'|<f>X!B9</f><v>0</v>", "", "", "", "|<f>F2*1</f><v>0</v>"];
        let full: &[&str] = &["B-1", "2026-11-02", "Feed Wheat", "grain", "Grain", "|<f>5*0</f><v>0</v>"];
        let lines = [&[HEADER, full][..], &[nothing; 60], &[linked; 3]].concat();
        let book = RawWorkbook { styles: styles(&["dd/mm/yyyy"]), ..RawWorkbook::new(sheet("", &rows(&lines))) };
        let load = single(&app, send_file(&app, book.pack()).await).await;
        assert_eq!((&load["reference"], &load["weight"]["weight"]), (&json!("B-1"), &json!(0)));
        // The sheet with its problems has none of their results, with which the rows would be data.
        let again = [&[HEADER, &["B-2", "2026-11-02", "Feed Wheat", "grain", "Grain"]][..], &[nothing; 2], &[linked; 2]].concat();
        let again = RawWorkbook { styles: styles(&["dd/mm/yyyy"]), ..RawWorkbook::new(sheet("", &rows(&again))) }.pack();
        for format in ["CSV", "XLSX"] {
            let problems = send_with(&app, &[("dryRun", "true"), ("format", format)], &again).await;
            assert_eq!(send_with(&app, &[("dryRun", "true")], &problems.bytes).await.ok()["count"], 1, "{format}");
        }
        // A formula with a value, or a row with values but no formulas, is not blank.
        for other in [&["", "", "", "", "", "|<f>F2*1</f><v>3</v>"][..], &["", "", "", "", "", "|<v>0</v>"], &["X", "", "", "", "", "|<f>1</f><v>0</v>"]] {
            let file = RawWorkbook::new(sheet("", &rows(&[HEADER, full, other]))).pack();
            let reply = send_file(&app, file).await;
            assert!(entries(&reply).contains(&"rows[1].deliveryDateISO required 3".to_owned()), "{}", reply.text());
        }
    }

    async fn names_are_compared_with_their_namespaces(backend) {
        let app = app(backend).await;
        let cells = ["N-1", "s='1'|<v>44625</v>", "Feed Wheat", "grain", "Grain"];
        let extension = "<extLst><ext xmlns:x15='http://schemas.microsoft.com/office/spreadsheetml/2010/11/main'>\
            <x15:workbookPr chartTrackingRefBase='1'/></ext></extLst>";
        for (namespaces, before, after) in [
            (super::raw_workbook::TRANSITIONAL, "<workbookPr date1904='1'/>", extension),
            (STRICT, "<workbookPr date1904='true' xmlns:o='urn:o' o:date1904='0'/>", ""),
        ] {
            let book = RawWorkbook { namespaces, around: [before, after], ..book_of(&cells, &["dd/mm/yyyy"]) };
            assert_eq!(single(&app, send_file(&app, book.pack()).await).await["deliveryDateISO"], "2026-03-06T00:00:00.000Z");
        }
        // Elements of other namespaces in the sheet, and a prefix for those of the workbook.
        let main = super::raw_workbook::TRANSITIONAL[0];
        let prefixed = rows(&[HEADER, &["N-2", "2026-11-02", "Feed Wheat", "grain", "Grain"]]);
        let prefixed = ["row", "c", "is", "t"].iter().fold(prefixed, |xml, name| {
            xml.replace(&format!("<{name} "), &format!("<m:{name} ")).replace(&format!("<{name}>"), &format!("<m:{name}>"))
                .replace(&format!("</{name}>"), &format!("</m:{name}>"))
        });
        let foreign = "<x:row r='9'><x:c r='A9'><x:v>1</x:v></x:c></x:row><row xmlns='urn:x'><c><v>2</v></c></row>";
        let xml = format!(
            "<m:worksheet xmlns:m='{main}' xmlns:x='urn:x'><m:sheetData>{prefixed}{foreign}</m:sheetData></m:worksheet>"
        );
        let load = single(&app, send_file(&app, RawWorkbook::new(xml.into_bytes()).pack()).await).await;
        assert_eq!(load["reference"], "N-2");
    }
}

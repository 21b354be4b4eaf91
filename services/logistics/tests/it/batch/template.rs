//! The template as a workbook, and the sample row that batches skip.

use std::io::{Cursor, Read, Write};

use zip::write::SimpleFileOptions;

use super::*;

const SAMPLE: &str = "EXAMPLE (this row is skipped)";

/// Returns the template, with `rows` after the last row of its first sheet.
async fn template_with(app: &App, rows: &str) -> Vec<u8> {
    let template = app.get("/v1/loads/batch/template?format=XLSX").by(&User::of("grain")).send().await;
    assert_eq!(template.header("content-disposition"), "attachment; filename=\"loads-template.xlsx\"");
    let mut archive = zip::ZipArchive::new(Cursor::new(template.bytes)).unwrap();
    let mut changed = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for i in 0..archive.len() {
        let mut part = archive.by_index(i).unwrap();
        let (name, mut content) = (part.name().unwrap().into_owned(), String::new());
        part.read_to_string(&mut content).unwrap();
        if name == "xl/worksheets/sheet1.xml" {
            content = content.replace("</sheetData>", &format!("{rows}</sheetData>"));
        }
        changed.start_file(name, SimpleFileOptions::default()).unwrap();
        changed.write_all(content.as_bytes()).unwrap();
    }
    changed.finish().unwrap().into_inner()
}

/// Returns a row with these cells by column.
fn row(number: u32, cells: &[(&str, &str)]) -> String {
    let cell = |(column, text): &(&str, &str)| {
        format!("<c r=\"{column}{number}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
    };
    format!("<row r=\"{number}\">{}</row>", cells.iter().map(cell).collect::<String>())
}

testkit::on_both! {
    async fn a_filled_in_template_is_imported_without_its_sample(backend) {
        let app = app(backend).await;
        assert_eq!(entries(&send_file(&app, template_with(&app, "").await).await), ["file length"]);
        let cells = [("A", "BG-1"), ("B", "2026-03-01"), ("C", "grain"), ("D", "Grain"), ("H", "Feed Wheat"), ("K", "tonne")];
        let answer = send_file(&app, template_with(&app, &row(3, &cells)).await).await.ok();
        assert_eq!((&answer["count"], answer.get("skipped")), (&json!(1), None));
        assert_eq!(loads(&app, &User::of("grain"), &answer).await[0]["reference"], "BG-1");
        // Rows after the sample are counted from 0.
        let invalid = template_with(&app, &row(3, &[("A", "BG-2"), ("C", "grain"), ("D", "Grain"), ("G", "1")])).await;
        assert_eq!(entries(&send_file(&app, invalid).await), ["rows[0].deliveryDateISO required 3"]);
    }

    async fn the_template_has_lists_and_commodities(backend) {
        let app = app(backend).await;
        let book = template_with(&app, "").await;
        let mut archive = zip::ZipArchive::new(Cursor::new(book)).unwrap();
        let mut part = |name: &str| {
            let mut xml = String::new();
            archive.by_name(name).unwrap().read_to_string(&mut xml).unwrap();
            xml
        };
        let (sheet, texts) = (part("xl/worksheets/sheet1.xml"), part("xl/sharedStrings.xml"));
        let count = app.get("/v1/commodities").by(&User::of("grain")).send().await.ok().as_array().unwrap().len();
        assert!(sheet.contains(&format!("<formula1>Commodities!$B$2:$B${}</formula1>", count + 1)), "{sheet}");
        assert!(sheet.contains("<formula1>\"tonne\"</formula1>") && sheet.contains("state=\"frozen\""), "{sheet}");
        assert_eq!(part("xl/worksheets/sheet2.xml").matches("<row ").count(), 17, "a row for each column");
        assert_eq!(part("xl/worksheets/sheet3.xml").matches("<row ").count(), count + 1);
        assert!(texts.contains("Organisation grain") && texts.contains("haulier, haulier name"), "{texts}");
        assert!(texts.contains("Feed Wheat") && !texts.contains("completedAtUTC"), "{texts}");
        assert!(!texts.contains(">id<") && !texts.contains(">status<") && !texts.contains(">files<"));
    }

    async fn the_sample_row_is_skipped_in_csv_too(backend) {
        let app = app(backend).await;
        let sample = |reference: &str| format!("{reference};01.03.2026;;Feed Wheat;x;x;1\n");
        let header = "reference;deliveryDateISO;commodityId;commodityName;organiserId;organiserName;weight\n";
        let own = "BG-1;2026-03-01;1;;grain;Grain;1\n";
        let table = format!("{header}{}{own}{}", sample(SAMPLE), sample(&SAMPLE.to_lowercase()));
        assert_eq!(send_file(&app, table).await.ok()["count"], 1);
        // Whoever writes over it has a normal row.
        let table = format!("{header}{own}{}", sample("BG-2"));
        assert_eq!(entries(&send_file(&app, table).await), ["rows[1].deliveryDateISO format 3"]);
        assert_eq!(count_loads(&app).await, 1);
    }
}

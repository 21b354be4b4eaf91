//! Workbooks written by another program.

use rust_xlsxwriter::{ExcelDateTime, Format, Formula, Workbook};

use super::*;

/// Returns a workbook with these rows of text cells.
pub fn workbook(rows: &[&[&str]]) -> Vec<u8> {
    let mut book = Workbook::new();
    let sheet = book.add_worksheet();
    for (row, cells) in (0..).zip(rows) {
        for (column, cell) in (0..).zip(*cells) {
            sheet.write(row, column, *cell).unwrap();
        }
    }
    book.save_to_buffer().unwrap()
}

testkit::on_both! {
    async fn creates_a_load_per_row(backend) {
        let app = app(backend).await;
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        let names = ["Reference", "deliveryDateISO", "commodityId", "", "organiserId", "organiserName", "weight", "tags"];
        for (column, name) in (0..).zip(names) {
            sheet.write(1, column, name).unwrap();
        }
        let date = Format::new().set_num_format("dd/mm/yyyy");
        sheet.write(3, 0, 1001).unwrap();
        sheet.write_datetime_with_format(3, 1, ExcelDateTime::from_ymd(2026, 3, 1).unwrap(), &date).unwrap();
        sheet.write(3, 2, 1).unwrap();
        sheet.write_blank(3, 3, &date).unwrap();
        sheet.write(3, 4, "grain").unwrap();
        sheet.write(3, 5, "Börder & <Grain> 🐑").unwrap();
        sheet.write(3, 6, 29.4).unwrap();
        sheet.write(3, 7, true).unwrap();
        for (column, text) in (0..).zip(["BG-2", "2026-03-02T10:30:00+01:00", "2", "", "grain", "Grain", "", "a;b"]) {
            sheet.write(4, column, text).unwrap();
        }
        // Further sheets are left out.
        book.add_worksheet().write(0, 0, "anything").unwrap();
        let answer = send_file(&app, book.save_to_buffer().unwrap()).await.ok();
        let created = loads(&app, &User::of("grain"), &answer).await;
        assert_eq!(created.len(), 2);
        let summary = |load: &Value| json!([
            load["reference"], load["deliveryDateISO"], load["commodity"]["id"], load["organiser"]["name"],
            load["weight"]["weight"], load["tags"],
        ]);
        assert_eq!(summary(&created[0]), json!(["1001", "2026-03-01T00:00:00.000Z", 1, "Börder & <Grain> 🐑", 29.4, ["TRUE"]]));
        assert_eq!(summary(&created[1]), json!(["BG-2", "2026-03-02T09:30:00.000Z", 2, "Grain", null, ["a", "b"]]));
    }

    async fn reports_invalid_cells(backend) {
        let app = app(backend).await;
        let mut book = Workbook::new();
        let sheet = book.add_worksheet();
        for (column, name) in (0..).zip(["reference", "deliveryDateISO", "commodityId", "organiserId", "organiserName"]) {
            for (row, text) in [(0, name), (1, "1"), (6, "1")] {
                sheet.write(row, column, text).unwrap();
            }
        }
        let moment = Format::new().set_num_format("yyyy-mm-dd hh:mm");
        let at = ExcelDateTime::from_ymd(2026, 3, 1).unwrap().and_hms(9, 30, 0).unwrap();
        sheet.write_datetime_with_format(1, 1, at, &moment).unwrap();
        sheet.write_formula(1, 0, Formula::new("=1/0").set_result("#DIV/0!")).unwrap();
        sheet.write(6, 1, 46082).unwrap();
        sheet.write(6, 9, "stray").unwrap();
        let reply = send_file(&app, book.save_to_buffer().unwrap()).await;
        assert!(reply.text().contains("time of day"), "{}", reply.text());
        let mut errors = entries(&reply);
        errors.sort();
        assert_eq!(errors, [
            "rows[0].deliveryDateISO format 2", "rows[0].reference type 2", "rows[1] length 7",
            "rows[1].deliveryDateISO format 7",
        ]);
    }

    async fn detects_the_format_by_content(backend) {
        let app = app(backend).await;
        let rows: [&[&str]; 2] = [
            &["reference", "deliveryDateISO", "commodityId", "organiserId", "organiserName"],
            &["A", "2026-03-01", "1", "grain", "Grain"],
        ];
        // The files are named 1.csv and 2.csv.
        let both = form(&[&workbook(&rows), VALID_CSV.as_bytes()]);
        assert_eq!(send(&app, &User::of("grain"), both).await.ok()["count"], 3);
        let book = workbook(&rows);
        for cut in (30..book.len() - 1).step_by(book.len() / 20) {
            assert_eq!(send_file(&app, &book[..cut]).await.error(400), "malformed_body", "cut at {cut}");
        }
        let header = workbook(&[&["reference", "else"]]);
        assert_eq!(entries(&send_file(&app, header).await)[0], "else enum 1");
        assert_eq!(count_loads(&app).await, 3);
    }
}

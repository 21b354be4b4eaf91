//! Limits on blank rows and cells.

use super::raw_workbook::{STRINGS, STYLES, book, sheet};
use super::*;

/// Starts a service with limits of 3 rows, 1,000 blank rows and 40,000 cells in a batch.
async fn app(backend: Backend) -> App {
    App::start::<Logistics>(backend, Settings { batch_rows: 3, ..Settings::default() }).await
}

fn workbook(rows: &str) -> Vec<u8> {
    book(sheet("", rows), STRINGS.to_vec(), STYLES.to_vec())
}

/// Asserts that a batch fails with `length` at `file` and this maximum.
async fn assert_exceeds(app: &App, files: &[&[u8]], maximum: usize) {
    let reply = send(app, &User::of("grain"), form(files)).await;
    let entry = reply.json()["validation"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&entry["path"], &entry["code"]), (&json!("file"), &json!("length")), "{entry}");
    assert_eq!(entry["data"]["maximum"], maximum, "{entry}");
}

testkit::on_both! {
    async fn limits_blank_rows_and_cells_of_csv_files(backend) {
        let app = app(backend).await;
        let blank = |rows: usize| "\n".repeat(rows);
        assert_eq!(send_file(&app, VALID_CSV.to_owned() + &blank(1_000)).await.ok()["count"], 2);
        assert_exceeds(&app, &[(VALID_CSV.to_owned() + &blank(1_001)).as_bytes()], 1_000).await;
        // The files of a batch share the limits.
        let two = [VALID_CSV.to_owned() + &blank(600), blank(600) + &VALID_CSV.replace("BG-", "XX-")];
        assert_exceeds(&app, &[two[0].as_bytes(), two[1].as_bytes()], 1_000).await;
        let wide = format!("{}\n", ",".repeat(99)).repeat(401);
        assert_exceeds(&app, &[(VALID_CSV.to_owned() + &wide).as_bytes()], 40_000).await;
        assert_eq!(count_loads(&app).await, 2);
    }

    async fn limits_blank_rows_and_cells_of_workbooks(backend) {
        let app = app(backend).await;
        // The incomplete header is reported, but not the blank rows.
        let header = "<row><c t='s'><v>0</v></c></row>";
        let within_limit = workbook(&(header.to_owned() + &"<row><c/></row>".repeat(1_000)));
        assert_eq!(entries(&send_file(&app, within_limit).await).len(), 2);
        let too_many = workbook(&(header.to_owned() + &"<row/>".repeat(1_001)));
        assert_exceeds(&app, &[&too_many], 1_000).await;
        let cells = workbook(&format!("{header}<row>{}</row>", "<c/>".repeat(40_000)));
        assert_exceeds(&app, &[&cells], 40_000).await;
        let far = workbook(&(header.to_owned() + &"<row><c r='IV2'/></row>".repeat(1_000)));
        assert_eq!(entries(&send_file(&app, far).await).len(), 2, "a cell far out is one cell");
        let tags = workbook(&format!("{header}<row>{}</row>", "<a/>".repeat(200_000)));
        assert_exceeds(&app, &[&tags], 400_000).await;
        let strings = [b"<sst>".to_vec(), b"<si/>".repeat(200_000)].concat();
        let strings = book(sheet("", header), strings, STYLES.to_vec());
        assert_exceeds(&app, &[&strings], 400_000).await;
    }

    async fn invalid_cells_are_reported_before_rows_of_other_organisations(backend) {
        let app = crate::app(backend).await;
        let other_org = |count: usize, invalid: usize| {
            let row = |n| format!("R-{n},{},Feed Wheat,other,Other,1\n", if n == invalid { "soon" } else { "2026-03-01" });
            format!("{}\n{}", VALID_CSV.lines().next().unwrap(), (0..count).map(row).collect::<String>())
        };
        assert_eq!(entries(&send_file(&app, other_org(3_000, 2_999)).await), ["rows[2999].deliveryDateISO format 3001"]);
        let reply = send_file(&app, other_org(3_000, 3_000)).await;
        let body = reply.json();
        assert_eq!((&body["body"]["failedRows"], body["validation"].as_array().unwrap().len()), (&json!(3_000), 1_000));
        assert_eq!(body["validation"][999]["path"], "rows[999].organiserId");
        assert_eq!(reply.error(403), "forbidden");
        assert_eq!(count_loads(&app).await, 0);
    }
}

//! Blank rows and blank cells, which count too.

use super::xlsx_bombs::{STRINGS, STYLES, book, sheet};
use super::*;

/// A service that takes three rows in a batch, a thousand blank ones and forty thousand cells.
async fn app(backend: Backend) -> App {
    App::start::<Logistics>(backend, Settings { batch_rows: 3, ..Settings::default() }).await
}

fn workbook(rows: &str) -> Vec<u8> {
    book(sheet("", rows), STRINGS.to_vec(), STYLES.to_vec())
}

/// Refused at `file` with this maximum.
async fn refused(app: &App, files: &[&[u8]], maximum: usize) {
    let reply = send(app, &User::of("grain"), form(files)).await;
    let entry = reply.json()["validation"].as_array().unwrap().last().unwrap().clone();
    assert_eq!((&entry["path"], &entry["code"]), (&json!("file"), &json!("length")), "{entry}");
    assert_eq!(entry["data"]["maximum"], maximum, "{entry}");
}

testkit::on_both! {
    async fn of_csv(backend) {
        let app = app(backend).await;
        let blank = |rows: usize| "\n".repeat(rows);
        assert_eq!(send_file(&app, GOOD.to_owned() + &blank(1_000)).await.ok()["count"], 2);
        refused(&app, &[(GOOD.to_owned() + &blank(1_001)).as_bytes()], 1_000).await;
        // The files of a batch share the limits.
        let two = [GOOD.to_owned() + &blank(600), blank(600) + &GOOD.replace("BG-", "XX-")];
        refused(&app, &[two[0].as_bytes(), two[1].as_bytes()], 1_000).await;
        let wide = format!("{}\n", ",".repeat(99)).repeat(401);
        refused(&app, &[(GOOD.to_owned() + &wide).as_bytes()], 40_000).await;
        assert_eq!(stored(&app).await, 2);
    }

    async fn of_workbooks(backend) {
        let app = app(backend).await;
        // The header is incomplete, which is told beside it.
        let header = "<row><c t='s'><v>0</v></c></row>";
        let some = workbook(&(header.to_owned() + &"<row><c/></row>".repeat(1_000)));
        assert_eq!(entries(&send_file(&app, some).await).len(), 3);
        let many = workbook(&(header.to_owned() + &"<row/>".repeat(1_001)));
        refused(&app, &[&many], 1_000).await;
        let cells = workbook(&format!("{header}<row>{}</row>", "<c/>".repeat(40_000)));
        refused(&app, &[&cells], 40_000).await;
        let far = workbook(&(header.to_owned() + &"<row><c r='IV2'/></row>".repeat(1_000)));
        assert_eq!(entries(&send_file(&app, far).await).len(), 3, "a cell far out is one cell");
        let tags = workbook(&format!("{header}<row>{}</row>", "<a/>".repeat(200_000)));
        refused(&app, &[&tags], 400_000).await;
        let strings = [b"<sst>".to_vec(), b"<si/>".repeat(200_000)].concat();
        let strings = book(sheet("", header), strings, STYLES.to_vec());
        refused(&app, &[&strings], 400_000).await;
    }

    async fn rows_of_others_end_the_check(backend) {
        let app = crate::app(backend).await;
        let others = |count: usize, bad: usize| {
            let row = |n| format!("R-{n},{},Feed Wheat,other,Other,1\n", if n == bad { "soon" } else { "2026-03-01" });
            format!("{}\n{}", GOOD.lines().next().unwrap(), (0..count).map(row).collect::<String>())
        };
        // What is wrong soon after is told instead.
        assert_eq!(entries(&send_file(&app, others(900, 899)).await), ["rows[899].deliveryDateISO format 901"]);
        assert_eq!(send_file(&app, others(3_000, 2_999)).await.error(403), "forbidden");
        assert_eq!(send_file(&app, others(3_000, 3_000)).await.error(403), "forbidden");
        assert_eq!(stored(&app).await, 0);
    }
}

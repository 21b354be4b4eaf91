//! The search as a workbook, and CSV with a byte order mark.

use std::io::{Cursor, Read};

use serde_json::json;
use testkit::User;

use crate::sample::{create, full, start, with};

const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

testkit::on_both! {
    async fn searches_are_workbooks_with_typed_cells(backend) {
        let (app, farm) = (start(backend).await, User::of("farm"));
        let listing = with(full(), "/description", json!("=1+1\nquiet & <calm>"));
        create(&app, &farm, &with(listing, "/properties/quantity", json!(12))).await;
        create(&app, &farm, &full()).await;
        let get = async |query: &str| app.get(&format!("/v1/listings?{query}")).by(&farm).send().await;
        let reply = get("format=XLSX&count=true&limit=1000000").await;
        assert_eq!((reply.status, reply.header("content-type"), reply.header("x-total-count")), (200, MEDIA_TYPE, "2"));
        assert_eq!(reply.header("content-disposition"), "attachment; filename=\"listings.xlsx\"");
        let mut archive = zip::ZipArchive::new(Cursor::new(reply.bytes)).unwrap();
        let mut sheet = String::new();
        archive.by_name("xl/worksheets/sheet1.xml").unwrap().read_to_string(&mut sheet).unwrap();
        assert_eq!(sheet.matches("<row ").count(), 3);
        assert!(sheet.contains("state=\"frozen\"") && !sheet.contains("<f"), "{sheet}");
        assert!(sheet.contains("<t xml:space=\"preserve\">=1+1\nquiet &amp; &lt;calm&gt;</t>"), "{sheet}");
        // The quantity and the creation time are numbers: column H and, as an instant, column X.
        assert!(sheet.contains("\"><v>12</v></c>") && sheet.contains("<c r=\"X2\" s=\"4\"><v>"), "{sheet}");
        assert!(sheet.contains("<c r=\"A1\" s=\"1\" t=\"inlineStr\"><is><t>id</t>"), "{sheet}");

        let accepted = app.get("/v1/listings").by(&farm).header("accept", MEDIA_TYPE).send().await;
        assert_eq!(accepted.header("content-type"), MEDIA_TYPE);
        assert_eq!(get("format=XLSX&limit=1000001").await.errors(), ["limit range"]);
        let plain = get("format=CSV").await.text();
        assert_eq!(get("format=CSV&bom=true").await.text(), format!("\u{feff}{plain}"));
    }
}

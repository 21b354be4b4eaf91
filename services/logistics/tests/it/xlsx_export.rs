//! Searches and exports as workbooks, and CSV with a byte order mark.

use std::io::{Cursor, Read};

use super::*;

const MEDIA_TYPE: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet";

/// Returns the XML of a part of a workbook.
fn part(book: &[u8], name: &str) -> String {
    let mut archive = zip::ZipArchive::new(Cursor::new(book)).unwrap();
    let mut xml = String::new();
    archive.by_name(name).unwrap().read_to_string(&mut xml).unwrap();
    xml
}

/// Returns the rows of the sheet, each as `column style value` of its cells. Texts have quotes.
fn rows(book: &[u8]) -> Vec<Vec<String>> {
    let sheet = part(book, "xl/worksheets/sheet1.xml");
    assert!(
        sheet.contains("<pane ySplit=\"1\" topLeftCell=\"A2\" activePane=\"bottomLeft\" state=\"frozen\"/>")
    );
    assert!(!sheet.contains("<f"), "no formulas");
    let cell = |xml: &str| {
        let (start, value) = xml.split_once('>').unwrap();
        let attribute =
            |name: &str| start.split(name).nth(1).map_or("", |rest| rest.split('"').next().unwrap());
        let column = attribute("r=\"").trim_end_matches(|c: char| c.is_ascii_digit());
        let text = value.replace("</is>", "").replace("<is>", "");
        let text = text.split_once('>').unwrap().1.split('<').next().unwrap();
        let quote = if start.contains("inlineStr") { "\"" } else { "" };
        format!("{column} {} {quote}{text}{quote}", attribute("s=\""))
    };
    let row = |xml: &str| xml.split("<c ").skip(1).map(cell).collect();
    sheet.split("<row ").skip(1).map(row).collect()
}

async fn get(app: &App, user: &User, path: &str) -> TestResponse {
    app.get(path).by(user).send().await
}

testkit::on_both! {
    async fn cells_have_types(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        let form = with(organiser_form(), "reference", json!("=1+1"));
        let form = with(with(form, "ticketNumber", json!("000123")), "pickupPostcode", json!("HR49AR"));
        let load = app.post("/v1/loads/organiser").by(&grain).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let late = with(organiser_form(), "deliveryDateISO", json!("2026-03-02T10:30:00.250+01:00"));
        app.post("/v1/loads/organiser").by(&grain).json(&with(late, "tags", json!([]))).send().await.ok();
        let reply = get(&app, &grain, "/v1/loads?format=XLSX&sortBy=deliveryDateISO").await;
        assert_eq!((reply.status, reply.header("content-type")), (200, MEDIA_TYPE));
        assert_eq!(reply.header("content-disposition"), "attachment; filename=\"loads.xlsx\"");
        assert!(reply.headers.get("link").is_none() && reply.headers.get("content-encoding").is_none());
        let found = rows(&reply.bytes);
        assert_eq!(found.len(), 3);
        assert_eq!((found[0].len(), &*found[0][0], &*found[0][19]), (20, "A 1 \"id\"", "T 1 \"completedAtUTC\""));
        let name = load["organiser"]["name"].as_str().unwrap();
        assert_eq!(found[1], [
            format!("A 2 \"{id}\""), "B 2 \"=1+1\"".into(), "C 2 \"upcoming\"".into(), "D 3 46082".into(),
            "E 2 \"grain\"".into(), format!("F 2 \"{name}\""), "I  1".into(), "J 2 \"Feed Wheat\"".into(),
            "K  29.4".into(), "M 2 \"tonne\"".into(), "O 2 \"000123\"".into(), "P 2 \"HR4 9AR\"".into(),
            "R 2 \"harvest\"".into(),
        ]);
        let serial: f64 = found[2][3].strip_prefix("D 4 ").unwrap().parse().unwrap();
        let millis = ((serial - 46083.0) * 86_400_000.0).round();
        assert_eq!(number(millis), json!(((9 * 60 + 30) * 60) * 1000 + 250));
        assert!(part(&reply.bytes, "xl/styles.xml").contains("hh:mm:ss&quot;Z&quot;"));
    }

    async fn the_completed_export_is_a_workbook_too(backend) {
        let app = app(backend).await;
        let id = create_load(&app).await;
        accept(&app, &id).await;
        let form = with(proof_form(), "capturedAtUTC", json!("2026-03-01T12:00:00Z"));
        prove(&app, &User::of("haul"), &id, &form).await.ok();
        let path = "/v1/loads/completed?startDateISO=2026-03-01&endDateISO=2026-03-02T00:00:00Z";
        let reply = get(&app, &User::of("grain"), &format!("{path}&format=xlsx")).await;
        let name = "attachment; filename=\"loads-completed-2026-03-01-2026-03-02.xlsx\"";
        assert_eq!(reply.header("content-disposition"), name);
        let found = rows(&reply.bytes);
        assert_eq!((found.len(), found[1].last().unwrap().as_str()), (2, "T 4 46082.5"));
        assert!(found[1].contains(&"L  29".to_owned()), "{:?}", found[1]);
        let none = get(&app, &User::of("other"), &format!("{path}&format=XLSX")).await;
        assert_eq!(rows(&none.bytes).len(), 1, "a header row");
    }

    async fn accept_limits_and_head_work_as_for_csv(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        for _ in 0..3 {
            create_load(&app).await;
        }
        let accepted = app.get("/v1/loads?limit=2&count=true").by(&grain).header("accept", MEDIA_TYPE).send().await;
        assert_eq!((accepted.header("content-type"), accepted.header("x-total-count")), (MEDIA_TYPE, "3"));
        assert_eq!(rows(&accepted.bytes).len(), 3);
        let offset = get(&app, &grain, "/v1/loads?format=XLSX&offset=2&limit=1000000").await;
        assert_eq!(rows(&offset.bytes).len(), 2);
        for path in ["/v1/loads?format=XLSX", "/v1/loads/completed?format=XLSX", "/v1/loads/batch/template?format=XLSX"] {
            let head = app.call("HEAD", path).by(&grain).send().await;
            assert_eq!((head.status, head.header("content-type"), head.bytes.len()), (200, MEDIA_TYPE, 0), "{path}");
        }
        assert_eq!(get(&app, &grain, "/v1/loads?format=XLSX&limit=1000001").await.errors(), ["limit range"]);
        assert_eq!(get(&app, &grain, "/v1/loads?format=XLS").await.errors(), ["format enum"]);
        assert_eq!(get(&app, &grain, "/v1/loads/batch/template?format=JSON").await.errors(), ["format enum"]);
        let image = app.get("/v1/loads").by(&grain).header("accept", "image/png").send().await;
        assert_eq!(image.error(406), "not_acceptable");
        // A client that accepts compressed answers gets the archive as it is.
        let call = app.get("/v1/loads?format=XLSX").by(&grain).header("accept-encoding", "gzip, br");
        assert_eq!(rows(&call.send().await.bytes).len(), 4);
    }

    async fn csv_begins_with_a_byte_order_mark_on_request(backend) {
        let app = app(backend).await;
        let grain = User::of("grain");
        create_load(&app).await;
        for path in ["/v1/loads?format=CSV", "/v1/loads/completed?format=CSV"] {
            let plain = get(&app, &grain, path).await.text();
            assert!(plain.starts_with("id,"), "{plain}");
            assert_eq!(get(&app, &grain, &format!("{path}&bom=false")).await.text(), plain);
            let marked = get(&app, &grain, &format!("{path}&bom=true")).await;
            assert_eq!(marked.bytes[..], [b"\xef\xbb\xbf", plain.as_bytes()].concat()[..]);
            assert_eq!(marked.header("content-type"), "text/csv; charset=utf-8");
            assert_eq!(get(&app, &grain, &format!("{path}&bom=x")).await.errors(), ["bom type"]);
        }
        assert_eq!(get(&app, &grain, "/v1/loads?bom=true").await.ok().as_array().unwrap().len(), 1);
    }

    async fn workbooks_have_every_row_of_many_blocks(backend) {
        let app = app(backend).await;
        let header = "reference,deliveryDateISO,commodityId,organiserId,organiserName\n";
        let table: Vec<_> = (0..2_500).map(|n| format!("R-{n},2026-03-01,1,grain,Grain\n")).collect();
        batch::send_file(&app, header.to_owned() + &table.concat()).await.ok();
        for sort in ["createdAt", "reference"] {
            let reply = get(&app, &User::of("grain"), &format!("/v1/loads?format=XLSX&sortBy={sort}")).await;
            let mut references: Vec<_> = rows(&reply.bytes).into_iter().skip(1).map(|row| row[1].clone()).collect();
            references.sort();
            references.dedup();
            assert_eq!(references.len(), 2_500, "{sort}");
        }
    }
}

//! Forms and files that are refused as a whole.

use super::*;

const TYPE: &str = "multipart/form-data; boundary=x";

async fn small(backend: Backend) -> App {
    let settings = Settings { batch_files: 2, batch_bytes: 1000, batch_rows: 3, ..Settings::default() };
    App::start::<Logistics>(backend, settings).await
}

testkit::on_both! {
    async fn limits(backend) {
        let app = small(backend).await;
        let grain = User::of("grain");
        let (good, other) = (GOOD.as_bytes(), GOOD.replace("BG-", "XX-"));
        assert_eq!(send(&app, &grain, form(&[good, good, good])).await.errors(), ["file length"]);
        let rows = send(&app, &grain, form(&[good, other.as_bytes()])).await;
        assert_eq!(rows.json()["validation"][0]["data"]["maximum"], 3);
        assert_eq!(rows.errors(), ["file length"]);
        let large = GOOD.to_owned() + &" ".repeat(1000);
        assert_eq!(send_file(&app, large).await.error(413), "payload_too_large");
        assert_eq!(send(&app, &grain, form(&[good, b""])).await.errors(), ["file length"]);
        let bad = GOOD.replace("BG-1", "");
        let both = send(&app, &grain, form(&[b"", bad.as_bytes()])).await;
        assert_eq!(both.errors(), ["file length", "rows[0].reference required"]);
        assert_eq!(send(&app, &grain, Form::new().text("dryRun", "x")).await.errors(), ["dryRun type", "file required"]);
        assert_eq!(stored(&app).await, 0);
    }

    async fn a_bad_key_beside_bad_rows(backend) {
        let app = app(backend).await;
        let call = |rows: &str| {
            let call = app.post("/v1/loads/batch").by(&User::of("grain")).header("idempotency-key", "");
            call.form(form(&[rows.as_bytes()])).send()
        };
        let errors = call(&GOOD.replace("29.4", "-1")).await.errors();
        assert_eq!(errors, ["Idempotency-Key length", "rows[0].weight range"]);
        assert_eq!(call(GOOD).await.errors(), ["Idempotency-Key length"]);
        assert_eq!(stored(&app).await, 0);
    }

    async fn what_is_no_table(backend) {
        let app = app(backend).await;
        let open = format!("{GOOD}\"open\n");
        let open = open.as_bytes();
        let old: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0";
        for (content, hint) in [(old, "XLSX"), (b"\x7fELF\0\0", "CSV or XLSX"), (open, "quote")] {
            let reply = send_file(&app, content).await;
            assert!(reply.text().contains(hint), "{}", reply.text());
            assert_eq!(reply.errors(), ["file format"]);
        }
        let latin: &[u8] = b"reference,tags\nA,B\nC,\xe9\n";
        for (content, hint) in [(latin, "line 3"), (b"\xff\xfea\0", "UTF-16"), (b"PK\x03\x04rest", "truncated")] {
            let reply = send_file(&app, content).await;
            assert!(reply.text().contains(hint), "{}", reply.text());
            assert_eq!(reply.error(400), "malformed_body");
        }
        let several = send(&app, &User::of("grain"), form(&[GOOD.as_bytes(), old, b"\x7fELF\0\0"])).await;
        assert_eq!(entries(&several), ["file format 2.csv", "file format 3.csv"]);
    }

    async fn what_is_no_form(backend) {
        let app = app(backend).await;
        let post = async |kind: &str, body: String| {
            app.post("/v1/loads/batch").by(&User::of("grain")).body(kind, body).send().await
        };
        let head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n";
        let whole = format!("{head}{GOOD}\r\n--x--\r\n");
        for cut in (1..whole.len() - 6).step_by(40) {
            assert_eq!(post(TYPE, whole[..cut].to_owned()).await.error(400), "malformed_body", "cut at {cut}");
        }
        assert_eq!(post("text/csv", GOOD.to_owned()).await.error(415), "unsupported_media_type");
        assert_eq!(post("application/json", "{}".to_owned()).await.error(415), "unsupported_media_type");
        assert_eq!(stored(&app).await, 0);
        post(TYPE, whole).await.ok();
    }
}

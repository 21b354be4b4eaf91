//! Rejection of complete forms and files.

use super::*;

const TYPE: &str = "multipart/form-data; boundary=x";

async fn app_with_small_limits(backend: Backend) -> App {
    let settings = Settings { batch_files: 2, batch_bytes: 1000, batch_rows: 3, ..Settings::default() };
    App::start::<Logistics>(backend, settings).await
}

testkit::on_both! {
    async fn enforces_limits_on_files_bytes_and_rows(backend) {
        let app = app_with_small_limits(backend).await;
        let grain = User::of("grain");
        let (valid, other) = (VALID_CSV.as_bytes(), VALID_CSV.replace("BG-", "XX-"));
        assert_eq!(send(&app, &grain, form(&[valid, valid, valid])).await.errors(), ["file length"]);
        let rows = send(&app, &grain, form(&[valid, other.as_bytes()])).await;
        assert_eq!(rows.json()["validation"][0]["data"]["maximum"], 3);
        assert_eq!(rows.errors(), ["file length"]);
        let invalid = VALID_CSV.replace("29.4", "heavy");
        let rows = send(&app, &grain, form(&[invalid.as_bytes(), other.as_bytes()])).await;
        assert_eq!(rows.json()["body"]["recognised"].as_array().unwrap().len(), 2);
        assert_eq!(rows.errors(), ["file length", "rows[0].weight type"]);
        let large = VALID_CSV.to_owned() + &" ".repeat(1000);
        assert_eq!(send_file(&app, large).await.error(413), "payload_too_large");
        assert_eq!(send(&app, &grain, form(&[valid, b""])).await.errors(), ["file length"]);
        let invalid = VALID_CSV.replace("BG-1", "");
        let both = send(&app, &grain, form(&[b"", invalid.as_bytes()])).await;
        assert_eq!(both.errors(), ["file length", "rows[0].reference required"]);
        assert_eq!(send(&app, &grain, Form::new().text("dryRun", "x")).await.errors(), ["dryRun type", "file required"]);
        assert_eq!(count_loads(&app).await, 0);
    }

    async fn a_deployment_may_allow_more_files_than_by_default(backend) {
        let settings = Settings { batch_files: 12, ..Settings::default() };
        let app = App::start::<Logistics>(backend, settings).await;
        let files: Vec<_> = (0..12).map(|n| VALID_CSV.replace("BG-", &format!("{n}-"))).collect();
        let parts: Vec<_> = files.iter().map(String::as_bytes).collect();
        send(&app, &without_org_name("grain"), form(&parts)).await.ok();
        assert_eq!(count_loads(&app).await, 24);
    }

    async fn reports_an_invalid_idempotency_key_with_invalid_rows(backend) {
        let app = app(backend).await;
        let call = |rows: &str| {
            let call = app.post("/v1/loads/batch").by(&User::of("grain")).header("idempotency-key", "");
            call.form(form(&[rows.as_bytes()])).send()
        };
        let errors = call(&VALID_CSV.replace("29.4", "-1")).await.errors();
        assert_eq!(errors, ["Idempotency-Key length", "rows[0].weight range"]);
        assert_eq!(call(VALID_CSV).await.errors(), ["Idempotency-Key length"]);
        assert_eq!(count_loads(&app).await, 0);
    }

    async fn rejects_files_that_are_no_table(backend) {
        let app = app(backend).await;
        let unclosed = format!("{VALID_CSV}\"open\n");
        let unclosed = unclosed.as_bytes();
        let xls: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0\0";
        for (content, hint) in [(xls, "XLSX"), (b"\x7fELF\0\0", "CSV or XLSX"), (unclosed, "quote")] {
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
        let several = send(&app, &User::of("grain"), form(&[VALID_CSV.as_bytes(), xls, b"\x7fELF\0\0"])).await;
        assert_eq!(entries(&several), ["file format 2.csv", "file format 3.csv"]);
    }

    async fn rejects_bodies_that_are_no_complete_form(backend) {
        let app = app(backend).await;
        let post = async |kind: &str, body: String| {
            app.post("/v1/loads/batch").by(&User::of("grain")).body(kind, body).send().await
        };
        let head = "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.csv\"\r\n\r\n";
        let complete = format!("{head}{VALID_CSV}\r\n--x--\r\n");
        for cut in (1..complete.len() - 6).step_by(40) {
            assert_eq!(post(TYPE, complete[..cut].to_owned()).await.error(400), "malformed_body", "cut at {cut}");
        }
        assert_eq!(post("text/csv", VALID_CSV.to_owned()).await.error(415), "unsupported_media_type");
        assert_eq!(post("application/json", "{}".to_owned()).await.error(415), "unsupported_media_type");
        assert_eq!(count_loads(&app).await, 0);
        post(TYPE, complete).await.ok();
    }
}

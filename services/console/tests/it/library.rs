//! The files of an organisation.

use super::market::carys;
use super::*;

#[test]
fn files_are_stored_shared_linked_and_archived() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        let page = browser.get("/files").await;
        assert!(
            page.text.contains("There are no files here") && page.text.contains("0 files, 0 bytes of 50 GB"),
            "{}",
            page.text
        );
        let nothing = browser.send_form(&page, "/files/upload", &[]).await;
        assert!(nothing.status == 400 && nothing.text.contains("Choose a file first"), "{}", nothing.text);
        let picture = ("farm & yard.jpg", "image/jpeg", loads::photograph("farm"));
        // Twice, as by a double click.
        for _ in 0..2 {
            let stored = browser.send_file(&page, "/files/upload", &[], picture.clone()).await;
            assert_eq!(stored.location(), "/files?done=stored", "{}", stored.text);
        }
        let page = browser.get("/files").await.ok();
        assert!(
            page.contains("farm &amp; yard.jpg") && page.contains("?width=320") && page.contains("1 file,"),
            "{page}"
        );
        assert!(browser.get("/files?q=tractor").await.ok().contains("There are no files here"));
        let about = page
            .split("href=\"")
            .find(|part| part.ends_with("/about\"><span class=\"picture\">") || part.contains("/about\""))
            .unwrap();
        let about = about.split('"').next().unwrap().to_owned();
        let own = about.trim_end_matches("/about").to_owned();

        let tom = office.browser("tom").await;
        assert!(matches!(tom.get(&about).await.status, 403 | 404));
        let file = browser.get(&about).await;
        assert!(file.text.contains("unshareWith") && file.text.contains("-X DELETE"), "{}", file.text);
        let share = format!("{own}/share");
        let asked = browser.send_form(&file, &share, &[("organisation", "Wye Valley")]).await;
        assert!(asked.status == 400 && asked.text.contains("“Wye Valley” is an id"), "{}", asked.text);
        let id_for_sure = [("organisation", "wye-valley-farm"), ("sure.organisation", "wye-valley-farm")];
        let shared = browser.send_form(&asked, &share, &id_for_sure).await;
        assert_eq!(shared.location(), format!("{about}?done=shared"), "{}", shared.text);
        assert_eq!(tom.get(&own).await.status, 200);
        let id = own.trim_start_matches("/files/");
        let load = json!({
            "organiserId": "penybont-farm", "commodityId": 1, "reference": "USES-IT", "deliveryDateISO": "2026-08-03",
            "weight": 29, "weightNet": null, "tags": [], "files": [{"id": id, "name": "", "userName": ""}],
        });
        office.logistics.post("/v1/loads/organiser").by(&carys()).json(&load).send().await.ok();
        let used = browser.get(&about).await.ok();
        assert!(used.contains("Used by") && used.contains(">USES-IT</a>"), "{used}");
        assert!(browser.get(&format!("/loads?file={id}")).await.ok().contains(">USES-IT</a>"));
        let theirs = tom.get(&about).await.ok();
        assert!(
            theirs.contains("No load that you can see has this file") && !theirs.contains("USES-IT"),
            "{theirs}"
        );
        assert!(!theirs.contains("Archive it") && !theirs.contains("/share\""), "{theirs}");
        let file = browser.get(&about).await;
        assert!(file.text.contains("wye-valley-farm"), "{}", file.text);
        assert_eq!(browser.send_form(&file, &format!("{own}/unshare"), &[]).await.status, 303);
        assert_eq!(tom.get(&own).await.status, 403);

        let linked = browser.send_form(&file, &format!("{own}/link"), &[("hours", "24")]).await;
        assert!(
            linked.text.contains("Whoever has this link") && linked.text.contains("signature="),
            "{}",
            linked.text
        );
        let archived = browser.send_form(&file, &format!("{own}/archive"), &[]).await;
        assert_eq!(archived.location(), "/files?done=archived", "{}", archived.text);
        let files = office.system.get("/v1/files?f:status=archived").by(&carys()).send().await.ok();
        assert_eq!(files.as_array().unwrap().len(), 1);
        let file = browser.get(&about).await;
        assert!(
            file.text.contains(">Archived</span>") && !file.text.contains("Make a link"),
            "{}",
            file.text
        );
    });
}

#[test]
fn proxied_files_keep_what_keeps_them_from_running() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        let page = browser.get("/files").await;
        let svg = b"<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>".to_vec();
        let stored = browser.send_file(&page, "/files/upload", &[], ("a.svg", "text/xml", svg)).await;
        assert_eq!(stored.status, 303, "{}", stored.text);
        let files = office.system.get("/v1/files").by(&carys()).send().await.ok();
        let file = browser.get(&format!("/files/{}", files[0]["id"].as_str().unwrap())).await;
        assert!(file.header("content-disposition").starts_with("attachment"), "{:?}", file.headers);
        assert_eq!(file.header("x-content-type-options"), "nosniff");
        assert!(file.header("content-security-policy").contains("sandbox"), "{:?}", file.headers);
    });
}

#[test]
fn files_that_are_sent_twice_are_stored_once() {
    testkit::block_on(async {
        let office = Office::start().await;
        for (person, path, owner) in [
            ("carys", "/market/pictures", carys()),
            ("driver-megan", "/driver/files", User::individual("driver-megan")),
        ] {
            let browser = office.browser(person).await;
            let me: Value = serde_json::from_str(&browser.get("/driver/me").await.ok()).unwrap();
            let send = async |key: &'static str| {
                let part = reqwest::multipart::Part::bytes(loads::photograph("a")).file_name("a.jpg");
                let form = reqwest::multipart::Form::new().text("key", key);
                let form = form.text("form-token", me["token"].as_str().unwrap().to_owned());
                browser
                    .post_multipart(path, form.part("file", part.mime_str("image/jpeg").unwrap()))
                    .await
                    .ok()
            };
            assert_eq!(send("a").await, send("a").await, "{path}");
            assert_ne!(send("b").await, send("a").await, "{path}");
            let files = office.system.get("/v1/files").by(&owner).send().await.ok();
            assert_eq!(files.as_array().unwrap().len(), 2, "{path}: {files}");
        }
    });
}

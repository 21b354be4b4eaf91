//! The page of a load, and what people do with a load.

use super::*;

#[test]
fn a_load_goes_from_the_office_to_its_proof() {
    testkit::block_on(async {
        let office = Office::start().await;
        let (organiser, carrier) = (office.browser("owen").await, office.browser("ruth").await);
        let id = office.create_load(&json!({})).await;
        let page = format!("/loads/{id}");
        let text = carrier.get(&page).await.ok();
        for shown in [
            "BG-1",
            "Border Grain Merchants",
            "Hereford Haulage",
            "DE14 2PD",
            "29.00",
            "Upcoming",
            "VX17 RTH",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let act = async |browser: &Browser, action: &str, fields: &[(&str, &str)]| {
            let path = format!("{page}/{action}");
            let reply = browser.fill(&path, &path, fields).await;
            assert_eq!(
                (reply.status, reply.location().split("&warning=").next()),
                (303, Some(format!("{page}?done={action}").as_str())),
                "{}",
                reply.text
            );
            browser.get(reply.location()).await.ok()
        };
        let text = act(&carrier, "note", &[("text", "Gate 3 is closed")]).await;
        assert!(text.contains("Gate 3 is closed") && text.contains("by Ruth"), "{text}");
        let driver = [("driverId", "driver-megan"), ("sure.driverId", "driver-megan")];
        let text = act(&carrier, "send-to-driver", &driver).await;
        assert!(text.contains("<li><span>driver-megan</span>"), "{text}");
        let text = act(&carrier, "collect", &[("weightNet", "29,02"), ("quality.moisture", "14.1")]).await;
        assert!(text.contains("moisture 14.1 %") && text.contains("Collected"), "{text}");
        assert!(
            text.contains("net 29.02 t") && !text.contains("net tonne"),
            "the history has the weight: {text}"
        );

        let proof = [
            ("weightGross", "41.86"),
            ("weightTare", "14.76"),
            ("weightNet", "27.10"),
            ("ticketNumber", "T-20481"),
        ];
        let text = act(&carrier, "prove", &proof).await;
        for shown in [
            "27.10",
            "\u{2212}1.92 t, \u{2212}6.6 %",
            "Outside 2 % of what was collected",
            "T-20481",
            "41.86",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        let text = act(&organiser, "correct", &[("weightNet", "27.12"), ("reason", "Read wrongly")]).await;
        assert!(text.contains("Read wrongly") && text.contains("<del>27.10 t</del>"), "{text}");
        let text = act(&organiser, "reopen", &[("reason", "Another lorry")]).await;
        assert!(text.contains("class=\"status collected\"") && text.contains("Another lorry"), "{text}");
        act(&organiser, "reject", &[("reason", "quality"), ("note", "Wet")]).await;
        let today = organiser.get("/").await.ok();
        assert!(today.contains("quality: Wet"), "{today}");
        assert_eq!(office.load(&id).await["status"], "rejected");
    });
}

#[test]
fn errors_stand_at_their_fields_and_keep_what_was_typed() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("ruth").await;
        let id = office.create_load(&json!({})).await;
        let path = format!("/loads/{id}/prove");
        let typed = [
            ("weightGross", "41.86"),
            ("weightTare", "14.76"),
            ("weightNet", "20"),
            ("ticketNumber", "T-1"),
            ("quality.moisture", "140"),
            ("quality.oil", "much"),
        ];
        let reply = browser.fill(&path, &path, &typed).await;
        assert_eq!(reply.status, 400);
        assert!(reply.text.contains("Is not a number: write it as 29.04"), "{}", reply.text);
        let first = reply.text.split("<input").find(|input| input.contains(" autofocus")).unwrap();
        assert!(first.contains("name=\"quality.oil\""), "{first}");
        let reply = browser.send_form(&reply, &path, &[("quality.oil", "")]).await;
        assert_eq!(reply.status, 400);
        let (_, net) = reply.text.split_once("id=\"f-weightNet\"").unwrap();
        assert!(net.split("</div>").next().unwrap().contains("class=\"error\""), "{}", reply.text);
        let (_, moisture) = reply.text.split_once("id=\"f-quality.moisture\"").unwrap();
        assert!(moisture.split("</div>").next().unwrap().contains("class=\"error\""), "{}", reply.text);
        assert!(
            reply.text.contains("value=\"T-1\"") && reply.text.contains("value=\"41.86\""),
            "{}",
            reply.text
        );
        let reply =
            browser.send_form(&reply, &path, &[("quality.moisture", "14"), ("weightNet", "1,234")]).await;
        assert!(reply.text.contains("Could be 1234 or 1.234: write the one"), "{}", reply.text);
        let reply = browser.send_form(&reply, &path, &[("weightNet", "27,10")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        // A refusal without a field is said above the form.
        let reply = browser.fill(&format!("/loads/{id}/collect"), &format!("/loads/{id}/collect"), &[]).await;
        assert!(
            reply.status == 409 && reply.text.contains("role=\"alert\""),
            "{} {}",
            reply.status,
            reply.text
        );
    });
}

#[test]
fn each_form_shows_its_operation_as_a_command() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({"reference": "O'Brien"})).await;
        let browser = office.browser("owen").await;
        for (action, command) in [
            ("edit", format!("curl -X PATCH \"$LOGISTICS/v1/loads/{id}\"")),
            ("prove", format!("curl -X POST \"$LOGISTICS/v1/loads/{id}/proof-of-delivery\"")),
            ("send-to-driver", "curl -X POST \"$LOGISTICS/v1/loads/send-to-driver\"".to_owned()),
        ] {
            let text = browser.get(&format!("/loads/{id}/{action}")).await.ok();
            assert!(text.contains(&command.replace('"', "&quot;")), "{command}: {text}");
            assert!(text.contains("Bearer $TOKEN") && !text.contains("Bearer ey"), "{text}");
        }
        let text = browser.get(&format!("/loads/{id}/edit")).await.ok();
        assert!(text.contains("&quot;reference&quot;:&quot;O'\\''Brien&quot;"), "{text}");
    });
}

#[test]
fn a_form_that_is_sent_twice_makes_one_record() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let id = office.create_load(&json!({})).await;
        let path = format!("/loads/{id}/note");
        let form = browser.get(&path).await;
        for _ in 0..2 {
            assert_eq!(browser.send_form(&form, &path, &[("text", "Once")]).await.status, 303);
        }
        let notes = office
            .logistics
            .get(&format!("/v1/loads/{id}/events?f:type=noted"))
            .by(&owen())
            .send()
            .await
            .ok();
        assert_eq!(notes.as_array().unwrap().len(), 1);
    });
}

#[test]
fn a_cancellation_is_undone_with_one_press() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let page = format!("/loads/{id}");
        let noted =
            browser.fill(&format!("{page}/note"), &format!("{page}/note"), &[("text", "Gate 3")]).await;
        assert!(!browser.get(noted.location()).await.ok().contains(">Undo</button>"));
        let path = format!("{page}/cancel");
        let reply = browser.fill(&format!("{path}?list=sort%3Dnet"), &path, &[]).await;
        assert_eq!(reply.location(), format!("{page}?done=cancel&list=sort%3Dnet"));
        let cancelled = browser.get(reply.location()).await;
        assert!(cancelled.text.contains(">Undo</button>"), "{}", cancelled.text);
        // It stays until the next action.
        assert!(browser.get(reply.location()).await.ok().contains(">Undo</button>"));
        let undone = browser.send_form(&cancelled, &format!("{page}/reopen"), &[]).await;
        assert_eq!(undone.location(), format!("{page}?done=reopen&list=sort%3Dnet"));
        assert_eq!(office.load(&id).await["status"], "upcoming");
        let text = browser.get(undone.location()).await.ok();
        assert!(text.contains("Undone at once") && text.contains("href=\"/loads?sort=net\""), "{text}");
        assert!(text.contains(&format!("href=\"{page}/edit?list=sort%3Dnet\"")), "{text}");
    });
}

/// The first bytes of a JPEG, and a text.
pub(crate) fn photograph(text: &str) -> Vec<u8> {
    let header = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00";
    [header, text.as_bytes(), b"\xff\xd9"].concat()
}

#[test]
fn the_picture_of_a_ticket_goes_from_the_driver_to_the_office() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let sent = json!({"loadId": id, "driverId": "driver-megan"});
        office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
        let driver = office.browser("driver-megan").await;
        let path = format!("/loads/{id}/prove");
        let form = driver.get(&path).await;
        let picture = ("ticket \"1\".jpg", "image/jpeg", photograph("ticket"));
        // No picture by its content.
        let text = ("ticket.jpg", "image/jpeg", b"text".to_vec());
        let reply = driver.send_file(&form, &path, &[("weightNet", "27.1")], text).await;
        assert!(reply.status == 400 && reply.text.contains("class=\"error\""), "{}", reply.text);
        // A stored file survives a form that is refused for another reason.
        let reply = driver.send_file(&form, &path, &[("weightNet", "1,234")], picture).await;
        assert!(
            reply.status == 400 && reply.text.contains("ticket &quot;1&quot;.jpg (stored)"),
            "{}",
            reply.text
        );
        let typed = [("weightNet", "27.10"), ("ticketNumber", "T-1"), ("vehicleRegistration", "VX17 RTH")];
        let reply =
            driver.send_file(&reply, &path, &typed, ("", "application/octet-stream", Vec::new())).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let owen = office.browser("owen").await;
        let beside = owen.get(&format!("/loads/{id}/correct")).await.ok();
        assert!(beside.contains("class=\"zoom\"") && beside.contains(">Turn<"), "{beside}");
        let page = owen.get(&format!("/loads/{id}")).await.ok();
        let file = page.split("src=\"/files/").nth(1).unwrap().split('?').next().unwrap().to_owned();
        let reply = office.browser("owen").await.get(&format!("/files/{file}")).await;
        assert_eq!((reply.status, reply.header("content-type")), (200, "image/jpeg"));

        // Nothing is stored for a form of somebody else.
        let stranger = office.browser("silas").await;
        let reply = stranger.send_file(&form, &path, &[], ("a.jpg", "image/jpeg", photograph("a"))).await;
        assert_eq!(reply.status, 403);
        let silas = user("silas", "somewhere-else", "Somewhere Else Ltd");
        assert_eq!(office.system.get("/v1/files").by(&silas).send().await.ok(), json!([]));
    });
}

#[test]
fn nobody_sees_more_than_the_api_shows() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let page = format!("/loads/{id}");
        let (stranger, driver) = (office.browser("silas").await, office.browser("driver-megan").await);
        for browser in [&stranger, &driver] {
            let reply = browser.get(&page).await;
            assert!(matches!(reply.status, 403 | 404) && !reply.text.contains("BG-1"), "{}", reply.text);
            let reply = browser.get(&format!("{page}/cancel")).await;
            assert!(matches!(reply.status, 403 | 404) && !reply.text.contains("BG-1"), "{}", reply.text);
            assert!(!browser.get("/loads").await.ok().contains("BG-1"));
        }
        assert!(driver.get("/driver").await.ok().contains("belongs to no organisation"));
        let sent = json!({"loadId": id, "driverId": "driver-megan"});
        office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
        assert!(driver.get("/loads").await.ok().contains("BG-1"));
        let text = driver.get(&page).await.ok();
        assert!(text.contains("BG-1") && text.contains("/prove") && !text.contains("/edit"), "{text}");
        assert!(!text.contains("Sent to a driver"), "drivers read no history: {text}");

        // Another haulier replaces the first one, who sees nothing more.
        let other = json!({"carrierId": "dales-bulk", "carrierName": "Dales Bulk Transport"});
        office.logistics.call("PATCH", &format!("/v1/loads/{id}")).by(&owen()).json(&other).send().await.ok();
        let reply = office.browser("ruth").await.get(&page).await;
        assert!(matches!(reply.status, 403 | 404) && !reply.text.contains("Dales Bulk"), "{}", reply.text);
        let text = office.browser("len").await.get(&page).await.ok();
        assert!(text.contains("Dales Bulk Transport") && !text.contains("Hereford Haulage"), "{text}");
    });
}

#[test]
fn files_come_through_the_console_with_the_headers_of_the_api() {
    testkit::block_on(async {
        let office = Office::start().await;
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"><script>alert(1)</script></svg>";
        let upload = async |name: &str, media_type: &str, kind: &str, bytes: Vec<u8>| {
            let part = reqwest::multipart::Part::bytes(bytes).file_name(name.to_owned());
            let part = part.mime_str(media_type).unwrap();
            let form = reqwest::multipart::Form::new().text("bucket", "files").text("type", kind.to_owned());
            let form = form.text("name", name.to_owned()).part("file", part);
            let record = office.system.post("/v1/files").by(&owen()).form(form).send().await.ok();
            record["id"].as_str().unwrap().to_owned()
        };
        let jpeg =
            [b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01\x01\x00\x00\x01\x00\x01\x00\x00", &[0; 40][..]].concat();
        let picture = upload("drawing.svg", "image/svg+xml", "misc", svg.into()).await;
        let ticket = upload("ticket-1.jpg", "image/jpeg", "weighbridge", jpeg.clone()).await;
        let id = office.create_load(&json!({"files": [{"id": picture}, {"id": ticket}]})).await;
        let browser = office.browser("owen").await;
        let text = browser.get(&format!("/loads/{id}")).await.ok();
        for shown in ["ticket-1.jpg", "drawing.svg", &format!("src=\"/files/{ticket}?width=640\"")] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert_eq!(text.matches("class=\"zoom\"").count(), 2, "all pictures can be enlarged: {text}");
        let reply = browser.get(&format!("/files/{picture}")).await;
        assert_eq!(reply.header("content-security-policy"), "sandbox");
        assert_eq!(reply.header("x-content-type-options"), "nosniff");
        assert!(reply.header("content-disposition").starts_with("attachment"), "{:?}", reply.headers);
        let reply = browser.get(&format!("/files/{ticket}")).await;
        assert_eq!((reply.status, reply.header("content-length")), (200, jpeg.len().to_string().as_str()));
        assert!(reply.header("content-disposition").starts_with("inline"), "{:?}", reply.headers);
        // A file that the browser keeps has its own policy, also after it was asked whether it has changed.
        let tag = browser.get(&format!("/files/{picture}")).await.header("etag").to_owned();
        let reply = browser.get_with(&format!("/files/{picture}"), ("if-none-match", &tag)).await;
        assert_eq!(reply.status, 304, "{:?}", reply.headers);
        assert_ne!(reply.header("content-security-policy").split(';').next(), Some("default-src 'none'"));
        let stranger = office.browser("silas").await;
        assert_eq!(stranger.get(&format!("/files/{ticket}")).await.status, 403);
        assert_eq!(Browser::new(&office.console.url).get(&format!("/files/{ticket}")).await.status, 303);
        office.system.stop().await;
    });
}

#[test]
fn a_load_lists_its_notifications_and_administrators_deliver_them_again() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let page = office.browser("owen").await.get(&format!("/loads/{id}")).await.ok();
        let (_, card) = page.split_once("<h2>Notifications</h2>").unwrap();
        let card = card.split("</section>").next().unwrap();
        assert!(card.contains("Hereford Haulage") && card.contains("Sent to the haulier, "), "{card}");
        assert!(!card.contains("Deliver again"), "{card}");
        let browser = office.browser("anna").await;
        let page = browser.get(&format!("/loads/{id}")).await;
        let action = page.text.split("action=\"").find(|action| action.contains("/redeliver")).unwrap();
        let reply = browser.send_form(&page, action.split('"').next().unwrap(), &[]).await;
        assert_eq!(reply.location(), format!("/loads/{id}?done=redelivered"), "{}", reply.text);
        assert!(browser.get(reply.location()).await.ok().contains("is delivered again"));
    });
}

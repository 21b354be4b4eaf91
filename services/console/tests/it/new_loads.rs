//! New loads, copies on several dates, load sheets and warnings.

use super::*;

#[test]
fn a_load_is_copied_to_several_dates_without_what_was_delivered() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let store = async |person: &str, by: &User| {
            let browser = office.browser(person).await;
            let picture = ("ticket.jpg", "image/jpeg", loads::photograph(person));
            browser.send_file(&browser.get("/files").await, "/files/upload", &[], picture).await;
            json!([{"id": office.system.get("/v1/files").by(by).send().await.ok()[0]["id"]}])
        };
        let members = json!({"ticketNumber": "T-1", "files": store("owen", &owen()).await});
        let id = office.create_load(&members).await;
        let proof = json!({
            "weightNet": 27.1, "ticketNumber": "T", "vehicleRegistration": "VX",
            "quality": [{"measure": "moisture", "value": 14.5}], "files": store("ruth", &ruth()).await,
        });
        let prove = office.logistics.post(&format!("/v1/loads/{id}/proof-of-delivery")).by(&ruth());
        let proven = prove.json(&proof).send().await.ok();
        assert!(
            proven["files"].as_array().unwrap().len() == 2 && proven.get("quality").is_some(),
            "{proven}"
        );
        let page = browser.get(&format!("/loads/new?copy={id}")).await;
        let fields = page.fields("/loads/new");
        let field =
            |name: &str| fields.iter().find(|(known, _)| known == name).map_or("", |(_, value)| value);
        assert_eq!(
            (field("reference"), field("carrierId"), field("dates")),
            ("BG-1", "hereford-haulage", "")
        );
        assert!(page.text.contains("$TOKEN") && !page.text.contains("T-1"), "{}", page.text);
        let wrong = browser
            .send_form(&page, "/loads/new", &[("dates", "10 Dec 2026\nsoon"), ("weight", "1,234")])
            .await;
        assert_eq!(wrong.status, 400);
        assert!(
            wrong.text.contains("Contains “soon”") && wrong.text.contains("Could be 1234 or 1.234"),
            "{}",
            wrong.text
        );
        let dates = [("dates", "10 Dec 2026\n11/12/2026 07:30"), ("weight", "28.5")];
        let done = browser.send_form(&wrong, "/loads/new", &dates).await;
        assert!(done.status == 200 && done.text.contains("2 loads created"), "{}", done.text);
        // Sent again with the same key, it makes no further loads.
        browser.send_form(&wrong, "/loads/new", &dates).await.ok();
        let loads = office
            .logistics
            .get("/v1/loads?sortBy=deliveryDateISO&f:status=upcoming")
            .by(&owen())
            .send()
            .await
            .ok();
        let loads = loads.as_array().unwrap();
        let shown: Vec<_> = loads.iter().map(|load| load["deliveryDateISO"].as_str().unwrap()).collect();
        assert_eq!(shown, ["2026-12-10T00:00:00.000Z", "2026-12-11T07:30:00.000Z"]);
        for load in loads {
            assert_eq!(
                (&load["weight"]["weight"], &load["carrier"]["id"]),
                (&json!(28.5), &json!("hereford-haulage"))
            );
            for left_out in ["weightNet", "ticketNumber", "quality"] {
                assert!(load.get(left_out).is_none(), "{left_out}: {load}");
            }
            assert!(load["files"].as_array().is_none_or(Vec::is_empty), "{load}");
        }
    });
}

#[test]
fn a_haulier_enters_a_load_for_somebody() {
    testkit::block_on(async {
        let office = Office::start().await;
        office.create_load(&json!({})).await;
        let browser = office.browser("ruth").await;
        let path = "/loads/new?as=carrier";
        let typed = [
            ("reference", "HH-1"),
            ("dates", "10 Dec 2026"),
            ("commodityId", "1"),
            ("weight", "29"),
            ("organisationId", "border-grain"),
        ];
        let reply = browser.fill(path, path, &typed).await;
        assert!(
            reply.status == 303 && reply.location().contains("done=new"),
            "{} {}",
            reply.status,
            reply.text
        );
        let text = browser.get(reply.location()).await.ok();
        assert!(text.contains("The load is created") && text.contains("Border Grain Merchants"), "{text}");
    });
}

#[test]
fn a_delivery_with_a_time_can_be_moved() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({"deliveryDateISO": "2026-08-03T06:30:00Z"})).await;
        let browser = office.browser("owen").await;
        let path = format!("/loads/{id}/edit");
        let form = browser.get(&path).await;
        assert!(form.text.contains("value=\"Mon 3 Aug 2026 07:30\""), "{}", form.text);
        let reply = browser.send_form(&form, &path, &[("deliveryDateISO", "Tue 4 Aug 2026 08:15")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert_eq!(office.load(&id).await["deliveryDateISO"], "2026-08-04T07:15:00.000Z");
        // In London, half past midnight is the next day, though not in UTC.
        let reply = browser.fill(&path, &path, &[("deliveryDateISO", "5 Aug 2026 00:30")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert!(browser.get("/loads?from=2026-08-05&to=2026-08-05").await.ok().contains("BG-1"));
        assert!(!browser.get("/loads?from=2026-08-04&to=2026-08-04").await.ok().contains("BG-1"));
        assert!(browser.get("/board?day=2026-08-05").await.ok().contains("BG-1"));
    });
}

#[test]
fn warnings_are_shown_after_a_write() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("ruth").await;
        let path = format!("/loads/{id}/prove");
        let proof = [("weightNet", "20"), ("ticketNumber", "T-1"), ("vehicleRegistration", "VX17 RTH")];
        let reply = browser.fill(&path, &path, &proof).await;
        assert!(reply.location().contains("warning=weight_differs"), "{}", reply.location());
        let text = browser.get(reply.location()).await.ok();
        assert!(text.contains("differs by more than 10 %"), "{text}");
        let forged = browser.get(&format!("/loads/{id}?warning=Call+0123")).await.ok();
        assert!(!forged.contains("Call 0123"), "{forged}");
    });
}

#[test]
fn a_load_sheet_has_places_and_room_for_weights() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("ruth").await;
        let text = browser.get(&format!("/loads/{id}/sheet")).await.ok();
        for shown in
            ["BG-1", "HR4 9AR", "DE14 2PD", "Hereford Haulage", "To fill in at the weighbridge", "Mon 3 Aug"]
        {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(browser.get(&format!("/loads/{id}")).await.ok().contains("/sheet"));
        assert!(matches!(
            office.browser("silas").await.get(&format!("/loads/{id}/sheet")).await.status,
            403 | 404
        ));
    });
}

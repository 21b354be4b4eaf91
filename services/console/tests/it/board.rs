//! The board of a day or week.

use super::*;

#[test]
fn loads_are_assigned_to_hauliers() {
    testkit::block_on(async {
        let office = Office::start().await;
        office.create_load(&json!({"reference": "SENT"})).await;
        let form = json!({
            "organiserId": "border-grain", "commodityId": 1, "reference": "OPEN", "deliveryDateISO": "2026-08-03",
            "weight": 29, "weightNet": null, "tags": [], "files": null,
        });
        let load = office.logistics.post("/v1/loads/organiser").by(&owen()).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let browser = office.browser("owen").await;
        let page = browser.get("/board?day=2026-08-03").await;
        for shown in [
            "Board, Mon 3 Aug",
            "No haulier yet",
            "Hereford Haulage",
            "1 load, 29.00 t",
            "draggable=\"true\"",
        ] {
            assert!(page.text.contains(shown), "{shown}: {}", page.text);
        }
        let at = |text: &str| page.text.find(text).unwrap();
        assert!(
            at("No haulier yet") < at(">OPEN<") && at(">OPEN<") < at(">SENT<"),
            "what is open comes first"
        );
        // The first form is that of the first card.
        let reply = browser.send_form(&page, "/board/assign", &[("to", "hereford-haulage")]).await;
        assert_eq!(
            (reply.status, reply.location()),
            (303, "/board?day=2026-08-03&by=haulier&done=OPEN"),
            "{}",
            reply.text
        );
        assert_eq!(office.load(id).await["carrier"]["id"], "hereford-haulage");
        // To another haulier, unless somebody changed the load meanwhile.
        let page = browser.get("/board?day=2026-08-03").await;
        let other = json!({"reference": "OPEN-2"});
        office.logistics.call("PATCH", &format!("/v1/loads/{id}")).by(&owen()).json(&other).send().await.ok();
        let (to, sure) = (("to", "dales-bulk"), ("sure.to", "dales-bulk"));
        let moved = [("id", id), to, sure, ("revision", "1")];
        let refused = browser.send_form(&page, "/board/assign", &moved).await;
        assert!(refused.status == 412 && refused.text.contains("role=\"alert\""), "{}", refused.text);
        let revision = office.load(id).await["revision"].to_string();
        let moved = [("id", id), ("to", "Dales"), ("revision", revision.as_str())];
        let asked = browser.send_form(&refused, "/board/assign", &moved).await;
        assert!(asked.status == 400 && asked.text.contains("<details open>"), "{}", asked.text);
        assert!(asked.text.contains("name=\"sure.to\" value=\"Dales\""), "{}", asked.text);
        let moved = [("id", id), to, sure, ("revision", revision.as_str())];
        assert_eq!(browser.send_form(&refused, "/board/assign", &moved).await.status, 303);
        assert_eq!(office.load(id).await["carrier"]["id"], "dales-bulk");
        let week = browser.get("/board?week=2026-08-05").await.ok();
        assert!(
            week.contains("Mon 3 Aug") && week.contains("Sun 9 Aug") && week.contains("OPEN-2"),
            "{week}"
        );
        let sheet = browser.get("/board/sheet?day=2026-08-03&haulier=dales-bulk").await.ok();
        assert!(sheet.contains("OPEN-2") && !sheet.contains(">SENT<") && sheet.contains("1 load"), "{sheet}");
    });
}

#[test]
fn a_haulier_assigns_loads_to_drivers() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("ruth").await;
        let page = browser.get("/board?day=2026-08-03").await;
        assert!(page.text.contains("No driver yet"), "{}", page.text);
        let assign = async |page: &browser::Reply, from: &str, to: &str| {
            let fields = [("id", id.as_str()), ("from", from), ("to", to), ("sure.to", to)];
            browser.send_form(page, "/board/assign", &fields).await
        };
        let reply = assign(&page, "", "driver-megan").await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert!(office.browser("driver-megan").await.get("/loads").await.ok().contains("BG-1"));
        let page = browser.get(reply.location()).await;
        assert!(
            page.text.contains("BG-1 is assigned")
                && page.text.contains("name=\"from\" value=\"driver-megan\""),
            "{}",
            page.text
        );
        assert_eq!(assign(&page, "driver-megan", "dai").await.status, 303);
        assert!(!office.browser("driver-megan").await.get("/loads").await.ok().contains("BG-1"));
        let sheet = browser.get("/board/sheet?day=2026-08-03&driver=dai").await.ok();
        assert!(sheet.contains("BG-1"), "{sheet}");
        // Whoever is removed need not be named, whatever stands in the field.
        let removal = [("id", id.as_str()), ("from", "dai"), ("to", "nobody of the book"), ("remove", "on")];
        let reply = browser.send_form(&page, "/board/assign", &removal).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        // What has no driver is known, however many drivers there are.
        let busy = [
            office.create_load(&json!({"reference": "A"})).await,
            office.create_load(&json!({"reference": "B"})).await,
        ];
        for number in 0..32 {
            let sent = json!({"loadId": busy[number % 2], "driverId": format!("driver-{number}")});
            office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
        }
        let page = browser.get("/board?day=2026-08-03").await;
        let (_, columns) = page.text.split_once("No driver yet").unwrap();
        let (open, others) = columns.split_once("</section>").unwrap();
        assert!(open.contains(">BG-1<") && open.contains(">Assign<"), "{open}");
        assert!(!open.contains(">A<") && !others.contains(">BG-1<"), "{columns}");
        assert_eq!(others.matches("name=\"from\" value=\"driver-").count(), 32, "{others}");
        assert_eq!(assign(&page, "", "dai").await.status, 303);
        // Viewers of nothing see nothing.
        let stranger = office.browser("silas").await;
        assert!(!stranger.get("/board?day=2026-08-03").await.ok().contains("BG-1"));
        assert_eq!(stranger.get("/board/sheet").await.status, 404);
    });
}

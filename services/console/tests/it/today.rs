//! The page of today, and what is done besides what is to do.

use super::market::create_listing;
use super::*;

/// Proves a load as its haulier.
async fn prove(office: &Office, id: &str, net: f64) {
    let proof = json!({"weightNet": net, "ticketNumber": "T", "vehicleRegistration": "VX", "files": []});
    let path = format!("/v1/loads/{id}/proof-of-delivery");
    office.logistics.post(&path).by(&ruth()).json(&proof).send().await.ok();
}

#[test]
fn what_needs_somebody_is_named_and_linked() {
    testkit::block_on(async {
        let office = Office::start().await;
        let today = chrono::Utc::now().date_naive().to_string();
        for (reference, net, day) in
            [("SHORT", 27.1, &*today), ("RIGHT", 29.1, &today), ("OLD", 27.1, "2026-01-05")]
        {
            let id = office.create_load(&json!({"reference": reference, "deliveryDateISO": day})).await;
            prove(&office, &id, net).await;
        }
        let page = office.browser("owen").await.get("/").await.ok();
        let (_, needs) = page.split_once("Needs somebody").unwrap();
        assert!(needs.contains("SHORT") && needs.contains("\u{2212}1.90 t"), "{needs}");
        assert!(!needs.contains("RIGHT") && !needs.contains("OLD"), "within the tolerance, or old: {needs}");
        // The tile and its list agree.
        let (before, after) = page.split_once("<small>Outside tolerance, 7 days</small><b>").unwrap();
        assert!(after.starts_with("1</b>"), "{after}");
        let (_, list) = before.rsplit_once("href=\"").unwrap();
        let list = list.split('"').next().unwrap().replace("&amp;", "&");
        let list = office.browser("owen").await.get(&list).await.ok();
        assert!(list.contains("Delivered outside, %: 2") && list.contains(">SHORT</a>"), "{list}");
        assert!(list.contains("1 load<") && !list.contains(">RIGHT</a>"), "{list}");
        assert!(page.contains("data-live=\"*\""), "{page}");

        let listing = create_listing(&office, "sheep", &json!({})).await;
        for buyer in ["tom", "huw"] {
            let enquiry = json!({"message": "Sound?", "name": buyer, "phone": "01432 100000"});
            let path = format!("/v1/listings/{listing}/enquiries");
            let buyer = user(buyer, "wye-valley-farm", "Wye Valley Farm");
            office.livestock.post(&path).by(&buyer).json(&enquiry).send().await.ok();
        }
        let page = office.browser("carys").await.get("/").await.ok();
        let (before, after) = page.split_once("2 enquiries about your listings").unwrap();
        assert!(!before.contains("enquirys") && after.contains("href=\"/market/enquiries\""), "{page}");
    });
}

#[test]
fn a_tile_and_its_list_go_by_the_local_day() {
    testkit::block_on(async {
        let office = Office::start().await;
        let settings = Settings { time_zone: "Asia/Tokyo".to_owned(), ..development() };
        let console =
            RunningConsole::start(Settings { logistics_url: office.logistics.url.clone(), ..settings }).await;
        // Half past midnight there is another day in UTC at all seasons.
        let today = chrono::Utc::now().with_timezone(&chrono_tz::Asia::Tokyo).date_naive();
        let midnight = today.and_time(chrono::NaiveTime::MIN) - chrono::TimeDelta::hours(9);
        for (reference, minutes) in [("TODAY", 30), ("YESTERDAY", -30)] {
            let at = (midnight + chrono::TimeDelta::minutes(minutes)).and_utc().to_rfc3339();
            office.create_load(&json!({"reference": reference, "deliveryDateISO": at})).await;
        }
        let browser = Browser::new(&console.url);
        browser.post("/login/person", &[("person", "owen"), ("to", "/")]).await;
        let page = browser.get("/").await.ok();
        let (before, after) = page.split_once("<small>Due today</small>").unwrap();
        assert!(after.starts_with("<b>1</b>"), "{page}");
        let path = before.rsplit_once("href=\"").unwrap().1.split('"').next().unwrap().replace("&amp;", "&");
        let list = browser.get(&path).await.ok();
        assert!(list.contains("1 load<") && list.contains(">TODAY</a>"), "{path}: {list}");
    });
}

#[test]
fn a_remark_to_the_office_is_marked_and_named_until_it_is_answered() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let sent = json!({"loadId": id, "driverId": "driver-megan"});
        office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
        let (owen, megan) = (office.browser("owen").await, office.browser("driver-megan").await);
        let path = format!("/driver/{id}/note");
        let remark = format!("The gate is <locked>. {}", "x".repeat(60));
        assert_eq!(megan.fill(&path, &path, &[("text", &remark)]).await.status, 303);
        let list = owen.get("/loads").await.ok();
        let (_, row) = list.split_once(&format!("<tr data-id=\"{id}\">")).unwrap();
        for shown in ["class=\"remark\"", "Megan: The gate is &lt;locked&gt;. xxx", "xx…<", "#history\""] {
            assert!(row.contains(shown), "{shown}: {row}");
        }
        let page = owen.get("/").await.ok();
        let (_, needs) = page.split_once("Needs somebody").unwrap();
        assert!(needs.contains("<b>BG-1</b>, note by Megan: The gate is &lt;locked&gt;."), "{needs}");
        let (_, events) = page.split_once("What happened last").unwrap();
        assert!(
            events.contains(&format!("href=\"/loads/{id}#history\">BG-1</a> Note by Megan: The gate")),
            "{page}"
        );
        assert!(events.find("Note by").unwrap() < events.find("Created by").unwrap(), "newest first: {page}");
        assert!(!megan.get("/loads").await.ok().contains("class=\"remark\""), "her own");

        let path = format!("/loads/{id}/note");
        owen.fill(&path, &path, &[("text", "Ring the farm")]).await;
        assert!(!owen.get("/loads").await.ok().contains("class=\"remark\""));
        assert!(!owen.get("/").await.ok().contains("note by"));
        assert!(office.browser("ruth").await.get("/").await.ok().contains("note by Owen: Ring the farm"));
    });
}

#[test]
fn done_loads_stand_apart_on_the_board() {
    testkit::block_on(async {
        let office = Office::start().await;
        let bare = json!({"reference": "DONE", "pickupPostcode": null, "dropoffPostcode": null});
        let id = office.create_load(&bare).await;
        prove(&office, &id, 29.0).await;
        let page = office.browser("ruth").await.get("/board?day=2026-08-03&by=driver").await.ok();
        let (open, done) = page.split_once("Done without a driver").unwrap_or_else(|| panic!("{page}"));
        assert!(open.contains("No driver yet") && !open.contains(">DONE"), "{page}");
        assert!(done.contains(">DONE") && !page.contains("? \u{2192} ?"), "{page}");
    });
}

#[test]
fn an_organiser_that_is_always_the_own_one_is_no_column() {
    testkit::block_on(async {
        let office = Office::start().await;
        office.create_load(&json!({})).await;
        let organiser = "<a href=\"/loads?sort=organiser\">";
        let browser = office.browser("owen").await;
        assert!(!browser.get("/loads").await.ok().contains(organiser));
        assert!(browser.get("/loads?col=organiser").await.ok().contains("Border Grain Merchants</td>"));
        assert!(office.browser("ruth").await.get("/loads").await.ok().contains(organiser));
    });
}

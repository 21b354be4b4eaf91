//! The list of loads and the page of today.

use std::time::{Duration, Instant};

use super::*;

/// Returns the address of the first link of a page for which this is true, of the page from the address on.
fn link(page: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let mut links = page.split("href=\"").skip(1);
    let link = links.find(|link| is_meant(link)).unwrap_or_else(|| panic!("{page}"));
    link.split('"').next().unwrap().replace("&amp;", "&")
}

#[test]
fn the_list_filters_sorts_pages_and_sums() {
    testkit::block_on(async {
        let office = Office::start().await;
        for number in 0..60 {
            let members = json!({"reference": format!("BG-{number:02}"), "weight": 10, "tags": [if number < 5 { "few" } else { "many" }]});
            let form = office.logistics.post("/v1/loads/organiser").by(&owen());
            let mut load = json!({
                "organiserId": "border-grain", "commodityId": 1, "deliveryDateISO": "2026-08-03", "weightNet": null,
                "files": null,
            });
            for (name, value) in members.as_object().unwrap() {
                load[name] = value.clone();
            }
            form.json(&load).send().await.ok();
        }
        let browser = office.browser("owen").await;
        let text = browser.get("/loads?tag=few&sort=reference").await.ok();
        let at = |reference: &str| {
            text.find(&format!(">{reference}</a>")).unwrap_or_else(|| panic!("{reference}: {text}"))
        };
        assert!(at("BG-00") < at("BG-01") && at("BG-01") < at("BG-04") && !text.contains("BG-05"));
        for shown in [
            "5 loads",
            "50.00",
            "Tag: few",
            "aria-sort=\"ascending\"",
            "href=\"/loads?tag=few&amp;sort=-reference\"",
        ] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(
            text.contains("action=\"/loads/actions\"") && text.contains("name=\"sort\" value=\"reference\"")
        );
        let first = browser.get("/loads?sort=reference").await.ok();
        assert!(
            first.contains("60 loads") && first.contains("600.00") && !first.contains("BG-50"),
            "{first}"
        );
        let next = link(&first, |link| link.contains(">Next 50</a>"));
        let second = browser.get(&next).await.ok();
        assert!(
            second.contains("BG-50") && second.contains("BG-59") && !second.contains("BG-49"),
            "{second}"
        );
        assert!(second.contains("First page"));

        // The last load of a page leads on to the next page.
        let [is_load, is_previous, is_next] = [
            |link: &str| link.starts_with("/loads/0"),
            |link: &str| link.contains(">Previous</a>"),
            |link: &str| link.contains(">Next</a>"),
        ];
        let last = link(&first, |link| is_load(link) && link.contains(">BG-49</a>"));
        let page = browser.get(&last).await.ok();
        let page = browser.get(&link(&page, is_next)).await.ok();
        assert!(page.contains("<h1>BG-50</h1>") && is_next(&page) && is_previous(&page), "{page}");
        let page = browser.get(&link(&second, is_load)).await.ok();
        assert!(browser.get(&link(&page, is_previous)).await.ok().contains("<h1>BG-49</h1>"));

        // A load that is opened from a list leads on in it.
        let page = browser.get(&link(&text, is_load)).await.ok();
        assert!(is_next(&page) && !is_previous(&page), "{page}");
        assert!(page.contains("href=\"/loads?tag=few&amp;sort=reference\""), "{page}");

        // A load that leaves the list keeps the loads that it was between.
        let listed = browser.get("/loads?status=upcoming&sort=-reference").await.ok();
        let page = browser.get(&link(&listed, |link| link.contains(">BG-57</a>"))).await.ok();
        let form = link(&page, |link| link.contains("/cancel?"));
        let action = form.split('?').next().unwrap();
        let reply = browser.fill(&form, action, &[("reason", "Sold elsewhere")]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let page = browser.get(reply.location()).await.ok();
        assert!(is_previous(&page) && is_next(&page), "{page}");

        for (format, start) in [("xlsx", "PK"), ("csv", "\u{feff}")] {
            let reply = browser.get(&format!("/loads/export.{format}?tag=few&sort=reference")).await;
            assert!(reply.text.starts_with(start) && reply.status == 200, "{format}");
            assert!(reply.header("content-disposition").starts_with("attachment"));
        }
        let csv = browser.get("/loads/export.csv?tag=few&sort=-reference").await.text;
        assert_eq!(csv.lines().count(), 6, "{csv}");
        assert!(csv.find("BG-04").unwrap() < csv.find("BG-00").unwrap(), "{csv}");
        // With the columns of the list, or all.
        assert!(csv.starts_with("\u{feff}reference,deliveryDateISO,organiserName,carrierName,"), "{csv}");
        let chosen = browser.get("/loads/export.csv?tag=few&col=tags&col=planned").await.text;
        assert!(chosen.starts_with("\u{feff}reference,weight,tags,status\r\nBG-"), "{chosen}");
        let all = browser.get("/loads/export.csv?tag=few&col=tags&all-columns=on").await.text;
        assert!(all.starts_with("\u{feff}id,reference,status,"), "{all}");
        assert_eq!(browser.get("/loads/export.pdf").await.status, 404);
        let none = browser.get("/loads?tag=none").await.ok();
        assert!(none.contains("No load matches these filters"), "{none}");
        let refused = browser.get("/loads?status=lost").await;
        assert!(
            refused.text.contains("status") && refused.text.contains("role=\"status\""),
            "{}",
            refused.text
        );
    });
}

#[test]
fn many_loads_are_cancelled_at_once_and_failures_stay_selected() {
    testkit::block_on(async {
        let office = Office::start().await;
        let [first, second] = [
            office.create_load(&json!({"reference": "BG-1"})).await,
            office.create_load(&json!({"reference": "BG-2"})).await,
        ];
        office
            .logistics
            .post(&format!("/v1/loads/{second}/collection"))
            .by(&ruth())
            .json(&json!({}))
            .send()
            .await
            .ok();
        let browser = office.browser("owen").await;
        let list = browser.get("/loads?sort=reference").await;
        let token =
            list.fields("/loads/actions").into_iter().find(|(name, _)| name == "form-token").unwrap().1;
        let selected = [
            ("form-token", token.as_str()),
            ("action", "cancel"),
            ("ids", &first),
            ("ids", &second),
            ("list", "sort=reference"),
        ];
        let confirm = browser.post("/loads/actions", &selected).await;
        for shown in ["Cancel 2 loads", "58.00", "BG-1", "BG-2"] {
            assert!(confirm.text.contains(shown), "{shown}: {}", confirm.text);
        }
        assert_eq!(office.load(&first).await["status"], "upcoming", "nothing is done before it is confirmed");
        let done = browser.send_form(&confirm, "/loads/actions/run", &[("reason", "Rain")]).await;
        assert!(done.text.contains("1 done, 1 failed"), "{}", done.text);
        let failed = done.text.split("class=\"failed\"").nth(1).unwrap().split("</tr>").next().unwrap();
        assert!(
            failed.contains("BG-2") && failed.contains("class=\"late\">This load is collected.<"),
            "the reason at its row: {failed}"
        );
        let retry = done.fields("/loads/actions");
        assert!(
            retry.contains(&("ids".to_owned(), second.clone()))
                && !retry.contains(&("ids".to_owned(), first.clone()))
        );
        assert_eq!(office.load(&first).await["status"], "cancelled");
        let again = browser.send_form(&confirm, "/loads/actions/run", &[("reason", "Rain")]).await;
        assert!(again.text.contains("1 done, 1 failed"), "the same key repeats the response: {}", again.text);
        let nothing =
            browser.post("/loads/actions", &[("form-token", token.as_str()), ("action", "accept")]).await;
        assert!(
            nothing.status == 400 && nothing.text.contains("Select at least one load"),
            "{}",
            nothing.text
        );
    });
}

#[test]
fn selected_loads_are_exported() {
    testkit::block_on(async {
        let office = Office::start().await;
        let mut ids = Vec::new();
        for reference in ["BG-1", "BG-2", "BG-3"] {
            ids.push(office.create_load(&json!({ "reference": reference })).await);
        }
        let cancelled = format!("/v1/loads/{}/cancel", ids[0]);
        office.logistics.post(&cancelled).by(&owen()).json(&json!({})).send().await.ok();
        let browser = office.browser("owen").await;
        let list = browser.get("/loads?sort=reference&col=net").await;
        assert!(list.text.contains("formaction=\"/loads/export.xlsx\""), "{}", list.text);
        let export = async |selected: &[&str]| {
            let mut fields = list.fields("/loads/actions");
            fields.extend(selected.iter().map(|id| ("ids".to_owned(), (*id).to_owned())));
            let fields: Vec<_> = fields.iter().map(|(name, value)| (&**name, &**value)).collect();
            browser.post("/loads/export.csv", &fields).await
        };
        // A load that no filter of the list finds any more was selected all the same.
        let csv = export(&[&ids[2], &ids[0]]).await;
        let rows = "reference,weightNet,status\r\nBG-1,,cancelled\r\nBG-3,,upcoming\r\n";
        assert_eq!(csv.text.trim_start_matches('\u{feff}'), rows);
        assert!(csv.header("content-disposition").starts_with("attachment"), "{:?}", csv.headers);
        let none = export(&[]).await;
        assert!(none.status == 400 && none.text.contains("Select at least one load"), "{}", none.text);
        let many = export(&vec![&*ids[0]; 201]).await;
        assert!(many.status == 400 && many.text.contains("at most 200 loads"), "{}", many.text);
        let all = [&list.fields("/loads/actions")[..], &[("all".to_owned(), "on".to_owned())]].concat();
        let all: Vec<_> = all.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(browser.post("/loads/export.csv", &all).await.text.lines().count(), 3);
    });
}

#[test]
fn loads_that_were_taken_out_are_not_changed() {
    testkit::block_on(async {
        let office = Office::start().await;
        let first = office.create_load(&json!({"reference": "BG-1"})).await;
        let second = office.create_load(&json!({"reference": "BG-2"})).await;
        let browser = office.browser("owen").await;
        let list = browser.get("/loads").await;
        let token =
            list.fields("/loads/actions").into_iter().find(|(name, _)| name == "form-token").unwrap().1;
        let chosen = [("form-token", &*token), ("action", "cancel"), ("ids", &first), ("ids", &second)];
        let confirm = browser.post("/loads/actions", &chosen).await;
        let mut fields = confirm.fields("/loads/actions/run");
        fields.retain(|(name, value)| name != "ids" || *value == first);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let done = browser.post("/loads/actions/run", &fields).await;
        assert!(done.text.contains("1 done, 0 failed"), "{}", done.text);
        let statuses =
            [office.load(&first).await["status"].clone(), office.load(&second).await["status"].clone()];
        assert_eq!(statuses, [json!("cancelled"), json!("upcoming")]);
    });
}

#[test]
fn a_list_says_that_it_leaves_cancelled_loads_out() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({"reference": "GONE"})).await;
        office
            .logistics
            .post(&format!("/v1/loads/{id}/cancel"))
            .by(&owen())
            .json(&json!({}))
            .send()
            .await
            .ok();
        let browser = office.browser("owen").await;
        let list = browser.get("/loads?q=GONE").await.ok();
        assert!(list.contains("Without cancelled loads") && !list.contains(">GONE</a>"), "{list}");
        let all = "/loads?q=GONE&status=upcoming&status=collected&status=completed&status=rejected&status=cancelled";
        assert!(list.contains(&format!("href=\"{}\"", all.replace('&', "&amp;"))), "{list}");
        let list = browser.get(all).await.ok();
        assert!(list.contains(">GONE</a>") && list.contains("With cancelled loads"), "{list}");
    });
}

#[test]
fn a_haulier_and_a_driver_are_named_as_people_name_them() {
    testkit::block_on(async {
        let office = Office::start().await;
        // Hereford Haulage is in the address book, because it carries this load.
        let sent = office.create_load(&json!({"reference": "SENT"})).await;
        let browser = office.browser("owen").await;
        let list = browser.get("/loads?carrier=hereford+Haulage").await.ok();
        assert!(list.contains(">SENT</a>") && list.contains("Haulier: Hereford Haulage"), "{list}");
        assert!(list.contains("/loads/export.csv?carrier=hereford-haulage"), "{list}");
        assert!(browser.get("/loads?carrier=Hereford").await.ok().contains("No load matches"));
        // It is typed, with suggestions, and not chosen from a list of all.
        assert!(
            list.contains("<input id=\"q-carrier\" name=\"carrier\"")
                && list.contains("list=\"organisations\"")
        );
        let form = json!({
            "organiserId": "border-grain", "commodityId": 1, "reference": "OPEN", "deliveryDateISO": "2026-08-03",
            "weight": 29, "weightNet": null, "tags": [], "files": null,
        });
        let load = office.logistics.post("/v1/loads/organiser").by(&owen()).json(&form).send().await.ok();
        let path = format!("/loads/{}/send-to-carrier", load["id"].as_str().unwrap());
        assert_eq!(browser.fill(&path, &path, &[("carrierId", "Hereford  haulage")]).await.status, 303);
        assert_eq!(office.load(load["id"].as_str().unwrap()).await["carrier"]["id"], "hereford-haulage");
        let made = [("reference", "NEW"), ("dates", "10 Dec 2026"), ("weight", "29"), ("commodityId", "1")];
        let made = [&made[..], &[("carrierId", "HEREFORD HAULAGE")]].concat();
        let made = browser.fill("/loads/new", "/loads/new", &made).await;
        let id = made.location().trim_start_matches("/loads/").split('?').next().unwrap().to_owned();
        assert_eq!(office.load(&id).await["carrier"]["id"], "hereford-haulage", "{}", made.text);

        // Nobody of this name is known: it is asked about, not sent.
        let dispatcher = office.browser("ruth").await;
        let path = format!("/loads/{sent}/send-to-driver");
        let asked = dispatcher.fill(&path, &path, &[("driverId", "Megn")]).await;
        assert!(asked.status == 400 && asked.text.contains("id=\"error-driverId\""), "{}", asked.text);
        assert!(asked.text.contains("name=\"sure.driverId\" value=\"Megn\""), "{}", asked.text);
        let drivers =
            office.logistics.get(&format!("/v1/loads/{sent}/drivers")).by(&ruth()).send().await.ok();
        assert_eq!(drivers, json!([]));
        // What was confirmed is another text.
        let again = [("driverId", "Megna"), ("sure.driverId", "Megn")];
        assert_eq!(dispatcher.send_form(&asked, &path, &again).await.status, 400);
        // Once she has used the API, and once something was sent to her by her id, her name is enough.
        let megan = User::individual("driver-megan").with("name", "Megan Price");
        office.logistics.get("/v1/loads").by(&megan).send().await.ok();
        let by_id = [("driverId", "driver-megan"), ("sure.driverId", "driver-megan")];
        assert_eq!(dispatcher.send_form(&asked, &path, &by_id).await.status, 303);
        assert_eq!(dispatcher.send_form(&asked, &path, &[("driverId", "megan price")]).await.status, 303);
        // A name that somebody confirmed to be an id makes the name ambiguous.
        let as_id = [("driverId", "Megan Price"), ("sure.driverId", "Megan Price")];
        assert_eq!(dispatcher.fill(&path, &path, &as_id).await.status, 303);
        let ambiguous = dispatcher.send_form(&asked, &path, &[("driverId", "Megan Price")]).await;
        assert_eq!(ambiguous.status, 400, "{}", ambiguous.text);
        let text = dispatcher.get(&format!("/loads/{sent}")).await.ok();
        assert!(
            text.contains("<li><span>Megan Price</span>") && text.contains("<ins>Megan Price</ins>"),
            "{text}"
        );
    });
}

#[test]
fn rows_do_not_wait_for_their_sums() {
    use wiremock::matchers::{method, path};
    use wiremock::{Mock, MockServer, ResponseTemplate};
    testkit::block_on(async {
        let slow = MockServer::start().await;
        let row = json!([{"id": "a", "reference": "ROW", "status": "upcoming"}]);
        let sums = json!({"total": {"count": 1, "weight": 29.0, "weightNet": 0.0}, "groups": []});
        let sums = ResponseTemplate::new(200).set_body_json(sums).set_delay(Duration::from_secs(3));
        for (at, answer) in
            [("/v1/loads", ResponseTemplate::new(200).set_body_json(row)), ("/v1/loads/summary", sums)]
        {
            Mock::given(method("GET")).and(path(at)).respond_with(answer).mount(&slow).await;
        }
        let settings = Settings { logistics_url: slow.uri(), livestock_url: slow.uri(), ..development() };
        let console = RunningConsole::start(settings).await;
        let browser = Browser::new(&console.url);
        browser.post("/login/person", &[("person", "owen"), ("to", "/")]).await;
        let begun = Instant::now();
        let today = browser.get("/").await.ok();
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        for shown in ["<b>ROW</b>", "<small>Overdue</small><b>–</b>", "href=\"/?sums=on\""] {
            assert!(today.contains(shown), "{shown}: {today}");
        }
        let today = browser.get("/?sums=on").await.ok();
        assert!(today.contains("<small>Overdue</small><b>1</b>") && !today.contains("sums=on"), "{today}");
        let begun = Instant::now();
        let list = browser.get("/loads?tag=a").await.ok();
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        assert!(list.contains(">ROW</a>") && list.contains("href=\"/loads?tag=a&amp;sums=on\""), "{list}");
        let list = browser.get("/loads?tag=a&sums=on").await.ok();
        assert!(list.contains("1 load<") && !list.contains("data-sums"), "{list}");
    });
}

#[test]
fn many_loads_are_sent_to_a_haulier() {
    testkit::block_on(async {
        let office = Office::start().await;
        let form = json!({
            "organiserId": "border-grain", "commodityId": 1, "reference": "BG-9", "deliveryDateISO": "2026-08-03",
            "weight": 29, "weightNet": null, "tags": [], "files": null,
        });
        let load = office.logistics.post("/v1/loads/organiser").by(&owen()).json(&form).send().await.ok();
        let id = load["id"].as_str().unwrap();
        let browser = office.browser("owen").await;
        let list = browser.get("/loads").await;
        let confirm =
            browser.send_form(&list, "/loads/actions", &[("action", "sendToCarrier"), ("ids", id)]).await;
        let done =
            browser.send_form(&confirm, "/loads/actions/run", &[("carrierId", "Hereford Haulage")]).await;
        assert!(done.status == 400 && done.text.contains("“Hereford Haulage” is an id"), "{}", done.text);
        let id_for_sure = [("carrierId", "hereford-haulage"), ("sure.carrierId", "hereford-haulage")];
        let done = browser.send_form(&done, "/loads/actions/run", &id_for_sure).await;
        assert!(done.text.contains("1 done, 0 failed"), "{}", done.text);
        assert_eq!(office.load(id).await["carrier"]["id"], "hereford-haulage");
    });
}

#[test]
fn today_counts_what_its_lists_contain() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let today = chrono_today();
        office.create_load(&json!({"reference": "DUE", "deliveryDateISO": today, "weight": 29})).await;
        let late = office.create_load(&json!({"reference": "LATE", "deliveryDateISO": "2026-01-05"})).await;
        let done = office.create_load(&json!({"reference": "DONE", "deliveryDateISO": today})).await;
        let proof = json!({"weightNet": 27.1, "ticketNumber": "T", "vehicleRegistration": "VX", "files": []});
        office
            .logistics
            .post(&format!("/v1/loads/{done}/proof-of-delivery"))
            .by(&ruth())
            .json(&proof)
            .send()
            .await
            .ok();
        office
            .logistics
            .post(&format!("/v1/loads/{late}/collection"))
            .by(&ruth())
            .json(&json!({}))
            .send()
            .await
            .ok();
        let text = browser.get("/").await.ok();
        for (label, shown, reference) in [
            ("Due today", "<b>1</b>", "DUE"),
            ("On the road", "<b>1</b>", "LATE"),
            ("Overdue", "<b>1</b>", "LATE"),
            ("Delivered this week", "<b>27.10 t</b>", "DONE"),
        ] {
            let (before, after) = text
                .split_once(&format!("<small>{label}</small>"))
                .unwrap_or_else(|| panic!("{label}: {text}"));
            assert!(after.starts_with(shown), "{label}: {text}");
            let path =
                before.rsplit_once("href=\"").unwrap().1.split('"').next().unwrap().replace("&amp;", "&");
            let list = browser.get(&path).await.ok();
            assert!(
                list.contains("1 load<") && list.contains(&format!(">{reference}</a>")),
                "{path}: {list}"
            );
        }
        assert!(text.contains("<svg class=\"bars\""), "{text}");
        assert!(browser.get("/loads").await.ok().contains("days overdue"));
    });
}

/// The present day in London, as the console has it.
fn chrono_today() -> String {
    chrono::Utc::now().with_timezone(&chrono_tz::Europe::London).date_naive().to_string()
}

#[test]
fn changes_are_told_as_they_happen() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        assert!(browser.get("/loads").await.ok().contains(&format!("<tr data-id=\"{id}\">")));
        let mut stream = browser.open("/events").await;
        assert_eq!(stream.headers()["content-type"], "text/event-stream");
        let note = json!({"text": "Gate 3"});
        office.logistics.post(&format!("/v1/loads/{id}/notes")).by(&ruth()).json(&note).send().await.ok();
        let read = testkit::read_until(&mut stream, "Gate 3").await;
        assert!(read.contains("event: load.noted") && read.contains(&id), "{read}");
        assert_eq!(Browser::new(&office.console.url).get("/events").await.status, 303);
        // A person has up to five streams. Another answer than a stream would keep the browser from coming back.
        let mut others = Vec::new();
        for _ in 1..5 {
            others.push(browser.open("/events").await);
        }
        assert_eq!(browser.get("/events").await.ok(), "retry: 12000\n\n");
        drop(others);
        // The stream ends when the console stops, instead of delaying it.
        let begun = Instant::now();
        let ((), rest) = tokio::join!(office.console.running.stop(), stream.text());
        assert!(rest.is_ok() && begun.elapsed().as_secs() < 4, "{rest:?} {:?}", begun.elapsed());
    });
}

#[test]
fn a_service_that_is_away_leaves_the_rest() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let browser = office.browser("owen").await;
        let Office { system, logistics, livestock, console, _files } = office;
        livestock.stop().await;
        let text = browser.get("/").await.ok();
        assert!(
            text.contains("The service with the market is away")
                && text.contains("<small>Overdue</small><b>1</b>"),
            "{text}"
        );
        system.stop().await;
        assert!(browser.get(&format!("/loads/{id}")).await.ok().contains("BG-1"));
        for query in ["week=-262143-01-01", "week=31/02/2026", "status=none", "cursor=x"] {
            assert_eq!(browser.get(&format!("/loads?{query}")).await.status, 400, "{query}");
        }
        let path = format!("/loads/{id}/note");
        let form = browser.get(&path).await;
        logistics.stop().await;
        let reply = browser.send_form(&form, &path, &[("text", "Gate 3 is closed")]).await;
        let keeps = |text: &str| reply.text.contains(&format!("value=\"{text}\""));
        assert_eq!(reply.status, 503, "{}", reply.text);
        assert!(
            keeps("Gate 3 is closed") && reply.text.contains("name=\"key\""),
            "nothing is lost: {}",
            reply.text
        );
        let text = browser.get("/").await.ok();
        assert!(
            text.contains("The service with loads is away") && text.contains("not known at the moment"),
            "{text}"
        );
        let reply = browser.get("/loads?status=upcoming").await;
        assert!(
            reply.status == 503 && reply.text.contains("The service with loads is away"),
            "{}",
            reply.text
        );
        assert!(reply.text.contains("Status: upcoming") && reply.text.contains("Log out"), "{}", reply.text);
        assert_eq!(browser.get(&format!("/loads/{id}")).await.status, 503);
        console.running.stop().await;
    });
}

#[test]
fn all_that_a_list_finds_is_changed_and_columns_are_chosen() {
    testkit::block_on(async {
        let office = Office::start().await;
        for number in 0..52 {
            let load = json!({
                "organiserId": "border-grain", "commodityId": 1, "deliveryDateISO": "2026-08-03", "weightNet": null,
                "files": null, "reference": format!("BG-{number:02}"), "weight": 10, "tags": ["all"],
                "ticketNumber": format!("T-{number:02}"),
            });
            office.logistics.post("/v1/loads/organiser").by(&owen()).json(&load).send().await.ok();
        }
        let other = office.create_load(&json!({"reference": "OTHER", "tags": []})).await;
        let browser = office.browser("owen").await;
        let list = browser.get("/loads?tag=all&sort=reference&col=ticket&col=planned").await;
        assert!(list.text.contains("All 52 loads found"), "{}", list.text);
        // The chosen columns, a chip for each filter, and neither in the other's way.
        assert!(list.text.contains(">T-00<") && !list.text.contains(">Vehicle</"), "{}", list.text);
        assert!(list.text.contains("Tag: all") && list.text.matches("remove this filter").count() == 1);
        // What is exported is counted before, and a workbook comes first.
        assert!(list.text.contains("All 52 loads of these filters, in this order."), "{}", list.text);
        let import = browser.get("/import").await.ok();
        for (page, part) in [
            (&list.text, "a href=\"/loads/export."),
            (&list.text, "formaction=\"/loads/export."),
            (&import, "template."),
        ] {
            let at = |format: &str| {
                page.find(&format!("{part}{format}")).unwrap_or_else(|| panic!("{part}: {page}"))
            };
            assert!(at("xlsx") < at("csv"), "{part}");
        }
        // A form of the second page begins at the first one, and the menu opens the list without filters.
        let second = browser.get(&link(&list.text, |link| link.contains(">Next 50</a>"))).await.ok();
        assert!(
            second.contains("BG-51") && second.contains("href=\"/loads\" aria-current=\"page\""),
            "{second}"
        );
        let forms: Vec<_> = second.split("action=\"/loads\"").skip(1).collect();
        assert!(forms.len() > 1, "{second}");
        for form in forms {
            let form = form.split("</form>").next().unwrap();
            assert!(!form.contains("name=\"cursor\"") && !form.contains("name=\"before\""), "{form}");
        }
        let confirm =
            browser.send_form(&list, "/loads/actions", &[("action", "cancel"), ("all", "on")]).await;
        for shown in ["Cancel 52 loads", "520.00 t planned", "BG-00", "BG-51"] {
            assert!(confirm.text.contains(shown), "{shown}: {}", confirm.text);
        }
        assert!(!confirm.text.contains("OTHER"), "{}", confirm.text);
        let done = browser.send_form(&confirm, "/loads/actions/run", &[("reason", "Rain")]).await;
        assert!(done.text.contains("52 done, 0 failed"), "{}", done.text);
        assert_eq!(done.text.matches("class=\"status cancelled\"").count(), 52, "{}", done.text);
        assert_eq!(office.load(&other).await["status"], "upcoming");
        // The list is that of the chosen columns again.
        assert!(done.text.contains("/loads?tag=all&amp;sort=reference&amp;col=ticket"), "{}", done.text);
        let own = browser.get("/loads?creator=own&status=upcoming").await.ok();
        assert!(own.contains("OTHER") && own.contains("Entered by: own"), "{own}");
    });
}

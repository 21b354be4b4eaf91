//! The pages of a driver, without scripts and as the script of the phone sends them.

use super::*;
use crate::browser::Reply;

/// Sends a load to Megan, and returns its id.
async fn send_to_megan(office: &Office, members: &Value) -> String {
    let id = office.create_load(members).await;
    let sent = json!({"loadId": id, "driverId": "driver-megan"});
    office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
    id
}

const PROOF: [(&str, &str); 5] = [
    ("weightGross", "41 860"),
    ("weightTare", "14,760"),
    ("weightNet", ""),
    ("ticketNumber", "T-20481"),
    ("vehicleRegistration", "VX17 RTH"),
];

/// Sends an entry as the phone's script does.
async fn send_entry(browser: &Browser, path: &str, fields: &[(&str, &str)]) -> Reply {
    let me: Value = serde_json::from_str(&browser.get("/driver/me").await.ok()).unwrap();
    let token = [("form-token", me["token"].as_str().unwrap())];
    browser.post_json(path, &[&token, fields].concat()).await
}

#[test]
fn a_driver_collects_and_proves_in_two_steps_without_scripts() {
    testkit::block_on(async {
        let office = Office::start().await;
        let two_days_ago = (chrono::Utc::now() - chrono::Days::new(2)).date_naive().to_string();
        let id = send_to_megan(&office, &json!({ "deliveryDateISO": two_days_ago })).await;
        let driver = office.browser("driver-megan").await;
        assert_eq!(driver.get("/").await.location(), "/driver");
        let text = driver.get("/driver").await.ok();
        assert!(text.contains("No load is due today, <span class=\"late\">1 late</span>"), "{text}");
        for shown in ["Megan, ", "2 days late", "BG-1", "29.00 t", "HR4 9AR", "DE14 2PD", "VX17 RTH"] {
            assert!(text.contains(shown), "{shown}: {text}");
        }
        assert!(text.contains("search?query=HR4+9AR"), "a postcode leads to a map: {text}");

        let collect = format!("/driver/{id}/collect");
        let first = driver.get(&collect).await;
        let second =
            driver.send_file(&first, &collect, &[], ("", "application/octet-stream", Vec::new())).await;
        assert_eq!(second.status, 200, "{}", second.text);
        let reply = driver.send_second(&second, &collect, &[("weightNet", "29020")]).await;
        assert_eq!((reply.status, reply.location()), (303, "/driver?done=collect"), "{}", reply.text);
        let text = driver.get(reply.location()).await.ok();
        assert!(text.contains("The collection is recorded.") && text.contains("29.02 t"), "{text}");

        let prove = format!("/driver/{id}/prove");
        let first = driver.get(&prove).await;
        // Several, from the camera or the gallery: `capture` would allow the camera only.
        assert!(first.text.contains("accept=\"image/*\" multiple>") && !first.text.contains("capture"));
        let no_picture = ("ticket.jpg", "image/jpeg", b"text".to_vec());
        let reply = driver.send_file(&first, &prove, &[], no_picture).await;
        assert!(reply.status == 400 && reply.text.contains("class=\"error\""), "{}", reply.text);
        let picture = ("ticket.jpg", "image/jpeg", super::loads::photograph("driver"));
        let second = driver.send_file(&first, &prove, &[], picture).await;
        assert!(second.text.contains("1 photograph stored"), "{}", second.text);
        assert_eq!(second.text.matches("inputmode=\"numeric\"").count(), 3, "kilograms: {}", second.text);
        assert!(second.text.contains("value=\"VX17 RTH\""), "the lorry is known: {}", second.text);
        // What is wrong stands at its field, and nothing typed is lost.
        let wrong = [("weightGross", "41.86"), ("weightTare", "14760"), ("ticketNumber", "T-20481")];
        let refused = driver.send_second(&second, &prove, &wrong).await;
        assert!(
            refused.status == 400 && refused.text.contains("Is not a weight in kilograms"),
            "{}",
            refused.text
        );
        assert!(refused.text.contains("value=\"T-20481\"") && refused.text.contains("1 photograph stored"));
        // The way back to the photographs loses nothing either.
        let first = driver.send_second(&refused, &prove, &[("step", "photographs")]).await;
        assert!(first.status == 200 && first.text.contains(" (stored)"), "{}", first.text);
        let no_file = ("", "application/octet-stream", Vec::new());
        let refused = driver.send_file(&first, &prove, &[], no_file).await;
        assert!(refused.text.contains("value=\"T-20481\"") && refused.text.contains("1 photograph stored"));
        let reply = driver.send_second(&refused, &prove, &PROOF).await;
        assert_eq!((reply.status, reply.location()), (303, "/driver?done=prove"), "{}", reply.text);
        let load = office.load(&id).await;
        assert_eq!((&load["status"], &load["weightNet"]["weight"]), (&json!("completed"), &json!(27.1)));
        assert_eq!(load["files"].as_array().unwrap().len(), 1);
        let text = driver.get("/driver").await.ok();
        assert!(text.contains("1 of 1 load done today"), "by the time of the proof: {text}");
    });
}

#[test]
fn rejected_is_not_beside_prove() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = send_to_megan(&office, &json!({})).await;
        let driver = office.browser("driver-megan").await;
        let text = driver.get("/driver").await.ok();
        let (before, more) = text.split_once("<details class=\"more\">").unwrap();
        assert!(
            before.contains(&format!("/driver/{id}/collect?r=")) && !before.contains("/reject"),
            "{text}"
        );
        assert!(more.contains(&format!("/driver/{id}/reject?r=")), "{text}");
        let reject = format!("/driver/{id}/reject");
        let reply = driver.get(&reject).await;
        let no_file = ("", "application/octet-stream", Vec::new());
        let reply =
            driver.send_file(&reply, &reject, &[("reason", "quality"), ("note", "Wet")], no_file).await;
        assert_eq!(reply.location(), "/driver?done=reject", "{}", reply.text);
        assert_eq!(office.load(&id).await["rejection"]["note"], "Wet");
        let note = format!("/driver/{id}/note");
        assert_eq!(
            driver.fill(&note, &note, &[("text", "Gate 3 is closed")]).await.location(),
            "/driver?done=note"
        );
        assert!(
            office.browser("owen").await.get(&format!("/loads/{id}")).await.ok().contains("Gate 3 is closed")
        );
    });
}

#[test]
fn an_entry_that_is_sent_again_after_days_makes_no_second_proof() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = send_to_megan(&office, &json!({})).await;
        let driver = office.browser("driver-megan").await;
        let me: Value = serde_json::from_str(&driver.get("/driver/me").await.ok()).unwrap();
        assert_eq!(me["owner"], "driver-megan\n");
        let file = driver.send_photograph(
            "/driver/files",
            me["token"].as_str().unwrap(),
            super::loads::photograph("a"),
        );
        let file: Value = serde_json::from_str(&file.await.ok()).unwrap();
        let hour_ago = (me["now"].as_i64().unwrap() - 3_600_000).to_string();
        let path = format!("/driver/{id}/prove");
        let entry = |key: &'static str| {
            [&PROOF[..], &[("key", key), ("captured", &hour_ago), ("files", file["file"].as_str().unwrap())]]
                .concat()
        };
        // The answer of the first is lost; the keys of the API last a day, so that the last has another one.
        for key in ["a", "a", "b"] {
            let reply = send_entry(&driver, &path, &entry(key)).await;
            assert_eq!((reply.status, &*reply.text), (200, "{\"done\":true}"), "{key}");
        }
        let events = office.logistics.get(&format!("/v1/loads/{id}/events?f:type=completed")).by(&owen());
        assert_eq!(events.send().await.ok().as_array().unwrap().len(), 1);
        let completed = office.load(&id).await["completedAtUTC"].as_str().unwrap().to_owned();
        let completed = chrono::DateTime::parse_from_rfc3339(&completed).unwrap().timestamp_millis();
        assert_eq!(completed.to_string(), hour_ago, "by the clock of the server");
        // Another proof is refused with a reason, as text for the driver.
        let other: Vec<_> = entry("c")
            .into_iter()
            .map(|(name, value)| (name, if name == "weightTare" { "14700" } else { value }))
            .collect();
        let reply = send_entry(&driver, &path, &other).await;
        assert!(reply.status == 409 && reply.text.contains("\"reason\":\""), "{}", reply.text);
    });
}

#[test]
fn photographs_reach_a_load_that_the_office_has_proven() {
    testkit::block_on(async {
        let office = Office::start().await;
        let driver = office.browser("driver-megan").await;
        let proof =
            json!({"weightNet": 27.1, "ticketNumber": "t-20481", "vehicleRegistration": "VX", "files": []});
        let prove = async |id: &str| {
            let path = format!("/v1/loads/{id}/proof-of-delivery");
            office.logistics.post(&path).by(&ruth()).json(&proof).send().await.ok()
        };
        let upload = async |text: &str| {
            let me: Value = serde_json::from_str(&driver.get("/driver/me").await.ok()).unwrap();
            let (token, bytes) = (me["token"].as_str().unwrap(), super::loads::photograph(text));
            let stored = driver.send_photograph("/driver/files", token, bytes).await;
            serde_json::from_str::<Value>(&stored.ok()).unwrap()["file"].as_str().unwrap().to_owned()
        };
        // The phone had no signal: the office was faster, with the same ticket.
        let id = send_to_megan(&office, &json!({})).await;
        prove(&id).await;
        let file = upload("late").await;
        let entry = [&PROOF[..], &[("key", "a"), ("files", &file)]].concat();
        let reply = send_entry(&driver, &format!("/driver/{id}/prove"), &entry).await;
        assert_eq!((reply.status, &*reply.text), (200, "{\"done\":true}"));
        assert_eq!(office.load(&id).await["files"].as_array().unwrap().len(), 1);
        assert!(
            office.browser("owen").await.get(&format!("/loads/{id}")).await.ok().contains("class=\"zoom\"")
        );

        // With another ticket, the driver is told.
        let today = chrono::Utc::now().date_naive().to_string();
        let id = send_to_megan(&office, &json!({"reference": "BG-2", "deliveryDateISO": today})).await;
        prove(&id).await;
        let file = upload("other").await;
        let entry =
            [&PROOF[..3], &[("ticketNumber", "T-9"), ("vehicleRegistration", "VX"), ("files", &file)]];
        let reply = send_entry(&driver, &format!("/driver/{id}/prove"), &entry.concat()).await;
        assert!(
            reply.status == 409 && reply.text.contains("The office has your photographs"),
            "{}",
            reply.text
        );
        assert_eq!(office.load(&id).await["files"].as_array().unwrap().len(), 1);
        assert_eq!(office.load(&id).await["ticketNumber"], "t-20481");

        // Further photographs of a load that is done.
        let path = format!("/driver/{id}/files");
        assert!(driver.get("/driver").await.ok().contains(&format!("href=\"{path}?r=")));
        let form = driver.get(&path).await;
        let picture = ("more.jpg", "image/jpeg", super::loads::photograph("more"));
        let reply = driver.send_file(&form, &path, &[], picture).await;
        assert_eq!((reply.status, reply.location()), (303, "/driver?done=files"), "{}", reply.text);
        assert!(driver.get(reply.location()).await.ok().contains("The photographs are with the office."));
        assert_eq!(office.load(&id).await["files"].as_array().unwrap().len(), 2);
        let reply = send_entry(&driver, &path, &[("key", "b")]).await;
        assert!(reply.status == 400 && reply.text.contains("Photographs are missing"), "{}", reply.text);
        // The office adds files too.
        let path = format!("/loads/{id}/files");
        let owen = office.browser("owen").await;
        let form = owen.get(&path).await;
        let picture = ("own.jpg", "image/jpeg", super::loads::photograph("own"));
        let reply = owen.send_file(&form, &path, &[], picture).await;
        assert_eq!(reply.location(), format!("/loads/{id}?done=files"), "{}", reply.text);
        assert_eq!(office.load(&id).await["files"].as_array().unwrap().len(), 3);
    });
}

#[test]
fn a_note_that_is_sent_again_after_days_is_recorded_once() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = send_to_megan(&office, &json!({})).await;
        let driver = office.browser("driver-megan").await;
        let path = format!("/driver/{id}/note");
        let captured = (chrono::Utc::now().timestamp_millis() - 2 * 86_400_000).to_string();
        for (key, text) in [("a", "Gate 3 is closed"), ("b", "Gate 3 is closed"), ("c", "Gate 4 is closed")] {
            let reply =
                send_entry(&driver, &path, &[("text", text), ("key", key), ("captured", &captured)]).await;
            assert_eq!((reply.status, &*reply.text), (200, "{\"done\":true}"), "{key}");
        }
        let events = office.logistics.get(&format!("/v1/loads/{id}/events?f:type=noted")).by(&owen());
        assert_eq!(events.send().await.ok().as_array().unwrap().len(), 2);
    });
}

#[test]
fn the_script_never_takes_a_page_for_an_answer() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = send_to_megan(&office, &json!({})).await;
        let driver = office.browser("driver-megan").await;
        // Without the number of a ticket, the form goes to its next step, and records nothing.
        let reply = send_entry(&driver, &format!("/driver/{id}/prove"), &PROOF[..2]).await;
        assert!(reply.status == 400 && reply.text.starts_with("{\"reason\":\""), "{}", reply.text);
        assert_eq!(office.load(&id).await["status"], "upcoming");
        let me: Value = serde_json::from_str(&driver.get("/driver/me").await.ok()).unwrap();
        office.system.stop().await;
        let photograph = super::loads::photograph("a");
        let reply = driver.send_photograph("/driver/files", me["token"].as_str().unwrap(), photograph).await;
        assert_eq!(reply.status, 503, "it passes by itself: {}", reply.text);
    });
}

#[test]
fn a_clock_that_is_days_wrong_is_corrected() {
    testkit::block_on(async {
        let office = Office::start().await;
        let driver = office.browser("driver-megan").await;
        for (reference, days) in [("FAST", 2), ("SLOW", -800)] {
            let id = send_to_megan(&office, &json!({"reference": reference})).await;
            let captured = (chrono::Utc::now().timestamp_millis() + days * 86_400_000).to_string();
            let fields = [&PROOF[..], &[("captured", &*captured)]].concat();
            let reply = send_entry(&driver, &format!("/driver/{id}/prove"), &fields).await;
            assert_eq!(reply.status, 200, "{reference}: {}", reply.text);
        }
    });
}

#[test]
fn entries_are_sent_by_their_owner_only() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = send_to_megan(&office, &json!({})).await;
        let (driver, stranger) = (office.browser("driver-megan").await, office.browser("silas").await);
        let me: Value = serde_json::from_str(&driver.get("/driver/me").await.ok()).unwrap();
        let path = format!("/driver/{id}/prove");
        let fields = [&[("form-token", me["token"].as_str().unwrap())], &PROOF[..]].concat();
        assert_eq!(stranger.post_json(&path, &fields).await.status, 403, "made for somebody else");
        let nobody = Browser::new(&office.console.url);
        assert_eq!(nobody.post_json(&path, &fields).await.status, 401);
        let reply = nobody.get("/driver/me").await;
        assert_eq!(
            (reply.status, reply.location()),
            (401, ""),
            "no way to the log-in, which a script would follow"
        );
        assert!(matches!(stranger.get(&path).await.status, 403 | 404));
        let reply = send_entry(&stranger, &path, &PROOF).await;
        assert!(matches!(reply.status, 403 | 404) && reply.text.contains("reason"), "{}", reply.text);
        let text = stranger.get("/driver").await.ok();
        assert!(
            text.contains("The office needs your id") && text.contains("silas") && !text.contains("BG-1"),
            "{text}"
        );
        assert!(driver.get(&format!("/driver/{id}/cancel")).await.status == 404);
        assert_eq!(office.load(&id).await["status"], "upcoming");
    });
}

#[test]
fn the_phone_keeps_what_it_needs() {
    testkit::block_on(async {
        let office = Office::start().await;
        let driver = office.browser("driver-megan").await;
        let page = driver.get("/driver").await.ok();
        assert!(page.contains("data-driver=\"driver-megan\n\""), "{page}");
        // Who has no organisation, and perhaps the wrong account, is told so.
        assert!(
            page.contains("belongs to no organisation") && page.contains("use another account"),
            "{page}"
        );
        let manifest = page.split("rel=\"manifest\" href=\"").nth(1).unwrap().split('"').next().unwrap();
        let manifest = Browser::new(&office.console.url).get(manifest).await.ok();
        let manifest: Value = serde_json::from_str(&manifest).unwrap();
        // The log-in is within the scope: on an iPhone, it returns to the home screen's page.
        assert_eq!((&manifest["start_url"], &manifest["scope"]), (&json!("/driver"), &json!("/")));
        let worker = driver.get("/driver/worker.js").await;
        assert_eq!(worker.header("service-worker-allowed"), "/driver");
        assert_eq!(worker.header("cache-control"), "no-cache", "a new release replaces the old");
        assert!(worker.header("content-type").starts_with("text/javascript"), "{:?}", worker.headers);
        let first = worker.text.lines().next().unwrap();
        let files = first.strip_prefix("const FILES = ").unwrap().strip_suffix(';').unwrap();
        for file in serde_json::from_str::<Vec<String>>(files).unwrap() {
            assert_eq!(driver.get(&file).await.status, 200, "{file}");
        }
        office.logistics.stop().await;
        let reply = driver.get("/driver").await;
        assert!(reply.status == 503 && reply.text.contains("is away at the moment"), "{}", reply.text);
    });
}

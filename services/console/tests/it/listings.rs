//! Writing a listing, and what is done with it.

use super::market::{carys, create_listing};
use super::*;

/// What a form of sheep needs.
const EWES: [(&str, &str); 6] = [
    ("properties.title", "Beulah ewes"),
    ("properties.breed", "Beulah Speckled Face"),
    ("properties.quantity", "24"),
    ("description", "Correct mouths."),
    ("price.pricePerUnit.amount", "145,50"),
    ("location.address.postcode", "LD3 7HR"),
];

fn id_of(reply: &browser::Reply) -> String {
    assert_eq!(reply.status, 303, "{}", reply.text);
    reply.location().trim_start_matches("/market/").split('?').next().unwrap().to_owned()
}

async fn listing(office: &Office, id: &str) -> Value {
    office.livestock.get(&format!("/v1/listings/{id}")).by(&carys()).send().await.ok()
}

/// The keypads of some phones have no point for `inputmode=decimal`, and none has one for `numeric`.
#[test]
fn prices_and_weights_in_tonnes_are_typed_as_text() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        for path in ["/market/new/sheep", "/market/new/feed", "/market", "/loads/new", "/loads"] {
            let page = browser.get(path).await.ok();
            assert!(!page.contains("inputmode") && !page.contains("type=\"number\""), "{path}: {page}");
        }
    });
}

#[test]
fn a_half_written_listing_and_its_pictures_survive_leaving() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        let choose = browser.get("/market/new").await.ok();
        assert!(choose.contains("href=\"/market/new/working-dog\""), "{choose}");
        let path = "/market/new/sheep";
        let form = browser.get(path).await;
        for shown in [
            "Breed society",
            "Shearlings",
            "Store lambs",
            "curl -X POST",
            "data-keep=\"carys\npenybont-farm\"",
        ] {
            assert!(form.text.contains(shown), "{shown}: {}", form.text);
        }
        let picture = ("ewes.jpg", "image/jpeg", loads::photograph("ewes"));
        // A wrong number keeps what was typed, and the picture.
        let wrong = [&EWES[..], &[("properties.minAge", "1,234")]].concat();
        let refused = browser.send_file(&form, path, &wrong, picture).await;
        assert_eq!(refused.status, 400);
        for kept in
            ["value=\"Beulah ewes\"", "value=\"1,234\"", "Stored: ewes.jpg", "id=\"error-properties.minAge\""]
        {
            assert!(refused.text.contains(kept), "{kept}: {}", refused.text);
        }
        let none = ("", "application/octet-stream", Vec::new());
        let typed = [("properties.minAge", "14"), ("properties.maxAge", "18"), ("then", "draft")];
        let reply = browser.send_file(&refused, path, &typed, none.clone()).await;
        let id = id_of(&reply);
        assert!(reply.location().ends_with("?done=draft"), "{}", reply.location());
        // Sent again, by a double click or after Back, the form makes no second listing.
        assert_eq!(id_of(&browser.send_file(&refused, path, &typed, none).await), id);

        // Another day, the draft is where it was left.
        let browser = office.browser("carys").await;
        let drafts = browser.get("/market?status=draft").await.ok();
        assert!(drafts.contains("Beulah ewes") && drafts.contains("1 listing<"), "{drafts}");
        let edit = format!("/market/{id}/edit");
        let form = browser.get(&edit).await;
        assert!(
            form.text.contains("Stored: ewes.jpg") && form.text.contains("value=\"145.5\""),
            "{}",
            form.text
        );
        assert_eq!(browser.get(&format!("/market/{id}")).await.status, 200);
        assert_eq!(office.browser("tom").await.get(&format!("/market/{id}")).await.status, 403);
        let reply = browser.send_form(&form, &edit, &[("then", "publish")]).await;
        assert_eq!(reply.location(), format!("/market/{id}?done=published"), "{}", reply.text);
        let page = office.browser("tom").await.get(&format!("/market/{id}")).await.ok();
        for shown in
            ["Beulah ewes", "£145.50 each", "14 to 18 months", "srcset=\"/files/", "Ask Penybont Farm"]
        {
            assert!(page.contains(shown), "{shown}: {page}");
        }
    });
}

#[test]
fn pictures_are_added_while_one_writes_and_put_in_order() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("carys").await;
        let form = browser.get("/market/new/feed").await;
        let token =
            form.fields("/market/new/feed").into_iter().find(|(name, _)| name == "form-token").unwrap();
        let mut files = Vec::new();
        for name in ["one.jpg", "two.jpg"] {
            let body = reqwest::multipart::Form::new().text("form-token", token.1.clone());
            let part = reqwest::multipart::Part::bytes(loads::photograph(name)).file_name(name);
            let body = body.part("file", part.mime_str("image/jpeg").unwrap());
            let reply = browser.post_multipart("/market/pictures", body).await.ok();
            let value = reply.split("name=\"files\" value=\"").nth(1).unwrap().split('"').next().unwrap();
            files.push(value.to_owned());
        }
        // The button, which does what dragging does.
        let typed = [
            ("description", "Meadow hay"),
            ("price.type", "poa"),
            ("files", &*files[0]),
            ("files", &*files[1]),
            ("first", &*files[1]),
        ];
        let mut fields = form.fields("/market/new/feed");
        fields.retain(|(name, _)| !typed.iter().any(|(own, _)| own == name));
        let fields: Vec<_> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).chain(typed).collect();
        let again = browser.post("/market/new/feed", &fields).await;
        assert_eq!(again.status, 200);
        let reply = browser.send_form(&again, "/market/new/feed", &[("then", "publish")]).await;
        let stored = listing(&office, &id_of(&reply)).await;
        let names: Vec<_> =
            stored["files"].as_array().unwrap().iter().map(|file| file["name"].clone()).collect();
        assert_eq!(names, [json!("two.jpg"), json!("one.jpg")]);
        // Somebody who is not logged in stores nothing.
        let stranger = Browser::new(&office.console.url);
        let body = reqwest::multipart::Form::new().text("form-token", token.1.clone());
        let body =
            body.part("file", reqwest::multipart::Part::bytes(loads::photograph("x")).file_name("x.jpg"));
        assert_eq!(stranger.post_multipart("/market/pictures", body).await.status, 401);
    });
}

#[test]
fn an_edit_is_merged_with_that_of_a_colleague() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &json!({})).await;
        let browser = office.browser("carys").await;
        let path = format!("/market/{id}/edit");
        let change = async |members: Value| {
            office
                .livestock
                .call("PATCH", &format!("/v1/listings/{id}"))
                .by(&carys())
                .json(&members)
                .send()
                .await
                .ok()
        };
        let form = browser.get(&path).await;
        change(json!({"tags": ["spring"], "properties": {"breed": "Suffolk"}})).await;
        let reply = browser.send_form(&form, &path, &[("description", "Sound."), ("then", "save")]).await;
        assert_eq!(reply.location(), format!("/market/{id}?done=saved"), "{}", reply.text);
        let now = listing(&office, &id).await;
        assert_eq!((&now["description"], &now["tags"]), (&json!("Sound."), &json!(["spring"])));
        assert_eq!(now["properties"]["breed"], "Suffolk");
        // Both changed the price: it is shown, and saved when one says so again.
        let form = browser.get(&path).await;
        change(json!({"price": {"pricePerUnit": {"amount": 150}}})).await;
        let asked = browser.send_form(&form, &path, &[("price.pricePerUnit.amount", "140")]).await;
        assert!(asked.status == 412 && asked.text.contains("“150”"), "{}", asked.text);
        assert_eq!(listing(&office, &id).await["price"]["pricePerUnit"]["amount"], 150);
        let reply = browser.send_form(&asked, &path, &[]).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        assert_eq!(listing(&office, &id).await["price"]["pricePerUnit"]["amount"], 140);
        let page = browser.get(&format!("/market/{id}")).await.ok();
        assert!(page.contains("<ins>breed Suffolk</ins>") && page.contains("History"), "{page}");
        // Leaving unchanged sends nothing.
        let revision = listing(&office, &id).await["revision"].clone();
        assert_eq!(browser.fill(&path, &path, &[]).await.status, 303);
        assert_eq!(listing(&office, &id).await["revision"], revision);
    });
}

#[test]
fn an_edit_keeps_what_the_form_does_not_show() {
    testkit::block_on(async {
        let office = Office::start().await;
        let members = json!({
            "description": "Ewes.\nSound.", "properties": {"sexes": "steers,ewes"},
            "location": {"threeWords": "one.two.three", "coordinates": {"lat": 51.9, "lon": -3.4},
                "address": {"line1": "Penybont", "city": "Brecon", "countryISO": "GB"}},
        });
        let id = create_listing(&office, "sheep", &members).await;
        let browser = office.browser("carys").await;
        let path = format!("/market/{id}/edit");
        let form = browser.get(&path).await;
        assert!(form.text.contains("value=\"steers\" checked"), "{}", form.text);
        // Browsers send other line ends.
        let typed = [("location.address.city", ""), ("description", "Ewes.\r\nSound.")];
        let reply = browser.send_form(&form, &path, &typed).await;
        assert_eq!(reply.status, 303, "{}", reply.text);
        let page = browser.get(reply.location()).await.ok();
        assert!(page.contains("/assets/saved."), "{page}");
        let now = listing(&office, &id).await;
        assert_eq!(now["location"]["address"], json!({"line1": "Penybont", "countryISO": "GB"}));
        assert_eq!(now["location"]["threeWords"], "one.two.three");
        assert_eq!(now["location"]["coordinates"]["lat"], 51.9);
        assert_eq!((&now["properties"]["sexes"], &now["revision"]), (&json!("steers,ewes"), &json!(2)));
        assert_eq!(now["description"], "Ewes.\nSound.");
    });
}

#[test]
fn a_question_is_sent_and_marked_as_answered() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "sheep", &json!({})).await;
        let (buyer, seller) = (office.browser("tom").await, office.browser("carys").await);
        let (page, path) = (format!("/market/{id}"), format!("/market/{id}/enquire"));
        let refused = buyer.fill(&page, &path, &[("message", "Are they sound?")]).await;
        assert_eq!(refused.status, 400);
        assert!(
            refused.text.contains("Are they sound?") && refused.text.contains("class=\"error\""),
            "{}",
            refused.text
        );
        let sent = buyer.send_form(&refused, &path, &[("phone", "01874 600123")]).await;
        assert_eq!(sent.location(), format!("{page}?done=enquired"), "{}", sent.text);
        assert!(!buyer.get(&page).await.ok().contains("id=\"enquiries\""));
        let open = seller.get("/market/enquiries").await;
        assert!(
            open.text.contains("Are they sound?") && open.text.contains("Mark as answered"),
            "{}",
            open.text
        );
        let sent = buyer.get("/market/enquiries?view=sent").await.ok();
        assert!(sent.contains("Are they sound?") && sent.contains("not marked as answered"), "{sent}");
        let own = seller.get(&page).await;
        assert!(own.text.contains("Are they sound?") && own.text.contains("tel:01874600123"), "{}", own.text);
        let action = own.text.split("action=\"").find(|part| part.contains("/answered/")).unwrap();
        let action = action.split('"').next().unwrap().to_owned();
        assert_eq!(seller.send_form(&own, &action, &[]).await.location(), format!("{page}?done=answered"));
        assert!(!seller.get("/market/enquiries").await.ok().contains("Are they sound?"));
        assert!(seller.get("/market/enquiries?view=answered").await.ok().contains("Are they sound?"));
        let page = seller.get(&page).await.ok();
        assert!(page.contains("answered ") && !page.contains("Mark as answered"), "{page}");
    });
}

#[test]
fn a_listing_is_reported_and_closed() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = create_listing(&office, "cattle", &json!({})).await;
        let (buyer, seller) = (office.browser("tom").await, office.browser("carys").await);
        let report = format!("/market/{id}/report");
        let reply = buyer.fill(&report, &report, &[("choice", "suspicious"), ("message", "Too cheap")]).await;
        assert_eq!(reply.location(), format!("/market/{id}?done=reported"), "{}", reply.text);
        let again = buyer.fill(&report, &report, &[("choice", "other"), ("message", "Again")]).await;
        assert!(again.status == 409 && again.text.contains("Again"), "{}", again.text);
        assert!(!seller.get(&format!("/market/{id}")).await.ok().contains("Too cheap"));
        let admin = office.browser("anna").await.get(&format!("/market/{id}")).await.ok();
        assert!(admin.contains("Too cheap") && admin.contains("href=\"/moderation?listing="), "{admin}");
        let close = format!("/market/{id}/close");
        for path in [&close, &format!("/market/{id}/edit")] {
            assert_eq!(buyer.get(path).await.status, 403, "{path}");
        }
        let reply = seller.fill(&close, &close, &[("choice", "sold")]).await;
        assert_eq!(reply.location(), format!("/market/{id}?done=closed"), "{}", reply.text);
        assert_eq!(listing(&office, &id).await["status"], "sold");
        let page = buyer.get(&format!("/market/{id}")).await.ok();
        assert!(page.contains(">Sold</span>") && !page.contains("id=\"enquire\""), "{page}");
    });
}

#[test]
fn texts_of_a_listing_are_escaped() {
    testkit::block_on(async {
        let office = Office::start().await;
        let hostile = "\"><script>alert(1)</script>";
        let members = json!({"description": hostile, "tags": [hostile], "properties": {"title": hostile, "breed": hostile}});
        let id = create_listing(&office, "sheep", &members).await;
        for (person, paths) in [
            ("tom", ["", "/report"].as_slice()),
            ("carys", &["", "/edit", "/close"]),
            ("anna", &["", "/edit"]),
        ] {
            let browser = office.browser(person).await;
            let pages = paths.iter().map(|path| format!("/market/{id}{path}"));
            let query = url::form_urlencoded::byte_serialize(hostile.as_bytes()).collect::<String>();
            let lists = [
                "/market".to_owned(),
                format!("/market?q={query}&breed={query}&seller={query}&order={query}&view=table"),
            ];
            for path in pages.chain(lists) {
                let text = browser.get(&path).await.text;
                assert!(!text.contains("<script>alert"), "{person} {path}: {text}");
            }
        }
    });
}

//! What other sites and hostile texts cannot do.

use super::*;

/// A text that would run, close an attribute or an element if it were not escaped.
const HOSTILE: &str = "\"><script>alert(1)</script><img src=x onerror='alert(2)'>";

#[test]
fn every_response_has_the_headers() {
    testkit::block_on(async {
        let office = Office::start().await;
        let browser = office.browser("owen").await;
        let policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self'; \
                      manifest-src 'self'; worker-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'";
        for path in ["/", "/loads", "/login", "/nothing", "/loads/0", "/assets/console.css", "/healthz"] {
            let reply = browser.get(path).await;
            assert_eq!(reply.header("content-security-policy"), policy, "{path}");
            assert_eq!(reply.header("referrer-policy"), "same-origin", "{path}");
            assert_eq!(reply.header("x-content-type-options"), "nosniff", "{path}");
            assert_eq!(reply.headers.get("api-version"), None, "{path}");
            assert!(!reply.header("x-request-id").is_empty(), "{path}");
            let cache =
                if path.starts_with("/assets") { "public, max-age=31536000, immutable" } else { "no-store" };
            assert_eq!(reply.header("cache-control"), cache, "{path}");
            assert!(
                !reply.text.contains("style=") && !reply.text.contains("<script>"),
                "{path}: nothing inline"
            );
        }
        let missing = browser.get("/nothing").await;
        assert!(missing.status == 404 && missing.text.contains("There is no such page"), "{}", missing.text);
        assert_eq!(browser.get("/loads/0").await.status, 404);
        let page = browser.get("/").await.text;
        let style = page.split("href=\"/assets/console.css").nth(1).unwrap().split('"').next().unwrap();
        assert!(browser.get(&format!("/assets/console.css{style}")).await.ok().contains("--accent"));
    });
}

#[test]
fn writes_need_the_origin_and_the_token_of_the_form() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let (browser, other) = (office.browser("owen").await, office.browser("carys").await);
        let path = format!("/loads/{id}/cancel");
        let form = browser.get(&path).await;
        let fields = form.fields(&path);
        let fields: Vec<_> = fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        for origin in ["https://evil.example", "null", "http://127.0.0.1", ""] {
            let reply = browser.post_from(&path, &fields, origin).await;
            assert!(
                reply.status == 403 && reply.text.contains("does not come from a page"),
                "{origin}: {}",
                reply.text
            );
        }
        for token in ["", "x", "AAAA"] {
            let reply = browser.send_form(&form, &path, &[("form-token", token)]).await;
            assert!(
                reply.status == 403 && reply.text.contains("made for another person"),
                "{token}: {}",
                reply.text
            );
        }
        // A form of somebody else.
        let owners = browser.cookies();
        browser.set_cookies(&other.cookies());
        assert_eq!(browser.send_form(&form, &path, &[]).await.status, 403);
        let reply = browser.post_from("/logout", &[], "https://evil.example").await;
        assert_eq!(reply.status, 403);
        assert_eq!(office.load(&id).await["status"], "upcoming");

        // After the log-in has ended, nothing is lost: the same form can be sent by the same person.
        browser.set_cookies("");
        let reply = browser.send_form(&form, &path, &[("reason", "Rain & wind")]).await;
        assert!(reply.status == 401 && reply.text.contains("Nothing is lost"), "{}", reply.text);
        assert!(reply.location().is_empty() && reply.text.contains("Rain &amp; wind"), "{}", reply.text);
        // A file is dropped, which the page says.
        let file = ("ticket.jpg", "image/jpeg", vec![1]);
        let dropped = browser.send_file(&form, &path, &[("reason", "Rain & wind")], file).await;
        assert!(dropped.status == 401 && dropped.text.contains("choose those again"), "{}", dropped.text);
        assert!(!dropped.text.contains("Nothing is lost"), "{}", dropped.text);
        browser.set_cookies(&owners);
        assert_eq!(browser.send_form(&reply, &path, &[]).await.status, 303);
        assert_eq!(office.load(&id).await["status"], "cancelled");
    });
}

#[test]
fn texts_of_others_are_escaped_everywhere() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office
            .create_load(&json!({"reference": HOSTILE, "tags": ["\"><script>alert(3)</script>"]}))
            .await;
        let evil = user("eve", "hereford-haulage", HOSTILE).with("name", HOSTILE);
        let note = json!({"text": HOSTILE});
        office.logistics.post(&format!("/v1/loads/{id}/notes")).by(&evil).json(&note).send().await.ok();
        let rejection = json!({"reason": "other", "note": HOSTILE});
        office
            .logistics
            .post(&format!("/v1/loads/{id}/rejection"))
            .by(&evil)
            .json(&rejection)
            .send()
            .await
            .ok();
        let browser = office.browser("owen").await;
        let query = url::form_urlencoded::byte_serialize(HOSTILE.as_bytes()).collect::<String>();
        for path in [
            "/".to_owned(),
            "/loads".to_owned(),
            format!("/loads?q={query}&tag={query}&carrier={query}&sort={query}&cursor={query}"),
            format!("/loads/{id}"),
            format!("/loads/{id}?done={query}&list={query}"),
            format!("/loads/{id}/note"),
            format!("/loads/{id}/reopen"),
            format!("/login?to={query}"),
        ] {
            let text = browser.get(&path).await.text;
            assert!(!text.contains("<script>alert") && !text.contains("<img src=x"), "{path}: {text}");
        }
        assert!(browser.get(&format!("/loads/{id}")).await.ok().contains("&lt;script&gt;"));
        let reopen = format!("/loads/{id}/reopen");
        let reply = browser.fill(&reopen, &reopen, &[("reason", &HOSTILE.repeat(60))]).await;
        assert!(
            reply.status == 400 && !reply.text.contains("<script>alert"),
            "{} {}",
            reply.status,
            reply.text
        );
    });
}

#[test]
fn numbers_are_text_fields() {
    testkit::block_on(async {
        let office = Office::start().await;
        let id = office.create_load(&json!({})).await;
        let sent = json!({"loadId": id, "driverId": "driver-megan"});
        office.logistics.post("/v1/loads/send-to-driver").by(&ruth()).json(&sent).send().await.ok();
        let driver = format!("/driver/{id}/prove");
        for (person, path) in [
            ("owen", "/loads/new"),
            ("owen", &*format!("/loads/{id}/edit")),
            ("ruth", &format!("/loads/{id}/prove")),
            ("tom", "/market"),
            ("carys", "/market/new/cattle"),
            ("driver-megan", &driver),
        ] {
            let page = office.browser(person).await.get(path).await.ok();
            for wrong in ["type=\"number\"", "inputmode=\"decimal\""] {
                assert!(!page.contains(wrong), "{path}: {wrong}: {page}");
            }
            // Kilograms have no decimals, so that a keypad without a point will do.
            let keypads = page.split("<input ").filter(|input| input.contains("inputmode=\"numeric\""));
            let names: Vec<_> =
                keypads.filter_map(|input| input.split("name=\"").nth(1)?.split('"').next()).collect();
            let expected: &[_] =
                if path == driver { &["weightGross", "weightTare", "weightNet"] } else { &[] };
            assert_eq!(names, expected, "{path}: {page}");
        }
    });
}

//! Normalization and validation of texts in bodies and parameters.

use serde_json::json;
use testkit::{TestResponse, User};

use crate::echo::{start, thing};

#[test]
fn trims_texts_and_converts_them_to_nfc() {
    testkit::block_on(async {
        let app = start().await;
        let mut body = thing("\t \u{2003}Cafe\u{301} \u{a0}\r\n");
        body["tags"] = json!([" a ", "e\u{301}"]);
        let first = app.post("/v1/one").json(&body).send().await.ok();
        assert_eq!((&first["name"], &first["tags"]), (&json!("Caf\u{e9}"), &json!(["a", "\u{e9}"])));
        let second = app.post("/v1/one").json(&first).send().await.ok();
        assert_eq!(second, first, "normalizing twice changes nothing more");
        let heard = app.get("/v1/hear?must=ab&f:name=%20Cafe%CC%81%20&many=e%CC%81,%20b").send().await.ok();
        assert_eq!((&heard["f:name"], &heard["many"]), (&json!("Caf\u{e9}"), &json!(["\u{e9}", "b"])));
        let long = thing(&format!("  {}  ", "e\u{301}".repeat(200)));
        assert_eq!(
            app.post("/v1/one").json(&long).send().await.status,
            200,
            "200 characters after normalization"
        );
        let longer = thing(&"\u{958}".repeat(101));
        assert_eq!(app.post("/v1/one").json(&longer).send().await.errors(), ["name length"]);
    });
}

#[test]
fn removes_invisible_characters_from_names_and_refuses_changes_of_direction() {
    testkit::block_on(async {
        let app = start().await;
        let body = |c: char| {
            let mut body = thing(&format!("Far{c}m"));
            body["tags"] = json!([format!("a{c}a")]);
            body["note"] = json!(format!("a{c}b"));
            body
        };
        for c in "\u{ad}\u{61c}\u{180e}\u{200b}\u{200c}\u{200d}\u{200e}\u{200f}\u{2060}\u{feff}".chars() {
            let stored = app.post("/v1/one").json(&body(c)).send().await.ok();
            assert_eq!((&stored["name"], &stored["tags"][0]), (&json!("Farm"), &json!("aa")), "{c:?}");
        }
        for c in "\u{202a}\u{202b}\u{202c}\u{202d}\u{202e}\u{2066}\u{2067}\u{2068}\u{2069}".chars() {
            let reply: TestResponse = app.post("/v1/one").json(&body(c)).send().await;
            assert_eq!(reply.errors(), ["name format", "tags[0] format"], "{c:?}");
        }
        for name in [
            "\u{1f404}\u{fe0f}",
            "\u{1f469}\u{200d}\u{1f33e} ewes",
            "\u{645}\u{632}\u{631}\u{639}\u{629}",
            "Ll\u{177}n & S\u{f8}n",
            "\u{8fb2}\u{5834}",
        ] {
            assert_eq!(app.post("/v1/one").json(&thing(name)).send().await.ok()["name"], name);
        }
        for control in ["Fa\nrm", "Fa\trm", "Fa\u{7f}rm", "\u{0}"] {
            assert_eq!(app.post("/v1/one").json(&thing(control)).send().await.errors(), ["name format"]);
        }
    });
}

#[test]
fn names_of_invisible_characters_are_blank() {
    testkit::block_on(async {
        let app = start().await;
        for name in ["\u{fe0f}", " \u{e0067}\u{200d}\u{fe0f} ", "\u{200b}", "\u{180b}"] {
            assert_eq!(
                app.post("/v1/one").json(&thing(name)).send().await.errors(),
                ["name length"],
                "{name:?}"
            );
        }
    });
}

#[test]
fn the_error_of_a_date_states_the_expected_format() {
    testkit::block_on(async {
        let app = start().await;
        let reply = app.get("/v1/hear?must=ab&day=01/03/2026").send().await.json();
        let expected =
            "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z";
        assert_eq!(reply["validation"][0]["message"], expected);
    });
}

#[test]
fn normalizes_names_but_not_ids_of_tokens() {
    testkit::block_on(async {
        let app = start().await;
        let user = User::of(" fe\u{301}rme ").with("orgName", " La Fe\u{301}rme ");
        let who = app.get("/v1/who").by(&user).send().await.ok();
        assert_eq!(who["org"], " fe\u{301}rme ");
        assert_eq!(who["orgName"], "La F\u{e9}rme");
    });
}

#[test]
fn common_forms_of_times_and_bodies_are_accepted() {
    testkit::block_on(async {
        let app = start().await;
        let heard = app.get("/v1/hear?must=ab&day=2026-03-01T10:00Z").send().await.ok();
        assert_eq!(heard["day"], "2026-03-01T10:00Z");
        let spaced = app.get("/v1/hear?must=ab&day=2026-03-01T10:00:00+01:00").send().await;
        let message = spaced.json()["message"].to_string();
        assert!(message.contains("%2B"), "{message}");
        assert_eq!(spaced.errors(), ["day format"]);
        let many = app.get("/v1/hear?must=ab&many%5B%5D=a&many%5B%5D=b,c").send().await.ok();
        assert_eq!(many["many"], json!(["a", "b", "c"]));
        let mut body = thing("a");
        body["note"] = json!("age\tweight");
        let marked = format!("\u{feff}{body}");
        let post = app.post("/v1/one").body("application/json", marked);
        assert_eq!(post.send().await.ok()["note"], "age\tweight");
    });
}

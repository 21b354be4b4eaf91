//! Who is calling: tokens, claims, roles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use testkit::{App, Backend, TestDatabase, TestRequest, User};

use crate::echo::{Echo, start};

fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

fn user_with(claim: &str, value: Value) -> User {
    let mut user = User::of("a");
    user.claims[claim] = value;
    user
}

/// The `WWW-Authenticate` header of a 401.
async fn refused(call: TestRequest) -> String {
    let reply = call.send().await;
    assert_eq!(reply.status, 401, "{}", reply.text());
    assert_eq!(reply.json()["code"], "unauthenticated");
    assert!(!reply.json()["message"].as_str().unwrap().is_empty());
    reply.header("www-authenticate").to_owned()
}

#[test]
fn what_is_no_good_token() {
    testkit::block_on(async {
        let app = start().await;
        let who = || app.get("/v1/who");
        assert_eq!(refused(who()).await, "Bearer realm=\"drover\"");
        let token = User::of("a").token();
        let (signed, _) = token.rsplit_once('.').unwrap();
        let (head, rest) = token.split_once('.').unwrap();
        let flat = |json: Value| URL_SAFE_NO_PAD.encode(json.to_string());
        let (claims, _) = rest.split_once('.').unwrap();
        let none = format!("{}.{claims}.", flat(json!({"alg": "none", "kid": "test"})));
        let none_signed = format!("{}.{rest}", flat(json!({"alg": "none", "kid": "test"})));
        let other_claims = User::admin().token().split('.').nth(1).unwrap().to_owned();
        let swapped = format!("{head}.{other_claims}.{}", token.rsplit_once('.').unwrap().1);
        let bad = [
            "",
            "x",
            "a.b.c",
            signed,
            &format!("{signed}."),
            &none,
            &none_signed,
            &swapped,
            &format!("{token}x"),
            &token[1..],
            &format!("{token}.{token}"),
            &"x".repeat(5000),
        ];
        for token in bad {
            let header = refused(who().bearer(token)).await;
            assert!(
                header.starts_with("Bearer error=\"invalid_token\", error_description=\""),
                "{token}: {header}"
            );
        }
        for value in ["", "Bearer", "Basic dTpw", &format!("Token {token}"), &token] {
            refused(who().header("authorization", value)).await;
        }
        refused(who().bearer(&token).header("authorization", &format!("Bearer {token}"))).await;
        for value in [format!("bearer {token}"), format!("BEARER  {token}")] {
            assert_eq!(who().header("authorization", &value).send().await.status, 200, "{value}");
        }
    });
}

#[test]
fn claims_are_checked() {
    testkit::block_on(async {
        let app = start().await;
        let who = |user: &User| app.get("/v1/who").by(user);
        for (claim, value, part) in [
            ("exp", json!(now() - 40), "expired"),
            ("nbf", json!(now() + 40), "not valid yet"),
            ("aud", json!("other"), "audience"),
            ("aud", json!([]), "audience"),
            ("iss", json!("other"), "issuer"),
            ("iss", json!([testkit::ISSUER]), "issuer is not a string"),
            ("iss", json!(["other", testkit::ISSUER]), "issuer is not a string"),
            ("sub", json!(" "), "names nobody"),
            ("sub", json!(5), "names nobody"),
            ("exp", json!("soon"), ""),
            ("nbf", json!("later"), "wrong type"),
        ] {
            let header = refused(who(&user_with(claim, value.clone()))).await;
            assert!(header.contains(part), "{claim} {value}: {header}");
        }
        for missing in ["exp", "aud", "iss", "sub"] {
            let mut user = User::of("a");
            user.claims.as_object_mut().unwrap().remove(missing);
            refused(who(&user)).await;
        }
        for (claim, value) in [
            ("exp", json!(now() - 20)),
            ("nbf", json!(now() + 20)),
            ("aud", json!(["other", "drover"])),
            ("exp", json!(4_102_444_800_u64)),
        ] {
            assert_eq!(who(&user_with(claim, value.clone())).send().await.status, 200, "{claim} {value}");
        }
    });
}

#[test]
fn a_token_that_was_good_expires() {
    testkit::block_on(async {
        let app = start().await;
        let token = user_with("exp", json!(now() - 27)).token();
        for _ in 0..2 {
            assert_eq!(app.get("/v1/who").bearer(&token).send().await.status, 200);
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let header = refused(app.get("/v1/who").bearer(&token)).await;
        assert!(header.contains("expired"), "{header}");
    });
}

#[test]
fn claims_become_the_caller() {
    testkit::block_on(async {
        let app = start().await;
        let who = async |user: &User| app.get("/v1/who").by(user).send().await.ok();
        let known = who(&User::of("a")).await;
        assert_eq!((&known["id"], &known["name"]), (&json!("user-of-a"), &json!("Name of user-of-a")));
        assert_eq!((&known["org"], &known["orgName"]), (&json!("a"), &json!("Organisation a")));
        let bare = who(&user_with("orgName", json!(null)).with("name", " ")).await;
        assert_eq!((&bare["name"], &bare["orgName"]), (&json!("user-of-a"), &json!("a")));
        let disguised =
            user_with("orgName", json!("Mill\u{202e} & Co\u{200b}")).with("name", "\u{200b}\u{feff}");
        let disguised = who(&disguised).await;
        assert_eq!((&disguised["name"], &disguised["orgName"]), (&json!("user-of-a"), &json!("Mill & Co")));
        let alone = who(&User::individual("z").with("org", "")).await;
        assert_eq!((&alone["org"], &alone["admin"]), (&json!(null), &json!(false)));
        for (roles, admin) in [
            (json!(["x", "admin"]), true),
            (json!(["Admin"]), false),
            (json!("admin"), false),
            (json!({"admin": true}), false),
        ] {
            assert_eq!(who(&user_with("roles", roles.clone())).await["admin"], admin, "{roles}");
        }
    });
}

#[test]
fn roles_come_before_parameters_and_only_where_needed() {
    testkit::block_on(async {
        let app = start().await;
        let bad = "/v1/admin?ms=x";
        assert_eq!(app.get(bad).send().await.error(401), "unauthenticated");
        assert_eq!(app.get(bad).by(&User::of("a")).send().await.error(403), "forbidden");
        assert_eq!(app.get(bad).by(&User::admin()).send().await.errors(), ["ms type"]);
        assert_eq!(app.get("/v1/admin").by(&User::admin()).send().await.ok(), "admin");
        assert_eq!(app.get("/v1/member").by(&User::of("a")).send().await.ok(), "a");
        let nobody = app.get("/v1/member").by(&User::admin()).send().await;
        assert_eq!(nobody.json()["message"], "This needs a token that names an organisation.");
        assert_eq!(nobody.error(403), "forbidden");
        // Where nobody asks who calls, a bad token is ignored.
        assert_eq!(app.get("/v1/public").bearer("nonsense").send().await.status, 200);
    });
}

#[test]
fn claims_of_other_names() {
    testkit::block_on(async {
        let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
        let mut config = testkit::config::<Echo>(&database, ());
        config.auth.claims.sub = "oid".into();
        config.auth.claims.org = "https://drover.example/org".into();
        config.auth.claims.roles = "groups".into();
        let app = App::start_with::<Echo>(database, config).await;
        let mut user = user_with("oid", json!("x1")).with("https://drover.example/org", "o1");
        user.claims["groups"] = json!(["admin"]);
        user.claims.as_object_mut().unwrap().remove("sub");
        let who = app.get("/v1/who").by(&user).send().await.ok();
        assert_eq!((&who["id"], &who["org"], &who["admin"]), (&json!("x1"), &json!("o1"), &json!(true)));
        refused(app.get("/v1/who").by(&User::of("a"))).await;
    });
}

#[test]
fn a_public_key_is_no_shared_secret() {
    testkit::block_on(async {
        let app = start().await;
        let set: Value = serde_json::from_slice(&std::fs::read(testkit::jwks_file()).unwrap()).unwrap();
        let x = set["keys"][0]["x"].as_str().unwrap();
        for secret in [x.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(x).unwrap()] {
            let header = Header { kid: Some("test".into()), ..Header::new(Algorithm::HS256) };
            let key = EncodingKey::from_secret(&secret);
            let token = jsonwebtoken::encode(&header, &User::admin().claims, &key).unwrap();
            let header = refused(app.get("/v1/who").bearer(&token)).await;
            assert!(header.contains("another algorithm"), "{header}");
        }
    });
}

#[test]
#[should_panic(expected = "\"make_thing\"")]
fn an_operation_without_a_rule_is_named() {
    testkit::block_on(async {
        testkit::assert_access_rules(&start().await, vec![]).await;
    });
}

#[test]
#[should_panic(expected = "nobody is refused twice")]
fn a_rule_stands_once() {
    testkit::block_on(async {
        let rules = vec![
            ("nobody is refused twice", testkit::AccessRule::Public),
            ("nobody is refused twice", testkit::AccessRule::Admin),
        ];
        testkit::assert_access_rules(&start().await, rules).await;
    });
}

//! Authentication and authorization: tokens, claims, roles.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::{Value, json};
use testkit::{TestRequest, User};

use crate::echo::{start, start_with};

fn now() -> i64 {
    chrono::Utc::now().timestamp()
}

fn user_with(claim: &str, value: Value) -> User {
    let mut user = User::of("a");
    user.claims[claim] = value;
    user
}

/// Asserts that the response is 401. Returns its `WWW-Authenticate` header.
async fn assert_unauthenticated(call: TestRequest) -> String {
    let reply = call.send().await;
    assert_eq!(reply.status, 401, "{}", reply.text());
    assert_eq!(reply.json()["code"], "unauthenticated");
    assert!(!reply.json()["message"].as_str().unwrap().is_empty());
    reply.header("www-authenticate").to_owned()
}

#[test]
fn rejects_invalid_tokens() {
    testkit::block_on(async {
        let app = start().await;
        let who = || app.get("/v1/who");
        assert_eq!(assert_unauthenticated(who()).await, "Bearer realm=\"drover\"");
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
            let header = assert_unauthenticated(who().bearer(token)).await;
            assert!(
                header.starts_with("Bearer error=\"invalid_token\", error_description=\""),
                "{token}: {header}"
            );
        }
        for value in ["", "Bearer", "Basic dTpw", &format!("Token {token}"), &token] {
            assert_unauthenticated(who().header("authorization", value)).await;
        }
        assert_unauthenticated(who().bearer(&token).header("authorization", &format!("Bearer {token}")))
            .await;
        for value in [format!("bearer {token}"), format!("BEARER  {token}")] {
            assert_eq!(who().header("authorization", &value).send().await.status, 200, "{value}");
        }
    });
}

#[test]
fn validates_claims() {
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
            ("sub", json!(" "), "no user id"),
            ("sub", json!(5), "no user id"),
            ("sub", json!("erased-1"), "reserved for users who were erased"),
            ("exp", json!("soon"), ""),
            ("nbf", json!("later"), "wrong type"),
        ] {
            let header = assert_unauthenticated(who(&user_with(claim, value.clone()))).await;
            assert!(header.contains(part), "{claim} {value}: {header}");
        }
        for missing in ["exp", "aud", "iss", "sub"] {
            let mut user = User::of("a");
            user.claims.as_object_mut().unwrap().remove(missing);
            assert_unauthenticated(who(&user)).await;
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
fn cached_tokens_expire() {
    testkit::block_on(async {
        let app = start().await;
        let token = user_with("exp", json!(now() - 27)).token();
        for _ in 0..2 {
            assert_eq!(app.get("/v1/who").bearer(&token).send().await.status, 200);
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
        let header = assert_unauthenticated(app.get("/v1/who").bearer(&token)).await;
        assert!(header.contains("expired"), "{header}");
    });
}

#[test]
fn reads_the_caller_from_claims() {
    testkit::block_on(async {
        let app = start().await;
        let who = async |user: &User| app.get("/v1/who").by(user).send().await.ok();
        let caller = who(&User::of("a")).await;
        assert_eq!((&caller["id"], &caller["name"]), (&json!("user-of-a"), &json!("Name of user-of-a")));
        assert_eq!((&caller["org"], &caller["orgName"]), (&json!("a"), &json!("Organisation a")));
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
fn checks_roles_before_parameters() {
    testkit::block_on(async {
        let app = start().await;
        let path = "/v1/admin?ms=x";
        assert_eq!(app.get(path).send().await.error(401), "unauthenticated");
        assert_eq!(app.get(path).by(&User::of("a")).send().await.error(403), "forbidden");
        assert_eq!(app.get(path).by(&User::admin()).send().await.errors(), ["ms type"]);
        assert_eq!(app.get("/v1/admin").by(&User::admin()).send().await.ok(), "admin");
        assert_eq!(app.get("/v1/member").by(&User::of("a")).send().await.ok(), "a");
        let without_organisation = app.get("/v1/member").by(&User::admin()).send().await;
        assert_eq!(without_organisation.json()["message"], "This needs a token that names an organisation.");
        assert_eq!(without_organisation.error(403), "forbidden");
        // Operations without authorization ignore invalid tokens.
        assert_eq!(app.get("/v1/public").bearer("nonsense").send().await.status, 200);
    });
}

#[test]
fn reads_claims_by_their_configured_names() {
    testkit::block_on(async {
        let app = start_with(|config| {
            config.auth.claims.sub = "oid".into();
            config.auth.claims.org = "https://drover.example/org".into();
            config.auth.claims.roles = "groups".into();
        });
        let app = app.await;
        let mut user = user_with("oid", json!("x1")).with("https://drover.example/org", "o1");
        user.claims["groups"] = json!(["admin"]);
        user.claims.as_object_mut().unwrap().remove("sub");
        let who = app.get("/v1/who").by(&user).send().await.ok();
        assert_eq!((&who["id"], &who["org"], &who["admin"]), (&json!("x1"), &json!("o1"), &json!(true)));
        assert_unauthenticated(app.get("/v1/who").by(&User::of("a"))).await;
    });
}

#[test]
fn reads_claims_by_their_configured_paths() {
    testkit::block_on(async {
        let app = start_with(|config| {
            let claims = &mut config.auth.claims;
            claims.sub = "user.id".into();
            claims.name = "user.name".into();
            claims.org = "user.organisation.id".into();
            claims.org_name = "user.organisation.name".into();
            claims.roles = "realm_access.roles".into();
        });
        let app = app.await;
        let mut user = User::of("a");
        for claim in ["sub", "name", "org", "orgName"] {
            user.claims.as_object_mut().unwrap().remove(claim);
        }
        assert_unauthenticated(app.get("/v1/who").by(&user)).await;
        user.claims["user"] =
            json!({"id": "x1", "name": "Ruth", "organisation": {"id": "o1", "name": "Mill"}});
        user.claims["realm_access"] = json!({"roles": ["admin"]});
        let who = async |user: &User| app.get("/v1/who").by(user).send().await.ok();
        let expected = json!({"id": "x1", "name": "Ruth", "org": "o1", "orgName": "Mill", "admin": true});
        let caller = who(&user).await;
        for (member, value) in expected.as_object().unwrap() {
            assert_eq!(&caller[member], value, "{caller}");
        }
        // A claim with this very name takes precedence over the path.
        user.claims["realm_access.roles"] = json!([]);
        assert_eq!(who(&user).await["admin"], false);
        user.claims["user.organisation.id"] = json!("o".repeat(201));
        assert_unauthenticated(app.get("/v1/who").by(&user)).await;
    });
}

#[test]
fn rejects_tokens_signed_with_a_public_key_as_secret() {
    testkit::block_on(async {
        let app = start().await;
        let set: Value = serde_json::from_slice(&std::fs::read(testkit::jwks_file()).unwrap()).unwrap();
        let x = set["keys"][0]["x"].as_str().unwrap();
        for secret in [x.as_bytes().to_vec(), URL_SAFE_NO_PAD.decode(x).unwrap()] {
            let header = Header { kid: Some("test".into()), ..Header::new(Algorithm::HS256) };
            let key = EncodingKey::from_secret(&secret);
            let token = jsonwebtoken::encode(&header, &User::admin().claims, &key).unwrap();
            let header = assert_unauthenticated(app.get("/v1/who").bearer(&token)).await;
            assert!(header.contains("another algorithm"), "{header}");
        }
    });
}

#[test]
#[should_panic(expected = "\"make_thing\"")]
fn authorization_matrix_fails_for_an_operation_without_a_rule() {
    testkit::block_on(async {
        testkit::assert_access_rules(&start().await, vec![]).await;
    });
}

#[test]
#[should_panic(expected = "an operation with two rules")]
fn authorization_matrix_fails_for_a_duplicate_rule() {
    testkit::block_on(async {
        let rules = vec![
            ("an operation with two rules", testkit::AccessRule::Public),
            ("an operation with two rules", testkit::AccessRule::Admin),
        ];
        testkit::assert_access_rules(&start().await, rules).await;
    });
}

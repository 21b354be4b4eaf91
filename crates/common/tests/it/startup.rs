//! Verification keys from files and URLs, and invalid settings at startup.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use testkit::{App, Backend, TestDatabase, User};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::echo::Echo;
use crate::keys::Key;

async fn config() -> (TestDatabase, common::Config<()>) {
    let database = TestDatabase::new::<Echo>(Backend::Sqlite).await;
    let config = testkit::config::<Echo>(&database, ());
    (database, config)
}

async fn status(app: &App, token: &str) -> u16 {
    app.get("/v1/who").bearer(token).send().await.status
}

#[test]
fn reads_each_kind_of_key_from_a_file() {
    testkit::block_on(async {
        let keys = [Key::rsa("r"), Key::p256("p"), Key::ed25519("e")];
        let (database, mut config) = config().await;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("jwks.json");
        let mut set: Vec<Value> = keys.iter().map(Key::public).collect();
        // Unusable keys are ignored.
        set.push(json!({"kty": "oct", "k": "c2VjcmV0", "kid": "o", "alg": "HS256"}));
        set.push(json!({"kty": "AKP", "alg": "ML-DSA-44", "kid": "q", "pub": "AAAA"}));
        set.push(json!({"nonsense": true}));
        let mut encryption = Key::rsa("enc");
        let mut public = encryption.public();
        public["use"] = json!("enc");
        set.push(public);
        let mut other = Key::rsa("pss").public();
        other["alg"] = json!("PS256");
        set.push(other);
        std::fs::write(&file, json!({"keys": set}).to_string()).unwrap();
        config.auth.jwks_file = Some(file);
        let app = App::start_with::<Echo>(database, config).await;
        let claims = User::of("a").claims;
        for key in &keys {
            assert_eq!(status(&app, &key.sign(&claims)).await, 200, "{}", key.kid);
        }
        // A key of another kind with a known `kid`.
        for (name, mut key) in
            [("r", Key::p256("x")), ("e", Key::rsa("x")), ("p", Key::ed25519("x")), ("r", Key::rsa("x"))]
        {
            key.kid = name;
            assert_eq!(status(&app, &key.sign(&claims)).await, 401, "{name}");
        }
        encryption.kid = "enc";
        assert_eq!(status(&app, &encryption.sign(&claims)).await, 401);
        assert_eq!(status(&app, &Key::rsa("unknown").sign(&claims)).await, 401);
    });
}

/// Makes the server return these keys, and forgets the requests so far.
async fn serve(server: &MockServer, keys: &[&Key]) {
    server.reset().await;
    let set: Vec<_> = keys.iter().map(|key| key.public()).collect();
    let response = ResponseTemplate::new(200).set_body_json(json!({ "keys": set }));
    Mock::given(path("/jwks")).respond_with(response).mount(server).await;
}

async fn request_count(server: &MockServer) -> usize {
    server.received_requests().await.unwrap().len()
}

#[test]
fn reads_keys_from_a_url_again_at_most_every_ten_seconds() {
    testkit::block_on(async {
        let (old, new) = (Key::p256("old"), Key::ed25519("new"));
        let server = MockServer::start().await;
        serve(&server, &[&old]).await;
        let (database, mut config) = config().await;
        config.auth.jwks_file = None;
        config.auth.jwks_url = Some(format!("{}/jwks", server.uri()).parse().unwrap());
        let app = App::start_with::<Echo>(database, config).await;
        let started = Instant::now();
        let claims = User::of("a").claims;
        // The same token each time: it is cached until its key is withdrawn.
        let withdrawn = old.sign(&claims);
        assert_eq!(status(&app, &withdrawn).await, 200);
        serve(&server, &[&new]).await;
        for _ in 0..5 {
            assert_eq!(status(&app, &new.sign(&claims)).await, 401);
            assert_eq!(status(&app, &withdrawn).await, 200);
        }
        assert_eq!(request_count(&server).await, 0, "requested within 10 s");
        assert!(started.elapsed() < Duration::from_secs(8), "too slow to tell");
        tokio::time::sleep(Duration::from_millis(10_100).saturating_sub(started.elapsed())).await;
        let token = new.sign(&claims);
        let all = futures_util::future::join_all((0..10).map(|_| status(&app, &token))).await;
        assert_eq!(all, [200; 10]);
        assert_eq!(request_count(&server).await, 1);
        assert_eq!(status(&app, &withdrawn).await, 401, "withdrawn");
        assert_eq!(request_count(&server).await, 1);
    });
}

#[test]
fn answers_503_to_tokens_until_keys_are_available() {
    testkit::block_on(async {
        let key = Key::rsa("r");
        let server = MockServer::start().await;
        let (database, mut config) = config().await;
        config.auth.jwks_file = None;
        config.auth.jwks_url = Some(format!("{}/jwks", server.uri()).parse().unwrap());
        let app = App::start_with::<Echo>(database, config).await;
        let started = Instant::now();
        let token = key.sign(&User::of("a").claims);
        let refused = app.get("/v1/who").bearer(&token).send().await;
        assert_eq!(refused.header("retry-after"), "2");
        assert_eq!(refused.error(503), "dependency_unavailable");
        assert_eq!(app.get("/v1/who").send().await.error(401), "unauthenticated");
        assert_eq!(app.get("/v1/public").bearer(&token).send().await.status, 200);
        serve(&server, &[&key]).await;
        while status(&app, &token).await != 200 {
            assert!(started.elapsed() < Duration::from_secs(13), "the keys are not read");
            tokio::time::sleep(Duration::from_millis(250)).await;
        }
    });
}

/// Makes the configuration invalid.
type Change = Box<dyn FnOnce(&mut common::Config<()>)>;

#[test]
fn names_the_invalid_setting() {
    testkit::block_on(async {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let file = folder.path().join(name);
            std::fs::write(&file, text).unwrap();
            Some(file)
        };
        let url = Some("http://127.0.0.1:1/jwks".parse().unwrap());
        let (texts, empty) = (write("text", "hello"), write("empty", r#"{"keys": []}"#));
        let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = taken.local_addr().unwrap().port();
        let cases: Vec<(Change, &str)> = vec![
            (Box::new(|c| c.auth.jwks_file = None), "DROVER_AUTH__JWKS_URL"),
            (Box::new(|c| c.auth.jwks_url = url), "not both"),
            (Box::new(|c| c.auth.jwks_file = Some("/no/such/file".into())), "/no/such/file"),
            (Box::new(|c| c.auth.jwks_file = texts), "not a JWKS document"),
            (Box::new(|c| c.auth.jwks_file = empty), "no RSA, P-256 or Ed25519 key"),
            (Box::new(|c| c.auth.issuer = None), "DROVER_AUTH__ISSUER"),
            (Box::new(|c| c.auth.audience = None), "DROVER_AUTH__AUDIENCE"),
            (
                Box::new(|c| c.auth.docs.client_id = Some("docs".to_owned())),
                "auth.docs.authorization_url (DROVER_AUTH__DOCS__AUTHORIZATION_URL) is missing",
            ),
            (Box::new(move |c| c.server.port = port), "DROVER_SERVER__PORT"),
            (Box::new(|c| c.server.host = "nonsense.invalid".into()), "cannot listen on nonsense.invalid"),
            (Box::new(|c| c.server.host = "192.0.2.1".into()), "set server.host (DROVER_SERVER__HOST)"),
            (Box::new(|c| c.database.url = "mysql://h/d".into()), "must start with"),
            (
                Box::new(|c| c.log.level = "loud".into()),
                "log.level (DROVER_LOG__LEVEL) is \"loud\": set it to off, error, warn, info, debug, trace",
            ),
            (
                Box::new(|c| c.server.cors_origins = vec!["*".into(), "app.example".into()]),
                "server.cors_origins (DROVER_SERVER__CORS_ORIGINS) has \"app.example\"",
            ),
            (
                Box::new(|c| c.server.trusted_proxies = vec!["proxy".into()]),
                "server.trusted_proxies (DROVER_SERVER__TRUSTED_PROXIES) has \"proxy\"",
            ),
        ];
        for (change, part) in cases {
            let (_database, mut config) = config().await;
            change(&mut config);
            let Err(error) = common::start::<Echo>(config).await else { panic!("started without {part}") };
            let message = format!("{error:#}");
            assert!(message.contains(part) && !message.contains('\n'), "{part}: {message}");
        }
    });
}

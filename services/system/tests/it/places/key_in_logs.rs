//! The key of a provider stands in no log line, whatever is logged and however the provider fails; nor do the other
//! secrets of this service.

use testkit::{Process, S3, User};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use super::{KEY, loqate};
use crate::files::{form, part};

const CACHE_PASSWORD: &str = "cache-password-5b1e";

#[test]
fn not_even_traced() {
    testkit::block_on(async {
        let stub = MockServer::start().await;
        let echo =
            ResponseTemplate::new(401).set_body_string(format!("{{\"error\":{{\"code\":\"{KEY}\"}}}}"));
        Mock::given(path("/v3/convert-to-coordinates")).respond_with(echo).mount(&stub).await;
        let refused = ResponseTemplate::new(200).set_body_string(format!(
            "{{\"Items\":[{{\"Error\":\"2\",\"Description\":\"no such key: {KEY}\"}}]}}"
        ));
        Mock::given(path(loqate::FIND)).respond_with(refused).mount(&stub).await;
        let (folder, s3) = (tempfile::tempdir().unwrap(), S3::with_unique_prefix());
        // Nobody listens there.
        let cache = format!("redis://:{CACHE_PASSWORD}@127.0.0.1:9");
        let database = format!("sqlite://{}/db", folder.path().display());
        let uri = stub.uri();
        let service = Process::start(
            env!("CARGO_BIN_EXE_system"),
            &[
                ("LOG__LEVEL", "trace"),
                ("DATABASE__URL", &database),
                ("SERVICE__STORE_URL", &s3.url),
                ("SERVICE__STORE_ENDPOINT", &s3.endpoint),
                ("SERVICE__STORE_ACCESS_KEY", &s3.key),
                ("SERVICE__STORE_SECRET_KEY", &s3.secret),
                ("SERVICE__CACHE_URL", &cache),
                ("SERVICE__WORDS_PROVIDER", "what3words"),
                ("SERVICE__WORDS_URL", &uri),
                ("SERVICE__WORDS_KEY", KEY),
                ("SERVICE__ADDRESS_PROVIDER", "loqate"),
                ("SERVICE__ADDRESS_URL", &uri),
                ("SERVICE__ADDRESS_KEY", KEY),
            ],
        );
        for query in ["locations/three-words?query=a.b.c", "addresses?query=x", "locations/address?id=x"] {
            let reply = service.call("GET", &format!("/v1/{query}")).send().await;
            assert_eq!(reply.status, 503);
            assert!(!reply.text().contains(KEY));
            reply.assert_no_internals();
        }
        let token = User::of("farm").token();
        let form = form("files", "misc", "x").part("file", part(b"x"));
        service.call("POST", "/v1/files").bearer(&token).form(form).send().await.ok();
        let log = service.log();
        assert!(log.contains("it answered error 2\"") && log.contains("it answered 401"), "{log}");
        for secret in [KEY, CACHE_PASSWORD, &s3.secret].into_iter().chain(token.split('.').skip(1)) {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    });
}

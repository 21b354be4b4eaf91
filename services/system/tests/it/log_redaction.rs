//! Logs contain no secret of the service, at any log level and however a provider fails.

use testkit::{Process, S3, User};
use wiremock::matchers::path;
use wiremock::{Mock, MockServer, ResponseTemplate};

use crate::UNREACHABLE;
use crate::files::{form, id, part};
use crate::places::{KEY, loqate};

const CACHE_PASSWORD: &str = "cache-password-5b1e";

#[test]
fn trace_logs_contain_no_secrets_of_postgres_redis_and_s3() {
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
        let cache = format!("redis://:{CACHE_PASSWORD}@{UNREACHABLE}");
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
        let file = id(&service.call("POST", "/v1/files").bearer(&token).form(form).send().await.ok());
        let link = service.call("POST", &format!("/v1/files/{file}/link")).bearer(&token).send().await.ok();
        let link = link["url"].as_str().unwrap();
        let (link, signature) = (&link[link.find("/v1/").unwrap()..], link.rsplit('=').next().unwrap());
        for (path, status) in [(link.to_owned(), 200), (link.replace("expires=", "expires=0"), 403)] {
            assert_eq!(service.call("GET", &path).send().await.status, status);
        }
        let log = service.log();
        assert!(
            log.contains("the response is error 2\"") && log.contains("the response has status 401"),
            "{log}"
        );
        for secret in [KEY, CACHE_PASSWORD, &s3.secret, signature].into_iter().chain(token.split('.').skip(1))
        {
            assert!(!log.contains(secret), "{secret}: {log}");
        }
    });
}

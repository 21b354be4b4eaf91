//! Tests of parsing and redaction.

use redis::ConnectionAddr;

use super::*;

fn parse(url: &str) -> RedisUrl {
    RedisUrl::parse(url).unwrap_or_else(|error| panic!("{url}: {error:#}"))
}

fn sentinel(url: &str) -> SentinelUrl {
    let RedisUrl::Sentinel(parsed) = parse(url) else { panic!("{url}") };
    parsed
}

fn cluster(url: &str) -> Vec<ConnectionInfo> {
    let RedisUrl::Cluster(parsed) = parse(url) else { panic!("{url}") };
    parsed
}

fn addresses(servers: &[ConnectionInfo]) -> Vec<String> {
    servers.iter().map(|server| server.addr().to_string()).collect()
}

fn credentials(settings: &RedisConnectionInfo) -> (Option<&str>, Option<&str>) {
    (settings.username(), settings.password())
}

#[test]
fn one_server() {
    let RedisUrl::Server(server) = parse("redis://user:p%40ss@cache:7000/2") else { panic!() };
    assert_eq!(server.addr().to_string(), "cache:7000");
    assert_eq!(credentials(server.redis_settings()), (Some("user"), Some("p@ss")));
    assert_eq!(server.redis_settings().db(), 2);
}

#[test]
fn sentinels_have_credentials_of_their_own() {
    let url = sentinel("redis+sentinel://user:p%2Fss@s1,s2:7000,[::1]:7001/my-master.1_a/3");
    assert_eq!(addresses(&url.sentinels), ["s1:26379", "s2:7000", "::1:7001"]);
    assert_eq!((url.master.as_str(), url.settings.db(), url.tls), ("my-master.1_a", 3, false));
    assert_eq!(credentials(&url.settings), (Some("user"), Some("p/ss")));
    assert!(url.sentinels.iter().all(|sentinel| credentials(sentinel.redis_settings()) == (None, None)));

    let url = sentinel("rediss+sentinel://:secret@s1/m?sentinel_user=watch&sentinel_password=a+b%40");
    assert_eq!(credentials(&url.settings), (None, Some("secret")));
    assert_eq!(credentials(url.sentinels[0].redis_settings()), (Some("watch"), Some("a+b@")));
    assert!(url.tls && matches!(url.sentinels[0].addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
    let url = sentinel("redis+sentinel://s1/m?sentinel_password=x");
    assert_eq!(credentials(url.sentinels[0].redis_settings()), (None, Some("x")));
    assert_eq!((credentials(&url.settings), url.settings.db()), ((None, None), 0));
}

#[test]
fn nodes_of_a_cluster_share_the_credentials() {
    for end in ["", "/", "/0"] {
        let nodes = cluster(&format!("redis+cluster://user:secret@c1,c2:7000{end}"));
        assert_eq!(addresses(&nodes), ["c1:6379", "c2:7000"]);
        assert!(
            nodes.iter().all(|node| credentials(node.redis_settings()) == (Some("user"), Some("secret")))
        );
    }
    let nodes = cluster("rediss+cluster://c1");
    assert!(matches!(nodes[0].addr(), ConnectionAddr::TcpTls { insecure: false, .. }));
    assert_eq!(credentials(nodes[0].redis_settings()), (None, None));
}

/// Each message is one line that says what to write, without anything of the URL.
#[test]
fn invalid_urls_are_refused_with_an_example() {
    for (url, expected) in [
        ("", EXPECTED),
        ("memory", EXPECTED),
        ("http://hunter2", EXPECTED),
        ("redis://", EXPECTED),
        ("redis://:hunter2@cache/many", EXPECTED),
        ("redis+replica://hunter2", EXPECTED),
        ("http+cluster://hunter2", EXPECTED),
        ("redis+sentinel://s1:26379", SENTINEL_PATH),
        ("redis+sentinel://s1:26379/", SENTINEL_PATH),
        ("redis+sentinel://s1/m/hunter2", SENTINEL_PATH),
        ("redis+sentinel://s1/m/0/hunter2", SENTINEL_PATH),
        ("redis+sentinel://user:1/hunter2@s1/m", SENTINEL_PATH),
        ("redis+sentinel://user:1/hunter2@s1", SENTINEL_PATH),
        ("redis+sentinel://s1/m#insecure", SENTINEL_PATH),
        ("redis+sentinel://s1/m?password=hunter2", SENTINEL_PARAMETERS),
        ("redis+sentinel://s1/m?hunter2", SENTINEL_PARAMETERS),
        ("redis+sentinel://s1/m?sentinel_password=hunter2/x", HOSTS),
        ("redis+sentinel://s1/m?sentinel_user=watch&sentinel_password=1/hunter2", HOSTS),
        ("redis+sentinel://user:1#hunter2@s1/m", HOSTS),
        ("redis+sentinel:///m", HOSTS),
        ("redis+sentinel://s1,,s2/m", HOSTS),
        ("redis+sentinel://s1:hunter2/m", HOSTS),
        ("redis+cluster://", HOSTS),
        ("redis+cluster://c1,c2:99999", HOSTS),
        ("redis+cluster://c1#insecure", HOSTS),
        ("redis+cluster://c1/1", CLUSTER_PATH),
        ("redis+cluster://user:hunter2?x@c1", CLUSTER_PATH),
        ("redis+cluster://c1?protocol=resp3", CLUSTER_PATH),
    ] {
        let Err(error) = RedisUrl::parse(url) else { panic!("{url} is accepted") };
        assert_eq!(error.to_string(), expected, "{url}");
        let chain = format!("{error:#}");
        assert!(!chain.contains('\n') && !chain.contains("hunter2"), "{chain}");
        if url.contains(['+', '@']) {
            assert!(!without_password(url).contains("hunter2"), "{url}");
        }
    }
}

#[test]
fn passwords_are_removed() {
    for (url, displayed) in [
        ("memory:", "memory:"),
        ("redis://user:hunter2@cache:1/2", "redis://user@cache:1/2"),
        ("redis://:hunter2@:", ""),
        ("redis+sentinel://user:hunter2@s1,s2:1/m/0", "redis+sentinel://user@s1,s2:1/m/0"),
        ("rediss+sentinel://:hunter2@s1/m?sentinel_password=hunter2", "rediss+sentinel://s1/m"),
        ("redis+cluster://hunter:hunter2@c1,c2", "redis+cluster://hunter@c1,c2"),
        ("redis+cluster://c1:1", "redis+cluster://c1:1"),
        ("redis+cluster://user:hunter2@c1,c2:x", ""),
    ] {
        assert_eq!(without_password(url), displayed);
    }
}

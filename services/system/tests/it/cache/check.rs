//! `check-config` with sentinels and with a cluster.

use testkit::{CommandOutput, RedisCluster, RedisSentinels};

/// Checks the settings of a service with this cache.
fn check(cache_url: &str) -> CommandOutput {
    let folder = tempfile::tempdir().unwrap();
    let path = |scheme: &str, name: &str| format!("{scheme}://{}/{name}", folder.path().display());
    let settings = [
        ("DATABASE__URL", &*path("sqlite", "system.sqlite")),
        ("SERVICE__STORE_URL", &*path("file", "files")),
        ("SERVICE__CACHE_URL", cache_url),
    ];
    testkit::run_command(env!("CARGO_BIN_EXE_system"), &settings, &["check-config"])
}

/// Asserts that the line of the cache begins like this, and that all other checks succeed.
fn assert_line(output: &CommandOutput, begin: &str) {
    let lines: Vec<_> = output.stdout.lines().filter(|line| line.contains(" cache: ")).collect();
    assert!(lines.len() == 1 && lines[0].starts_with(begin), "{output:?}");
    let failures = output.stdout.lines().filter(|line| line.starts_with("failed ")).count();
    let expected = usize::from(begin.starts_with("failed"));
    assert_eq!((failures, output.exit_code), (expected, Some(i32::from(expected > 0))), "{output:?}");
}

fn assert_hides(output: &CommandOutput, passwords: &[&str]) {
    let hides = |text: &str| !passwords.iter().any(|password| text.contains(password));
    assert!(hides(&output.stdout) && hides(&output.stderr), "{output:?}");
}

#[test]
fn sentinels_are_asked_for_the_master() {
    let servers = RedisSentinels::start();
    let (url, passwords) = (servers.url(), servers.passwords());
    let output = check(&url);
    assert_line(&output, "ok cache: Redis at 127.0.0.1:");
    assert!(output.stdout.contains("the master `drover-cache` of the sentinels"), "{output:?}");
    assert_hides(&output, &passwords);
    let hosts = url.split(['@', '/']).find(|part| part.starts_with("127.0.0.1")).unwrap();
    assert!(output.stdout.contains(&format!("redis+sentinel://{hosts}/drover-cache/0")), "{output:?}");
    for (wrong_url, reason) in [
        (url.replace("/drover-cache", "/another"), "name no usable master `another`"),
        (url.replace("sentinel://:", "sentinel://:not-"), "Password authentication failed"),
        (url.replace("password=", "password=not-"), "Password authentication failed"),
    ] {
        let output = check(&wrong_url);
        assert_line(&output, "failed cache: the sentinels at 127.0.0.1:");
        let remedy = "service.cache_url (DROVER_SERVICE__CACHE_URL)";
        assert!(output.stderr.contains(reason) && output.stderr.contains(remedy), "{output:?}");
        assert_hides(&output, &passwords);
    }
}

#[test]
fn cluster_is_described() {
    let servers = RedisCluster::start();
    let output = check(&servers.url());
    assert_line(&output, "ok cache: a Redis cluster with 3 masters");
    assert_hides(&output, &[servers.password()]);
    let output = check(&servers.url().replace("cluster://:", "cluster://:not-"));
    assert_line(&output, "failed cache: no node of the Redis cluster at 127.0.0.1:");
    assert!(output.stderr.contains("assword"), "{output:?}");
    assert_hides(&output, &[servers.password()]);
    // A server that belongs to no cluster.
    let alone = testkit::Redis::start();
    let output = check(&alone.url().replace("redis://", "redis+cluster://"));
    assert_line(&output, "failed cache: ");
    assert!(output.stderr.contains("cluster support disabled"), "{output:?}");
}

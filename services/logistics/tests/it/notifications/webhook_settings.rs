//! Settings of webhooks: validation and secrecy.

use std::process::{Command, Output};

use testkit::TestDatabase;

use super::*;

/// Runs `logistics check-config --offline` with these settings.
fn check(settings: &[(&str, &str)]) -> Output {
    let directory = tempfile::tempdir().unwrap();
    Command::new(env!("CARGO_BIN_EXE_logistics"))
        .args(["check-config", "--offline"])
        .env("DROVER_DATABASE__URL", format!("sqlite://{}/l.sqlite", directory.path().display()))
        .env("DROVER_AUTH__JWKS_FILE", testkit::jwks_file())
        .env("DROVER_AUTH__ISSUER", testkit::ISSUER)
        .env("DROVER_AUTH__AUDIENCE", testkit::AUDIENCE)
        .envs(settings.iter().copied())
        .output()
        .unwrap()
}

const URL: (&str, &str) = ("DROVER_SERVICE__WEBHOOK_URL", "https://ruth:pass-word@hooks.example/drover");

#[test]
fn check_config_redacts_secrets() {
    let both = format!("{},{}", secret(1), secret(2));
    let output = check(&[URL, ("DROVER_SERVICE__WEBHOOK_SECRETS", &both)]);
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{stdout}");
    assert!(stdout.contains("DROVER_SERVICE__WEBHOOK_SECRETS=…,…\n"), "{stdout}");
    assert!(stdout.contains("DROVER_SERVICE__WEBHOOK_URL=https://hooks.example/drover\n"), "{stdout}");
    assert!(!stdout.contains(&secret(1)[10..]), "{stdout}");
}

#[test]
fn check_config_rejects_invalid_webhooks() {
    let secrets = ("DROVER_SERVICE__WEBHOOK_SECRETS", secret(1));
    let assert_rejects = |settings: &[(&str, &str)], part: &str| {
        let output = check(settings);
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(!output.status.success() && message.contains(part), "{settings:?}: {message}");
        assert!(!message.contains("pass-word"), "{message}");
    };
    assert_rejects(&[URL], "set service.webhook_secrets (DROVER_SERVICE__WEBHOOK_SECRETS)");
    assert_rejects(&[URL, ("DROVER_SERVICE__WEBHOOK_SECRETS", "whsec_c2hvcnQ=")], "24 to 64 random bytes");
    let own = (secrets.0, secrets.1.as_str());
    assert_rejects(&[URL, own, ("DROVER_SERVICE__WEBHOOK_TIMEOUT_MS", "0")], "webhook_timeout_ms");
    for (url, part) in [
        ("http://hooks.example/drover", "must be https://"),
        ("ftp://hooks.example/drover", "must be https://"),
        ("https://127.0.0.1/drover", "private network"),
        ("https://localhost/drover", "private network"),
        ("https://a..b/drover", "host name"),
        ("https://2130706433/drover", "private network"),
        ("https://169.254.169.254/latest", "private network"),
        ("https://[::1]/drover", "private network"),
        ("https://[::ffff:10.0.0.1]/drover", "private network"),
        ("https://[fd00::1]/drover", "private network"),
        ("https://0.0.0.0/drover", "private network"),
        ("https://0177.0.0.1/drover", "private network"),
        ("https://0x7f.1/drover", "private network"),
        ("https://127.1/drover", "private network"),
        ("https://127.0.0.1./drover", "private network"),
        ("https://%31%32%37.0.0.1/drover", "private network"),
        ("https://\u{ff11}\u{ff12}\u{ff17}.0.0.1/drover", "private network"),
        ("https://hooks.example@169.254.169.254/latest", "private network"),
        ("https://[64:ff9b::7f00:1]/drover", "private network"),
        ("https://[64:ff9b::10.0.0.1]/drover", "private network"),
        ("https://[::127.0.0.1]/drover", "private network"),
        ("https://[fe80::1]/drover", "private network"),
        ("file:///etc/passwd", "must be https://"),
    ] {
        assert_rejects(&[("DROVER_SERVICE__WEBHOOK_URL", url), own], part);
    }
}

#[test]
fn the_service_does_not_start_with_an_invalid_webhook() {
    testkit::block_on(async {
        let database = TestDatabase::new::<Logistics>(Backend::Sqlite).await;
        let settings = Settings { webhook_url: Some(URL.1.parse().unwrap()), ..Settings::default() };
        let started = common::start::<Logistics>(testkit::config::<Logistics>(&database, settings)).await;
        let error = format!("{:#}", started.err().unwrap());
        assert!(error.contains("webhook_secrets"), "{error}");
    });
}

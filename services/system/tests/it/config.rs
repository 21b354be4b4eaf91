//! The configuration: the sample file, errors that prevent the start, and the redaction of secrets.

use system::AddressProvider::{Loqate, Photon};
use system::{Settings, System, WordsProvider};
use testkit::{Backend, TestDatabase};

use crate::with_temp_store;

#[test]
fn sample_configuration_is_valid() {
    let sample = std::path::Path::new("../../deploy/settings/system.toml");
    let config = common::config::load(&common::Config::<Settings>::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/system");
}

/// Returns the error of the start.
async fn start_error(settings: Settings) -> String {
    let database = TestDatabase::new::<System>(Backend::Sqlite).await;
    let (settings, _folder) = with_temp_store(settings);
    let config = testkit::config::<System>(&database, settings);
    format!("{:#}", common::start::<System>(config).await.err().expect("an error"))
}

/// Durations of 0, with the name of the setting.
fn zero_durations() -> [(Settings, &'static str); 3] {
    [
        (Settings { sweep_grace_seconds: 0, ..Settings::default() }, "service.sweep_grace_seconds"),
        (Settings { scan_seconds: 0, ..Settings::default() }, "service.scan_seconds"),
        (Settings { provider_timeout_ms: 0, ..Settings::default() }, "service.provider_timeout_ms"),
    ]
}

#[test]
fn invalid_settings_are_named_at_start() {
    testkit::block_on(async {
        let url = || Some("https://provider.example".parse().unwrap());
        let words = || Settings { words_provider: WordsProvider::What3words, ..Settings::default() };
        let loqate = || Settings { address_provider: Loqate, ..Settings::default() };
        let photon = || Settings { address_provider: Photon, ..Settings::default() };
        let empty = tempfile::NamedTempFile::new().unwrap();
        let cases = [
            (Settings { words_key: Some("k".into()), ..words() }, "service.words_url"),
            (Settings { words_url: url(), ..words() }, "service.words_key"),
            (Settings { address_key: Some("k".into()), ..loqate() }, "service.address_url"),
            (Settings { address_url: url(), ..loqate() }, "service.address_key"),
            (photon(), "service.address_url"),
            (
                Settings { address_url: Some("mailto:a@b.c".parse().unwrap()), ..photon() },
                "service.address_url",
            ),
            (Settings { words_key_file: Some("/nowhere".into()), ..words() }, "service.words_key_file"),
            (Settings { words_key_file: Some(empty.path().into()), ..words() }, "service.words_key_file"),
            (
                Settings { words_key_file: Some("/x".into()), words_key: Some("k".into()), ..words() },
                "service.words_key_file",
            ),
        ];
        for (settings, name) in cases.into_iter().chain(zero_durations()) {
            let error = start_error(settings).await;
            assert!(error.contains(name) && error.lines().count() == 1, "{name}: {error}");
        }
    });
}

#[test]
fn secrets_are_not_displayed() {
    let settings = Settings {
        words_key: Some("HUSH-ONE".into()),
        address_key: Some("HUSH-TWO".into()),
        address_url: Some("https://user:HUSH-THREE@x/".parse().unwrap()),
        scan_url: Some("tcp://user:HUSH-FOUR@x:1".parse().unwrap()),
        store_url: "s3://key:HUSH-FIVE@bucket/folder".into(),
        ..Settings::default()
    };
    let config = common::Config::<Settings> { service: settings, ..common::Config::default() };
    let description = common::config::describe(&config);
    assert!(description.contains("DROVER_SERVICE__WORDS_KEY="), "{description}");
    assert!(!description.contains("HUSH"), "{description}");
}

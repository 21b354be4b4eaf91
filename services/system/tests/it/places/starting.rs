//! A provider that is not told everything keeps the service from starting, and says what to set.

use actix_web::web::Data;
use common::Service;
use system::AddressProvider::{Loqate, Photon};
use system::{Settings, System, WordsProvider};
use testkit::{Backend, TestDatabase};

async fn refusal(settings: Settings) -> String {
    let database = TestDatabase::new::<System>(Backend::Sqlite).await;
    let folder = tempfile::tempdir().unwrap();
    let store_url = format!("file://{}/store", folder.path().display());
    let config = testkit::config::<System>(&database, Settings { store_url, ..settings });
    let verifier = common::Verifier::open(&config.auth).await.unwrap();
    let checked = System::check(&config.service, Data::new(verifier)).await.unwrap_err();
    let refused = format!("{:#}", common::start::<System>(config).await.err().expect("a refusal"));
    assert_eq!(format!("{checked:#}"), refused);
    refused
}

fn times() -> [(Settings, &'static str); 3] {
    [
        (Settings { sweep_grace_seconds: 0, ..Settings::default() }, "service.sweep_grace_seconds"),
        (Settings { scan_seconds: 0, ..Settings::default() }, "service.scan_seconds"),
        (Settings { provider_timeout_ms: 0, ..Settings::default() }, "service.provider_timeout_ms"),
    ]
}

#[test]
fn what_is_missing_is_named() {
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
        for (settings, name) in cases.into_iter().chain(times()) {
            let told = refusal(settings).await;
            assert!(told.contains(name) && told.lines().count() == 1, "{name}: {told}");
        }
    });
}

#[test]
fn keys_are_not_shown() {
    let settings = Settings {
        words_key: Some("HUSH-ONE".into()),
        address_key: Some("HUSH-TWO".into()),
        address_url: Some("https://user:HUSH-THREE@x/".parse().unwrap()),
        scan_url: Some("tcp://user:HUSH-FOUR@x:1".parse().unwrap()),
        store_url: "s3://key:HUSH-FIVE@bucket/folder".into(),
        ..Settings::default()
    };
    let config = common::Config::<Settings> { service: settings, ..common::Config::default() };
    let shown = config.describe();
    assert!(shown.contains("DROVER_SERVICE__WORDS_KEY=") && !shown.contains("HUSH"), "{shown}");
}

//! Countries and regions.

use serde_json::{Value, json};
use system::{Settings, System};
use testkit::Backend;

use crate::places::{start, start_with};

#[test]
fn lists_countries_by_code() {
    testkit::block_on(async {
        let app = start().await;
        let all = app.get("/v1/countries").send().await.ok();
        assert_eq!(all.as_object().unwrap().len(), 249);
        assert_eq!(
            all["GB"],
            json!({"name": "United Kingdom", "iso": "GB", "iso3": "GBR", "enabled": "true",
                "units": {"distance": "mile", "weight": "tonne", "capacity": "litre", "temperature": "celsius"},
                "currency": "GBP", "callingCode": "+44", "zoneDescriptor": "county", "locale": "en-GB",
                "continent": "Europe"})
        );
        assert_eq!(all["US"]["enabled"], "false");
        assert_eq!(all["US"]["units"]["temperature"], "fahrenheit");
        for country in all.as_object().unwrap().values() {
            assert!(country.as_object().unwrap().values().all(|v| !v.is_null() && v != ""), "{country}");
        }
    });
}

#[test]
fn filters_by_enabled() {
    testkit::block_on(async {
        let app = start().await;
        let codes = async |query: &str| {
            let response = app.get(&format!("/v1/countries{query}")).send().await.ok();
            response.as_object().unwrap().keys().cloned().collect::<Vec<_>>()
        };
        assert_eq!(codes("?enabled=true").await, ["GB", "IE"]);
        assert_eq!(codes("?enabled=false").await.len(), 247);
        assert_eq!(codes("?enabled=").await.len(), 249);
        let reply = app.get("/v1/countries?enabled=perhaps").send().await;
        assert_eq!(reply.errors(), ["enabled type"]);
    });
}

#[test]
fn enabled_countries_are_configurable() {
    testkit::block_on(async {
        let from_list =
            Settings { enabled_countries: vec!["fr".into(), " De ".into()], ..Settings::default() };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("enabled.csv");
        std::fs::write(&file, "name,iso\nNew Zealand,NZ\nAustralia,au\n").unwrap();
        let from_file = Settings { countries_file: Some(file), ..Settings::default() };
        for (settings, codes) in [(from_list, ["DE", "FR"]), (from_file, ["AU", "NZ"])] {
            let app = start_with(settings).await;
            let response = app.get("/v1/countries?enabled=true").send().await.ok();
            assert_eq!(response.as_object().unwrap().keys().collect::<Vec<_>>(), codes);
        }
    });
}

#[test]
fn unknown_enabled_countries_prevent_the_start() {
    testkit::block_on(async {
        let unknown = Settings { enabled_countries: vec!["GB".into(), "UK".into()], ..Settings::default() };
        let missing = Settings { countries_file: Some("/nowhere.csv".into()), ..Settings::default() };
        for (settings, name) in [(unknown, "service.enabled_countries"), (missing, "service.countries_file")]
        {
            let database = testkit::TestDatabase::new::<System>(Backend::Sqlite).await;
            let config = testkit::config::<System>(&database, settings);
            let error = format!("{:#}", common::start::<System>(config).await.err().unwrap());
            assert!(error.contains(name), "{error}");
        }
    });
}

#[test]
fn lists_regions_of_a_country() {
    testkit::block_on(async {
        let app = start().await;
        let regions = async |query: &str| app.get(&format!("/v1/regions{query}")).send().await.ok();
        let british = regions("").await;
        assert_eq!(british["id"], "GB");
        assert_eq!(british["regions"].as_array().unwrap().len(), 221);
        let find = |name: &str| {
            let all = british["regions"].as_array().unwrap();
            all.iter().find(|region| region["name"] == name).cloned().unwrap()
        };
        assert_eq!(
            find("Herefordshire"),
            json!({"iso": "GB-HEF", "name": "Herefordshire", "tb": 6, "tbArea": "high-risk",
                "tbSource": "GOV.UK: bovine TB risk areas and testing intervals in England", "tbAsOf": "2026-11",
                "country": "GB", "group": "West Midlands", "aliases": []})
        );
        assert_eq!(find("Powys")["aliases"], json!(["County of Powys", "Sir Powys"]));
        let england = find("England");
        assert_eq!(england["tb"], 0);
        assert!(
            ["tbArea", "tbSource", "tbAsOf"].iter().all(|member| england.get(member).is_none()),
            "{england}"
        );
        let with_tb = |codes: &str, tb: u32, area: &str| {
            for code in codes.split(' ') {
                let all = british["regions"].as_array().unwrap();
                let region = all.iter().find(|region| region["iso"] == format!("GB-{code}")).unwrap();
                assert_eq!((&region["tb"], &region["tbArea"]), (&json!(tb), &json!(area)), "{code}");
            }
        };
        with_tb("COV SOL BIR DUD SAW WLL WLV SHR WIL", 6, "high-risk");
        with_tb("OXF WAR CHE CHW WBK DBY HAM", 6, "edge-6");
        with_tb("BKM NTT LEC ESX RDG", 12, "edge-12");
        with_tb("IOS KEN NFK CMA LND", 48, "low-risk");
        with_tb("POW", 12, "wales");
        with_tb("ABD", 48, "scotland");
        with_tb("BFS", 12, "northern-ireland");
        let irish = regions("?countryISO=IE").await;
        let cork =
            irish["regions"].as_array().unwrap().iter().find(|region| region["iso"] == "IE-CO").unwrap();
        assert_eq!((&cork["tb"], &cork["tbArea"]), (&json!(12), &json!("ireland")));
        let andorran = regions("?countryISO=AD").await;
        assert_eq!(andorran["regions"][0].get("group"), None::<&Value>, "{andorran}");
        assert_eq!(regions("?countryISO=").await, british);
        assert_eq!(regions("?countryISO=gb").await, british);
        assert_eq!(regions("?countryISO=ie").await["id"], "IE");
        assert!(regions("?countryISO=IE").await["regions"].as_array().unwrap().len() >= 30);
    });
}

#[test]
fn rejects_unknown_country_codes() {
    testkit::block_on(async {
        let app = start().await;
        for code in ["UK", "GBR", "x", "%F0%9F%90%84"] {
            let reply = app.get(&format!("/v1/regions?countryISO={code}")).send().await;
            let allowed = reply.json()["validation"][0]["data"]["allowed"].clone();
            assert!(allowed.as_array().unwrap().contains(&json!("GB")));
            assert_eq!(reply.errors(), ["countryISO enum"], "{code}");
        }
        let control = app.get("/v1/regions?countryISO=G%00B").send().await;
        assert_eq!(control.errors(), ["countryISO format"]);
    });
}

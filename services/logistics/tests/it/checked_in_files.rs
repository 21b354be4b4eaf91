//! Checked-in files: the OpenAPI document and the sample configuration.

#[test]
fn the_document_is_up_to_date() {
    let current = serde_json::to_string_pretty(&common::openapi::<logistics::Logistics>().unwrap()).unwrap();
    assert!(
        include_str!("../../openapi.json").trim() == current,
        "openapi.json is out of date: run `cargo xtask openapi`"
    );
}

#[test]
fn the_sample_configuration_is_valid() {
    let sample = std::path::Path::new("../../deploy/logistics.toml");
    let config =
        common::Config::<logistics::Settings>::load(common::Config::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/logistics");
}

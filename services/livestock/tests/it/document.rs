//! The files of the repository that must match the code: the OpenAPI document and the sample configuration.

#[test]
fn the_openapi_document_is_up_to_date() {
    let current = serde_json::to_string_pretty(&common::openapi::<livestock::Livestock>().unwrap()).unwrap();
    assert!(
        include_str!("../../openapi.json").trim() == current,
        "it is out of date: run `cargo xtask openapi`"
    );
}

#[test]
fn the_sample_configuration_loads() {
    let sample = std::path::Path::new("../../deploy/settings/livestock.toml");
    let config =
        common::config::load(&common::Config::<livestock::Settings>::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/livestock");
}

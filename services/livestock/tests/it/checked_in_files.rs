//! Checked-in files: the OpenAPI document and the sample configuration.

#[test]
fn the_document_is_up_to_date() {
    let checked_in = include_str!("../../openapi.json");
    testkit::assert_openapi_is_checked_in(env!("CARGO_BIN_EXE_livestock"), checked_in);
}

#[test]
fn the_sample_configuration_is_valid() {
    let sample = std::path::Path::new("../../deploy/settings/livestock.toml");
    let config =
        common::config::load(&common::Config::<livestock::Settings>::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/livestock");
}

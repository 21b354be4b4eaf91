//! Checked-in files: the OpenAPI document and the sample configuration.

#[test]
fn the_document_is_up_to_date() {
    let checked_in = include_str!("../../openapi.json");
    testkit::assert_openapi_is_checked_in(env!("CARGO_BIN_EXE_logistics"), checked_in);
}

/// The setting `batch_files` decides, which the document does not know.
#[test]
fn the_document_does_not_limit_the_files_of_a_batch() {
    let document = common::openapi::<logistics::Logistics>().unwrap();
    let file = &document["components"]["schemas"]["LoadBatchForm"]["properties"]["file"];
    assert_eq!((&file["minItems"], file.get("maxItems")), (&serde_json::json!(1), None));
    let default = format!("by default up to {}", logistics::Settings::default().batch_files);
    assert!(file["description"].as_str().unwrap().contains(&default), "{file}");
}

#[test]
fn the_sample_configuration_is_valid() {
    let sample = std::path::Path::new("../../deploy/settings/logistics.toml");
    let config =
        common::config::load(&common::Config::<logistics::Settings>::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/logistics");
}

//! What is checked in beside the code: the OpenAPI document and the sample configuration.

#[test]
fn the_document_says_what_the_code_says() {
    let current = serde_json::to_string_pretty(&common::openapi::<system::System>().unwrap()).unwrap();
    assert!(
        include_str!("../../openapi.json").trim() == current,
        "it is out of date: run `cargo xtask openapi`"
    );
}

#[test]
fn organisations_of_an_upload_have_the_pattern_of_names() {
    let document = common::openapi::<system::System>().unwrap();
    let schemas = &document["components"]["schemas"];
    let pattern = &schemas["Name"]["pattern"];
    assert!(pattern.is_string());
    assert_eq!(&schemas["FileUploadForm"]["properties"]["organisations"]["pattern"], pattern);
}

#[test]
fn the_sample_configuration_is_understood() {
    let sample = std::path::Path::new("../../deploy/system.toml");
    let config = common::Config::<system::Settings>::load(common::Config::default(), Some(sample)).unwrap();
    assert_eq!(config.server.public_url.unwrap().as_str(), "https://drover.example/system");
}

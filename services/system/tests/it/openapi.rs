//! The OpenAPI document.

#[test]
fn the_document_is_up_to_date() {
    let checked_in = include_str!("../../openapi.json");
    testkit::assert_openapi_is_checked_in(env!("CARGO_BIN_EXE_system"), checked_in);
}

#[test]
fn upload_organisations_have_the_pattern_of_names() {
    let document = common::openapi::<system::System>().unwrap();
    let schemas = &document["components"]["schemas"];
    let pattern = &schemas["ShareWith"]["items"]["pattern"];
    assert!(pattern.is_string());
    assert_eq!(&schemas["FileUploadForm"]["properties"]["organisations"]["pattern"], pattern);
}

/// The setting `file_count` decides, which the document does not know.
#[test]
fn the_document_does_not_limit_the_files_of_an_upload() {
    let document = common::openapi::<system::System>().unwrap();
    let file = &document["components"]["schemas"]["FileUploadForm"]["properties"]["file"];
    assert_eq!((&file["minItems"], file.get("maxItems")), (&serde_json::json!(1), None));
    let default = format!("by default up to {}", system::Settings::default().file_count);
    assert!(file["description"].as_str().unwrap().contains(&default), "{file}");
}

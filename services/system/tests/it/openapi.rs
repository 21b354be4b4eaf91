//! The OpenAPI document.

#[test]
fn checked_in_document_matches_the_code() {
    let current = serde_json::to_string_pretty(&common::openapi::<system::System>().unwrap()).unwrap();
    assert!(
        include_str!("../../openapi.json").trim() == current,
        "openapi.json is out of date: run `cargo xtask openapi`"
    );
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

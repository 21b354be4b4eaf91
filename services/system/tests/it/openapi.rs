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
    let pattern = &schemas["Name"]["pattern"];
    assert!(pattern.is_string());
    assert_eq!(&schemas["FileUploadForm"]["properties"]["organisations"]["pattern"], pattern);
}

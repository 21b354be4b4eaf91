use super::*;

fn check(value: Value) -> (Value, Vec<(String, Code)>) {
    let components = json!({"schemas": {
        "File": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "minLength": 1}}},
        "Day": {"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]},
    }});
    let schema = json!({"type": "object", "required": ["name", "tags", "weight"], "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 5},
        "note": {"type": "string", "maxLength": 5},
        "day": {"$ref": "#/components/schemas/Day"},
        "weight": {"type": ["number", "null"], "maximum": 10},
        "tags": {"type": "array", "items": {"type": "string", "pattern": "^[a-z]*$"}},
        "files": {"type": "array", "items": {"$ref": "#/components/schemas/File"}},
        "proof": {"oneOf": [{"type": "null"}, {"$ref": "#/components/schemas/File"}]},
    }});
    let mut value = value;
    let errors = Schema::new(&schema, &components).unwrap().check(&mut value);
    let mut found: Vec<_> = errors.iter().map(|p| (p.path.clone(), p.code)).collect();
    found.sort_by(|a, b| a.0.cmp(&b.0));
    (value, found)
}

#[test]
fn every_failed_field_at_once_and_the_rest_stays() {
    let (rest, found) = check(json!({
        "name": "  ", "day": "2026-13-01", "weight": 11, "tags": ["ok", "NO"], "files": [{"id": "1"}, {}],
        "proof": {"id": 5}, "note": "fine",
    }));
    let expected = [
        ("day", Code::Format),
        ("files[1].id", Code::Required),
        ("name", Code::Length),
        ("proof.id", Code::Type),
        ("tags[1]", Code::Format),
        ("weight", Code::Range),
    ];
    assert_eq!(found, expected.map(|(p, c)| (p.to_owned(), c)));
    assert_eq!(rest, json!({"files": [{"id": "1"}, {}], "note": "fine", "proof": {}, "tags": ["ok", "ok"]}));
}

#[test]
fn a_good_entry_stands_in_for_a_bad_one() {
    let entries = |tags: Value| check(json!({"name": "a", "weight": null, "tags": tags})).0["tags"].take();
    assert_eq!(entries(json!([5, "a", null, "b", "NO"])), json!(["a", "a", "a", "b", "a"]));
    assert_eq!(entries(json!([5, "NO"])), json!(null), "none can");
    let files = check(json!({"name": "a", "weight": null, "tags": [], "files": [{}, 5, {"id": "1"}]})).0;
    assert_eq!(files["files"], json!([{}, {"id": "1"}, {"id": "1"}]));
}

#[test]
fn a_large_entry_stands_in_for_none() {
    let large = [
        json!(vec![0; 5000]),
        json!("x".repeat(20_000)),
        json!(vec![json!({"a": 0}); 100]),
        json!({"x".repeat(20_000): 0}),
    ];
    for z in large {
        let entries =
            |files: Value| check(json!({"name": "a", "weight": null, "tags": [], "files": files})).0;
        let large = json!({"id": "1", "z": z});
        assert_eq!(entries(json!([large, 5]))["files"], json!(null));
        let small = json!({"id": "2", "z": "x".repeat(5000)});
        assert_eq!(entries(json!([large, 5, small]))["files"], json!([large, small, small]));
    }
}

#[test]
fn empty_and_null_optional_members_are_absent() {
    let (rest, found) =
        check(json!({"name": "a", "note": " ", "day": null, "weight": null, "tags": [], "proof": null}));
    assert_eq!(found, []);
    assert_eq!(rest, json!({"name": "a", "weight": null, "tags": []}));
}

#[test]
fn dates_are_read_as_the_rest_of_the_code_reads_them() {
    for bad in ["0000-01-01", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "2026-03-01T10:30:00", "x"]
    {
        let (_, found) = check(json!({"name": "a", "day": bad, "weight": null, "tags": []}));
        assert_eq!(found, [("day".to_owned(), Code::Format)], "{bad}");
    }
    for good in ["2026-03-01", "2026-03-01t10:30:00z", "2016-12-31T23:59:60Z", "9999-12-31T23:59:59.999999Z"]
    {
        let (_, found) = check(json!({"name": "a", "day": good, "weight": null, "tags": []}));
        assert!(found.is_empty() && Timestamp::parse(good).is_some(), "{good}");
    }
}

#[test]
fn a_refused_format_says_which_one_is_expected() {
    let message = |schema: Value, value: &str| {
        let schema = json!({"type": "object", "properties": {"a": schema}});
        let errors = Schema::new(&schema, &json!({})).unwrap().check(&mut json!({"a": value}));
        errors.iter().map(|field_error| field_error.message.clone()).collect::<Vec<_>>().join("|")
    };
    let day = || json!({"type": "string", "anyOf": [{"format": "date"}, {"format": "date-time"}]});
    let expected =
        "must be a date such as 2026-03-01 or a date-time with offset such as 2026-03-01T09:30:00Z";
    assert_eq!(message(day(), "01/03/2026"), expected);
    assert_eq!(message(json!({"oneOf": [{"type": "null"}, day()]}), "soon"), expected);
    let one = message(json!({"format": "uuid"}), "7");
    assert_eq!(one, "must be a UUID such as 01956f2a-7c4e-7b3a-9d51-3f0c8a6e2b14");
    assert_eq!(message(json!({"pattern": "^[A-Z]{3}$"}), "pounds"), "must match ^[A-Z]{3}$");
    let name = serde_json::to_value(<crate::wire::Name as utoipa::PartialSchema>::schema()).unwrap();
    assert_eq!(message(name, "a\tb"), crate::wire::INVISIBLE_MESSAGE);
}

#[test]
fn texts_are_normalized_before_they_are_measured() {
    let components = json!({"schemas": {
        "Name": {"type": "string", "minLength": 1, "maxLength": 3, "pattern": "^[^;]*$", "x-text": "line"},
        "Plate": {"type": "string", "maxLength": 3, "x-text": "upper"},
        "Inner": {"type": "object", "properties": {"name": {"$ref": "#/components/schemas/Name"}}},
    }});
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let schema = json!({"allOf": [{"type": "object", "required": ["name"], "properties": {
        "name": to("Name"), "plate": {"oneOf": [{"type": "null"}, to("Plate")]}, "names": {"type": "array", "items": to("Name")},
        "inner": {"oneOf": [{"type": "null"}, to("Inner")]}, "other": {"type": "string"},
    }}]});
    let schema = Schema::new(&schema, &components).unwrap();
    let mut value = json!({"name": "  e\u{301}ab\u{a0}", "plate": " a\u{df} ", "names": ["a ", "bc"], "inner": {"name": " x"},
        "other": " as it is "});
    let errors = schema.check(&mut value);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(
        value,
        json!({"name": "\u{e9}ab", "plate": "ASS", "names": ["a", "bc"], "inner": {"name": "x"}, "other": " as it is "})
    );
    let mut long = json!({"name": "a\u{37e}", "plate": "\u{df}\u{df}", "names": ["  "]});
    let found: Vec<_> = schema.check(&mut long).iter().map(|p| (p.path.clone(), p.code)).collect();
    let expected = [("name", Code::Format), ("plate", Code::Length), ("names[0]", Code::Length)];
    for (path, code) in expected {
        assert!(found.contains(&(path.to_owned(), code)), "{found:?}");
    }
    assert_eq!(found.len(), 3);
}

#[test]
fn another_type() {
    assert_eq!(check(json!(5)).1, [(String::new(), Code::Type)]);
    assert_eq!(check(json!({"name": "a", "weight": "1", "tags": null})).1.len(), 2);
}

#[test]
fn an_array_without_a_limit_gets_one() {
    let tags = |count| check(json!({"name": "a", "weight": null, "tags": vec!["x"; count]})).1;
    assert_eq!(tags(10_000), []);
    assert_eq!(tags(10_001), [("tags".to_owned(), Code::Length)]);
}

#[test]
fn a_schema_stands_beside_what_it_refers_to() {
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let components = json!({
        "A": {"type": "array", "items": to("B")},
        "B": {"type": "object", "properties": {"a": to("A"), "c": {"oneOf": [{"type": "null"}, to("C")]}}},
        "C": {"type": "string"},
        "D": to("A"),
    });
    let found = needed(&json!({"properties": {"a": to("A")}}), &components);
    assert_eq!(found.keys().collect::<Vec<_>>(), ["A", "B", "C"]);
}

#[test]
fn a_text_that_is_too_long_in_any_form_is_not_normalized() {
    let text = |max| json!({"type": "string", "maxLength": max, "x-text": "line"});
    let schema =
        json!({"type": "object", "properties": {"a": text(3), "b": {"oneOf": [{"type": "null"}, text(3)]}}});
    let schema = Schema::new(&schema, &json!({})).unwrap();
    // Four characters that NFC joins to one.
    let joined = "\u{3b1}\u{313}\u{300}\u{345}";
    let mut value = json!({"a": format!(" {} ", joined.repeat(3)), "b": joined.repeat(3)});
    assert!(schema.check(&mut value).is_empty());
    assert_eq!(value, json!({"a": "\u{1f82}\u{1f82}\u{1f82}", "b": "\u{1f82}\u{1f82}\u{1f82}"}));
    let mut long = json!({"a": joined.repeat(4), "b": joined.repeat(4)});
    schema.is_valid(&mut long);
    assert_eq!(long, json!({"a": joined.repeat(4), "b": joined.repeat(4)}));
    assert_eq!(schema.check(&mut long).iter().map(|p| p.code).collect::<Vec<_>>(), [Code::Length; 2]);
}

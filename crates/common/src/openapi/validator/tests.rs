use super::*;
use crate::response::validation::Code;

/// Checks a value against a schema with members of several kinds. Returns the rest and the paths and codes of the
/// errors, sorted by path.
pub(super) fn check(value: Value) -> (Value, Vec<(String, Code)>) {
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
    let mut invalid: Vec<_> = errors.iter().map(|entry| (entry.path.clone(), entry.code)).collect();
    invalid.sort_by(|a, b| a.0.cmp(&b.0));
    (value, invalid)
}

#[test]
fn reports_all_invalid_fields_and_keeps_the_rest() {
    let (rest, invalid) = check(json!({
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
    assert_eq!(invalid, expected.map(|(p, c)| (p.to_owned(), c)));
    assert_eq!(rest, json!({"files": [{"id": "1"}, {}], "note": "fine", "proof": {}, "tags": ["ok", "ok"]}));
}

#[test]
fn dates_are_parsed_like_timestamps() {
    for bad in ["0000-01-01", "0000-01-01T00:00:00Z", "0001-01-01T00:00:00+01:00", "2026-03-01T10:30:00", "x"]
    {
        let (_, invalid) = check(json!({"name": "a", "day": bad, "weight": null, "tags": []}));
        assert_eq!(invalid, [("day".to_owned(), Code::Format)], "{bad}");
    }
    for good in ["2026-03-01", "2026-03-01t10:30:00z", "2016-12-31T23:59:60Z", "9999-12-31T23:59:59.999999Z"]
    {
        let (_, invalid) = check(json!({"name": "a", "day": good, "weight": null, "tags": []}));
        assert!(invalid.is_empty() && Timestamp::parse(good).is_some(), "{good}");
    }
}

#[test]
fn reports_wrong_types() {
    assert_eq!(check(json!(5)).1, [(String::new(), Code::Type)]);
    assert_eq!(check(json!({"name": "a", "weight": "1", "tags": null})).1.len(), 2);
}

#[test]
fn limits_arrays_whose_schema_states_no_limit() {
    let tags = |count| check(json!({"name": "a", "weight": null, "tags": vec!["x"; count]})).1;
    assert_eq!(tags(10_000), []);
    assert_eq!(tags(10_001), [("tags".to_owned(), Code::Length)]);
}

#[test]
fn collects_direct_and_indirect_references() {
    let to = |name: &str| json!({"$ref": format!("#/components/schemas/{name}")});
    let components = json!({
        "A": {"type": "array", "items": to("B")},
        "B": {"type": "object", "properties": {"a": to("A"), "c": {"oneOf": [{"type": "null"}, to("C")]}}},
        "C": {"type": "string"},
        "D": to("A"),
    });
    let referenced = referenced_components(&json!({"properties": {"a": to("A")}}), &components);
    assert_eq!(referenced.keys().collect::<Vec<_>>(), ["A", "B", "C"]);
}

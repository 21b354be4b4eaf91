//! Merge patches (RFC 7396): absent members stay as they are, `null` removes a member, arrays are replaced whole.

use std::collections::BTreeSet;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::response::validation::{Code, ValidationErrors};
use crate::wire::is_blank;

/// A merge patch whose members were validated by the schema of `T`, in which all members are optional.
#[derive(Debug, Deserialize)]
pub struct MergePatch<T> {
    /// The members with a value.
    pub members: T,
    names: PatchedNames,
    /// The patch as it was sent.
    patch: Value,
}

/// The names of the members of a merge patch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PatchedNames {
    all: BTreeSet<String>,
    null: BTreeSet<String>,
    /// Texts that are empty, white space or invisible, which remove a text like `null`. In place of other values they
    /// are invalid.
    blank: BTreeSet<String>,
}

impl PatchedNames {
    /// Reads the names before the schema check, which drops members without a value.
    ///
    /// # Errors
    /// 400 if the patch is not an object.
    pub(crate) fn of(patch: &Value) -> Result<Self, ValidationErrors> {
        let Value::Object(members) = patch else {
            return Err(ValidationErrors::one("", Code::Type, "must be a JSON object"));
        };
        let names = |is_named: fn(&Value) -> bool| {
            members.iter().filter(|(_, value)| is_named(value)).map(|(name, _)| name.clone()).collect()
        };
        Ok(Self {
            all: names(|_| true),
            null: names(Value::is_null),
            blank: names(|value| value.as_str().is_some_and(is_blank)),
        })
    }

    /// Returns the JSON form of a [`MergePatch`]: `members` are those with a value, `patch` is what was sent.
    pub(crate) fn with_members(self, members: Value, patch: Value) -> Value {
        json!({ "members": members, "names": self, "patch": patch })
    }
}

impl<T: DeserializeOwned> MergePatch<T> {
    /// Returns a patch with these members, an object that is valid already.
    ///
    /// # Errors
    /// Fails if the value is not an object with the members of `T`.
    pub fn of_valid(patch: Value) -> serde_json::Result<Self> {
        let names = PatchedNames::of(&patch).unwrap_or_default();
        Ok(Self { members: serde_json::from_value(patch.clone())?, names, patch })
    }
}

impl<T> MergePatch<T> {
    /// Returns true if the patch has the member.
    pub fn names(&self, member: &str) -> bool {
        self.names.all.contains(member)
    }

    /// Returns true if the patch removes the member.
    pub fn removes(&self, member: &str) -> bool {
        self.names.null.contains(member) || self.is_blank(member)
    }

    /// Returns true if the member is a text without visible characters.
    pub fn is_blank(&self, member: &str) -> bool {
        self.names.blank.contains(member)
    }

    /// Returns the value of an optional member after the patch: `value` is that of the patch, `current` the present
    /// one.
    pub fn merge<V>(&self, member: &str, value: Option<V>, current: Option<V>) -> Option<V> {
        if self.names(member) { value } else { current }
    }

    /// Returns the value at a JSON pointer in the patch, if the patch names it.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        self.patch.pointer(pointer)
    }

    /// Applies the patch to a document. Objects within it are merged as well.
    pub fn apply_to(&self, document: &mut Value) {
        merge(document, &self.patch);
    }

    /// Adds an error for each member that no patch can change (`inconsistent`), and for each that no patch can remove.
    pub fn check_names(&self, read_only: &[&str], required: &[&str], errors: &mut ValidationErrors) {
        for name in read_only.iter().filter(|name| self.names(name)) {
            errors.push(*name, Code::Inconsistent, "cannot be edited");
        }
        for name in required {
            if self.names.null.contains(*name) {
                errors.push(*name, Code::Required, "is required and cannot be removed");
            } else if self.is_blank(name) {
                errors.push_with(*name, Code::Length, "must not be empty", json!({ "minimum": 1 }));
            }
        }
    }
}

/// The algorithm of RFC 7396, section 2.
fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(patch) = patch else {
        target.clone_from(patch);
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    let Some(members) = target.as_object_mut() else { return };
    for (name, value) in patch {
        if value.is_null() {
            members.remove(name);
        } else {
            merge(members.entry(name).or_insert(Value::Null), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(value: &Value) -> MergePatch<Value> {
        let names = PatchedNames::of(value).unwrap();
        serde_json::from_value(names.with_members(value.clone(), value.clone())).unwrap()
    }

    /// The test cases of RFC 7396, appendix A, with an object as the patch.
    #[test]
    fn patches_are_applied_by_the_rfc() {
        for (document, patched, expected) in [
            (json!({"a": "b"}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "b"}), json!({"b": "c"}), json!({"a": "b", "b": "c"})),
            (json!({"a": "b"}), json!({"a": null}), json!({})),
            (json!({"a": "b", "b": "c"}), json!({"a": null}), json!({"b": "c"})),
            (json!({"a": ["b"]}), json!({"a": "c"}), json!({"a": "c"})),
            (json!({"a": "c"}), json!({"a": ["b"]}), json!({"a": ["b"]})),
            (json!({"a": {"b": "c"}}), json!({"a": {"b": "d", "c": null}}), json!({"a": {"b": "d"}})),
            (json!({"a": [{"b": "c"}]}), json!({"a": [1]}), json!({"a": [1]})),
            (json!({"e": null}), json!({"a": 1}), json!({"e": null, "a": 1})),
            (json!([1, 2]), json!({"a": "b", "c": null}), json!({"a": "b"})),
            (json!({}), json!({"a": {"bb": {"ccc": null}}}), json!({"a": {"bb": {}}})),
        ] {
            let mut merged = document.clone();
            patch(&patched).apply_to(&mut merged);
            assert_eq!(merged, expected, "{document} {patched}");
        }
    }

    #[test]
    fn distinguishes_absent_null_and_present_members() {
        let patch = patch(&json!({"a": null, "b": " ", "c": 1, "d": {}, "x": 1}));
        for (name, is_named, is_removed) in [
            ("a", true, true),
            ("b", true, true),
            ("c", true, false),
            ("d", true, false),
            ("e", false, false),
        ] {
            assert_eq!((patch.names(name), patch.removes(name)), (is_named, is_removed), "{name}");
        }
        assert_eq!(patch.merge("a", None, Some(5)), None);
        assert_eq!(patch.merge("c", Some(1), Some(5)), Some(1));
        assert_eq!(patch.merge("e", None, Some(5)), Some(5));
        let mut errors = ValidationErrors::default();
        patch.check_names(&["c", "e"], &["a", "b", "d", "f"], &mut errors);
        let found: Vec<_> = errors.iter().map(|entry| (entry.path.as_str(), entry.code)).collect();
        assert_eq!(found, [("c", Code::Inconsistent), ("a", Code::Required), ("b", Code::Length)]);
    }

    #[test]
    fn only_objects_are_patches() {
        for other in [json!([]), json!([{}]), json!(null), json!("a"), json!(1)] {
            PatchedNames::of(&other).unwrap_err();
        }
    }
}

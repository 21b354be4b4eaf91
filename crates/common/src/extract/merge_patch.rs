//! Merge patches (RFC 7396): absent members stay as they are, `null` removes a member, arrays are replaced whole.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::response::validation::{Code, ValidationErrors};

/// A merge patch whose members were validated by the schema of `T`, in which all members are optional.
#[derive(Debug, Deserialize)]
pub struct MergePatch<T> {
    /// The members with a value.
    pub members: T,
    names: PatchedNames,
}

/// The names of the members of a merge patch.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct PatchedNames {
    all: BTreeSet<String>,
    null: BTreeSet<String>,
    /// Texts that are empty or white space, which remove a text like `null`. In place of other values they are invalid.
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
            blank: names(|value| value.as_str().is_some_and(|text| text.trim().is_empty())),
        })
    }

    /// Returns the JSON form of a [`MergePatch`].
    pub(crate) fn with_members(self, members: Value) -> Value {
        json!({ "members": members, "names": self })
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

    /// Returns true if the member is an empty text or white space.
    pub fn is_blank(&self, member: &str) -> bool {
        self.names.blank.contains(member)
    }

    /// Returns the names of all members.
    pub fn iter_names(&self) -> impl Iterator<Item = &str> {
        self.names.all.iter().map(String::as_str)
    }

    /// Returns the value of an optional member after the patch: `value` is that of the patch, `current` the present
    /// one.
    pub fn merge<V>(&self, member: &str, value: Option<V>, current: Option<V>) -> Option<V> {
        if self.names(member) { value } else { current }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn patch(value: &Value) -> MergePatch<Value> {
        let names = PatchedNames::of(value).unwrap();
        serde_json::from_value(names.with_members(value.clone())).unwrap()
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

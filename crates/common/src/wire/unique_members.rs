//! JSON whose objects name no member twice.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The start of the error message for a duplicate member.
const DUPLICATE: &str = "duplicate member";

/// A JSON object without duplicate members, also in nested objects.
pub(crate) struct UniqueMembers(pub(crate) Map<String, Value>);

impl<'de> Deserialize<'de> for UniqueMembers {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match UniqueValue::deserialize(deserializer)?.0 {
            Value::Object(members) => Ok(Self(members)),
            _ => Err(D::Error::custom("expected a JSON object")),
        }
    }
}

/// A JSON value whose objects have no duplicate members. `serde_json` uses the last duplicate silently, while a person
/// or another parser may have meant the first.
pub struct UniqueValue(pub Value);

impl<'de> Deserialize<'de> for UniqueValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(UniqueVisitor).map(Self)
    }
}

struct UniqueVisitor;

impl<'de> Visitor<'de> for UniqueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(UniqueValue(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut members = Map::new();
        while let Some((name, UniqueValue(value))) = access.next_entry::<String, _>()? {
            if members.insert(name, value).is_some() {
                return Err(A::Error::custom(DUPLICATE));
            }
        }
        Ok(members.into())
    }
}

/// Returns true if the error is a duplicate member.
pub fn is_duplicate(error: &serde_json::Error) -> bool {
    error.to_string().starts_with(DUPLICATE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distinguishes_duplicate_members_from_other_errors() {
        let error = |text: &str| serde_json::from_str::<UniqueMembers>(text).err();
        assert!(error(r#"{"a":1,"b":{"a":[2,{"a":3}]}}"#).is_none());
        for text in [r#"{"a":1,"b":2,"a":1}"#, r#"{"a":{"b":1,"b":1}}"#, r#"{"a":[0,{"b":{"c":1,"c":2}}]}"#] {
            assert!(error(text).is_some_and(|error| is_duplicate(&error)), "{text}");
        }
        for text in [r#"{"duplicate member":"#, "[]", "null"] {
            assert!(error(text).is_some_and(|error| !is_duplicate(&error)), "{text}");
        }
    }

    #[test]
    fn reads_every_json_value() {
        let text = r#"{"a":[null,true,1,-1,1.5,18446744073709551615,"x",{}]}"#;
        let members = serde_json::from_str::<UniqueMembers>(text).map(|members| Value::Object(members.0));
        assert_eq!(members.ok(), serde_json::from_str(text).ok());
    }
}

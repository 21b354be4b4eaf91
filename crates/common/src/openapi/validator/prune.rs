//! Removal of invalid members, so that rules beyond the schema can still check the valid ones.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::errors::Failure;

/// Approximate maximum memory in bytes of an array entry that replaces invalid ones: up to a thousand copies of it are
/// made.
const MAX_REPLACEMENT_BYTES: usize = 16 << 10;
/// Approximate size in bytes of a B-tree node of an object, which has room for eleven members.
const OBJECT_NODE_BYTES: usize = 640;
/// Approximate size in bytes of a member of an object, without its name and value.
const MEMBER_BYTES: usize = 64;

type Pointer = [String];

/// For each array with invalid entries, by its pointer, a valid entry that can replace them.
type Replacements<'a> = HashMap<&'a Pointer, Option<Value>>;

/// Removes all members that failed. An invalid entry of an array is replaced by a valid one, so that the other entries
/// keep their indexes; errors of rules for the replacement are dropped, since its path has an entry already. An array
/// without a valid entry is removed.
pub(super) fn remove_failed(value: &mut Value, failures: &[Failure]) {
    let replacements = replacements(value, failures);
    for failure in failures {
        remove(value, &failure.pointer, &replacements);
    }
}

fn replacements<'a>(value: &Value, failures: &'a [Failure]) -> Replacements<'a> {
    let failed: HashSet<_> = failures
        .iter()
        .flat_map(|failure| (1..=failure.pointer.len()).map(|n| &failure.pointer[..n]))
        .collect();
    let mut replacements = HashMap::new();
    for (_, array) in failures.iter().filter_map(|failure| failure.pointer.split_last()) {
        replacements.entry(array).or_insert_with(|| {
            let entries = array.iter().try_fold(value, member)?.as_array()?;
            let is_usable = |i: &usize| {
                let has_failed = failed.contains(&*[array, &[i.to_string()]].concat());
                let mut budget = MAX_REPLACEMENT_BYTES;
                !has_failed && is_within(&entries[*i], &mut budget)
            };
            (0..entries.len()).find(is_usable).map(|i| entries[i].clone())
        });
    }
    replacements
}

/// Returns true if the value fits the memory budget in bytes, and reduces the budget by its size.
fn is_within(value: &Value, budget: &mut usize) -> bool {
    let own = match value {
        Value::String(text) => text.len(),
        Value::Object(members) => OBJECT_NODE_BYTES + members.len() * MEMBER_BYTES,
        _ => 0,
    };
    let Some(rest) = budget.checked_sub(size_of::<Value>() + own) else { return false };
    *budget = rest;
    match value {
        Value::Array(items) => items.iter().all(|item| is_within(item, budget)),
        Value::Object(members) => members.iter().all(|(name, member)| {
            *budget = budget.saturating_sub(name.len());
            is_within(member, budget)
        }),
        _ => true,
    }
}

fn member<'a>(value: &'a Value, name: &String) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(name.parse::<usize>().ok()?),
        other => other.get(name),
    }
}

fn member_mut<'a>(value: &'a mut Value, name: &String) -> Option<&'a mut Value> {
    match value {
        Value::Array(items) => items.get_mut(name.parse::<usize>().ok()?),
        other => other.get_mut(name),
    }
}

/// Removes the member at the pointer, or the nearest ancestor that can be removed.
fn remove(value: &mut Value, pointer: &Pointer, replacements: &Replacements<'_>) {
    let Some((last, parents)) = pointer.split_last() else { return };
    match parents.iter().try_fold(&mut *value, member_mut) {
        Some(Value::Object(members)) => {
            members.remove(last);
        }
        Some(array @ Value::Array(_)) => match (member_mut(array, last), replacements.get(parents)) {
            (Some(entry), Some(Some(replacement))) => entry.clone_from(replacement),
            _ => remove(value, parents, replacements),
        },
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::openapi::validator::tests::check;

    #[test]
    fn a_valid_entry_replaces_invalid_ones() {
        let entries =
            |tags: Value| check(json!({"name": "a", "weight": null, "tags": tags})).0["tags"].take();
        assert_eq!(entries(json!([5, "a", null, "b", "NO"])), json!(["a", "a", "a", "b", "a"]));
        assert_eq!(entries(json!([5, "NO"])), json!(null), "no valid entry");
        let files = check(json!({"name": "a", "weight": null, "tags": [], "files": [{}, 5, {"id": "1"}]})).0;
        assert_eq!(files["files"], json!([{}, {"id": "1"}, {"id": "1"}]));
    }

    #[test]
    fn a_large_entry_replaces_none() {
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
}
